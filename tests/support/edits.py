"""Edits of what compiled code depends on, and scripts whose output they change."""

from tailguard.losses.registry import LOSSES

# Each prints what compiled functions make of fixed numbers.
PROBES = {
    "gaussian": """
import numpy as np
from tailguard.noise.discrete_gaussian import _compiled_draws
words = np.arange(1, 9, dtype=np.uint64) << np.uint64(60)
noise = np.zeros(4, dtype=np.int64)
cells, upper = np.arange(4096), np.full(4096, 2**64 - 1, dtype=np.uint64)
_compiled_draws()(words, cells, upper, noise)
print(noise)
""",
    "laplace": """
import numpy as np
from tailguard.noise.discrete_laplace import _compiled_differences
words = np.array([1, 9, 9, 9, 9, 9, 1, 9], dtype=np.uint64) << np.uint64(60)
noise = np.zeros(2, dtype=np.int64)
_compiled_differences()(words, np.full(2, 2**62, dtype=np.uint64), noise)
print(noise)
""",
    "multinomial": """
import numpy as np
from tailguard.losses import Multinomial
print(Multinomial(2).record_gradient(np.arange(4.0), np.array([1.0, 2.0]), 1.0))
""",
    "ladder": """
import numpy as np
from tailguard.queries.kernels.whitened_loops import climb
factors, ones = np.zeros((1, 2)), np.ones(2)
climb()(np.array([3.0, -3.0]), ones, ones, 1.0, np.array([2.0]), np.array([1.0]), factors)
print(factors)
""",
    "whitened": """
import numpy as np
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.whitened import WhitenedRows
rows = WhitenedRows(
    loss=None, center=np.zeros(1), inverse_scale=np.ones(1), intercept=False,
    whitening=np.eye(1), weights=np.ones(1),
)
for chunk in rows.read(RecordBlock(np.array([[3.0], [1e-3], [1e200], [np.nan]]))):
    print(chunk.mapped, chunk.length, chunk.score)
""",
    "counts": """
import numpy as np
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.counts import BelowCount
kernel = BelowCount(thresholds=[1.0], columns=[0], paired=False, multiplier=1)
print(kernel.sum_block(RecordBlock(np.array([[1.0], [2.0], [np.inf]]))))
""",
    "bins": """
from tailguard.queries.kernels.bins import Bins
print(Bins("signed", -4.0, 2.0, 16).index([-1e9, -1.0, 0.3, 1e9, float("nan")]))
""",
    "clip": """
import numpy as np
from tailguard.queries.kernels.safe_clip import safe_clip
print(safe_clip(np.array([3.0, 4.0]), 1.0).tolist())
""",
    "sums": """
import numpy as np
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum
from tailguard.losses import Squared
X = np.random.default_rng(0).standard_normal((1500, 3)) * 10.0 ** np.arange(-1, 2)
X[7], X[8] = 1e200, 1e-144
for clip_norm, grid in ((1.0, 2.0**-40), (1.0, 0.7), (2.0**30, 2.0**-30)):
    kernel = ClippedGradientSum(
        weights=np.ones(3), center=np.zeros(3), inverse_scale=np.ones(3), intercept=False,
        loss=Squared(), clip_norm=clip_norm, grid=grid,
    )
    print(kernel.sum_block(RecordBlock(X, np.full(1500, 1e150))))
""",
    "entries": """
import numpy as np
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.kernels.coordinates import BoundedCoordinateSum, CoordinateBound
X = np.random.default_rng(0).standard_normal((40, 3))
for kind in ("clamped", "soft"):
    kernel = BoundedCoordinateSum(
        weights=np.ones(3), center=np.zeros(3), inverse_scale=np.ones(3), intercept=False,
        loss=None, bound=CoordinateBound(kind, 0.7), n_rows=40, n_groups=3, grid=2.0**-40,
    )
    print(kernel.sum_block(RecordBlock(X)))
""",
}
SLOPES = """
import numpy as np
from tailguard.losses.registry import make_loss
loss = make_loss({!r})
table = np.array([[-3.0, 0.25, 1e3], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
loss.slope_loop(table, loss.shape)
print(table[2])
"""
PROBES |= {f"slope of {name}": SLOPES.format(name) for name in LOSSES}

