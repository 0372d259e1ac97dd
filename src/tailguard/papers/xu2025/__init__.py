"""Xu, Ding, Xiang, Xu and Wang (2025): bounds, and each theorem as a solver.

"Beyond ordinary Lipschitz constraints: differentially private stochastic optimization with
Tsybakov noise condition".
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import found_when_asked, places_of_stub

__places__ = places_of_stub(__name__)
__all__ = list(__places__)
__dir__ = __all__.copy
__getattr__ = found_when_asked(__name__, __places__, with_named_arguments)
