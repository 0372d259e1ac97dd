"""Hard instances behind the papers' lower bounds, their packings, and laws with heavy tails.

A hard instance is a law that knows its mean and moments, and draws records.
"""

from tailguard.papers.instances.fourth_powers import (
    fourth_power_line,
    fourth_power_lipschitz,
    fourth_power_scale,
)
from tailguard.papers.instances.hard_instances import (
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
from tailguard.papers.instances.packings import (
    constant_weight_words,
    sign_words,
    smallest_distance,
    sparse_words,
)
from tailguard.papers.instances.tsybakov import (
    growth_constant,
    hard_tsybakov,
    hard_tsybakov_sampling,
)

__all__ = [
    "constant_weight_words",
    "fourth_power_line",
    "fourth_power_lipschitz",
    "fourth_power_scale",
    "growth_constant",
    "hard_means",
    "hard_means_sampling",
    "hard_scalar_mean",
    "hard_sparse_means",
    "hard_tsybakov",
    "hard_tsybakov_sampling",
    "linear_excess",
    "one_column_each",
    "pure_chance",
    "sign_words",
    "smallest_distance",
    "sparse_words",
    "squared_excess",
    "zcdp_chance",
]