# File, old text, new text, probe.
EDITS = [
    ("noise/discrete_gaussian.py", "\nLARGEST = 704\n", "\nLARGEST = 640\n", "gaussian"),
    ("losses/base.py", "EXPONENT = 500.0", "EXPONENT = 400.0", "slope of poisson"),
    ("queries/kernels/tile.py", "limit if value > limit else value", "value", "ladder"),
]
AUDITED_EDITS = [
    ("noise/discrete_gaussian.py", "BUCKET_BITS = 12", "BUCKET_BITS = 11", "gaussian"),
    ("noise/discrete_gaussian.py", "\nWIDENING = 32", "\nWIDENING = 16", "gaussian"),
    ("noise/discrete_laplace.py", "in (1, -1)", "in (-1, 1)", "laplace"),
    ("losses/huber.py", "        return threshold\n", "        return 9.0\n", "slope of huber"),
    ("losses/logistic.py", "(exponent)) - target", "(exponent))", "slope of logistic"),
    ("losses/base.py", "EXPONENT = 500.0", "EXPONENT = 2.0", "slope of logistic"),
    ("losses/lp_loss.py", "(p * power *", "(power *", "slope of lp"),
    ("losses/lp_loss.py", "\nLARGEST_SLOPE = 1e220", "\nLARGEST_SLOPE = 8.0", "slope of lp"),
    ("losses/multinomial.py", "errors[int(target)] -= 1.0", "errors[0] -= 1.0", "multinomial"),
    ("losses/pseudo_huber.py", "math.sqrt(threshold *", "math.sqrt(", "slope of pseudo_huber"),
    ("losses/quantile.py", "+ 0.5 - level\n", "+ 0.75 - level\n", "slope of quantile"),
    ("losses/squared.py", "return score - target", "return target - score", "slope of squared"),
    ("data/rows/base.py", "= 2.0**51", "= 2.0**41", "sums"),
    ("queries/kernels/bin_loops.py", "at if at > 0.0 else 0.0", "at if at > 0.0 else 1.0", "bins"),
    ("queries/kernels/bounded_rows.py", "lanes.cut(value, number(LIMIT))", "value", "entries"),
    ("data/rows/base.py", "\nCHUNK_ROWS = 1024", "\nCHUNK_ROWS = 512", "sums"),
    ("data/rows/base.py", "\nROUNDOFF = 2.0**-53", "\nROUNDOFF = 2.0**-30", "sums"),
    ("queries/kernels/counts.py", "<= thresholds[c]", "< thresholds[c]", "counts"),
    ("queries/kernels/fused.py", "np.rint(space", "np.floor(space", "sums"),
    ("queries/kernels/grouped.py", "np.rint(space", "np.floor(space", "entries"),
    ("queries/kernels/lanes.py", "low, limit), limit, low)", "low, limit), low, low)", "entries"),
    ("queries/kernels/safe_clip.py", "* 2.0**-53)", "* 2.0**-30)", "clip"),
    ("queries/kernels/standardised_rows.py", "(BIAS - 64)", "(BIAS - 2)", "whitened"),
    ("queries/kernels/tile.py", "\nLEAST_SQUARE = 1e-290", "\nLEAST_SQUARE = 1e-280", "sums"),
    (
        "queries/kernels/tile_bounds.py",
        "norm, limit), norm, limit)",
        "norm, limit), one, limit)",
        "sums",
    ),
    ("queries/kernels/vectors.py", "\nLARGEST_FEATURE = 1e150", "\nLARGEST_FEATURE = 1e-5", "sums"),
    (
        "queries/kernels/whitened_loops.py",
        "SMALLEST_LENGTH = 1e-140",
        "SMALLEST_LENGTH = 1.0",
        "whitened",
    ),
]
