"""Simulators with public parameters, for examples, benchmarks and the demo; never for private data.

One simulator a file. Each returns a :class:`~tailguard.datasets.dataset.Dataset` that knows the
coefficients it was drawn from, so that an answer can be compared with the truth. The hard instances
behind the papers' lower bounds are laws that know their means and moments, and draw records.
"""

from tailguard.datasets.dataset import Dataset
from tailguard.datasets.hard_instances import (
    hard_means,
    hard_means_sampling,
    hard_scalar_mean,
    hard_sparse_means,
    linear_excess,
    one_column_each,
    pure_chance,
    squared_excess,
    zcdp_chance,
)
from tailguard.datasets.insurance import insurance_claims
from tailguard.datasets.linear import heavy_tailed_linear
from tailguard.datasets.logistic import heavy_tailed_logistic
from tailguard.datasets.packings import (
    constant_weight_words,
    sign_words,
    smallest_distance,
    sparse_words,
)
from tailguard.datasets.poisson import heavy_tailed_poisson
from tailguard.datasets.registry import SIMULATORS, simulate
from tailguard.datasets.tsybakov import growth_constant, hard_tsybakov, hard_tsybakov_sampling

__all__ = [
    "SIMULATORS",
    "Dataset",
    "constant_weight_words",
    "growth_constant",
    "hard_means",
    "hard_means_sampling",
    "hard_scalar_mean",
    "hard_sparse_means",
    "hard_tsybakov",
    "hard_tsybakov_sampling",
    "heavy_tailed_linear",
    "heavy_tailed_logistic",
    "heavy_tailed_poisson",
    "insurance_claims",
    "linear_excess",
    "one_column_each",
    "pure_chance",
    "sign_words",
    "simulate",
    "smallest_distance",
    "sparse_words",
    "squared_excess",
    "zcdp_chance",
]
