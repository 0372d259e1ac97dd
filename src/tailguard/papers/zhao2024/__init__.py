"""Zhao, Wu, Liu, Wang, Fan and Li (2024): bounds, and each theorem as a solver.

"Differential private stochastic optimization with heavy-tailed data: towards optimal rates".
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import shown_by_stub

__places__, __all__, __dir__, __getattr__ = shown_by_stub(__name__, with_named_arguments)
