"""A covering Gaussian release lies above the profile at every level, and little above."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from tailguard.privacy.accounting.cover import COVER_FAILURE, _covers, covering_mu
from tailguard.privacy.accounting.gaussian import delta_of, mu_of_pure
from tailguard.privacy.accounting.pld import PldAccountant
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Nothing,
    Pure,
    Repeated,
    Sampled,
    ShuffledPure,
    Unbounded,
    ZeroConcentrated,
)

EVENTS = [
    Gaussian(0.5),
    Pure(0.3),
    Laplace(0.3),
    Repeated(Laplace(0.1), 20),
    BoundedRange(0.3),
    ZeroConcentrated(0.02),
    ZeroConcentrated(0.5),
    Composed((ZeroConcentrated(0.02), Gaussian(0.2))),
    Composed((ZeroConcentrated(0.02), Approximate(0.2, 1e-9))),
]
SAMPLES = Repeated(Sampled(0.5, 0.02), 50)
every_event = pytest.mark.parametrize("event", EVENTS, ids=str)
cover = cache(covering_mu)


def worst_excess(event, mu, missed, levels):
    accountant = PldAccountant().compose(event)
    return max(accountant.delta(e) - delta_of(mu, e) - missed for e in levels)


@pytest.mark.parametrize("event", [*EVENTS, SAMPLES], ids=str)
def test_the_cover_lies_above_between_the_levels_that_were_compared(event):
    mu, missed = cover(event)
    levels = np.random.default_rng(0).uniform(0.0, 12.0 * mu, 400)
    assert worst_excess(event, mu, missed, levels) <= 0.0
    near = [0.0, *np.geomspace(1e-9, 1e-2, 50) * mu]
    assert worst_excess(event, mu, missed, near) <= 0.0


@every_event
def test_a_smaller_mu_does_not_cover(event):
    mu, missed = cover(event)
    levels = np.linspace(0.0, 12.0 * mu, 1_000)
    assert worst_excess(event, mu * (1 - 2e-3), missed, levels) > 0.0


def test_a_profile_above_the_cover_in_one_interval_is_not_covered():
    """A convex curve lies below the chord between two levels at which both are nearly equal."""
    levels = np.linspace(0.0, 3.0, 31)
    below, above = (np.array([delta_of(mu, level) for level in levels]) for mu in (0.5, 1.0))
    assert _covers(1.0, levels, below)
    for first in (0, 7, 29):
        touching = below.copy()
        touching[first : first + 2] = (1.0 - 1e-9) * above[first : first + 2]
        assert not _covers(1.0, levels, touching)


def test_levels_that_are_far_apart_cost_accuracy_and_no_more(monkeypatch):
    event = ShuffledPure(1.0, 1_000)  # its profile is closest to the cover's between levels
    monkeypatch.setattr("tailguard.privacy.accounting.cover.N_LEVELS", 3)
    mu, missed = covering_mu(event)
    assert worst_excess(event, mu, missed, np.linspace(0.0, 6.0 * mu, 60)) <= 0.0


def test_where_the_cover_is_known_it_is_found():
    assert cover(Gaussian(0.5))[0] == pytest.approx(0.5, rel=1e-4)
    assert cover(Pure(0.3))[0] == pytest.approx(mu_of_pure(0.3), rel=1e-4)
    whole = covering_mu(Composed((Gaussian(0.3), Gaussian(0.4))))[0]
    assert whole == pytest.approx(0.5, rel=1e-4)


def test_what_may_be_missed_is_told():
    assert cover(Gaussian(0.5))[1] >= COVER_FAILURE
    both = Composed((ZeroConcentrated(0.02), Approximate(0.2, 1e-9)))
    assert cover(both)[1] >= COVER_FAILURE + 1e-9


@pytest.mark.parametrize(
    "event", [Unbounded(), Nothing(), ZeroConcentrated(1e4), Pure(200.0)], ids=str
)
def test_what_has_no_profile_has_no_cover(event):
    assert covering_mu(event) is None


def outcomes(event):
    """Return probabilities of outcomes under both neighbours."""
    match event:
        case Pure(epsilon=epsilon):
            yes = 1.0 / (1.0 + math.exp(-epsilon))
            return [(yes, 1.0 - yes), (1.0 - yes, yes)]
        case Gaussian(mu=mu):
            edges = np.linspace(-9.0, 9.0 + mu, 200)
            edges[0], edges[-1] = -np.inf, np.inf
            return list(zip(np.diff(norm.cdf(edges, mu)), np.diff(norm.cdf(edges)), strict=True))
        case _:
            raise AssertionError(event)


def test_strategies_that_follow_answers_stay_below_the_gaussian_of_the_same_squares():
    """After each first answer the worst second event of the squared mu that is left is taken."""
    first = Pure(0.3)
    room = cover(first)[0] ** 2 + 0.3**2
    seconds = []
    for epsilon in np.linspace(0.02, 0.3, 15):
        mu = cover(Pure(epsilon))[0]
        if mu**2 <= 0.3**2:
            rest = math.sqrt(0.3**2 - mu**2) * (1 - 1e-9)
            pure, gaussian = outcomes(Pure(epsilon)), outcomes(Gaussian(max(rest, 1e-9)))
            seconds.append([(a * c, b * d) for a, b in pure for c, d in gaussian])
    assert len(seconds) > 5
    for level in np.linspace(0.0, 3.0, 31):
        worst = sum(
            max(
                sum(max(0.0, p * a - math.exp(level) * q * b) for a, b in second)
                for second in seconds
            )
            for p, q in outcomes(first)
        )
        assert worst <= delta_of(math.sqrt(room), level) + 2 * COVER_FAILURE
