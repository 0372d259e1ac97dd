from tailguard.papers.solvers.doubling_accelerated import DoublingAccelerated as DoublingAccelerated
from tailguard.papers.solvers.dp_sgd import DpSgd as DpSgd
from tailguard.papers.solvers.dp_sgd import (
    sampled_noise_over_sensitivity as sampled_noise_over_sensitivity,
)
from tailguard.papers.solvers.grouped_descent import GroupedDescent as GroupedDescent
from tailguard.papers.solvers.localised import Localised as Localised
from tailguard.papers.solvers.permuted_accelerated import PermutedAccelerated as PermutedAccelerated
from tailguard.papers.solvers.phased_growth import DoublingLocalised as DoublingLocalised
from tailguard.papers.solvers.phased_growth import ShrinkingLocalised as ShrinkingLocalised
