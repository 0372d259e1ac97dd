"""Private methods of other papers, to compare with; exported by ``tg.baselines``."""

from tailguard.solvers.baselines.dp_sgd import DpSgd, sampled_noise_over_sensitivity

__all__ = ["DpSgd", "sampled_noise_over_sensitivity"]
