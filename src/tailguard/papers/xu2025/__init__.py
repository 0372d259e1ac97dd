"""Xu, Ding, Xiang, Xu and Wang (2025): bounds, and each theorem as a solver.

"Beyond ordinary Lipschitz constraints: differentially private stochastic optimization with
Tsybakov noise condition".
"""

from tailguard.checks import with_named_arguments
from tailguard.lazy_names import shown_by_stub

__places__, __all__, __dir__, __getattr__ = shown_by_stub(__name__, with_named_arguments)
