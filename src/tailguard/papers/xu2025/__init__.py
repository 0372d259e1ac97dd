"""Xu, Ding, Xiang, Xu and Wang (2025): bounds, and each theorem as a solver.

"Beyond ordinary Lipschitz constraints: differentially private stochastic optimization with
Tsybakov noise condition".
"""

from tailguard.papers.xu2025 import parameters, quoted
from tailguard.papers.xu2025.bounds import (
    accelerated_bound,
    accelerated_tsybakov_bound,
    localized_bound,
    localized_risk,
    tsybakov_bound,
    tsybakov_lower_bound,
    tsybakov_lower_bound_sampling,
)
from tailguard.papers.xu2025.theorems import (
    accelerated,
    accelerated_growth,
    localised,
    tsybakov,
    unknown_growth,
)

__all__ = [
    "accelerated",
    "accelerated_bound",
    "accelerated_growth",
    "accelerated_tsybakov_bound",
    "localised",
    "localized_bound",
    "localized_risk",
    "parameters",
    "quoted",
    "tsybakov",
    "tsybakov_bound",
    "tsybakov_lower_bound",
    "tsybakov_lower_bound_sampling",
    "unknown_growth",
]
