"""Shells: all clip levels at once, at the noise of the largest."""

import numpy as np
import pytest

import tailguard as tg
from support.audits import gdp_audit
from support.stages import once
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
    drawn = np.array([gate.ask(query, None, once(MU)) for _ in range(1_500)])
    assert drawn.shape == (1_500, 3, 2)
    ratio = drawn.std(axis=(0, 2)) / query.noise_stds(N_ROWS, MU)
    np.testing.assert_allclose(ratio, 1.0, atol=0.08)
    correlation = np.corrcoef(drawn.reshape(1_500, 6).T) - np.eye(6)
    assert np.abs(correlation).max() < 0.12


def test_the_books_state_the_sensitivity_of_all_shells_together():
    gate = Gate.over(np.zeros((N_ROWS, 2)), guarantee=tg.GDP(MU), random_state=0)
    gate.reserve(Gaussian(MU))
    gate.ask(ClippedShells(RAW, RADII), None, once(MU))
    (release,) = gate.books.releases
    assert release.sensitivity == pytest.approx(2 * 8.0**0.5, rel=1e-6)
    assert release.parameters == {"largest_radius": 8.0, "shells": 3, "coordinates": 2}


def test_a_worst_pair_reveals_what_is_claimed_and_no_more():
    """Scores along the line that joins the two answers, in units of each shell's noise."""
    query, n_runs = ClippedShells(RAW, RADII), 1_500

    def scores(true_mu, far, seed):
        X = np.zeros((40, 2))
        X[4, 0] = far
        gate = Gate.over(X, guarantee=tg.GDP(1e3), random_state=seed)
        gate.reserve(Gaussian(1e3), coordinates=6 * n_runs)
        drawn = np.array([gate.ask(query, None, once(true_mu)) for _ in range(n_runs)])
        whitened = drawn / query.noise_stds(40, true_mu)[:, None]
        # Both answers are the whole width of every shell, to either side.
        line = query.root_widths / np.linalg.norm(query.root_widths)
        return whitened[:, :, 0] @ line + true_mu / 2.0

    for true_mu, accepted in ((2.0, True), (2.6, False)):
        verdict = gdp_audit(
            scores(true_mu, -1e6, 1),
            scores(true_mu, 1e6, 2),
            threshold=0.5 * true_mu,
            claimed_mu=2.0,
            true_mu=2.6,
            false_alarm=1e-6,
        )
        assert verdict.accepted == accepted
