"""Random partitions and samples: uniform, blind to ties, and told apart from biased ones."""

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest

from support.sources import QuietSource, ScriptedSource
from support.statistics import goodness_of_fit
from tailguard.noise.orders import random_partition, random_permutation, random_sample
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


@pytest.mark.parametrize(
    ("source", "alternative"),
    [(SimulationSource(1), naive_shuffle_law()), (CoarseSource(2), stable_sort_law())],
)
def test_every_order_is_equally_likely(source, alternative):
    n_draws = 5_000
    drawn = counts_of(tuple(random_permutation(4, source).tolist()) for _ in range(n_draws))
    uniform = np.full(24, 1.0 / 24.0)
    facts = {"false_alarm": FALSE_ALARM, "alternative": alternative}
    verdict = goodness_of_fit(drawn, uniform, **facts)
    assert verdict.accepted
    assert verdict.power >= 0.999
    rng = np.random.default_rng(3)
    biased = rng.multinomial(n_draws, alternative)
    assert not goodness_of_fit(biased, uniform, **facts).accepted


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


def test_a_single_place():
    assert random_permutation(1, CryptographicSource()).tolist() == [0]


def test_two_draws_differ_and_a_seed_repeats():
    first, second = (random_permutation(50, CryptographicSource()) for _ in range(2))
    assert (first != second).any()
    again = [random_permutation(50, SimulationSource(7)) for _ in range(2)]
    np.testing.assert_array_equal(*again)


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
    facts = {"false_alarm": FALSE_ALARM, "alternative": alternative}
    uniform = np.full(len(samples), 1.0 / len(samples))
    verdict = goodness_of_fit([drawn[sample] for sample in samples], uniform, **facts)
    assert verdict.accepted
    assert verdict.power >= 0.999
    biased = np.random.default_rng(5).multinomial(n_draws, alternative)
    assert not goodness_of_fit(biased, uniform, **facts).accepted


def test_every_set_of_places_is_equally_likely():
    """Three of seven: 35 sets, of which a draw that counts repetitions once prefers none."""
    n_draws, source = 6_000, SimulationSource(6)
    sets = list(combinations(range(7), 3))
    drawn = Counter(tuple(sorted(random_sample(7, 3, source).tolist())) for _ in range(n_draws))
    assert set(drawn) == set(sets)
    weights = np.array([1.0 + 0.35 * (0 in each) for each in sets])
    verdict = goodness_of_fit(
        [drawn[each] for each in sets],
        np.full(35, 1.0 / 35.0),
        false_alarm=FALSE_ALARM,
        alternative=weights / weights.sum(),
    )
    assert verdict.accepted
    assert verdict.power >= 0.999


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


def test_a_source_that_repeats_itself_gives_the_first_places():
    for size in (3, 50, 80):
        np.testing.assert_array_equal(random_sample(100, size, QuietSource()), np.arange(size))


def test_two_samples_differ_and_a_seed_repeats():
    first, second = (random_sample(1_000, 50, CryptographicSource()) for _ in range(2))
    assert (first != second).any()
    again = [random_sample(1_000, 50, SimulationSource(7)) for _ in range(2)]
    np.testing.assert_array_equal(*again)


@pytest.mark.parametrize("law", ["random", "standard_normal", "standard_exponential"])
def test_records_from_the_words_of_the_same_seed_are_not_ranked_by_their_values(law):
    """Simulations often take one seed for records and noise: partners would then be alike."""
    for seed in range(5):
        values = np.abs(getattr(np.random.default_rng(seed), law)(10_000))
        order = random_permutation(10_000, SimulationSource(seed))
        first, second = values[order].reshape(-1, 2).T
        ranks = [np.argsort(np.argsort(each)) for each in (first, second)]
        assert abs(np.corrcoef(*ranks)[0, 1]) < 5.0 / np.sqrt(5_000)
