"""Wang, Xiao, Devadas and Xu (2020): bounds, and each theorem as a solver.

"On differentially private stochastic convex optimization with heavy-tailed data".
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import found_when_asked, places_of_stub

__places__ = places_of_stub(__name__)
__all__ = list(__places__)
__dir__ = __all__.copy
__getattr__ = found_when_asked(__name__, __places__, with_named_arguments)
