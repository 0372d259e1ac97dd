"""Where the average of the rounds stands."""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit
from tailguard.solvers.newton.newton import BURN_IN, averaged
from tailguard.solvers.newton.state import NewtonIterate

OPTIMUM = np.array([0.8, -0.6, 0.5])


def rounds(count, noise_std, *, kept=(1.0, 1.0, 1.0), part=0.5, seed=0):
    """Arrivals of steps that go ``kept`` of the way to the optimum, each gone in part."""
    rng, start, iterates = np.random.default_rng(seed), np.zeros(3), []
    for _ in range(count):
        end = start + np.array(kept) * (OPTIMUM - start) + noise_std * rng.standard_normal(3)
        iterates.append(NewtonIterate(start, end, noise_std, 1_000))
        start = start + part * (end - start)
    return iterates


def settled(iterates):
    fit = plain_fit(tg.losses.Squared(), 3, intercept=False)
    return averaged(replace(fit, iterates=tuple(iterates)))


@pytest.mark.parametrize("short", [0.3, 0.5, 1.0])
def test_the_average_is_at_the_optimum_although_steps_fall_short_in_one_direction(short):
    fit = settled(rounds(64, 0.02, kept=(1.0, 1.0, short)))
    np.testing.assert_allclose(fit.weights, OPTIMUM, atol=4 * 0.02 / np.sqrt(43) + 0.005)
    first = rounds(1, 0.02, kept=(1.0, 1.0, short))[0].weights
    assert abs(first[2] - OPTIMUM[2]) >= 0.9 * (1.0 - short) * OPTIMUM[2] - 0.02


def test_the_average_is_as_noisy_as_it_says_and_as_its_rounds_allow():
    fits = [settled(rounds(24, 0.2, seed=seed)) for seed in range(150)]
    errors = np.array([fit.weights - OPTIMUM for fit in fits])
    said = np.sqrt(np.mean([np.diag(fit.noise) ** 2 for fit in fits]))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(said, rel=0.1)
    assert said == pytest.approx(0.2 / np.sqrt(16), rel=0.1)


def test_noise_is_larger_along_directions_whose_whitening_is_noisy():
    """By the mean of the squared inverse of second moments that noise has moved."""
    exact = settled(rounds(8, 0.2))
    blurred = replace(exact.geometry.whitening, noise_radius_squared=np.array([0.0, 0.2, 0.5]))
    fit = averaged(replace(exact, geometry=replace(exact.geometry, whitening=blurred)))
    stretch = np.sqrt(blurred.variance_inflation)
    assert stretch[0] == 1.0 < stretch[1] < stretch[2]
    np.testing.assert_allclose(fit.noise, exact.noise @ np.diag(stretch))


def test_noisy_rounds_and_those_that_went_far_count_less():
    """Arrivals weigh by the inverse of their noise and of a share of their way, both squared."""
    good, bad = OPTIMUM, OPTIMUM + np.array([0.0, 0.0, 0.3])
    noisy = settled([NewtonIterate(good, good, 0.02, 1_000), NewtonIterate(good, bad, 0.2, 1_000)])
    np.testing.assert_allclose(noisy.weights, good, atol=0.01)
    assert noisy.noise.max() < 0.0201
    start = OPTIMUM + np.array([2.0, 0.0, 0.0])
    lagging = settled(
        [NewtonIterate(start, bad, 0.02, 1_000), NewtonIterate(good, good, 0.02, 1_000)]
    )
    np.testing.assert_allclose(lagging.weights, good, atol=0.01)


def test_the_first_third_of_the_rounds_does_not_count():
    iterates = rounds(24, 0.05)
    before = settled(iterates).weights
    n_far = int(BURN_IN * 24)
    lost = NewtonIterate(np.full(3, 40.0), np.full(3, 90.0), 0.05, 1_000)
    assert (settled([lost] * n_far + iterates[n_far:]).weights == before).all()
    assert (settled([lost] * (n_far + 1) + iterates[n_far + 1 :]).weights != before).any()


def test_rounds_of_a_sample_count_until_one_has_read_all_records():
    far, near = np.array([2.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.5])
    of_sample = [NewtonIterate(far, far, 0.2, 100)] * 5
    of_all = NewtonIterate(near, near, 0.2, 1_000)
    np.testing.assert_allclose(settled(of_sample).weights, far, rtol=0.05)
    together, alone = settled([*of_sample, of_all]), settled([of_all])
    np.testing.assert_array_equal(together.weights, alone.weights)
    assert (together.noise == alone.noise).all()
    np.testing.assert_allclose(np.diag(alone.noise), 0.2)


def test_noise_far_above_the_signal_leaves_the_constant():
    fit = plain_fit(tg.losses.Squared(), 3)
    start, end = np.array([0.0, 0.0, 0.0, 0.5]), np.array([0.3, -0.2, 0.1, 0.9])
    fit = averaged(replace(fit, iterates=(NewtonIterate(start, end, 1.0, 1_000),)))
    np.testing.assert_allclose(fit.weights, start, atol=1e-15)


@pytest.mark.parametrize("level", [0.1, 0.75])
def test_a_quantile_whose_slopes_noise_hides_is_not_the_centre_of_the_target(level):
    """Shrunk to its constant, a fit went back to the target's location, with an interval there."""
    rng = np.random.default_rng(0)
    y = rng.exponential(size=15_000)
    model = tg.QuantileRegression(level=level, epsilon=0.3, delta=1e-6, random_state=0)
    model.fit(rng.standard_normal((15_000, 1)), y)
    assert np.abs(model.coef_).max() < 1e-9
    assert np.mean(y < model.intercept_) == pytest.approx(level, abs=0.05)
