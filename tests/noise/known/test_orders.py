"""What random orders, samples and keyed hashes make of given words."""

import numpy as np
import pytest

from support.known import outcome
from support.sources import QuietSource, RepeatedSource, ScriptedSource
from tailguard.noise import orders
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.orders import KeyedOrder, order_of_places, sample_of_places
from tailguard.noise.partition import random_partition, random_permutation, random_sample
from tailguard.noise.sources import SimulationSource

LAST = 2**64 - 1


def source(seed=5):
    return SimulationSource(seed)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
def test_orders(known, count):
    sizes = (count // 2, count // 4)
    known(
        [
            random_permutation(count, source()),
            random_permutation(count, QuietSource()),
            random_permutation(count, RepeatedSource(3, 1, 3, 2**63, 1)),
            random_permutation(count, RepeatedSource(3, 1, 3), rounds=1),
            random_partition(count, sizes, source()),
            *(outcome(random_sample, count, size, source()) for size in sizes if count),
            *(random_sample(count, size, QuietSource()) for size in sizes if count),
            [*order_of_places(count, source())],
            *([*sample_of_places(count, size, source())] for size in sizes if count),
        ]
    )


def test_large_samples(known):
    known(
        [
            random_sample(10**12, 20, source()),
            random_sample(3 * 2**62, 8, source()),
            random_sample(20, 11, source()),
            random_sample(20, 10, source()),
            random_sample(6, 3, RepeatedSource(1, 1, 5, 8)),
            random_sample(5, 2, RepeatedSource(LAST, LAST, 3, 4)),
        ]
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 63, 64, 65, 1000, 2**33 + 5])
@pytest.mark.parametrize("rounds", [8, 3])
def test_keyed_orders(known, count, rounds):
    order = KeyedOrder(count, source().words(rounds), min(count, 9))
    asked = np.unique(np.minimum(np.array([0, 1, 2, 3, 7, 40, 63, 2**30, 2**33]), count - 1))
    places = order[asked]
    found, positions = order.found(places)
    np.testing.assert_array_equal(found, places[asked < 9])
    np.testing.assert_array_equal(positions, asked[asked < 9])
    known([len(order), order[0:9], order[1:9:3], places])


def test_keyed_orders_of_many(known):
    orders = order_of_places(2**24 + 1, source()), sample_of_places(2**40, 2**20 + 1, source())
    known([[type(each).__name__, len(each), each[0:5], each[2**14 - 2 : 2**14 + 2]]
           for each in orders])  # fmt: skip
    exact = sample_of_places(2**40, 3, source())
    assert isinstance(exact, np.ndarray)


def test_how_many_places_are_kept(known, monkeypatch):
    known([orders.MOST_KEPT, orders.MOST_SAMPLED, orders.ROUNDS, orders.AT_ONCE])
    monkeypatch.setattr(orders, "MOST_KEPT", 10)
    monkeypatch.setattr(orders, "MOST_SAMPLED", 10)
    kept = [order_of_places(count, source()) for count in (10, 11)]
    sampled = [sample_of_places(100, size, source()) for size in (10, 11)]
    kinds = [type(each) for each in (*kept, *sampled)]
    assert kinds == [np.ndarray, KeyedOrder] * 2


IDENTIFIERS = [
    *(0, 1, -1, 41, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, None, "", "41", "041", "-1", "+1"),
    *("x", "9223372036854775807", "9223372036854775808", " 1", "\udc80", True),
]


def test_keyed_hashes(known):
    hashed = KeyedHash(source())
    numbers = np.array([0, 1, -1, 41, 2**63 - 1, -(2**63)])
    many = hashed.of(np.arange(2**14 + 2))
    known([hashed.of(IDENTIFIERS), hashed.of(numbers), many[-3:], hashed.of(np.zeros(0, int))])
    np.testing.assert_array_equal(hashed.of(numbers), hashed.of(IDENTIFIERS)[:6])


def test_the_published_example_of_siphash():
    """Aumasson and Bernstein 2012, Appendix A, has 15 bytes; their table of vectors this of 8."""
    key = np.frombuffer(bytes(range(16)), dtype=np.uint64)
    hashed = KeyedHash(ScriptedSource(key.tolist()))
    word = int.from_bytes(bytes(range(8)), "little")
    assert hashed.of(np.array([word]))[0] == 0x93F5F5799A932462
