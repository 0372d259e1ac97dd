"""Random partitions: uniform, blind to ties, and told apart from a biased shuffle."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from support.sources import QuietSource
from support.statistics import goodness_of_fit
from tailguard.noise.partition import random_partition, random_permutation
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
