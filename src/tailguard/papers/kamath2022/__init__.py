"""Kamath, Liu and Zhang (2022): bounds, and each theorem as a solver.

"Improved rates for differentially private stochastic convex optimization with heavy-tailed data".
"""

from tailguard.papers.kamath2022 import parameters, printed
from tailguard.papers.kamath2022.bounds import (
    clamping_bias,
    convex_bound,
    convex_bound_with_probability,
    convex_lower_bound,
    convex_lower_bound_pure,
    mean_bound,
    mean_bound_pure,
    mean_error,
    mean_lower_bound,
    mean_lower_bound_pure,
    soft_convex_bound,
    strongly_convex_bound,
    strongly_convex_bound_with_probability,
    strongly_convex_lower_bound,
)
from tailguard.papers.kamath2022.means import clamped_mean, soft_mean
from tailguard.papers.kamath2022.theorems import (
    convex,
    convex_with_probability,
    soft_convex,
    strongly_convex,
)

__all__ = [
    "clamped_mean",
    "clamping_bias",
    "convex",
    "convex_bound",
    "convex_bound_with_probability",
    "convex_lower_bound",
    "convex_lower_bound_pure",
    "convex_with_probability",
    "mean_bound",
    "mean_bound_pure",
    "mean_error",
    "mean_lower_bound",
    "mean_lower_bound_pure",
    "parameters",
    "printed",
    "soft_convex",
    "soft_convex_bound",
    "soft_mean",
    "strongly_convex",
    "strongly_convex_bound",
    "strongly_convex_bound_with_probability",
    "strongly_convex_lower_bound",
]
