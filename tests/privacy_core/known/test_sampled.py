"""Profiles of samples on a grid, and what is refused."""

import numpy as np
import pytest

from support.known import outcome
from tailguard.privacy.amplification import sampled

PROFILES = ("fixed_size_profile", "poisson_profile")
E = np.array([0.0, 1e-6, 0.01, 0.1, 0.5, 1.0, 2.5, 7.0, 30.0, 250.0, 299.0, 300.0, 310.0])


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("rate", [1e-4, 0.05, 0.6, 1.0])
@pytest.mark.parametrize("mu", [0.05, 0.9, 3.0, 30.0])
def test_profiles(known, name, mu, rate):
    profile = getattr(sampled, name)(mu, rate)
    known([profile.end, profile.delta(E)], rel=1e-9)


@pytest.mark.parametrize("name", PROFILES)
def test_refusals(known, name):
    call = getattr(sampled, name)
    wrong = [(0.0, 0.5), (-1.0, 0.5), (1.0, 0.0), (1.0, 1.0000001), (1.0, None), (None, 0.5)]
    known([outcome(call, *each) for each in wrong])
