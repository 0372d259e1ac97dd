from tailguard.papers.zhao2024 import parameters as parameters
from tailguard.papers.zhao2024.bounds import clipped_gradient_errors as clipped_gradient_errors
from tailguard.papers.zhao2024.bounds import clipped_mean_bound as clipped_mean_bound
from tailguard.papers.zhao2024.bounds import clipped_mean_error as clipped_mean_error
from tailguard.papers.zhao2024.bounds import clipping_bias as clipping_bias
from tailguard.papers.zhao2024.bounds import convex_bound as convex_bound
from tailguard.papers.zhao2024.bounds import convex_lower_bound as convex_lower_bound
from tailguard.papers.zhao2024.bounds import iterative_convex_bound as iterative_convex_bound
from tailguard.papers.zhao2024.bounds import (
    iterative_gradient_errors as iterative_gradient_errors,
)
from tailguard.papers.zhao2024.bounds import iterative_mean_bound as iterative_mean_bound
from tailguard.papers.zhao2024.bounds import (
    iterative_mean_bound_amplified as iterative_mean_bound_amplified,
)
from tailguard.papers.zhao2024.bounds import iterative_radius as iterative_radius
from tailguard.papers.zhao2024.means import clipped_mean as clipped_mean
from tailguard.papers.zhao2024.means import iterative_mean as iterative_mean
from tailguard.papers.zhao2024.theorems import convex as convex
from tailguard.papers.zhao2024.theorems import iterative_convex as iterative_convex
