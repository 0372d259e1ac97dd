"""Shells: all clip levels at once, at the noise of the largest."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian
from tailguard.queries.means.shells import ClippedShells
from tailguard.queries.units import Units

RADII = (1.0, 2.0, 8.0)
N_ROWS, MU = 1_000, 0.5
RAW = Units.raw(2, intercept=False)


def test_noise_at_every_level_is_that_of_the_module():
    stds = ClippedShells(RAW, RADII).noise_stds(N_ROWS, MU)
    up_to = np.sqrt(np.cumsum(stds**2))
    np.testing.assert_allclose(up_to, 2 * np.sqrt(np.multiply(RADII, 8.0)) / (MU * N_ROWS), 1e-6)
    alone = ClippedShells(RAW, (8.0,)).noise_stds(N_ROWS, MU)
    assert up_to[-1] == pytest.approx(alone[0], rel=1e-6)


def test_released_noise_has_that_spread():
    gate = Gate.over(np.zeros((N_ROWS, 2)), guarantee=tg.GDP(20.0), random_state=0)
    gate.reserve(Gaussian(20.0), coordinates=6 * 1_500)
    query = ClippedShells(RAW, RADII)
    drawn = np.array([gate.ask(query, None, mu=MU) for _ in range(1_500)])
    assert drawn.shape == (1_500, 3, 2)
    ratio = drawn.std(axis=(0, 2)) / query.noise_stds(N_ROWS, MU)
    np.testing.assert_allclose(ratio, 1.0, atol=0.08)
    correlation = np.corrcoef(drawn.reshape(1_500, 6).T) - np.eye(6)
    assert np.abs(correlation).max() < 0.12


def test_the_books_state_the_sensitivity_of_all_shells_together():
    gate = Gate.over(np.zeros((N_ROWS, 2)), guarantee=tg.GDP(MU), random_state=0)
    gate.reserve(Gaussian(MU))
    gate.ask(ClippedShells(RAW, RADII), None, mu=MU)
    (release,) = gate.books.releases
    assert release.sensitivity == pytest.approx(2 * 8.0**0.5, rel=1e-6)
    assert release.parameters == {"largest_radius": 8.0, "shells": 3, "coordinates": 2}
