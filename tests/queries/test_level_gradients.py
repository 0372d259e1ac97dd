"""Mean clipped gradients, and sizes of slopes along rows: their value, and the noise they carry."""

import numpy as np

import tailguard as tg
from support.sources import QuietSource
from support.stages import once
from support.statistics import gaussian_scale_test
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian, Repeated
from tailguard.queries.level_gradients import LevelGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View

N_ROWS, MU, N_RUNS = 300, 0.8, 2_000
MAP = np.array([[1.0, 0.5], [0.0, 2.0], [0.3, 0.1]])
WEIGHTS, LEVELS, SHARES, ROW_LIMIT = np.array([0.3, -0.2, 0.1]), (0.5, 2.0), (1.0, 0.4), 2.0
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((N_ROWS, 3)), RNG.standard_normal(N_ROWS)


def ladder():
    view = View(tg.losses.Squared(), Units.raw(3, intercept=False), MAP)
    return LevelGradients(view, ROW_LIMIT, LEVELS, SHARES)


def answers(query, source, n_runs):
    """So many answers, one a row."""
    rows = make_rows(X, Y, loss=tg.losses.Squared())
    gate = Gate(rows, guarantee=tg.GDP(MU * np.sqrt(n_runs) * 1.001), source=source)
    gate.reserve(Repeated(Gaussian(MU), n_runs), coordinates=10**6)
    return np.array([gate.ask(query, WEIGHTS, once(MU)) for _ in range(n_runs)])


def plainly():
    """The increments by their definition."""
    row, slope = X @ MAP, X @ WEIGHTS - Y
    row = row * np.minimum(1.0, ROW_LIMIT / np.linalg.norm(row, axis=1))[:, None]
    cut = np.array([np.clip(slope, -level, level) for level in (0.0, *LEVELS)])
    return np.diff(cut, axis=0) @ row / N_ROWS


def test_without_noise_the_answer_is_the_mean_of_clipped_slopes_times_rows():
    found = answers(ladder(), QuietSource(), 1)[0]
    np.testing.assert_allclose(found, plainly(), rtol=1e-5, atol=1e-7)


def test_every_level_carries_the_noise_that_public_numbers_say():
    query = ladder()
    stds = query.noise_std(N_ROWS, 3, MU)
    np.testing.assert_allclose(
        stds, 2.0 * ROW_LIMIT * np.linalg.norm(SHARES) * np.array([0.5, 1.5 / 0.4]) / (N_ROWS * MU),
        rtol=1e-3,
    )  # fmt: skip
    drawn = answers(query, SimulationSource(1), N_RUNS) - plainly()
    for level, std in enumerate(stds):
        verdict = gaussian_scale_test(drawn[:, level], std, false_alarm=1e-6)
        assert verdict.accepted
        assert verdict.power >= 0.99
        for wrong in (0.9, 1.1):
            noise = drawn[:, level] * wrong
            assert not gaussian_scale_test(noise, std, false_alarm=1e-6).accepted
