"""The three coordinate-wise means: the papers' toy values, their noise, and their sensitivity."""

import math
from itertools import pairwise

import numpy as np
import pytest

import tailguard as tg
from support.oracles import wide
from support.sources import QuietSource
from support.stages import once
from support.stages import pure as pure_once
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.clamped import ClampedMean
from tailguard.means.coordinate_wise import median_of_groups
from tailguard.means.soft import SoftMean, psi_limit
from tailguard.means.truncated import TruncatedMean
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.queries.soft_truncation import soft_limit, soft_truncation
from tailguard.queries.units import Units

TOY = np.array([1.0, 2.0, 100.0, 4.0, -50.0, 6.0, 7.0, 8.0])[:, None]


def raw(n_features):
    return Units.raw(n_features, intercept=False)


def quiet(X, query, *, y=None, pure=False, weights=None):
    """The answer without its noise."""
    guarantee = tg.PureDP(9.0) if pure else tg.GDP(9.0)
    gate = Gate(make_rows(X, y), guarantee=guarantee, source=QuietSource())
    gate.reserve(Laplace(9.0) if pure else Gaussian(9.0))
    stage = pure_once(9.0) if pure else once(9.0)
    return gate.ask(query, np.zeros(query.units.size) if weights is None else weights, stage)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (ClampedMean(None, raw(1), threshold=3.0, n_groups=2), 3.5),
        (ClampedMean(None, raw(1), threshold=3.0, n_groups=4), 4.0),
        (TruncatedMean(None, raw(1), threshold=9.0, n_groups=2), 3.5),
        (TruncatedMean(None, raw(1), threshold=9.0, n_groups=4), 2.5),
        (TruncatedMean(None, raw(1), threshold=9.0), 28 / 8),
        (ClampedMean(None, raw(1), threshold=3.0, n_groups=8), 5.0),
        (ClampedMean(None, raw(1), threshold=3.0, n_groups=3), 1.5),
    ],
)
def test_toy_values(query, expected, pure):
    np.testing.assert_allclose(quiet(TOY, query, pure=pure), [expected], atol=1e-6)


@pytest.mark.parametrize("n_groups", [1, 5, 6])
@pytest.mark.parametrize("kind", [ClampedMean, TruncatedMean])
def test_without_noise_the_median_of_group_means_of_gradients_is_found(kind, n_groups):
    rng = np.random.default_rng(1)
    X, y = rng.standard_t(2, size=(61, 3)), rng.standard_t(2, size=61)
    weights = np.array([0.5, -1.0, 2.0])
    query = kind(tg.losses.Squared(), raw(3), threshold=1.0, n_groups=n_groups)
    gradients = (X @ weights - y)[:, None] * X
    if kind is ClampedMean:
        bounded = np.clip(gradients, -3.0, 3.0)
    else:
        bounded = np.where(np.abs(gradients) <= 1.0, gradients, 0.0)
    edges = [g * 61 // n_groups for g in range(n_groups + 1)]
    means = [bounded[a:b].mean(axis=0) for a, b in pairwise(edges)]
    found = quiet(X, query, y=y, weights=weights)
    np.testing.assert_allclose(found, np.median(means, axis=0), atol=1e-6)


def test_without_noise_the_soft_mean_is_found():
    rng = np.random.default_rng(2)
    X = rng.standard_t(2, size=(50, 2))
    query = SoftMean(None, Units(np.ones(2), np.full(2, 2.0), False), scale=1.5, smoothing=4.6)
    expected = 1.5 * soft_truncation((X - 1.0) / 2.0 / 1.5, 4.6).mean(axis=0)
    np.testing.assert_allclose(quiet(X, query), expected, atol=1e-6)


@pytest.mark.parametrize(("n_groups", "expected"), [(22, 0.20896108), (23, 0.43718124)])
def test_the_noise_of_the_clamped_mean(n_groups, expected):
    calibration = ClampedMean(None, raw(5), 20.0, n_groups).calibrate(10**4, 5, math.sqrt(2.0))
    assert calibration.noise_std == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_groups", [1, 22])
def test_the_laplace_noise_of_the_clamped_mean(n_groups):
    calibration = ClampedMean(None, raw(10), 10.0, n_groups).calibrate_pure(10**5, 10, 1.0)
    # In l1: ten columns of a range of 60, and the median of evenly many groups moves by half.
    scale = 10 * 60.0 / (10**5 // n_groups) / (1 if n_groups % 2 else 2)
    assert calibration.noise_std == pytest.approx(scale * math.sqrt(2.0), rel=1e-6)


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 4.6])
def test_the_noise_of_the_soft_mean(smoothing):
    calibration = SoftMean(None, raw(4), 10.0, smoothing).calibrate(10**4, 4, 1.0)
    limit = 2.0 * math.sqrt(2.0) / 3.0 * math.erf(math.sqrt(smoothing / 2.0))
    assert calibration.noise_std == pytest.approx(2.0 * 10.0 * limit * 2.0 / 10**4, rel=1e-6)
    assert soft_limit(smoothing) == pytest.approx(psi_limit(smoothing=smoothing))


