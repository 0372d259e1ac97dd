"""Zhao and others (2024), Theorem 6: groups that are fixed hide nothing of each other."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.papers.zhao2024.parameters import printed_amplified_rho
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of


def test_theorem_six_is_false_for_fixed_groups():
    """One group apart from all others: it is recognised, and its own noise is all there is."""
    n_groups, size, promise = 1_000_000, 1_000, tg.ApproxDP(0.2305, 1e-6)
    rho = printed_amplified_rho(n_groups=n_groups, epsilon=promise.epsilon, delta=promise.delta)
    mu = np.sqrt(2.0 * rho)
    assert epsilon_of(mu, promise.delta) == pytest.approx(0.4629, abs=1e-4)
    assert delta_of(mu, promise.epsilon) > 1_000 * promise.delta
    # The others lie 2 R away, in noise deviations: no group is ever taken for another.
    assert size * mu > 50.0
