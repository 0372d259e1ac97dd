from tailguard.papers.instances.hard_instances import hard_means as hard_means
from tailguard.papers.instances.hard_instances import hard_means_sampling as hard_means_sampling
from tailguard.papers.instances.hard_instances import hard_scalar_mean as hard_scalar_mean
from tailguard.papers.instances.hard_instances import hard_sparse_means as hard_sparse_means
from tailguard.papers.instances.hard_instances import linear_excess as linear_excess
from tailguard.papers.instances.hard_instances import one_column_each as one_column_each
from tailguard.papers.instances.hard_instances import pure_chance as pure_chance
from tailguard.papers.instances.hard_instances import squared_excess as squared_excess
from tailguard.papers.instances.hard_instances import zcdp_chance as zcdp_chance
from tailguard.papers.instances.packings import constant_weight_words as constant_weight_words
from tailguard.papers.instances.packings import sign_words as sign_words
from tailguard.papers.instances.packings import smallest_distance as smallest_distance
from tailguard.papers.instances.packings import sparse_words as sparse_words
from tailguard.papers.instances.simulated import fourth_power_line as fourth_power_line
from tailguard.papers.instances.simulated import (
    fourth_power_lipschitz as fourth_power_lipschitz,
)
from tailguard.papers.instances.simulated import fourth_power_scale as fourth_power_scale
from tailguard.papers.instances.tsybakov import growth_constant as growth_constant
from tailguard.papers.instances.tsybakov import hard_tsybakov as hard_tsybakov
from tailguard.papers.instances.tsybakov import hard_tsybakov_sampling as hard_tsybakov_sampling
