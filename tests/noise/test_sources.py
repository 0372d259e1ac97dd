import os
import warnings

import numpy as np
import pytest

from support.statistics import goodness_of_fit
from tailguard.checks import InputError
from tailguard.noise.discrete_gaussian import discrete_gaussian
from tailguard.noise.sources import CryptographicSource, SimulationSource, make_source


@pytest.mark.parametrize("source", [CryptographicSource(), SimulationSource(3)])
def test_words_are_uniform_in_their_first_and_last_digits(source):
    words = source.words(40_000)
    uniform = np.full(64, 1 / 64)
    skewed = uniform * np.repeat([0.9, 1.1], 32)
    for digits in (words >> np.uint64(58), words & np.uint64(63)):
        counts = np.bincount(digits.astype(np.int64), minlength=64)
        verdict = goodness_of_fit(counts, uniform, false_alarm=1e-9, alternative=skewed)
        assert verdict.accepted
        assert verdict.power > 0.999


def test_words_of_a_simulation_cannot_be_changed():
    words = SimulationSource(3).words(4)
    with pytest.raises(ValueError, match="read-only"):
        words[0] = 0


@pytest.mark.parametrize("source", [CryptographicSource(), SimulationSource(3)])
def test_no_word_returns(source):
    words = np.concatenate([source.words(1000) for _ in range(5)])
    assert np.unique(words).size == words.size
    assert source.words(0).shape == (0,)


def test_a_seed_repeats_its_words_on_every_platform():
    expected = [2371701625988369486, 9210050950101564007]
    assert SimulationSource(11).words(2).tolist() == expected
    source = SimulationSource(11)
    assert [int(source.words(1)[0]) for _ in range(2)] == expected


def test_a_simulation_moves_to_a_word_and_a_private_source_stays():
    words = SimulationSource(11).words(12)
    source = SimulationSource(11)
    assert source.words(3).tolist() == words[:3].tolist()
    source.move_to(10)
    assert source.words(2).tolist() == words[10:].tolist()
    assert source.n_drawn == 12
    private = make_source(None)
    private.move_to(10)
    assert (private.words(3).shape, private.n_drawn) == ((3,), 0)


def test_forked_processes_draw_different_noise():
    source = make_source(None)
    source.words(10)
    draws = {_noise_in_a_fork(source) for _ in range(3)}
    draws.add(discrete_gaussian(4, 5, source).tobytes())
    assert len(draws) == 4


def _noise_in_a_fork(source):
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # A fork beside idle threads of the linear algebra is safe for this child.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, discrete_gaussian(4, 5, source).tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        noise = stream.read()
    assert os.waitpid(child, 0)[1] == 0
    assert len(noise) == 32
    return noise


def test_make_source_is_private_unless_seeded():
    assert make_source(None).private
    assert not make_source(5).private
    assert not make_source(np.int64(5)).private


@pytest.mark.parametrize("random_state", [True, 1.0, "1", -1, np.random.default_rng(1)])
def test_other_random_states_are_refused(random_state):
    with pytest.raises(InputError, match="random_state"):
        make_source(random_state)


def test_secret_words_are_the_operating_systems_own_bytes(secret_noise, monkeypatch):
    """Other tests draw words that repeat; this one has the source itself."""
    given = bytes(range(100, 124))
    monkeypatch.setattr(os, "urandom", lambda count: given[:count])
    with secret_noise:
        words = CryptographicSource().words(3)
    assert words.tobytes() == given
