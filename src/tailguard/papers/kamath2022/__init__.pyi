from tailguard.papers.kamath2022 import parameters as parameters
from tailguard.papers.kamath2022 import printed as printed
from tailguard.papers.kamath2022.bounds import clamping_bias as clamping_bias
from tailguard.papers.kamath2022.bounds import convex_bound as convex_bound
from tailguard.papers.kamath2022.bounds import (
    convex_bound_with_probability as convex_bound_with_probability,
)
from tailguard.papers.kamath2022.bounds import convex_lower_bound as convex_lower_bound
from tailguard.papers.kamath2022.bounds import convex_lower_bound_pure as convex_lower_bound_pure
from tailguard.papers.kamath2022.bounds import mean_bound as mean_bound
from tailguard.papers.kamath2022.bounds import mean_bound_pure as mean_bound_pure
from tailguard.papers.kamath2022.bounds import mean_error as mean_error
from tailguard.papers.kamath2022.bounds import mean_lower_bound as mean_lower_bound
from tailguard.papers.kamath2022.bounds import mean_lower_bound_pure as mean_lower_bound_pure
from tailguard.papers.kamath2022.bounds import soft_convex_bound as soft_convex_bound
from tailguard.papers.kamath2022.bounds import strongly_convex_bound as strongly_convex_bound
from tailguard.papers.kamath2022.bounds import (
    strongly_convex_bound_with_probability as strongly_convex_bound_with_probability,
)
from tailguard.papers.kamath2022.bounds import (
    strongly_convex_lower_bound as strongly_convex_lower_bound,
)
from tailguard.papers.kamath2022.means import clamped_mean as clamped_mean
from tailguard.papers.kamath2022.means import soft_mean as soft_mean
from tailguard.papers.kamath2022.theorems import convex as convex
from tailguard.papers.kamath2022.theorems import convex_with_probability as convex_with_probability
from tailguard.papers.kamath2022.theorems import soft_convex as soft_convex
from tailguard.papers.kamath2022.theorems import strongly_convex as strongly_convex
