"""Solvers that only the papers need: phases, secret batches, groups, and DP-SGD."""

from tailguard.papers.solvers.doubling_accelerated import DoublingAccelerated
from tailguard.papers.solvers.dp_sgd import DpSgd, sampled_noise_over_sensitivity
from tailguard.papers.solvers.grouped_descent import GroupedDescent
from tailguard.papers.solvers.localised import Localised
from tailguard.papers.solvers.permuted_accelerated import PermutedAccelerated
from tailguard.papers.solvers.phased_growth import DoublingLocalised, ShrinkingLocalised

__all__ = [
    "DoublingAccelerated",
    "DoublingLocalised",
    "DpSgd",
    "GroupedDescent",
    "Localised",
    "PermutedAccelerated",
    "ShrinkingLocalised",
    "sampled_noise_over_sensitivity",
]
