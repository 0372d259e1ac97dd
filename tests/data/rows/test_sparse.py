"""Sums over sparse records have the bits of the dense array, however they are cut or ordered."""

import numpy as np
import pytest
import scipy.sparse

from support.count_below import CountBelow
from support.loops import gathered, loop
from support.row_views import views
from support.score_kernels import make_block, make_kernel
from tailguard.data.rows.arrays import make_rows

N_ROWS, N_FEATURES = 20 * 1024 + 501, 12
ORDER = np.random.default_rng(1).permutation(N_ROWS)
VIEWS = views(ORDER)


def both(dtype, missing):
    """Rows of the same records, dense and sparse; cells are missing, infinite or huge here."""
    rng = np.random.default_rng(2)
    block = make_block(rng, N_ROWS, N_FEATURES, extreme=True, dtype=dtype)
    features = np.where(rng.random(block.features.shape) < 0.7, dtype(0), block.features)
    features[::13, 3] = np.nan
    sparse = scipy.sparse.csr_array(features)
    # SciPy's array and not the one above, whose negative zeros it did not store.
    return [make_rows(X, block.target, missing=missing) for X in (sparse.toarray(), sparse)]


@pytest.mark.parametrize("missing", [None, {3: 0.5}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("view", VIEWS)
def test_sums_have_the_bits_of_the_dense_array(view, dtype, missing):
    dense, sparse = map(VIEWS[view], both(dtype, missing))
    assert (dense.n_rows, dense.n_features) == (sparse.n_rows, sparse.n_features)
    rng = np.random.default_rng(3)
    for kernel in (
        make_kernel(rng, "logistic", N_FEATURES),
        loop(CountBelow(tuple(range(13)), paired=True), np.ones(13), 1 / 3),
        gathered(dense.n_rows, 13),
    ):
        expected = dense.reduce(kernel, 1)
        assert expected.any()
        for n_threads in (1, 3):
            np.testing.assert_array_equal(sparse.reduce(kernel, n_threads), expected)


class Widest:
    """A kernel that notes how many numbers it is given at most."""

    size = 1
    together = "none"
    reads_cells = False

    def __init__(self):
        self.n_numbers = 0

    def sum_block(self, block):
        self.n_numbers = max(self.n_numbers, block.features.size)
        return np.array([block.n_rows])


@pytest.mark.parametrize("view", ["as they lie", "in order", "some"])
def test_no_more_than_a_piece_is_dense_at_a_time(view):
    """Of 2000 columns 1024 records, which is one chunk, are more than a piece should have."""
    rows = VIEWS[view](make_rows(scipy.sparse.csr_array((N_ROWS, 2000))))
    kernel = Widest()
    assert rows.reduce(kernel, 2).tolist() == [rows.n_rows]
    assert kernel.n_numbers == 1024 * 2000
