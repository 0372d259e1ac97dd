"""Amplification: what secrecy of the sample or of the shuffle is worth, as privacy profiles.

Secret means drawn from the same cryptographic source as the noise, anew for every release, by a
rule that does not read the records, and never published. Otherwise nothing is amplified.
"""

from tailguard.privacy.amplification.clones import clones_delta, clones_epsilon
from tailguard.privacy.amplification.grouped import GroupedShuffle, grouped_shuffle
from tailguard.privacy.amplification.repeated import repeated_clones_epsilon
from tailguard.privacy.amplification.sampled import (
    fixed_size_profile,
    poisson_pair_profile,
    poisson_profile,
)
from tailguard.privacy.amplification.shuffled import (
    shuffled_epsilon,
    shuffled_mu,
    shuffled_profile,
    shuffled_pure_profile,
)

__all__ = [
    "GroupedShuffle",
    "clones_delta",
    "clones_epsilon",
    "fixed_size_profile",
    "grouped_shuffle",
    "poisson_pair_profile",
    "poisson_profile",
    "repeated_clones_epsilon",
    "shuffled_epsilon",
    "shuffled_mu",
    "shuffled_profile",
    "shuffled_pure_profile",
]
