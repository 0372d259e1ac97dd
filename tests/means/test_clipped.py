"""The clipped mean: near an oracle's clip level; its shells cost one; its weights are convex."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.loops import loop
from support.stages import once
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import RecordBlock
from tailguard.gate import Gate
from tailguard.means.clipped import ClippedShells, least_error_weights, simplex_minimum
from tailguard.privacy.events import Gaussian
from tailguard.queries.units import Units

N_ROWS = 20_000


def draw(distribution, n_features, seed):
    rng, shape = np.random.default_rng(seed), (N_ROWS, n_features)
    if distribution == "student":
        return 3.0 + rng.standard_t(3, shape), 3.0
    if distribution == "pareto":
        return rng.pareto(3, shape), 0.5
    return rng.lognormal(size=shape), math.exp(0.5)


def clip_errors(X, truth, mu):
    """Mean squared errors of clips about zero with all of the budget, one for each clip level."""
    norms, d = np.linalg.norm(X, axis=1), X.shape[1]
    errors = []
    for radius in np.geomspace(1.0, 100.0, 20) * math.sqrt(d):
        shrunk = X * np.minimum(1.0, radius / norms)[:, None]
        bias = shrunk.mean(axis=0) - truth
        errors.append(bias @ bias + d * (2 * radius / (len(X) * mu)) ** 2)
    return np.array(errors)


@pytest.mark.parametrize("n_features", [1, 10, 50])
@pytest.mark.parametrize("distribution", ["student", "pareto", "lognormal"])
def test_it_is_near_the_best_clip_level_that_nobody_knows(distribution, n_features):
    mu, squares, oracle = 0.2, [], 0.0
    for seed in range(4 if n_features < 50 else 2):
        X, truth = draw(distribution, n_features, seed)
        result = tg.mean(X, guarantee=tg.GDP(mu), method="clipped", random_state=100 + seed)
        squares.append(((result.value - truth) ** 2).sum())
        oracle = oracle + clip_errors(X, truth, mu)
    assert np.mean(squares) < 1.5**2 * oracle.min() / len(squares)


def test_columns_of_any_size_get_noise_of_their_size():
    X = np.random.default_rng(4).standard_normal((N_ROWS, 3)) * [1e-9, 1.0, 1e9] + [1.0, 1e6, -1e9]
    result = tg.mean(X, guarantee=tg.GDP(0.5), method="clipped", random_state=0)
    assert (np.abs(result.value - X.mean(axis=0)) < 5 * result.noise_std).all()
    # The first two may hold other cells, as far as noise shows: they are read in their locations.
    assert (result.noise_std < [1e-3, 1e3, 1e8]).all()


def test_a_norm_moment_sets_the_level_without_a_factor_for_the_columns():
    task = {"guarantee": tg.GDP(0.5), "method": "clipped", "random_state": 0}
    task["check_records"] = False  # so that the whole mu is for the mean
    X = np.random.default_rng(5).standard_normal((N_ROWS, 4))
    norm = tg.mean(X, moment=tg.Moment(2.0, 4.0, kind="norm"), **task)
    lines = tg.mean(X, moment=tg.Moment(2.0, 4.0, kind="directional"), **task)
    levels = [result.choice.plan.settings["clip norm"] for result in (norm, lines)]
    assert levels[0] == pytest.approx(math.sqrt(4.0 * N_ROWS * 0.5 / 2.0), rel=1e-6)
    assert levels[1] > levels[0]


RADII = (1.0, 2.0, 8.0)
MU, FEW_ROWS = 0.5, 1_000
RAW = Units.raw(2, intercept=False)


def shell_sum(data, radii):
    """Sums by shells of rows in units."""
    query = ClippedShells(Units(np.full(3, 0.5), np.full(3, 0.5), intercept=False), radii)
    sums = loop(query, None, 2.0**-40).sum_block(RecordBlock(data)) * 2.0**-40
    return sums.reshape(len(radii), 3) * query.root_widths[:, None]


def test_shells_add_up_to_the_clipped_sum():
    X = np.random.default_rng(0).standard_t(2, (3_000, 3))
    shells = shell_sum(X, RADII)
    norms = np.linalg.norm(standard := (X - 0.5) * 2.0, axis=1, keepdims=True)
    for count, radius in enumerate(RADII, start=1):
        clipped = (standard * np.minimum(1.0, radius / norms)).sum(axis=0)
        np.testing.assert_allclose(shells[:count].sum(axis=0), clipped, atol=1e-6)


def test_without_an_order_each_row_is_rounded_by_itself():
    X = np.random.default_rng(1).standard_t(2, (2_000, 3))
    rows = make_rows(X).without_order()
    kernel = loop(ClippedShells(Units.raw(3, intercept=False), RADII), None, 2.0**-30)
    apart = rows.reduce(kernel) - make_rows(X).reduce(kernel)
    assert 0 < np.abs(apart).max() < len(X)


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324])
def test_extreme_rows_stay_within_their_limits(value):
    query = ClippedShells(Units.raw(3, intercept=False), (1.0, 5.0))
    sums = loop(query, None, 2.0**-40).sum_block(RecordBlock(np.full((1, 3), value)))
    assert np.linalg.norm(sums * 2.0**-40) <= 5.0**0.5 * (1 + 1e-11)


@pytest.mark.parametrize("radii", [[0.0], [1.0, 1.0], [2.0, 1.0], [np.inf], [np.nan]])
def test_radii_must_rise(radii):
    with pytest.raises(InputError, match="radii must be finite, positive and increasing"):
        shell_sum(np.zeros((1, 3)), tuple(radii))


def test_noise_at_every_level_is_that_of_the_module():
    stds = ClippedShells(RAW, RADII).noise_stds(FEW_ROWS, MU)
    up_to = np.sqrt(np.cumsum(stds**2))
    np.testing.assert_allclose(up_to, 2 * np.sqrt(np.multiply(RADII, 8.0)) / (MU * FEW_ROWS), 1e-6)
    alone = ClippedShells(RAW, (8.0,)).noise_stds(FEW_ROWS, MU)
    assert up_to[-1] == pytest.approx(alone[0], rel=1e-6)


def test_released_noise_has_that_spread():
    gate = Gate.over(np.zeros((FEW_ROWS, 2)), guarantee=tg.GDP(20.0), random_state=0)
    gate.reserve(Gaussian(20.0), coordinates=6 * 500)
    query = ClippedShells(RAW, RADII)
    drawn = np.array([gate.ask(query, None, once(MU)) for _ in range(500)])
    assert drawn.shape == (500, 3, 2)
    ratio = drawn.std(axis=(0, 2)) / query.noise_stds(FEW_ROWS, MU)
    np.testing.assert_allclose(ratio, 1.0, atol=0.1)
    correlation = np.corrcoef(drawn.reshape(500, 6).T) - np.eye(6)
    assert np.abs(correlation).max() < 0.2


def test_the_books_state_the_sensitivity_of_all_shells_together():
    gate = Gate.over(np.zeros((FEW_ROWS, 2)), guarantee=tg.GDP(MU), random_state=0)
    gate.reserve(Gaussian(MU))
    gate.ask(ClippedShells(RAW, RADII), None, once(MU))
    (release,) = gate.books.releases
    assert release.sensitivity == pytest.approx(2 * 8.0**0.5, rel=1e-6)
    assert release.parameters == {"largest_radius": 8.0, "shells": 3, "coordinates": 2}


@pytest.mark.parametrize("seed", range(10))
def test_the_minimum_is_on_the_simplex_and_nothing_beats_it(seed):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((4, 3))
    gram, linear = factor @ factor.T, rng.standard_normal(4)
    found = simplex_minimum(gram, linear)
    assert found.min() >= -1e-12
    assert found.sum() == pytest.approx(1.0)
    others = rng.dirichlet(np.ones(4), 2_000)
    values = np.einsum("ni,ij,nj->n", others, gram, others) + others @ linear
    assert found @ gram @ found + linear @ found <= values.min() + 1e-9


def test_the_choice_costs_little_beside_the_best_level():
    """The mean squared error is near the better of the two levels, whichever that is."""
    rng = np.random.default_rng(1)
    noise = np.array([[0.1, 0.0], [0.1, 1.0]])
    for bias in (0.0, 0.3, 3.0):
        errors = []
        for _ in range(300):
            means = noise @ rng.standard_normal((2, 20)) - bias * np.array([[1.0], [0.0]])
            errors.append(((least_error_weights(means, noise) @ means) ** 2).sum())
        best = 20 * min(0.01 + bias**2, 1.01)
        assert np.mean(errors) < 1.3 * best + 3.0


def test_one_level_or_equal_ones_are_no_trouble():
    np.testing.assert_array_equal(least_error_weights(np.ones((1, 3)), np.ones((1, 1))), [1.0])
    weights = least_error_weights(np.zeros((3, 4)), np.zeros((3, 3)))
    assert weights.sum() == pytest.approx(1.0)
