"""Tao, Wu, Cheng and Wang (2022): bounds, and each theorem as a solver.

"Private stochastic convex optimization and sparse learning with heavy-tailed data revisited".
"""

from tailguard.papers.tao2022 import parameters, printed
from tailguard.papers.tao2022.bounds import (
    convex_bound,
    deviation_bound,
    mean_bound,
    mean_error,
    scalar_error,
    scalar_mean_bound,
    sparse_bound,
    strongly_convex_bound,
)
from tailguard.papers.tao2022.lower import (
    convex_lower_bound,
    convex_lower_bound_pure,
    mean_lower_bound,
    mean_lower_bound_pure,
    scalar_lower_bound,
    sparse_lower_bound,
    sparse_lower_bound_pure,
    sparse_mean_lower_bound,
    sparse_mean_lower_bound_pure,
    strongly_convex_lower_bound,
    strongly_convex_lower_bound_pure,
)
from tailguard.papers.tao2022.means import truncated_mean
from tailguard.papers.tao2022.theorems import convex, sparse, strongly_convex

__all__ = [
    "convex",
    "convex_bound",
    "convex_lower_bound",
    "convex_lower_bound_pure",
    "deviation_bound",
    "mean_bound",
    "mean_error",
    "mean_lower_bound",
    "mean_lower_bound_pure",
    "parameters",
    "printed",
    "scalar_error",
    "scalar_lower_bound",
    "scalar_mean_bound",
    "sparse",
    "sparse_bound",
    "sparse_lower_bound",
    "sparse_lower_bound_pure",
    "sparse_mean_lower_bound",
    "sparse_mean_lower_bound_pure",
    "strongly_convex",
    "strongly_convex_bound",
    "strongly_convex_lower_bound",
    "strongly_convex_lower_bound_pure",
    "truncated_mean",
]
