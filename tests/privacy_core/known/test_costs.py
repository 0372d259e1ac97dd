"""Costs of selection on a grid: ratios, profiles, divergences, and how private a try must be."""

import math

import numpy as np
import pytest

from support.known import outcome
from tailguard.privacy.events import Selected
from tailguard.privacy.events.events import LAWS
from tailguard.privacy.guarantees import ApproxDP
from tailguard.privacy.selection import costs
from tailguard.privacy.selection.budget import mu_of_a_try
from tailguard.privacy.selection.tries import NumberOfTries

MEANS = (1.0, 1.0001, 1.7, 6.0, 90.0, 1000.0)
every_law = pytest.mark.parametrize("law", LAWS)


@every_law
@pytest.mark.parametrize("mean", MEANS)
def test_tries(known, law, mean):
    tries = NumberOfTries(mean, law)
    known(
        [
            *(tries.shape, tries.parameter, tries.single, tries.mean_bound, tries.limit),
            [tries.never(share) for share in (0.0, 1e-9, 0.1, 0.5, 1.0)],
            [float(tries.first_chance()), *(float(tries.chance_ratio(n)) for n in (1, 2, 7))],
        ],
        rel=1e-11 if mean == 1.0001 else 4e-13,
    )


@every_law
@pytest.mark.parametrize("mean", MEANS)
def test_ratio_and_divergence(known, law, mean):
    events = [Selected(mu, mean, law) for mu in (0.01, 0.2, 1.5)]
    known(
        [
            [costs.density_log_ratio(event) for event in events],
            [costs.excess_divergence(e, x) for e in events for x in (1e-3, 0.5, 3.0, 80.0)],
        ],
        rel=1e-11 if mean == 1.0001 else 4e-13,
    )


@every_law
@pytest.mark.parametrize("mean", [1.0, 2.0, 12.0])
def test_profile(known, law, mean):
    event = Selected(0.25, mean, law)
    ends, chances = costs._number_chances(costs.tries_of(event))
    profile = costs.selected_profile(event)
    e = profile.end * np.array([0.0, 0.01, 0.1, 0.3, 0.6, 0.9, 1.0, 1.1])
    known(
        [
            *(profile.end, profile.delta(e), costs._all_tries_told(event, e[1:-1])),
            *(len(ends), ends[-4:], math.fsum(chances), chances[:6], chances[-3:]),
        ],
        rel=1e-10,
    )


def test_profile_of_losses_beyond_the_floats(known):
    event = Selected(30.0, 5.0)
    profile = costs.selected_profile(event)
    known([profile.end, profile.delta(np.array([0.0, 300.0, 600.0]))], rel=1e-10)


@every_law
@pytest.mark.parametrize("beside", [0.0, 0.7])
def test_mu_of_a_try(known, law, beside):
    promises = (ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-9), ApproxDP(5.0, 1e-3))
    laws = [NumberOfTries(mean, law) for mean in (1.0, 3.0, 40.0)]
    found = [mu_of_a_try(promise, tries, beside) for promise in promises for tries in laws[:2]]
    known([*found, mu_of_a_try(promises[0], laws[2])], rel=1e-9)


def test_refusals(known):
    wrong = [0.999999, 1000.0001, math.nan, None, True]
    known(
        [
            *(outcome(NumberOfTries, bad) for bad in wrong),
            outcome(NumberOfTries, 2.0, "uniform"),
            *(outcome(Selected, 1.0, bad) for bad in wrong),
            *(outcome(Selected, bad, 2.0) for bad in (0.0, -1.0, None)),
            outcome(Selected, 1.0, 2.0, "uniform"),
            *(NumberOfTries(mean) for mean in (1.0, 1000.0)),
        ]
    )
