from tailguard.papers.wang2020 import parameters as parameters
from tailguard.papers.wang2020.bounds import convex_bound as convex_bound
from tailguard.papers.wang2020.bounds import private_mean_bound as private_mean_bound
from tailguard.papers.wang2020.bounds import sample_aggregate_bound as sample_aggregate_bound
from tailguard.papers.wang2020.bounds import smoothed_mean_error as smoothed_mean_error
from tailguard.papers.wang2020.bounds import strongly_convex_bound as strongly_convex_bound
from tailguard.papers.wang2020.bounds import trimmed_least_rows as trimmed_least_rows
from tailguard.papers.wang2020.bounds import (
    trimmed_strongly_convex_bound as trimmed_strongly_convex_bound,
)
from tailguard.papers.wang2020.means import soft_mean as soft_mean
from tailguard.papers.wang2020.means import trimmed_mean as trimmed_mean
from tailguard.papers.wang2020.smooth_theorems import sample_aggregate as sample_aggregate
from tailguard.papers.wang2020.smooth_theorems import (
    trimmed_strongly_convex as trimmed_strongly_convex,
)
from tailguard.papers.wang2020.theorems import smoothed_convex as smoothed_convex
from tailguard.papers.wang2020.theorems import smoothed_strongly_convex as smoothed_strongly_convex
from tailguard.papers.wang2020.theorems import stochastic as stochastic
