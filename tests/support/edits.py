"""Edits of what compiled code depends on, and scripts whose output they change."""

# Each prints what one compiled function makes of fixed numbers.
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
    "poisson": """
from tailguard.losses import Poisson
print(Poisson().slope_scalar(1000.0, 0.0, Poisson().shape))
""",
    "ladder": """
import numpy as np
from tailguard.kernels.whitened_loops import climb
factors = np.zeros((1, 2))
ones = np.ones(2)
climb()(np.array([3.0, -3.0]), ones, ones, 1.0, np.array([2.0]), np.array([1.0]), factors)
print(factors)
""",
}

# File, old text, new text, probe.
EDITS = [
    ("noise/gaussian_table.py", "\nLARGEST = 704\n", "\nLARGEST = 640\n", "gaussian"),
    ("losses/poisson.py", "EXPONENT = 700.0", "EXPONENT = 600.0", "poisson"),
    ("kernels/tile.py", "limit if value > limit else value", "value", "ladder"),
]
AUDITED_EDITS = []
