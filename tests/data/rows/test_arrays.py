"""Records in memory: the same bits for any number of threads, and void where they must be."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from support.count_below import CountBelow
from support.loops import loop
from support.score_kernels import make_block, make_kernel
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.losses import Poisson

N_LARGE = 130 * 1024 + 501


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(dtype):
    rng = np.random.default_rng(1)
    block = make_block(rng, N_LARGE, 12, extreme=True, dtype=dtype)
    rows = make_rows(block.features, block.target, offset=block.offset)
    for kernel in (
        make_kernel(rng, "logistic", 12),
        loop(CountBelow(tuple(range(14)), paired=True), np.zeros(14), 1 / 3),
    ):
        expected = kernel.sum_block(block)
        assert expected.any()
        for n_threads in (1, 2, 3):
            np.testing.assert_array_equal(rows.reduce(kernel, n_threads), expected)


@pytest.mark.parametrize("missing", [None, {3: 0.5}])
def test_another_order_gives_the_bits_of_a_copy_in_that_order_for_any_number_of_threads(missing):
    rng = np.random.default_rng(2)
    block = make_block(rng, N_LARGE, 12, extreme=True)
    columns = block.features, block.target
    order, twice = rng.permutation(N_LARGE), rng.permutation(N_LARGE)
    rows = make_rows(*columns, offset=block.offset, missing=missing)
    pairs = loop(CountBelow(tuple(range(14)), paired=True), np.ones(14), 1 / 3)
    for kernel in (make_kernel(rng, "logistic", 12), pairs):
        copied = make_rows(
            *(column[order] for column in columns), offset=block.offset[order], missing=missing
        )
        expected = copied.reduce(kernel, 1)
        for n_threads in (1, 2, 3):
            found = rows.in_order(order).reduce(kernel, n_threads)
            np.testing.assert_array_equal(found, expected)
        again, at_once = rows.in_order(order).in_order(twice), rows.in_order(order[twice])
        np.testing.assert_array_equal(again.reduce(kernel), at_once.reduce(kernel))
        some, kept = rows.in_order(order).restricted(twice[:999]), order[twice[:999]]
        np.testing.assert_array_equal(some.reduce(kernel), rows.restricted(kept).reduce(kernel))
    assert (rows.in_order(order).reduce(pairs) != rows.reduce(pairs)).any()


@dataclass
class RecordingKernel:
    """A kernel that notes the blocks it is given."""

    size = 1
    together = "none"
    reads_cells = False

    def __post_init__(self):
        self.lengths = []

    def sum_block(self, block):
        self.lengths.append(block.n_rows)
        return np.array([block.n_rows])


def test_blocks_are_whole_chunks():
    rows = make_rows(np.zeros((N_LARGE, 12)))
    kernel = RecordingKernel()
    assert rows.reduce(kernel, 3) == [N_LARGE]
    assert len(kernel.lengths) > 3
    assert sum(length % 1024 != 0 for length in kernel.lengths) == 1


def test_rows_in_another_order_are_copied_a_few_megabytes_at_a_time():
    rows = make_rows(np.zeros((N_LARGE, 12))).in_order(np.arange(N_LARGE)[::-1])
    kernel = RecordingKernel()
    assert rows.reduce(kernel, 1) == [N_LARGE]
    assert max(kernel.lengths) * 12 < 2_000_000
    assert all(length % 1024 == 0 for length in kernel.lengths[:-1])


def test_small_data_stay_in_one_block():
    kernel = RecordingKernel()
    assert make_rows(np.zeros((5000, 3))).reduce(kernel, 4) == [5000]
    assert kernel.lengths == [5000]


def test_the_environment_sets_the_number_of_threads(monkeypatch):
    rows = make_rows(np.zeros((N_LARGE, 12)))
    lengths = {}
    for told in ("1", "2"):
        monkeypatch.setenv("TAILGUARD_NUM_THREADS", told)
        kernel = RecordingKernel()
        rows.reduce(kernel)
        lengths[told] = len(kernel.lengths)
    assert lengths["1"] == 1 < lengths["2"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_are_neither_copied_nor_changed(dtype):
    features = np.ones((3, 2), dtype)
    target = np.array([1.0, -1.0, 2.0])
    features.flags.writeable = target.flags.writeable = False
    rows = make_rows(features, target, loss=Poisson())
    assert np.shares_memory(rows._records.features, features)
    kernel = loop(CountBelow((2,)), [np.inf])
    np.testing.assert_array_equal(rows.reduce(kernel), [2])  # a negative count is no count
    np.testing.assert_array_equal(target, [1.0, -1.0, 2.0])


def test_what_rows_say_of_themselves():
    frame = pd.DataFrame({"age": [1, 2], "cost": [0.5, None]})
    rows = make_rows(frame, [0, 1])
    assert (rows.n_rows, rows.n_features) == (2, 2)
    assert not rows.has_offset
    assert "0.5" not in repr(rows)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"X": np.zeros((0, 3))}, r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (
            {"X": np.zeros((3, 2)), "y": np.zeros(4)},
            "y must have one entry per row .* got 4 entries for 3",
        ),
        ({"X": np.zeros((3, 2)), "offset": np.zeros(2)}, "offset must have one entry per row"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        make_rows(**arguments)


def test_labels_become_places_and_undeclared_ones_void():
    rows = make_rows(np.zeros((4, 1)), ["b", "a", "c", None], classes=("a", "b"))
    np.testing.assert_array_equal(rows.block().target, [1.0, 0.0, np.nan, np.nan])


def test_an_exposure_enters_as_its_logarithm():
    exposure = [1.0, np.e, 0.0, -1.0, np.inf]
    rows = make_rows(np.zeros((5, 1)), np.ones(5), exposure=exposure, loss=Poisson())
    offset = rows.block().offset
    np.testing.assert_allclose(offset[:2], [0.0, 1.0], atol=1e-12)
    assert not np.isfinite(offset[2:]).any()
