"""Counts of gradient norms are whole numbers, and are charged as such."""

import numpy as np

import tailguard as tg
from tailguard.queries.counts import CountBelow
from tailguard.queries.norm_counts import CountNormsBelow


def test_a_count_of_norms_gets_the_noise_of_any_other_count():
    norms = CountNormsBelow(tg.losses.Squared(), np.zeros(3)).calibrate(1_000, 3, mu=0.3)
    others = CountBelow(columns=(0,)).calibrate(1_000, 3, mu=0.3)
    assert (norms.grid, norms.noise_std) == (others.grid, others.noise_std)
