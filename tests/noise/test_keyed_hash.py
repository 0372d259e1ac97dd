"""The secret function of identifiers is SipHash-2-4 of whole numbers, and one key's alone."""

import numpy as np
import pytest

from support.sources import ScriptedSource
from tailguard.noise.keyed_hash import KeyedHash, _compiled_sip, _sip
from tailguard.noise.sources import CryptographicSource, SimulationSource

# Of the designers: the key 00 01 .. 0f, the input 00 01 .. 07.
KEY = [0x0706050403020100, 0x0F0E0D0C0B0A0908]
INPUT, OUTPUT = 0x0706050403020100, 0x93F5F5799A932462


def test_the_published_value_comes_out():
    hashed = KeyedHash(ScriptedSource(KEY))
    assert hashed.of(np.array([INPUT]))[0] == OUTPUT
    assert hashed.of([str(INPUT)])[0] == OUTPUT


def test_a_value_depends_on_its_identifier_and_the_key_alone():
    identifiers = np.random.default_rng(0).integers(-(2**62), 2**62, 40_000)
    hashed = KeyedHash(CryptographicSource())
    values = hashed.of(identifiers)
    order = np.random.default_rng(1).permutation(len(identifiers))
    np.testing.assert_array_equal(hashed.of(identifiers[order]), values[order])
    np.testing.assert_array_equal(hashed.of(identifiers[7:8]), values[7:8])
    assert len(set(values.tolist())) == len(set(identifiers.tolist()))
    assert (KeyedHash(CryptographicSource()).of(identifiers) != values).all()


@pytest.mark.parametrize("identifiers", [list(range(20_000)), [f"p{j}" for j in range(20_000)]])
def test_values_of_neighbouring_identifiers_are_uniform_in_every_digit(identifiers):
    values = KeyedHash(ScriptedSource(KEY)).of(identifiers)
    digits = np.unpackbits(values.view(np.uint8).reshape(-1, 8), axis=1).astype(float)
    # 64 means of 20000 coins within five deviations: a false alarm in 27000 runs, at a fixed key.
    assert np.abs(digits.mean(axis=0) - 0.5).max() < 5 * 0.5 / len(values) ** 0.5
    products = np.corrcoef(digits.T) - np.eye(64)
    assert np.abs(products).max() < 5.5 / len(values) ** 0.5


def test_text_that_writes_a_number_is_that_number_and_other_text_is_not():
    hashed = KeyedHash(CryptographicSource())
    numbers = hashed.of(np.array([7, -7, 0, 2**63 - 1, -(2**63)]))
    texts = ["7", "-7", "0", str(2**63 - 1), str(-(2**63))]
    np.testing.assert_array_equal(hashed.of(texts), numbers)
    others = hashed.of(["07", "+7", "7.0", " 7", "", None, str(2**63), "\u0667", "\udcff"])
    assert not set(others.tolist()) & set(numbers.tolist())
    assert hashed.of(["", None]).tolist() == others[4:6].tolist()


def test_places_are_hashed_under_a_key_of_their_own():
    hashed = KeyedHash(SimulationSource(3))
    places, identifiers = hashed.of_places(0, 1000), hashed.of(np.arange(1000))
    assert not set(places.tolist()) & set(identifiers.tolist())
    np.testing.assert_array_equal(hashed.of_places(990, 10), places[990:])
    assert (KeyedHash(SimulationSource(4)).of_places(0, 1000) != places).any()


@pytest.mark.parametrize("source", [CryptographicSource(), SimulationSource(5)])
def test_equal_values_are_in_an_order_that_the_key_decides(source):
    values = np.array([7, 3, 7, 9, 7], dtype=np.uint64)
    found = set()
    for _ in range(200):
        hashed = KeyedHash(source)
        order = hashed.order(values)
        np.testing.assert_array_equal(values[order], np.sort(values))
        found.add(tuple(order[1:4].tolist()))
        if not source.private:  # one run of a simulation is the next one
            np.testing.assert_array_equal(hashed.order(values), order)
    assert len(found) == 6


def test_machine_code_hashes_what_its_source_says():
    words = SimulationSource(5).words(50)
    low, high, found = np.uint64(KEY[0]), np.uint64(KEY[1]), np.empty((2, 50), dtype=np.uint64)
    _compiled_sip()(words, low, high, found[0])
    with np.errstate(over="ignore"):  # sums wrap around, which NumPy tells of its scalars
        _sip(words, low, high, found[1])
    assert found[0].tolist() == found[1].tolist()
