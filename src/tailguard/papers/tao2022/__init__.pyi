from tailguard.papers.tao2022 import parameters as parameters
from tailguard.papers.tao2022 import printed as printed
from tailguard.papers.tao2022.bounds import convex_bound as convex_bound
from tailguard.papers.tao2022.bounds import deviation_bound as deviation_bound
from tailguard.papers.tao2022.bounds import mean_bound as mean_bound
from tailguard.papers.tao2022.bounds import mean_error as mean_error
from tailguard.papers.tao2022.bounds import scalar_error as scalar_error
from tailguard.papers.tao2022.bounds import scalar_mean_bound as scalar_mean_bound
from tailguard.papers.tao2022.bounds import sparse_bound as sparse_bound
from tailguard.papers.tao2022.bounds import strongly_convex_bound as strongly_convex_bound
from tailguard.papers.tao2022.lower import convex_lower_bound as convex_lower_bound
from tailguard.papers.tao2022.lower import convex_lower_bound_pure as convex_lower_bound_pure
from tailguard.papers.tao2022.lower import mean_lower_bound as mean_lower_bound
from tailguard.papers.tao2022.lower import mean_lower_bound_pure as mean_lower_bound_pure
from tailguard.papers.tao2022.lower import scalar_lower_bound as scalar_lower_bound
from tailguard.papers.tao2022.lower import sparse_lower_bound as sparse_lower_bound
from tailguard.papers.tao2022.lower import sparse_lower_bound_pure as sparse_lower_bound_pure
from tailguard.papers.tao2022.lower import sparse_mean_lower_bound as sparse_mean_lower_bound
from tailguard.papers.tao2022.lower import (
    sparse_mean_lower_bound_pure as sparse_mean_lower_bound_pure,
)
from tailguard.papers.tao2022.lower import (
    strongly_convex_lower_bound as strongly_convex_lower_bound,
)
from tailguard.papers.tao2022.lower import (
    strongly_convex_lower_bound_pure as strongly_convex_lower_bound_pure,
)
from tailguard.papers.tao2022.means import truncated_mean as truncated_mean
from tailguard.papers.tao2022.theorems import convex as convex
from tailguard.papers.tao2022.theorems import sparse as sparse
from tailguard.papers.tao2022.theorems import strongly_convex as strongly_convex
