"""What the samplers of places and of numbers of tries make of given words."""

from decimal import localcontext

import mpmath
import numpy as np
import pytest

from support.known import outcome
from support.sources import QuietSource, RepeatedSource, ScriptedSource
from tailguard.noise import gumbel_race
from tailguard.noise.peeling import select_by_laplace
from tailguard.noise.sources import SimulationSource, make_source
from tailguard.noise.tries import draw_number_of_tries, draw_place
from tailguard.privacy.selection.tries import NumberOfTries

LAST = 2**64 - 1


def source(seed=5):
    return SimulationSource(seed)


SCORES = np.array([3, -50, 7, 7, 0, 12, 12, 11, -(2**40), 2**40 - 2**39])


@pytest.mark.parametrize("count", [1, 2, 5, 9, 10, 11])
@pytest.mark.parametrize("scale", [0.5, 4.0, 2.0**30])
def test_gumbel(known, count, scale):
    found = [gumbel_race.gumbel_top(SCORES, count, scale, source(seed)) for seed in range(6)]
    tied = [
        gumbel_race.gumbel_top(SCORES, count, scale, RepeatedSource(*words))
        for words in ((2**63,), (0, LAST), (0,), (LAST, 5, 2**26, 2**26 - 1, 2**64 - 2**26))
    ]
    known([found, tied])


def test_gumbel_keys(known):
    words = np.array([0, 1, 5, 2**26, 2**40, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**26, LAST - 1,
                      LAST], dtype=np.uint64)  # fmt: skip
    with localcontext(prec=gumbel_race.PRECISION):
        exact = [gumbel_race._exponential(int(word), [7, 2**63, 0, LAST]) for word in words]
    known([gumbel_race._gumbel(words), [str(each) for each in exact]])
    for word, key in zip(words.tolist(), gumbel_race._gumbel(words), strict=True):
        with mpmath.workdps(50):
            true = -mpmath.log(-mpmath.log((mpmath.mpf(word) + 0.5) / 2**64))
        assert key == pytest.approx(float(true), rel=1e-12, abs=1e-12)


def test_gumbel_order(known):
    words = np.full(5, 2**63 + 12345, dtype=np.uint64)
    places = np.arange(5)
    scores = np.array([4, 0, 4, 9, 3])
    found = [gumbel_race._settle_order(scores, words, scale, places, source(seed))
             for scale in (0.3, 5.0) for seed in range(4)]  # fmt: skip
    known([found, gumbel_race._settle_order(scores, words, 1.0, places, QuietSource())])


def test_noisy_maxima(known):
    magnitudes = np.array([0, 900, 5, 1000, 3, 3])
    known([select_by_laplace(magnitudes, count, k, source(seed))
           for count in (1, 2, 6) for k in (0, 5) for seed in (1, 2)])  # fmt: skip


def test_a_number_of_tries_that_hits_a_chance_exactly_is_the_next_one():
    tries = NumberOfTries(2.0)  # one try with a chance of a half, two with a quarter
    for first, number in ((2**63 - 1, 1), (2**63, 2), (3 * 2**62 - 1, 2), (3 * 2**62, 3)):
        assert draw_number_of_tries(tries, ScriptedSource([first, 0, 0, 0, 0, 0])) == number


@pytest.mark.parametrize("law", ["geometric", "logarithmic", "poisson"])
def test_tries(known, law):
    words, found = source(), []
    for mean in (1.0, 1.5, 12.0):
        tries = NumberOfTries(mean, law)
        found.append([draw_number_of_tries(tries, words) for _ in range(6)])
        found += [draw_number_of_tries(tries, RepeatedSource(word)) for word in (0, 2**63, LAST)]
    known([found, [draw_place(n, words) for n in (1, 2, 10, 2**40)]])


def test_sources(known):
    simulated = make_source(7)
    before = simulated.words(3)
    simulated.move_to(10)
    after = simulated.words(2)
    again = make_source(np.int64(7)).words(12)
    np.testing.assert_array_equal(np.append(before, after), again[[0, 1, 2, 10, 11]])
    known([before, simulated.n_drawn, before.flags.writeable, make_source(None).n_drawn])
    known_wrong = [outcome(make_source, bad) for bad in (-1, 1.5, True, "1", [3], np.float64(2.0))]
    assert all("random_state must be" in str(each) for each in known_wrong)
    private = make_source(None)
    private.move_to(3)
    assert (private.words(3).shape, private.private, private.n_drawn) == ((3,), True, 0)
