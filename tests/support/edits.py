"""Edits to dependencies of compiled code, and scripts whose output they change."""

# Each prints results of compiled functions on fixed numbers.
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
from tailguard.queries.reading_loops import climb
factors, ones = np.zeros((1, 2)), np.ones(2)
climb()(np.array([3.0, -3.0]), ones, ones, 1.0, np.array([2.0]), np.array([1.0]), factors)
print(factors)
""",
    "whitened": """
import numpy as np
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.units import Units
from tailguard.queries.view import View
view = View.plain(None, Units.raw(1, intercept=False))
for seen in view.read(RecordBlock(np.array([[3.0], [1e-3], [1e200], [np.nan]])), np.ones(1)):
    print(seen.mapped, seen.length, seen.score)
""",
    "bins": """
from tailguard.queries.histograms import Bins
print(Bins("signed", -4.0, 2.0, 16).index([-1e9, -1.0, 0.3, 1e9, float("nan")]))
""",
    "clip": """
import numpy as np
from tailguard.queries.clipping import safe_clip
print(safe_clip(np.array([3.0, 4.0]), 1.0).tolist())
""",
    "sums": """
import numpy as np
from tailguard.data.rows.base import RecordBlock
from tailguard.losses import Squared
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
X = np.random.default_rng(0).standard_normal((1500, 3)) * 10.0 ** np.arange(-1, 2)
X[7], X[8] = 1e200, 1e-144
block = RecordBlock(X, np.full(1500, 1e150))
for clip_norm, grid in ((1.0, 2.0**-40), (1.0, 0.7), (2.0**30, 2.0**-30)):
    query = MeanClippedGradient(Squared(), Units.raw(3, intercept=False), clip_norm=clip_norm)
    print(query.sum_block(block, np.ones(3), grid))
""",
    "entries": """
import numpy as np
from tailguard.queries.coordinates import CoordinateBound
X = np.random.default_rng(0).standard_normal((40, 3))
print(CoordinateBound("soft", 0.7).apply_fast(X).sum(axis=0))
""",
}

# File, old text, new text, probe.
EDITS = [
    (
        "queries/reading_loops.py",
        "fraction if fraction < 1.0 else",
        "fraction if fraction < 9.0 else",
        "ladder",
    ),
]
AUDITED_EDITS = [
    ("noise/discrete_gaussian.py", "\nLARGEST = 704\n", "\nLARGEST = 640\n", "gaussian"),
    ("noise/discrete_gaussian.py", "BUCKET_BITS = 12", "BUCKET_BITS = 11", "gaussian"),
    ("noise/discrete_gaussian.py", "\nWIDENING = 32", "\nWIDENING = 16", "gaussian"),
    ("noise/discrete_laplace.py", "in (1, -1)", "in (-1, 1)", "laplace"),
    ("losses/multinomial.py", "errors[int(target)] -= 1.0", "errors[0] -= 1.0", "multinomial"),
    ("data/rows/base.py", "= 2.0**51", "= 2.0**41", "sums"),
    ("queries/histograms.py", "position > 0.0 else 0.0", "position > 0.0 else 1.0", "bins"),
    ("data/rows/base.py", "\nCHUNK_ROWS = 1024", "\nCHUNK_ROWS = 512", "sums"),
    ("data/rows/base.py", "\nROUNDOFF = 2.0**-53", "\nROUNDOFF = 2.0**-30", "sums"),
    ("queries/clipping.py", "* 2.0**-53)", "* 2.0**-30)", "clip"),
    ("queries/reading_loops.py", "(BIAS - 64)", "(BIAS - 2)", "whitened"),
    ("queries/reading_loops.py", "\nLARGEST_FEATURE = 1e150", "\nLARGEST_FEATURE = 1e-5", "sums"),
    ("queries/reading_loops.py", "SMALLEST_LENGTH = 1e-140", "SMALLEST_LENGTH = 1.0", "whitened"),
    ("queries/soft_truncation.py", "value < limit else limit", "value < 0.1 else 0.1", "entries"),
]
