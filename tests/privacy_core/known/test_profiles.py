"""Privacy profiles of every leaf on a grid, and the loss distributions made from them."""

import math

import numpy as np
import pytest

from support.known import outcome
from tailguard.privacy.accounting import profiles
from tailguard.privacy.accounting.profiles import loss_distribution, profile_of
from tailguard.privacy.amplification.leaves import KNOWN_BY_PROFILE
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    Nothing,
    Pure,
    Repeated,
    Sampled,
    Selected,
    Shuffled,
    ShuffledPure,
    ZeroConcentrated,
)

LEAVES = [
    *(Gaussian(0.05), Gaussian(1.0), Gaussian(40.0)),
    *(Laplace(0.3), Laplace(4.0), Pure(0.3), Pure(4.0), Approximate(0.7, 1e-3)),
    *(BoundedRange(0.4), BoundedRange(3.0), ZeroConcentrated(0.02), ZeroConcentrated(2.0)),
    *(Sampled(1.5, 0.05), Sampled(0.4, 1.0), Sampled(2.0, 0.02, "poisson")),
    *(Shuffled(0.3, 60), Shuffled(0.1, 2000), Shuffled(30.0, 20)),
    *(ShuffledPure(0.5, 50), ShuffledPure(2.0, 3), ShuffledPure(0.2, 1)),
    *(Selected(0.3, 8.0), Selected(0.1, 3.0, "logarithmic"), Selected(0.2, 5.0, "poisson")),
    *(Selected(0.2, 1.0), Selected(60.0, 4.0)),
]


@pytest.mark.parametrize("leaf", LEAVES, ids=str)
def test_profile(known, leaf):
    profile = profile_of(leaf)
    places = [-0.1, 0.0, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0, 1.001, 1.5]
    e = profile.end * np.array(places)
    known([profile.end, profile.straight, *profile.delta(np.maximum(e, 0.0))], rel=1e-11)


@pytest.mark.parametrize("leaf", [*LEAVES[3:12]], ids=str)
def test_loss_distribution(known, leaf):
    losses = loss_distribution(profile_of(leaf), 0.01).self_compose(3)
    deltas = [losses.get_delta_for_epsilon(e) for e in (-0.5, 0.0, 0.1, 0.5, 1.0, 3.0, 9.0)]
    known([*deltas, losses.get_epsilon_for_delta(1e-3)], rel=1e-9)


def test_hulls(known):
    e = np.linspace(0.0, 3.0, 13)
    bumpy = np.exp(-e) * (1.0 + 0.3 * np.cos(7.0 * e)) / 1.3
    far = np.linspace(0.0, 699.9, 4)
    known(
        [
            profiles.convexified(e, bumpy),
            profiles.mirrored_hull(e, bumpy),
            profiles.mirrored_hull(e - 0.5, bumpy),
            profiles.convexified(far, np.array([0.5, 0.6, 0.1, 0.0])),
            profiles.convexified(far + 1.0, np.array([0.5, 0.6, 0.1, 0.0])),
            profiles.convexified(1.0002 * far, np.array([0.5, 0.6, 0.1, 0.0])),
        ]
    )


def test_floats_tell_losses_apart_up_to_seven_hundred():
    spans = (math.nextafter(700.0, 0.0), 700.0, math.nextafter(700.0, 800.0))
    assert [profiles.told_apart(span) for span in spans] == [True, False, False]


def test_only_leaves_have_profiles(known):
    known([outcome(profile_of, event) for event in (Nothing(), Repeated(Gaussian(1.0), 2), 3)])


def test_leaves_that_are_known_by_their_profile_alone(known):
    known(sorted(kind.__name__ for kind in KNOWN_BY_PROFILE))
