"""The sum of clipped gradients: against its definition, bounded, and blind to storage and cuts."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from support.loops import loop
from support.score_kernels import LOSS_NAMES, make_block, make_kernel, make_query
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock
from tailguard.losses import LpLoss
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

OPTIONS = {
    "all": {},
    "no-intercept": {"intercept": False},
    "no-row-limit": {"row_limit": np.inf},
    "no-clip": {"clip_norm": np.inf, "slope_limit": 2.0, "grid": 2.0**-38},
    "tiny": {"clip_norm": 1e-150, "grid": 2.0**-530},
}


@np.errstate(all="ignore")
def plainly(kernel, block):
    """The sum by its definition, in floats."""
    query, weights, void = kernel.query, kernel.state, block.void()
    units = query.units
    rows = (block.features.astype(np.float64) - units.center) * (1.0 / units.scale)
    rows = np.clip(np.nan_to_num(rows, nan=0.0), -1e150, 1e150)
    rows = np.column_stack([rows] + [np.ones(len(rows))] * units.intercept)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0.0, largest, 1.0)
    length = np.linalg.norm(rows, axis=1)
    rows, norm = rows / np.where(length > 0.0, length, 1.0)[:, None], largest[:, 0] * length
    radius = np.where(norm > 1e-145, np.minimum(norm, query.row_limit), 0.0)
    target = (block.vector("target") - units.target_center) / units.target_scale
    score = radius * (rows @ weights) + block.vector("offset") - units.offset_center
    slope = np.ones(score.size) if query.loss is None else query.loss.slope(score, target)
    slope = np.clip(np.where(np.isnan(slope), 0.0, slope), -query.slope_limit, query.slope_limit)
    size = np.where(
        void, 0.0, np.nan_to_num(slope * radius, nan=0.0, posinf=np.inf, neginf=-np.inf)
    )
    return np.clip(size, -query.norm_limit, query.norm_limit) @ rows


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_sum_agrees_with_its_definition(name, options):
    rng = np.random.default_rng(1)
    for extreme in (False, True):
        for dtype in (np.float32, np.float64):
            for n_features in (1, 3, 21):
                kernel = make_kernel(rng, name, n_features, **OPTIONS[options])
                block = make_block(rng, 1100, n_features, extreme=extreme, dtype=dtype)
                found, limit = kernel.sum_block(block) * kernel.grid, kernel.query.norm_limit
                assert np.abs(found - plainly(kernel, block)).max() <= 1e-9 * limit
                assert np.abs(found).max() > 1e-2 * limit


@pytest.mark.parametrize("n_rows", [1, 2, 17, 1023, 1025])
def test_every_number_of_records_is_summed(n_rows):
    rng = np.random.default_rng(n_rows)
    kernel = make_kernel(rng, "squared", 3)
    block = make_block(rng, n_rows, 3, extreme=False)
    np.testing.assert_allclose(
        kernel.sum_block(block) * kernel.grid, plainly(kernel, block), atol=1e-9
    )


@pytest.mark.parametrize("n_features", [2, 30])
def test_not_even_a_roundoff_exceeds_the_limit(n_features):
    rng = np.random.default_rng(17)
    kernel = make_kernel(rng, "squared", n_features, row_limit=np.inf, grid=2.0**-60)
    limit, largest = Fraction(kernel.query.norm_limit) / Fraction(kernel.grid), Fraction(0)
    for _ in range(300):
        block = make_block(rng, 1, n_features, extreme=False)
        units = kernel.sum_block(replace(block, first=None))  # rounded by itself: exact
        largest = max(largest, Fraction(sum(int(unit) ** 2 for unit in units)))
    assert (limit * Fraction(999_999, 10**6)) ** 2 < largest <= limit**2


@pytest.mark.parametrize("extreme", [False, True])
def test_equal_numbers_give_equal_bits_however_stored(extreme):
    rng = np.random.default_rng(5)
    for n_features in (1, 8, 13):
        kernel = make_kernel(rng, "logistic", n_features, grid=2.0**-44)
        block = make_block(rng, 700, n_features, extreme=extreme, dtype=np.float32)
        wide = replace(block, features=block.features.astype(np.float64))
        np.testing.assert_array_equal(kernel.sum_block(block), kernel.sum_block(wide))


def test_directions_survive_overflow_and_no_row_is_too_long_but_some_are_too_short():
    query = MeanClippedGradient(LpLoss(4), Units.raw(2, intercept=False), 3.0, clip_norm=1.5)
    kernel = loop(query, np.zeros(2), 2.0**-40)

    def total(features):  # the slope at a target of 1e150 overflows
        return kernel.sum_block(RecordBlock(np.array([features]), np.array([-1e150]))) * kernel.grid

    for features in ([1.1e-145, 0.0], [1e150, 0.0], [1e308, 1e100], [1e200, 0.0]):
        np.testing.assert_allclose(total(features), [1.5, 0.0], atol=1e-11)
    for features in ([0.9e-145, 0.0], [1e-200, 1e-310], [5e-324, 0.0], [0.0, 0.0]):
        np.testing.assert_array_equal(total(features), [0.0, 0.0])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("target_power", [0.0, 200.0])
def test_every_magnitude_of_a_row_is_treated_alike(intercept, target_power):
    rng = np.random.default_rng(15)
    units = Units(np.zeros(5), rng.uniform(0.5, 2.0, 5), intercept, 0.3, 2.0)
    query = MeanClippedGradient(LpLoss(), units, clip_norm=1.5)
    kernel = loop(query, rng.standard_normal(units.size), 2.0**-40)
    powers = np.linspace(-323.0, 308.0, 1263)
    features = rng.uniform(-1.0, 1.0, (1263, 5)) * 10.0 ** powers[:, None]
    target = rng.standard_normal(1263) * 10.0**target_power
    for i in range(0, 1263, 7):  # one record at a time, among void ones
        only = np.full((33, 5), np.nan)
        only[i % 33] = features[i]
        block = RecordBlock(only, np.full(33, target[i]))
        gap = kernel.sum_block(block) * kernel.grid - plainly(kernel, block)
        assert np.abs(gap).max() <= 1e-9 * query.norm_limit


def test_a_plain_mean_of_bounded_rows_needs_no_target():
    rng = np.random.default_rng(10)
    kernel = make_kernel(rng, None, 3, intercept=False, clip_norm=np.inf, slope_limit=1.0)
    features, units = rng.standard_normal((50, 3)), kernel.query.units
    rows = (features - units.center) / units.scale
    rows *= np.minimum(1.0, 3.0 / np.linalg.norm(rows, axis=1))[:, None]
    total = kernel.sum_block(RecordBlock(features)) * kernel.grid
    np.testing.assert_allclose(total, rows.sum(axis=0), atol=1e-9)


@dataclass(frozen=True)
class ConstantSlope:
    """A loss whose slope is whatever the test asks for."""

    constant: float

    def slope(self, score, target):
        return np.full_like(score, self.constant)


@pytest.mark.parametrize(("slope", "expected"), [(np.nan, 0.0), (np.inf, 6.0), (-np.inf, -6.0)])
def test_a_slope_that_is_no_number_counts_as_zero_and_an_infinite_one_as_the_limit(slope, expected):
    units = Units(np.ones(1), np.ones(1), intercept=True)
    query = MeanClippedGradient(ConstantSlope(slope), units, row_limit=9.0, clip_norm=1.0)
    total = loop(query, np.zeros(2), 2.0**-40).sum_block(RecordBlock(np.ones((6, 1)), np.ones(6)))
    np.testing.assert_allclose(total * 2.0**-40, [0.0, expected], atol=1e-11)


def test_absurd_grids_do_not_overflow():
    kernel = make_kernel(np.random.default_rng(12), "squared", 1, grid=5e-324)
    block = RecordBlock(np.full((4000, 1), 1e3), np.full(4000, 9e9))
    assert np.abs(kernel.sum_block(block)).max() <= 4 * 2**51


@pytest.mark.parametrize(
    ("wrong", "weights"),
    [
        ({}, np.zeros(2)),
        ({}, np.array([np.nan, 0.0, 0.0])),
        ({"row_limit": -1.0}, np.zeros(3)),
        ({"clip_norm": np.inf, "row_limit": np.inf}, np.zeros(3)),
    ],
)
def test_weights_and_limits_that_bound_nothing_are_refused(wrong, weights):
    query, _ = make_query(np.random.default_rng(13), "squared", 2, **wrong)
    with pytest.raises(InputError):
        query.read_state(weights)


def test_a_block_of_another_width_is_refused():
    kernel = make_kernel(np.random.default_rng(14), "squared", 2)
    with pytest.raises(InputError, match="center must have one entry per feature"):
        kernel.sum_block(RecordBlock(np.zeros((3, 5)), np.zeros(3)))


@pytest.mark.parametrize("center", [0.0, 0.7, -3.0])
def test_absent_offsets_are_zeros(center):
    rng = np.random.default_rng(3)
    query, weights = make_query(rng, "poisson", 3, offset_center=center)
    kernel = loop(query, weights, 2.0**-40)
    block = make_block(rng, 1_100, 3, extreme=False, offset=False)
    exposed = replace(block, offset=np.zeros(block.n_rows))
    np.testing.assert_array_equal(kernel.sum_block(block), kernel.sum_block(exposed))
    if center:
        plain = replace(query, units=replace(query.units, offset_center=0.0))
        assert (kernel.sum_block(block) != loop(plain, weights, 2.0**-40).sum_block(block)).all()
