"""Numbers of tries follow their law, by a test that rejects another mean and another law."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from support.sources import ScriptedSource
from tailguard.noise.sources import CryptographicSource, SimulationSource
from tailguard.noise.tries import draw_number_of_tries, draw_place
from tailguard.privacy.events import LAWS
from tailguard.privacy.tries import NumberOfTries

N_DRAWS, FALSE_ALARM = 6_000, 1e-6


def chances_below(tries, cells):
    """Chances of the numbers below ``cells``, and of all others together."""
    found = [float(tries.first_chance())]
    for number in range(1, cells - 1):
        found.append(found[-1] * float(tries.chance_ratio(number)))
    return np.array([*found, 1.0 - sum(found)])


def accepted(draws, tries):
    """Chi-square test of the numbers below eight, and of the rest together."""
    counts = np.bincount(np.minimum(draws, 8), minlength=9)[1:]
    expected = len(draws) * chances_below(tries, 8)
    return float(((counts - expected) ** 2 / expected).sum()) < chi2.isf(FALSE_ALARM, 7)


def power(tries, true):
    """Chance to reject draws of ``true``, in the large-sample limit."""
    claimed, real = chances_below(tries, 8), chances_below(true, 8)
    away = N_DRAWS * float(((real - claimed) ** 2 / claimed).sum())
    return float(ncx2.sf(chi2.isf(FALSE_ALARM, 7), 7, away))


@pytest.mark.parametrize("law", LAWS)
def test_numbers_follow_their_law_and_no_other(law):
    tries, source = NumberOfTries(5.0, law), SimulationSource(3)
    draws = np.array([draw_number_of_tries(tries, source) for _ in range(N_DRAWS)])
    assert accepted(draws, tries)
    others = [NumberOfTries(4.0, law), NumberOfTries(6.5, law)]
    others += [NumberOfTries(5.0, other) for other in LAWS if other != law]
    for other in others:
        assert power(other, tries) > 0.999
        assert not accepted(draws, other)


class Ones:
    """A source whose uniform number is the largest."""

    private = False

    def words(self, count):
        return np.full(count, 2**64 - 1, dtype=np.uint64)


@pytest.mark.parametrize("law", LAWS)
def test_a_number_ends_at_the_limit(law):
    tries = NumberOfTries(3.0, law)
    assert draw_number_of_tries(tries, Ones()) == tries.limit


@pytest.mark.parametrize("law", LAWS)
def test_one_expected_try_is_one(law):
    source = CryptographicSource()
    assert {draw_number_of_tries(NumberOfTries(1.0, law), source) for _ in range(50)} == {1}


def test_places_are_uniform():
    source = SimulationSource(0)
    counts = np.bincount([draw_place(3, source) for _ in range(N_DRAWS)], minlength=3)
    statistic = ((counts - N_DRAWS / 3) ** 2 / (N_DRAWS / 3)).sum()
    assert statistic < chi2.isf(FALSE_ALARM, 2)


def test_a_number_of_tries_that_hits_a_chance_exactly_is_the_next_one():
    tries = NumberOfTries(2.0)  # one try with a chance of a half, two with a quarter
    for first, number in ((2**63 - 1, 1), (2**63, 2), (3 * 2**62 - 1, 2), (3 * 2**62, 3)):
        assert draw_number_of_tries(tries, ScriptedSource([first, 0, 0, 0, 0, 0])) == number
