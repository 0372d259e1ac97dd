from tailguard.solvers.doubling_accelerated import DoublingAccelerated
from tailguard.solvers.hard_thresholding import HardThresholding
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle, make_oracle
from tailguard.solvers.permuted_accelerated import PermutedAccelerated
from tailguard.solvers.phased.localised import Localised
from tailguard.solvers.phased.tsybakov import DoublingLocalised, ShrinkingLocalised
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate
from tailguard.solvers.whitened.solver import WhitenedNewton

__all__ = [
    "DoublingAccelerated",
    "DoublingLocalised",
    "HardThresholding",
    "Localised",
    "NoisyGradientDescent",
    "Oracle",
    "PermutedAccelerated",
    "SampleAndAggregate",
    "ShrinkingLocalised",
    "WhitenedNewton",
    "make_oracle",
]