@pytest.mark.parametrize("n_groups", [1, 2, 3, 6, 7, 19, 20])
def test_the_smallest_group_sets_the_sensitivity(n_groups):
    for query, value_range in (
        (ClampedMean(None, raw(1), 2.0, n_groups), 12.0),
        (TruncatedMean(None, raw(1), 2.0, n_groups), 4.0),
    ):
        move = value_range / (20 // n_groups) / (1 if n_groups % 2 else 2)
        assert query.sensitivity(20, 1).ideal == pytest.approx(move, rel=1e-12)
        assert query.pure_sensitivity(20, 1).ideal == pytest.approx(move, rel=1e-12)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4, 7, 8])
def test_the_median_of_integers_moves_as_little_as_is_said(n_groups):
    rng = np.random.default_rng(n_groups)
    middles = 2 - n_groups % 2
    for _ in range(50):
        means = rng.integers(-(2**40), 2**40, (n_groups, 6))
        found = median_of_groups(means)
        np.testing.assert_allclose(found / middles, np.median(means, axis=0), rtol=0, atol=1e-3)
        changed = means.copy()
        changed[0] = rng.integers(-(2**40), 2**40, 6)
        moved = np.abs(median_of_groups(changed) - found)
        assert (moved <= np.abs(changed[0] - means[0])).all()


def test_more_groups_than_rows_are_refused():
    query = TruncatedMean(None, raw(1), 1.0, n_groups=5)
    with pytest.raises(InputError, match="n_groups must be at most n_rows = 4"):
        query.calibrate(4, 1, 1.0)


@pytest.mark.parametrize(
    "build",
    [
        lambda: ClampedMean(None, raw(1), 0.0, 2),
        lambda: ClampedMean(None, raw(1), math.nan, 2),
        lambda: ClampedMean(None, raw(1), 1.0, 0),
        lambda: TruncatedMean(None, raw(1), math.inf),
        lambda: TruncatedMean(None, raw(1), 1.0, 1.5),
        lambda: SoftMean(None, raw(1), 0.0),
        lambda: SoftMean(None, raw(1), 1.0, 0.1),
    ],
)
def test_wrong_parameters_are_refused(build):
    with pytest.raises(InputError):
        build()


def test_the_books_show_what_the_sensitivity_follows_from():
    query = ClampedMean(None, raw(4), threshold=2.0, n_groups=6)
    assert query.parameters() == {"limit": 6.0, "n_groups": 6, "coordinates": 4}
    soft = SoftMean(None, raw(4), scale=2.0).parameters()
    assert (soft["scale"], soft["smoothing"], soft["n_groups"]) == (2.0, 1.0, 1)


@pytest.mark.parametrize("kind", [ClampedMean, TruncatedMean, SoftMean])
def test_wide_parameters_leave_what_is_within_reach(kind):
    groups = {"n_groups": 2} if kind is ClampedMean else {}
    values = np.linspace(-5.0, 5.0, 11)
    bound = kind(None, raw(1), **wide(kind, 5.0), **groups).bound
    np.testing.assert_allclose(bound.apply(values), values, rtol=1e-3)
