"""Sums by groups of bounded coordinates: against their definition, bounded, blind to cuts."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from support.score_kernels import LOSS_NAMES, make_block
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock
from tailguard.losses.registry import make_loss
from tailguard.queries.coordinates import (
    CoordinateBound,
    bounded_group_sums,
    placed_gradients,
    score_gradients,
)
from tailguard.queries.loop import steady_arithmetic
from tailguard.queries.soft_truncation import cubic_reach
from tailguard.queries.units import Units

BOUNDS = {
    "clamped": CoordinateBound("clamped", 1.5),
    "truncated": CoordinateBound("truncated", 1.5),
    "soft": CoordinateBound("soft", 1.5, smoothing=4.6),
    "soft-wide": CoordinateBound("soft", 300.0, smoothing=2.0),
}
every_bound = pytest.mark.parametrize("bound", BOUNDS)


@dataclass(frozen=True, eq=False)
class GroupSums:
    """What a mean of bounded coordinates sums."""

    loss: Any
    units: Units
    bound: CoordinateBound
    weights: np.ndarray
    n_rows: int
    n_groups: int = 1
    grid: float = 2.0**-40

    together, reads_cells = "some", False

    @property
    def size(self):
        return self.n_groups * self.units.size

    def sum_block(self, block):
        with steady_arithmetic():
            shape = {"n_rows": self.n_rows, "n_groups": self.n_groups, "grid": self.grid}
            return bounded_group_sums(
                self.loss, self.units, self.bound, self.weights, block, **shape
            ).ravel()


def make_kernel(rng, name, n_features, bound, *, n_rows, intercept=True, offset=0.1, n_groups=1):
    center, scale = rng.standard_normal(n_features), rng.uniform(0.5, 2.0, n_features)
    units = Units(center, scale, intercept, 0.3, 2.0, offset)
    loss = None if name is None else make_loss(name)
    return GroupSums(loss, units, BOUNDS[bound], rng.standard_normal(units.size), n_rows, n_groups)


@np.errstate(all="ignore")
def plainly(kernel, block):
    """The means of the groups by their definition, in floats."""
    gradients = score_gradients(kernel.loss, kernel.units, kernel.weights, block)
    values = kernel.bound.apply(np.concatenate([chunk.copy() for chunk in gradients]))
    edges = np.arange(kernel.n_groups + 1) * kernel.n_rows // kernel.n_groups
    return np.concatenate([values[a:b].mean(axis=0) for a, b in pairwise(edges)])


def means(n_features, bound, *, n_rows, n_groups=1, grid=2.0**-40):
    """A plain mean in raw units."""
    units = Units.raw(n_features, intercept=False)
    return GroupSums(None, units, BOUNDS[bound], np.zeros(n_features), n_rows, n_groups, grid)


# Features and groups; one loss takes all of them, the others two by turns.
SHAPES = ((1, 3), (3, 1), (8, 300), (21, 2))
BY_TURNS = [(name, SHAPES[place % 2 :: 2]) for place, name in enumerate(LOSS_NAMES)]


@every_bound
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("squared", SHAPES),
        *(case for case in BY_TURNS if case[0] != "squared"),
        *(pytest.param(name, SHAPES, marks=pytest.mark.audit) for name in LOSS_NAMES),
    ],
)
def test_the_kernel_agrees_with_plain_numpy(name, shapes, bound):
    rng = np.random.default_rng(1)
    largest = 0.0
    for extreme in (False, True):
        for dtype in (np.float32, np.float64):
            for n_features, n_groups in shapes:
                kernel = make_kernel(
                    rng, name, n_features, bound, n_rows=1100, n_groups=n_groups,
                    intercept=n_features != 8,
                )  # fmt: skip
                block = make_block(rng, 1100, n_features, extreme=extreme, dtype=dtype)
                found = kernel.sum_block(block) * kernel.grid
                assert np.abs(found - plainly(kernel, block)).max() <= 1e-8 * kernel.bound.scale
                largest = max(largest, np.abs(found).max())
    assert largest > 1e-2 * kernel.bound.limit


@every_bound
def test_no_record_changes_how_another_is_evaluated(bound):
    kernel = means(9, bound, n_rows=4, grid=BOUNDS[bound].scale * 2.0**-48)
    scale = kernel.bound.scale
    reach = scale * cubic_reach(kernel.bound.smoothing)
    at_reach = [reach * (1 + k * 2.0**-52) for k in range(-8, 9)]
    seen = set()
    for value in (*at_reach, 0.3 * reach, scale, np.nextafter(scale, 0), 7.0 * scale):
        features = np.zeros((4, 9))
        features[:, 0] = value, -value / 3, value / 7, value
        found = []
        for other in (0.0, 1e-200, 1.0, 1e6, 1e200, np.nan):
            features[3] = other
            features[3, 0] = 0.0
            found.append(kernel.sum_block(RecordBlock(features.copy()))[0])
        assert len(set(found)) == 1
        seen.add(found[0])
    assert len(seen) > 3


@every_bound
def test_equal_numbers_give_equal_bits_however_stored(bound):
    rng = np.random.default_rng(5)
    for n_features in (1, 7, 8, 40):
        kernel = make_kernel(rng, "logistic", n_features, bound, n_rows=700, n_groups=5)
        block = make_block(rng, 700, n_features, extreme=True, dtype=np.float32)
        wide = replace(block, features=block.features.astype(np.float64))
        np.testing.assert_array_equal(kernel.sum_block(block), kernel.sum_block(wide))


@every_bound
@pytest.mark.parametrize("n_groups", [1, 4, 22, 1000])
def test_no_bit_depends_on_how_records_are_cut_into_blocks(bound, n_groups):
    rng = np.random.default_rng(7)
    n_rows = 1024 + 77
    kernel = make_kernel(rng, "pseudo_huber", 4, bound, n_rows=n_rows, n_groups=n_groups)
    block = make_block(rng, n_rows, 4, extreme=True)
    whole = kernel.sum_block(block)
    parts = block.rows(0, 1024), block.rows(1024, n_rows)
    np.testing.assert_array_equal(whole, sum(kernel.sum_block(part) for part in parts))


@pytest.mark.parametrize("n_groups", [1, 2, 3, 7, 29, 30])
def test_groups_are_runs_of_neighbours_of_sizes_that_differ_by_one_at_most(n_groups):
    kernel = means(1, "clamped", n_rows=30, n_groups=n_groups)
    sizes = []
    for group in range(n_groups):
        start, stop = (g * 30 // n_groups for g in (group, group + 1))
        features = np.zeros((30, 1))
        features[start:stop] = 1.25
        found = kernel.sum_block(RecordBlock(features)) * kernel.grid
        np.testing.assert_allclose(found, 1.25 * (np.arange(n_groups) == group), atol=1e-9)
        sizes.append(stop - start)
    assert sum(sizes) == 30
    assert {30 // n_groups, -(-30 // n_groups)} == set(sizes)


def test_what_equals_the_threshold_is_kept_and_the_next_float_is_not():
    features = np.array([[1.5], [np.nextafter(1.5, 2)], [-1.5], [-np.nextafter(1.5, 2)], [1.0]])
    kernel = means(1, "truncated", n_rows=5, n_groups=5)
    found = kernel.sum_block(RecordBlock(features)) * kernel.grid
    np.testing.assert_allclose(found, [1.5, 0.0, -1.5, 0.0, 1.0], atol=1e-11)
    fours = kernel.sum_block(RecordBlock(np.full((5, 1), np.nextafter(1.5, 2))))
    np.testing.assert_array_equal(fours, np.zeros(5))


@pytest.mark.parametrize("bound", ["clamped", "soft"])
def test_finite_values_that_overflow_count_as_the_limit(bound):
    kernel = means(2, bound, n_rows=4)
    kernel = replace(kernel, units=Units(np.zeros(2), np.full(2, 1e-10), intercept=False))
    block = RecordBlock(np.tile([1e308, -1e308], (4, 1)))
    limit = kernel.bound.limit
    found = kernel.sum_block(block) * kernel.grid
    np.testing.assert_allclose(found, [limit, -limit], atol=1e-9)


def test_tiny_values_are_not_lost():
    bound = CoordinateBound("clamped", 1e-150)
    kernel = replace(means(1, "clamped", n_rows=6), bound=bound, grid=1e-163)
    found = kernel.sum_block(RecordBlock(np.full((6, 1), 1e-200 + 3e-155))) * kernel.grid
    np.testing.assert_allclose(found, [3e-155], rtol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "trimmed"},
        {"scale": 0.0},
        {"scale": 1e300},
        {"scale": np.nan},
        {"kind": "soft", "smoothing": 1e3},
    ],
)
def test_a_wrong_bound_is_refused(wrong):
    with pytest.raises(InputError):
        CoordinateBound(**{"kind": "clamped", "scale": 1.0} | wrong)


@pytest.mark.parametrize("block", [(0, 6), (1024, 1), (3, 2)])
def test_a_block_that_does_not_fit_the_rows_is_refused(block):
    first, length = block
    kernel = means(1, "clamped", n_rows=5)
    with pytest.raises(InputError, match="n_rows must cover every block"):
        kernel.sum_block(RecordBlock(np.zeros((length, 1)), first=first))


def test_gradients_of_a_person_are_added_by_her_shares():
    rows = np.array([[1.0, 2.0], [4.0, 8.0], [5.0, np.inf], [3.0, 1.0]])
    block = RecordBlock(
        rows,
        weight=np.array([0.5, 0.25, 0.0, 1.0]),
        first=0,
        share=np.array([0.5, 0.25, 0.25, 1.0]),
        person=np.array([0, 0, 0, 1]),
    )
    units = Units.raw(2, intercept=False)
    sums = placed_gradients(None, units, block, np.zeros(2), 3).view(np.float64).reshape(3, 2)
    assert sums.tolist() == [[1.5, 3.0], [3.0, 1.0], [0.0, 0.0]]
