"""TukeyEM: near the truth where parts agree, no answer where they do not, weights by depth."""

import numpy as np
import pytest

from accuracy import tukey

EPSILON, DELTA = 1.0, 1e-5


def problem(n_rows, noise, rng):
    X = np.column_stack([rng.standard_normal((n_rows, 3)), np.ones(n_rows)])
    truth = np.array([1.0, -2.0, 0.5, 3.0])
    return X, X @ truth + noise * rng.standard_normal(n_rows), truth


def test_the_truth_is_found_where_parts_agree():
    rng = np.random.default_rng(0)
    X, y, truth = problem(20_000, 0.1, rng)
    found = tukey.tukey(tukey.fits_of_parts(X, y, rng), EPSILON, DELTA, rng)
    assert found == pytest.approx(truth, abs=0.1)


def test_few_fits_that_lie_apart_have_no_answer():
    rng = np.random.default_rng(1)
    X, y, _ = problem(200, 10.0, rng)
    assert tukey.tukey(tukey.fits_of_parts(X, y, rng), EPSILON, DELTA, rng) is None


def test_parts_are_disjoint_and_have_a_record_a_column():
    rng = np.random.default_rng(2)
    X, y, _ = problem(1_001, 1.0, rng)
    assert tukey.fits_of_parts(X, y, rng).shape == (250, 4)
    assert tukey.fits_of_parts(X, y, rng, n_models=10).shape == (10, 4)


def test_the_distance_is_the_one_of_the_definition():
    volumes = np.cumsum(np.random.default_rng(3).uniform(-0.1, 0.0, 200))
    middle, epsilon, delta = 100, 0.5, 1e-3
    limit = np.log(delta / 8.0) - epsilon

    def safe(k):
        """Whether some depth is far enough below; volumes[i - 1] is that of depth i."""
        outer = volumes[middle - k - 2]
        depths = [(g, middle + k + g + 1) for g in range(1, len(volumes) - middle - k - 1)]
        return any(outer - volumes[d - 1] - g * epsilon / 2.0 <= limit for g, d in depths)

    found = tukey.distance_to_unsafe(volumes, epsilon, delta, middle)
    assert 0 < found < middle - 2
    assert safe(found)
    assert not safe(found + 1)


def test_levels_are_drawn_by_volume_and_depth():
    rng = np.random.default_rng(4)
    volumes, epsilon = np.array([1.0, 0.5, 0.1]), 0.7
    shells = np.array([0.5, 0.4, 0.1]) * np.exp(epsilon * np.arange(3))
    drawn = [tukey._draw_level(np.log(volumes), epsilon, rng) for _ in range(20_000)]
    shares = np.bincount(drawn, minlength=3) / len(drawn)
    assert shares == pytest.approx(shells / shells.sum(), abs=0.015)
