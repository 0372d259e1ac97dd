"""Zhao, Wu, Liu, Wang, Fan and Li (2024): bounds, and each theorem as a solver.

"Differential private stochastic optimization with heavy-tailed data: towards optimal rates".
"""

from tailguard.papers.zhao2024 import parameters
from tailguard.papers.zhao2024.bounds import (
    clipped_mean_bound,
    clipped_mean_error,
    clipping_bias,
    convex_bound,
    convex_lower_bound,
    iterative_convex_bound,
    iterative_mean_bound,
    iterative_mean_bound_amplified,
    iterative_radius,
)
from tailguard.papers.zhao2024.means import clipped_mean, iterative_mean
from tailguard.papers.zhao2024.theorems import convex, iterative_convex

__all__ = [
    "clipped_mean",
    "clipped_mean_bound",
    "clipped_mean_error",
    "clipping_bias",
    "convex",
    "convex_bound",
    "convex_lower_bound",
    "iterative_convex",
    "iterative_convex_bound",
    "iterative_mean",
    "iterative_mean_bound",
    "iterative_mean_bound_amplified",
    "iterative_radius",
    "parameters",
]
