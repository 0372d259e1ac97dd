"""The fused sum of clipped gradients: against its twin, bounded, and blind to storage and cuts."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from support.adversary import datasets, neighbours, records, replaced
from support.score_kernels import LOSS_NAMES, InNumPyOnly, make_block, make_kernel
from tailguard.checks import InputError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.data.rows.base import RecordBlock, summation_slack
from tailguard.losses import LpLoss, Squared
from tailguard.losses.compiled import compile_slopes
from tailguard.queries.kernels import numpy_twin

OPTIONS = {
    "all": {},
    "no-intercept": {"intercept": False},
    "no-row-limit": {"row_limit": np.inf},
    "no-clip": {"clip_norm": np.inf, "slope_limit": 2.0},
    "tiny": {"clip_norm": 1e-150, "grid": 2.0**-540},
}


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_kernel_agrees_with_plain_numpy(name, options):
    rng = np.random.default_rng(1)
    for extreme in (False, True):
        for dtype in (np.float32, np.float64):
            for n_features in (1, 3, 8, 21):
                kernel = make_kernel(rng, name, n_features, **OPTIONS[options])
                block = make_block(rng, 1100, n_features, extreme=extreme, dtype=dtype)
                fused = kernel.sum_block(block)
                plain = numpy_twin.clipped_gradient_sum(
                    kernel, kernel.norm_limit, kernel.grid, block
                )
                gap = np.abs(fused - plain).max() * kernel.grid
                assert gap <= 1e-9 * kernel.norm_limit
                assert np.abs(fused).max() * kernel.grid > 1e-2 * kernel.norm_limit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [False, True])
def test_no_record_contributes_more_than_its_limit(dtype, intercept):
    rng = np.random.default_rng(2)
    kernel = make_kernel(rng, "squared", 2, intercept=intercept, grid=2.0**-45)
    size, limit = kernel.size, Fraction(kernel.norm_limit) / Fraction(kernel.grid)
    largest = 0
    for record in records(rng, 400, 4):
        with np.errstate(over="ignore"):
            features = np.tile(record[:2], (4, 1)).astype(dtype)
        # A record alone is rescaled, one of a group of four takes the fast path.
        alone = RecordBlock(features[:1], record[2:3].copy(), record[3:].copy())
        voids = np.array([record[2], np.nan, np.nan, np.nan])
        grouped = RecordBlock(features, voids, np.full(4, record[3]))
        for block in (alone, grouped):
            units = kernel.sum_block(block)
            squared_norm = sum(int(unit) ** 2 for unit in units)
            largest = max(largest, squared_norm)
            # Rounding to the lattice moves each coordinate by half a unit at most.
            assert squared_norm <= (limit + Fraction(size, 2)) ** 2
    assert largest > (0.999 * limit) ** 2


def test_replacing_a_record_moves_the_sum_by_twice_the_limit_at_most():
    rng = np.random.default_rng(3)
    kernel = make_kernel(rng, "squared", 3, grid=1e-9)
    allowed = (2 * kernel.norm_limit + summation_slack(kernel.norm_limit)) / kernel.grid
    allowed += np.sqrt(kernel.size)
    largest = 0.0
    for data in datasets(rng, 24, 70, 4):
        before = kernel.sum_block(RecordBlock(data[:, :3].copy(), data[:, 3].copy()))
        for slot, record in neighbours(rng, data, 20):
            other = replaced(data, slot, record)
            after = kernel.sum_block(RecordBlock(other[:, :3].copy(), other[:, 3].copy()))
            largest = max(largest, np.linalg.norm((after - before).astype(float)))
    assert largest <= allowed
    assert largest > 0.99 * allowed


@pytest.mark.parametrize("column", range(4))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_record_with_a_value_that_is_not_finite_contributes_nothing(column, value):
    rng = np.random.default_rng(4)
    kernel = make_kernel(rng, "huber", 2)
    data = rng.standard_normal((40, 4))
    data[:4, column] = value  # one whole group
    data[9, column] = value  # one of a group
    data[39, column] = value

    def total(rows):
        return kernel.sum_block(RecordBlock(rows[:, :2].copy(), *rows[:, 2:].T.copy()))

    void = [0, 1, 2, 3, 9, 39]
    cleared = data.copy()
    cleared[void] = np.nan
    np.testing.assert_array_equal(total(data), total(cleared))
    whole = np.delete(data, void, axis=0)
    np.testing.assert_allclose(total(data) * kernel.grid, total(whole) * kernel.grid, atol=1e-9)


@pytest.mark.parametrize("extreme", [False, True])
def test_equal_numbers_give_equal_bits_however_stored(extreme):
    rng = np.random.default_rng(5)
    for n_features in (1, 7, 8, 13, 40):
        kernel = make_kernel(rng, "logistic", n_features, grid=2.0**-44)
        block = make_block(rng, 700, n_features, extreme=extreme, dtype=np.float32)
        wide = replace(block, features=block.features.astype(np.float64))
        np.testing.assert_array_equal(kernel.sum_block(block), kernel.sum_block(wide))


def test_the_order_of_records_changes_a_chunk_by_rounding_only():
    rng = np.random.default_rng(6)
    kernel = make_kernel(rng, "squared", 5)
    block = make_block(rng, 1024, 5, extreme=True)
    order = rng.permutation(1024)
    mixed = RecordBlock(block.features[order], block.target[order], block.offset[order])
    gap = np.abs(kernel.sum_block(block) - kernel.sum_block(mixed)) * kernel.grid
    assert gap.max() <= summation_slack(kernel.norm_limit) + kernel.grid


def test_chunks_add_up_exactly():
    rng = np.random.default_rng(7)
    kernel = make_kernel(rng, "pseudo_huber", 4)
    block = make_block(rng, 5 * 1024 + 77, 4, extreme=True)
    whole = kernel.sum_block(block)
    for cut in (1024, 3072):
        parts = block.rows(0, cut), block.rows(cut, block.n_rows)
        np.testing.assert_array_equal(whole, sum(kernel.sum_block(part) for part in parts))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(dtype, n_features, intercept):
    rng = np.random.default_rng(16)
    kernel = make_kernel(rng, "logistic", n_features, grid=2.0**-44, intercept=intercept)
    n_rows = 70_001 if n_features < 100 else 10_001
    for extreme in (False, True):
        block = make_block(rng, n_rows, n_features, extreme=extreme, dtype=dtype)
        rows = ArrayRows(block.features, block.target, block.offset)
        expected = kernel.sum_block(block)
        assert np.abs(expected).max() > 0
        for n_threads in (1, 2):
            np.testing.assert_array_equal(rows.reduce(kernel, n_threads), expected)


@pytest.mark.parametrize("n_features", [1, 8, 9])
@pytest.mark.parametrize("n_rows", [*range(1, 18), 1023, 1025, 1027, 1029])
def test_every_number_of_records_is_summed(n_rows, n_features):
    rng = np.random.default_rng(n_rows)
    kernel = make_kernel(rng, "squared", n_features)
    block = make_block(rng, n_rows, n_features, extreme=False)
    plain = numpy_twin.clipped_gradient_sum(kernel, kernel.norm_limit, kernel.grid, block)
    gap = np.abs(kernel.sum_block(block) - plain).max() * kernel.grid
    assert gap <= 1e-9 * kernel.norm_limit


@pytest.mark.parametrize("loss", [LpLoss(4), InNumPyOnly(LpLoss(4))])
def test_directions_survive_overflow_and_no_row_is_too_long_but_some_are_too_short(loss):
    kernel = make_kernel(np.random.default_rng(8), "lp", 2, intercept=False)
    kernel = replace(
        kernel,
        loss=loss,  # the slope at a target of 1e150 overflows
        center=np.zeros(2),
        inverse_scale=np.ones(2),
        weights=np.zeros(2),
        target_center=0.0,
    )

    def total(features):
        block = RecordBlock(np.array([features]), np.array([-1e150]))
        return kernel.sum_block(block) * kernel.grid

    for features in ([1.1e-145, 0.0], [1e150, 0.0], [1e308, 1e100], [1e200, 0.0]):
        np.testing.assert_allclose(total(features), [1.5, 0.0], atol=1e-11)
    for features in ([0.9e-145, 0.0], [1e-200, 1e-310], [5e-324, 0.0]):
        np.testing.assert_array_equal(total(features), [0.0, 0.0])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("target_power", [0.0, 200.0])
@pytest.mark.parametrize("d", [5, 8])
def test_every_magnitude_of_a_row_is_treated_alike(intercept, target_power, d):
    rng = np.random.default_rng(15)
    kernel = make_kernel(rng, "lp", d, intercept=intercept, row_limit=np.inf)
    kernel = replace(kernel, center=np.zeros(d))
    powers = np.linspace(-323.0, 308.0, 1263)
    features = rng.uniform(-1.0, 1.0, (1263, d)) * 10.0 ** powers[:, None]
    target = rng.standard_normal(1263) * 10.0**target_power
    for i in range(0, 1263, 7):  # one record at a time, among void ones
        alone = np.full((33, d), np.nan)
        alone[i % 33] = features[i]
        block = RecordBlock(alone, np.full(33, target[i]))
        plain = numpy_twin.clipped_gradient_sum(kernel, kernel.norm_limit, kernel.grid, block)
        gap = np.abs(kernel.sum_block(block) - plain).max() * kernel.grid
        assert gap <= 1e-9 * kernel.norm_limit


def test_a_zero_row_contributes_nothing():
    kernel = make_kernel(np.random.default_rng(9), "squared", 2, intercept=False)
    rows = np.tile(kernel.center, (5, 1))
    block = RecordBlock(rows, np.full(5, 1e300))
    np.testing.assert_array_equal(kernel.sum_block(block), [0, 0])


def test_a_plain_mean_of_bounded_rows_needs_no_target():
    rng = np.random.default_rng(10)
    kernel = make_kernel(rng, None, 3, intercept=False, clip_norm=np.inf, slope_limit=1.0)
    features = rng.standard_normal((50, 3))
    rows = (features - kernel.center) * kernel.inverse_scale
    rows *= np.minimum(1.0, 3.0 / np.linalg.norm(rows, axis=1))[:, None]
    total = kernel.sum_block(RecordBlock(features)) * kernel.grid
    np.testing.assert_allclose(total, rows.sum(axis=0), atol=1e-9)


first_of_shape = compile_slopes(lambda score, target, shape: shape[0])


@dataclass(frozen=True)
class ConstantSlope:
    """A loss whose slope is whatever the test asks for."""

    constant: float
    slope_loop: object = None

    @property
    def shape(self):
        return np.array([self.constant])

    def slope(self, score, target):
        return np.full_like(score, self.constant)


@pytest.mark.parametrize("compiled", [None, first_of_shape])
@pytest.mark.parametrize(("slope", "expected"), [(np.nan, 0.0), (np.inf, 6.0), (-np.inf, -6.0)])
def test_a_slope_that_is_no_number_counts_as_zero_and_an_infinite_one_as_the_limit(
    compiled, slope, expected
):
    kernel = make_kernel(np.random.default_rng(0), "squared", 1, clip_norm=1.0, row_limit=9.0)
    kernel = replace(kernel, loss=ConstantSlope(slope, compiled), center=np.ones(1))
    kernel = replace(kernel, weights=np.zeros(2))
    block = RecordBlock(np.ones((6, 1)), np.ones(6))
    total = kernel.sum_block(block) * kernel.grid
    np.testing.assert_allclose(total, [0.0, expected], atol=1e-11)


def test_a_loss_without_a_compiled_slope_goes_to_the_twin():
    rng = np.random.default_rng(11)
    kernel = make_kernel(rng, "squared", 3)
    block = make_block(rng, 1500, 3, extreme=True)
    plain = replace(kernel, loss=InNumPyOnly(Squared())).sum_block(block)
    assert np.abs(plain - kernel.sum_block(block)).max() * kernel.grid <= 1e-9


def test_absurd_grids_do_not_overflow():
    kernel = make_kernel(np.random.default_rng(12), "squared", 1, grid=5e-324)
    block = RecordBlock(np.full((4000, 1), 1e3), np.full(4000, 9e9))
    assert np.abs(kernel.sum_block(block)).max() <= 4 * 2**51


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": np.zeros(2)},
        {"center": np.array([np.nan, 0.0])},
        {"inverse_scale": np.ones(3)},
        {"target_scale": 0.0},
        {"row_limit": -1.0},
        {"grid": 0.0},
        {"clip_norm": np.inf, "slope_limit": np.inf},
    ],
)
def test_wrong_parameters_are_refused(wrong):
    kernel = make_kernel(np.random.default_rng(13), "squared", 2)
    with pytest.raises(InputError):
        replace(kernel, **wrong)


def test_a_block_of_another_width_is_refused():
    kernel = make_kernel(np.random.default_rng(14), "squared", 2)
    with pytest.raises(InputError, match="center must have one entry per feature"):
        kernel.sum_block(RecordBlock(np.zeros((3, 5)), np.zeros(3)))


@pytest.mark.parametrize("center", [0.0, 0.7, -3.0])
def test_absent_offsets_are_zeros(center):
    rng = np.random.default_rng(3)
    kernel = make_kernel(rng, "poisson", 3, offset_center=center)
    block = make_block(rng, 1_100, 3, extreme=False, offset=False)
    exposed = replace(block, offset=np.zeros(block.n_rows))
    np.testing.assert_array_equal(kernel.sum_block(block), kernel.sum_block(exposed))
    if center:
        other = replace(kernel, offset_center=0.0).sum_block(block)
        assert (kernel.sum_block(block) != other).all()
