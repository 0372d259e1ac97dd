"""Wang, Xiao, Devadas and Xu (2020): bounds, and each theorem as a solver.

"On differentially private stochastic convex optimization with heavy-tailed data".
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import shown_by_stub

__places__, __all__, __dir__, __getattr__ = shown_by_stub(__name__, with_named_arguments)
