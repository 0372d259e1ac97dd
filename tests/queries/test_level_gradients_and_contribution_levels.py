"""Sums cut at several levels: slopes times rows, and whole contributions; value, noise, moments."""

import numpy as np
import pytest

import tailguard as tg
from support.sources import QuietSource
from support.stages import once
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.histograms import Bins, WhitenedHistogram
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View

N_ROWS, MU = 300, 0.8
MAP = np.array([[1.0, 0.5], [0.0, 2.0], [0.3, 0.1]])
WEIGHTS, LEVELS = np.array([0.3, -0.2, 0.1]), (0.5, 2.0)
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((N_ROWS, 3)), RNG.standard_normal(N_ROWS)
VIEW = View(tg.losses.Squared(), Units.raw(3, intercept=False), MAP)
SLOPES, ROWS = X @ WEIGHTS - Y, X @ MAP
CONTRIBUTIONS = SLOPES[:, None] * ROWS
LENGTHS = np.linalg.norm(CONTRIBUTIONS, axis=1)


def answer(query):
    """The answer without noise."""
    rows = make_rows(X, Y, loss=tg.losses.Squared())
    gate = Gate(rows, guarantee=tg.GDP(MU * 1.001), source=QuietSource())
    gate.reserve(Gaussian(MU), coordinates=10**6)
    return gate.ask(query, WEIGHTS, once(MU))


def cut(level):
    return CONTRIBUTIONS * np.minimum(1.0, level / LENGTHS)[:, None]


def plainly():
    """The increments of cut contributions by their definition."""
    means = [np.zeros(2), *(cut(level).mean(axis=0) for level in LEVELS)]
    return np.diff(means, axis=0)


SHARES, ROW_LIMIT = (1.0, 0.4), 2.0
GRADIENTS = LevelGradients(VIEW, ROW_LIMIT, LEVELS, SHARES)


def plain_gradients():
    """The increments of clipped slopes times rows by their definition."""
    row = ROWS * np.minimum(1.0, ROW_LIMIT / np.linalg.norm(ROWS, axis=1))[:, None]
    levels = np.array([np.clip(SLOPES, -level, level) for level in (0.0, *LEVELS)])
    return np.diff(levels, axis=0) @ row / N_ROWS


QUERIES = [(GRADIENTS, plain_gradients()), (ContributionLevels(VIEW, LEVELS), plainly())]


@pytest.mark.parametrize(("query", "exact"), QUERIES, ids=["slopes", "contributions"])
def test_without_noise_the_answer_is_what_is_defined(query, exact):
    found = answer(query)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-7)


def test_the_sum_of_all_levels_is_as_noisy_as_one_release_at_the_last():
    ladder = ContributionLevels(VIEW, LEVELS).noise_std(N_ROWS, 3, MU)
    (alone,) = ContributionLevels(VIEW, LEVELS[-1:]).noise_std(N_ROWS, 3, MU)
    np.testing.assert_allclose(np.linalg.norm(ladder), alone, rtol=1e-6)
    np.testing.assert_allclose(alone, 2.0 * LEVELS[-1] / (N_ROWS * MU), rtol=1e-3)


def test_the_noise_of_clipped_slopes_is_by_shares():
    np.testing.assert_allclose(
        GRADIENTS.noise_std(N_ROWS, 3, MU),
        2.0 * ROW_LIMIT * np.linalg.norm(SHARES) * np.array([0.5, 1.5 / 0.4]) / (N_ROWS * MU),
        rtol=1e-3,
    )


@pytest.mark.parametrize("query", [each for each, _ in QUERIES], ids=["slopes", "contributions"])
def test_every_level_carries_the_noise_that_public_numbers_say(query):
    """Noise of one standard deviation in every entry, in the units of the answer."""
    noise = np.full(2 * len(LEVELS), query.calibrate(N_ROWS, 3, MU).noise_std)
    for level, std in zip(query.finish(noise, N_ROWS), query.noise_std(N_ROWS, 3, MU), strict=True):
        np.testing.assert_allclose(level, std)


def test_moments_and_histograms_of_contributions_are_those_of_slopes_times_rows():
    view, limit = VIEW.contributions(), 1.5
    found = answer(SecondMoments(view, limit, limit))
    np.testing.assert_allclose(found, cut(limit).T @ cut(limit) / N_ROWS, atol=1e-6)
    bins = Bins("octaves", -4.0, 1.0, 10)
    counts = answer(WhitenedHistogram(view, "length", bins))
    np.testing.assert_array_equal(counts, np.bincount(bins.index(LENGTHS), minlength=10))
