"""Tao, Wu, Cheng and Wang (2022): bounds, and each theorem as a solver.

"Private stochastic convex optimization and sparse learning with heavy-tailed data revisited".
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import shown_by_stub

__places__, __all__, __dir__, __getattr__ = shown_by_stub(__name__, with_named_arguments)
