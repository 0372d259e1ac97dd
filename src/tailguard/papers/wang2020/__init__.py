"""Wang, Xiao, Devadas and Xu (2020): bounds, and each theorem as a solver.

"On differentially private stochastic convex optimization with heavy-tailed data".
"""

from tailguard.papers.wang2020 import parameters
from tailguard.papers.wang2020.bounds import (
    convex_bound,
    private_mean_bound,
    sample_aggregate_bound,
    smoothed_mean_error,
    strongly_convex_bound,
    trimmed_least_rows,
    trimmed_strongly_convex_bound,
)
from tailguard.papers.wang2020.means import soft_mean, trimmed_mean
from tailguard.papers.wang2020.smooth_theorems import sample_aggregate, trimmed_strongly_convex
from tailguard.papers.wang2020.theorems import smoothed_convex, smoothed_strongly_convex, stochastic

__all__ = [
    "convex_bound",
    "parameters",
    "private_mean_bound",
    "sample_aggregate",
    "sample_aggregate_bound",
    "smoothed_convex",
    "smoothed_mean_error",
    "smoothed_strongly_convex",
    "soft_mean",
    "stochastic",
    "strongly_convex_bound",
    "trimmed_least_rows",
    "trimmed_mean",
    "trimmed_strongly_convex",
    "trimmed_strongly_convex_bound",
]
