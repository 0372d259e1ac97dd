"""Random orders, partitions and samples are uniform; keyed orders have each place once."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from support.sources import QuietSource, ScriptedSource
from support.statistics import goodness_of_fit
from tailguard.noise import orders
from tailguard.noise.orders import (
    KeyedOrder,
    order_of_places,
    random_partition,
    random_permutation,
    random_sample,
    sample_of_places,
)
from tailguard.noise.sources import CryptographicSource, SimulationSource

ORDERS = list(permutations(range(4)))
FALSE_ALARM = 1e-6


class CoarseSource:
    """Words of three binary digits: of four words, two are equal more often than not."""

    private = False

    def __init__(self, seed):
        self._source = SimulationSource(seed)

    def words(self, count):
        return self._source.words(count) >> np.uint64(61)


def naive_shuffle_law():
    """The well-known mistake: swap every place with any place, whatever was swapped before."""
    law = Counter()
    for picks in product(range(4), repeat=4):
        order = list(range(4))
        for place, other in enumerate(picks):
            order[place], order[other] = order[other], order[place]
        law[tuple(order)] += 4.0**-4
    return [law[order] for order in ORDERS]


def stable_sort_law():
    """Coarse words that are sorted once: ties keep the order of places."""
    law = Counter()
    for words in product(range(8), repeat=4):
        law[tuple(np.argsort(words, kind="stable").tolist())] += 8.0**-4
    return [law[order] for order in ORDERS]


def counts_of(orders):
    counted = Counter(orders)
    assert set(counted) <= set(ORDERS)
    return [counted[order] for order in ORDERS]


def check_uniform(drawn, biased, alternative):
    """The counts drawn are those of equal chances, and ``biased`` ones, of the other law, not."""
    facts = {"false_alarm": FALSE_ALARM, "alternative": alternative}
    uniform = np.full(len(drawn), 1.0 / len(drawn))
    verdict = goodness_of_fit(drawn, uniform, **facts)
    assert verdict.accepted
    assert verdict.power >= 0.999
    assert not goodness_of_fit(biased, uniform, **facts).accepted


@pytest.mark.parametrize(
    ("source", "alternative"),
    [(SimulationSource(1), naive_shuffle_law()), (CoarseSource(2), stable_sort_law())],
)
def test_every_order_is_equally_likely(source, alternative):
    n_draws = 5_000
    drawn = counts_of(tuple(random_permutation(4, source).tolist()) for _ in range(n_draws))
    check_uniform(drawn, np.random.default_rng(3).multinomial(n_draws, alternative), alternative)


@pytest.mark.parametrize("sizes", [(3, 3, 3), (5, 4), (10,), (1,) * 10, (2, 7)])
def test_blocks_are_disjoint_in_order_and_of_their_sizes(sizes):
    blocks = random_partition(10, sizes, CryptographicSource())
    assert tuple(map(len, blocks)) == sizes
    together = np.concatenate(blocks)
    assert len(set(together.tolist())) == sum(sizes)
    assert set(together.tolist()) <= set(range(10))
    assert all((np.diff(block) > 0).all() for block in blocks)


def test_a_source_that_repeats_itself_ends_and_keeps_the_order():
    np.testing.assert_array_equal(random_permutation(100, QuietSource()), np.arange(100))
    for size in (3, 50, 80):
        np.testing.assert_array_equal(random_sample(100, size, QuietSource()), np.arange(size))


@pytest.mark.parametrize(
    "draw",
    [lambda source: random_permutation(50, source), lambda source: random_sample(999, 50, source)],
    ids=["order", "sample"],
)
def test_two_draws_differ_and_a_seed_repeats(draw):
    first, second = (draw(CryptographicSource()) for _ in range(2))
    assert (first != second).any()
    np.testing.assert_array_equal(*(draw(SimulationSource(7)) for _ in range(2)))


def repeated_word_law(n_places):
    """A sample of two whose second place, if it repeats the first, is the next one."""
    law = Counter()
    for first, second in product(range(n_places), repeat=2):
        law[first, (second + (first == second)) % n_places] += 1.0 / n_places**2
    return law


@pytest.mark.parametrize("n_places", [3, 6])  # ranked as a whole, and drawn one by one
def test_every_ordered_sample_is_equally_likely(n_places):
    n_draws, source = 8_000, SimulationSource(4)
    samples = list(permutations(range(n_places), 2))
    drawn = Counter(tuple(random_sample(n_places, 2, source).tolist()) for _ in range(n_draws))
    assert set(drawn) == set(samples)
    law = repeated_word_law(n_places)
    alternative = [law[sample] for sample in samples]
    biased = np.random.default_rng(5).multinomial(n_draws, alternative)
    check_uniform([drawn[sample] for sample in samples], biased, alternative)


def test_words_that_fit_no_place_and_repetitions_are_dropped():
    """2**64 is 6 k + 4, so that the last four words stand for none of six places."""
    script = ScriptedSource([2**64 - 1, 7, 13, 2**64 - 4, 2**64 - 5])
    assert random_sample(6, 2, script).tolist() == [1, 5]
    assert script.exhausted


@pytest.mark.parametrize(("n_places", "size"), [(1, 1), (10, 1), (10, 5), (10, 6), (10, 10)])
def test_samples_have_their_size_and_no_place_twice(n_places, size):
    for _ in range(20):
        places = random_sample(n_places, size, CryptographicSource())
        assert len(set(places.tolist())) == len(places) == size
        assert set(places.tolist()) <= set(range(n_places))


@pytest.mark.parametrize("law", ["random", "standard_normal", "standard_exponential"])
def test_records_from_the_words_of_the_same_seed_are_not_ranked_by_their_values(law):
    """Simulations often take one seed for records and noise: partners would then be alike."""
    for seed in range(5):
        values = np.abs(getattr(np.random.default_rng(seed), law)(10_000))
        order = random_permutation(10_000, SimulationSource(seed))
        first, second = values[order].reshape(-1, 2).T
        ranks = [np.argsort(np.argsort(each)) for each in (first, second)]
        assert abs(np.corrcoef(*ranks)[0, 1]) < 5.0 / np.sqrt(5_000)


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
    places, found = order.find(order[:])
    assert places.tolist() == order[:].tolist()
    assert found.tolist() == positions.tolist()
    assert order[order.find(positions)[1]].tolist() == positions.tolist()


@pytest.mark.parametrize("length", [1, 3, 400])
def test_a_sample_is_the_first_places_of_an_order(length):
    key = SimulationSource(6).words(orders.ROUNDS)
    whole, sample = KeyedOrder(1000, key), KeyedOrder(1000, key, length)
    assert len(sample) == length
    assert sample[:].tolist() == whole[:length].tolist()
    places, positions = sample.find(np.arange(1000))
    assert sorted(positions.tolist()) == list(range(length))
    assert sample[positions].tolist() == places.tolist()


def test_few_places_are_sampled_exactly_and_many_need_no_memory(monkeypatch):
    monkeypatch.setattr(orders, "MOST_SAMPLED", 1_000)
    few = sample_of_places(5_000, 1_000, SimulationSource(3))
    drawn = random_sample(5_000, 1_000, SimulationSource(3))
    assert isinstance(sample_of_places(5_000, 1_001, SimulationSource(3)), KeyedOrder)
    np.testing.assert_array_equal(few, drawn)
    many = sample_of_places(2**40, 2**37, SimulationSource(3))
    assert len(many) == 2**37
    assert len(set(many[2**36 : 2**36 + 1000].tolist())) == 1000
    places = np.arange(2**39, 2**39 + 4096)
    share = len(many.find(places)[0]) / 4096
    assert abs(share - 1 / 8) < 5 * (7 / 64 / 4096) ** 0.5  # five standard deviations


@pytest.mark.long
def test_every_order_of_few_places_is_equally_likely():
    n_draws, drawn = 10_000, {}
    for rounds in (4, orders.ROUNDS):
        source = SimulationSource(1)
        drawn[rounds] = counts_of(
            tuple(keyed(4, source, rounds)[:].tolist()) for _ in range(n_draws)
        )
    check_uniform(drawn[orders.ROUNDS], drawn[4], np.array(drawn[4]) / n_draws)


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


def test_words_are_mixed_as_published():
    """Steele, Lea and Flood 2014: the first number of SplitMix64 from the seed 0."""
    (mixed,) = orders._mixed(np.array([0x9E3779B97F4A7C15], dtype=np.uint64))
    assert int(mixed) == 0xE220A8397B1DCDAF
