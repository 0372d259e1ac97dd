"""Pseudo-random orders of many places: each place once, and no law that accuracy could notice."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from support.sources import QuietSource
from support.statistics import goodness_of_fit
from tailguard.noise import orders
from tailguard.noise.orders import (
    MOST_SAMPLED,
    KeyedOrder,
    order_of_places,
    random_permutation,
    random_sample,
    sample_of_places,
)
from tailguard.noise.sources import SimulationSource

FALSE_ALARM = 1e-6


def keyed(count, source, rounds=orders.ROUNDS):
    return KeyedOrder(count, source.words(rounds))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 1000, 1024, 1025, 40_000])
def test_every_place_comes_once(count):
    for seed in range(5):
        order = keyed(count, SimulationSource(seed))
        assert len(order) == count
        assert sorted(order[:].tolist()) == list(range(count))
        assert order[3:17].tolist() == order[:].tolist()[3:17]
        positions = np.array([count - 1, 0])
        assert order[positions].tolist() == order[:][positions].tolist()


@pytest.mark.parametrize("rounds", [1, 2, 7, 8])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 1000, 1025, 40_000])
def test_positions_undo_the_order(count, rounds):
    order = keyed(count, SimulationSource(count), rounds)
    positions = np.arange(count)
    places, found = order.found(order[:])
    assert places.tolist() == order[:].tolist()
    assert found.tolist() == positions.tolist()
    assert order[order.found(positions)[1]].tolist() == positions.tolist()


@pytest.mark.parametrize("length", [1, 3, 400])
def test_a_sample_is_the_first_places_of_an_order(length):
    key = SimulationSource(6).words(orders.ROUNDS)
    whole, sample = KeyedOrder(1000, key), KeyedOrder(1000, key, length)
    assert len(sample) == length
    assert sample[:].tolist() == whole[:length].tolist()
    places, positions = sample.found(np.arange(1000))
    assert sorted(positions.tolist()) == list(range(length))
    assert sample[positions].tolist() == places.tolist()


def test_few_places_are_sampled_exactly_and_many_need_no_memory():
    few = sample_of_places(5 * MOST_SAMPLED, MOST_SAMPLED, SimulationSource(3))
    drawn = random_sample(5 * MOST_SAMPLED, MOST_SAMPLED, SimulationSource(3))
    np.testing.assert_array_equal(few, drawn)
    many = sample_of_places(2**40, 2**37, SimulationSource(3))
    assert len(many) == 2**37
    assert len(set(many[2**36 : 2**36 + 1000].tolist())) == 1000
    places = np.arange(2**39, 2**39 + 4096)
    share = len(many.found(places)[0]) / 4096
    assert abs(share - 1 / 8) < 5 * (7 / 64 / 4096) ** 0.5  # five standard deviations


def test_every_order_of_few_places_is_equally_likely():
    n_draws, each = 10_000, list(permutations(range(4)))
    uniform = np.full(24, 1 / 24)
    rounds = {4: [], orders.ROUNDS: []}
    for count, drawn in rounds.items():
        source = SimulationSource(1)
        counted = Counter(tuple(keyed(4, source, count)[:].tolist()) for _ in range(n_draws))
        drawn += [counted[order] for order in each]
    facts = {"false_alarm": FALSE_ALARM, "alternative": np.array(rounds[4]) / n_draws}
    verdict = goodness_of_fit(rounds[orders.ROUNDS], uniform, **facts)
    assert verdict.accepted
    assert verdict.power >= 0.999
    assert not goodness_of_fit(rounds[4], uniform, **facts).accepted


@pytest.mark.parametrize(("rounds", "uniform"), [(orders.ROUNDS, True), (2, False)])
def test_neighbours_come_from_anywhere(rounds, uniform):
    """Of 2^20 places, the 32nds that pairs of neighbours of the order come from."""
    source, counted = SimulationSource(2), np.zeros((32, 32))
    for _ in range(8):
        pairs = keyed(2**20, source, rounds)[: 2**14].reshape(-1, 2) >> 15
        np.add.at(counted, (pairs[:, 0], pairs[:, 1]), 1)
    flat = np.full(1024, 2.0**-10)
    verdict = goodness_of_fit(counted.ravel(), flat, false_alarm=FALSE_ALARM, alternative=flat)
    assert verdict.accepted == uniform


def test_few_places_are_drawn_exactly_and_many_need_no_memory():
    few = order_of_places(1000, SimulationSource(3))
    assert few.tolist() == random_permutation(1000, SimulationSource(3)).tolist()
    many = order_of_places(2**40, SimulationSource(3))
    assert len(set(many[2**39 : 2**39 + 1000].tolist())) == 1000
    assert many[:5].tolist() == order_of_places(2**40, SimulationSource(3))[:5].tolist()


def test_any_key_gives_an_order():
    assert sorted(keyed(99, QuietSource())[:].tolist()) == list(range(99))


def test_words_are_mixed_as_published():
    """Steele, Lea and Flood 2014: the first number of SplitMix64 from the seed 0."""
    (mixed,) = orders._mixed(np.array([0x9E3779B97F4A7C15], dtype=np.uint64))
    assert int(mixed) == 0xE220A8397B1DCDAF
