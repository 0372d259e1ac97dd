"""Sparse features are the dense ones, cell by cell, and a record is made of its own entries."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from tailguard.checks import InputError
from tailguard.data.matrices import dense_pieces, to_features, to_matrix

FORMATS = ("csr", "csc", "coo")
OTHERS = ("lil", "dok", "dia", "bsr")
TYPES = (np.float32, np.float64, np.int8, np.int64, np.bool_, np.uint16, np.complex128)
N_ROWS, N_COLUMNS = 12, 5
HUGE = [0.0, -0.0, 1.5, -7.0, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan]


def table(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((20, 6)) < 0.3, rng.integers(-3, 9, (20, 6)), 0)
    return values.astype(dtype)


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_holds_what_its_dense_array_does(name, kind):
    dense = table()
    X = getattr(scipy.sparse, f"{name}_{kind}")(dense)
    features = to_features(X)
    assert (features.shape, len(features)) == (dense.shape, 20)
    assert features[3:99].tobytes() == to_matrix(X.toarray()[3:]).tobytes()
    places = np.array([19, 0, 7, 7])
    assert features.take(places).tobytes() == dense[places].tobytes()
    assert features.take(places[:0]).shape == (0, 6)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["csr", "coo"])
def test_every_type_is_read_as_the_dense_array_of_it(name, dtype):
    dense = table(dtype)
    read = to_features(scipy.sparse.csr_array(dense).asformat(name))[0:20]
    assert read.dtype == np.float64
    assert read.tobytes() == to_matrix(dense).astype(np.float64).tobytes()
    assert read.flags.c_contiguous


def entries():
    """Entries of one record: columns, some of which are not there, and what they hold."""
    return st.lists(
        st.tuples(st.integers(-2, N_COLUMNS + 2), st.sampled_from(HUGE) | st.floats()), max_size=9
    )


def matrix_of(records, dtype=np.float64):
    """A CSR matrix of whatever entries, duplicates and columns that are not there among them."""
    ends = np.cumsum([0, *map(len, records)])
    columns = np.array([column for record in records for column, _ in record], dtype=np.int32)
    values = np.array([value for record in records for _, value in record], dtype=dtype)
    X = scipy.sparse.csr_array((N_ROWS, N_COLUMNS), dtype=dtype)
    X.data, X.indices, X.indptr = values, columns, ends.astype(np.int32)
    return X


@settings(deadline=None, max_examples=40)
@given(st.lists(entries(), min_size=N_ROWS, max_size=N_ROWS), entries(), st.integers(0, N_ROWS - 1))
def test_a_replaced_record_changes_no_bit_of_another(records, other, place):
    """Whatever it holds and however much of it: also what SciPy would write elsewhere."""
    before = to_features(matrix_of(records))[0:N_ROWS]
    records[place] = other
    after = to_features(matrix_of(records))[0:N_ROWS]
    assert np.delete(before, place, 0).tobytes() == np.delete(after, place, 0).tobytes()
    outside = any(not 0 <= column < N_COLUMNS for column, _ in other)
    assert np.isnan(after[place]).all() or not outside
    alone = np.zeros(N_COLUMNS)
    for column, value in other if not outside else ():
        with np.errstate(all="ignore"):
            alone[column] += value
    assert outside or alone.tobytes() == after[place].tobytes()


@settings(deadline=None, max_examples=15)
@given(st.lists(entries(), min_size=N_ROWS, max_size=N_ROWS), entries())
def test_in_another_format_a_replaced_record_changes_no_bit_of_another_either(records, other):
    """Twenty entries of a cell: to sort them by columns, were it not stable, would change sums."""
    records[0] = [(2, value) for value in np.random.default_rng(0).standard_normal(40)]
    found = []
    for second in ([], [pair for pair in other if 0 <= pair[0] < N_COLUMNS]):
        records = [[pair for pair in each if 0 <= pair[0] < N_COLUMNS] for each in records]
        records[1] = second
        found.append(to_features(matrix_of(records).tocoo())[0:N_ROWS])
    first, second = (np.delete(rows, 1, 0) for rows in found)
    assert first.tobytes() == second.tobytes()
    with np.errstate(all="ignore"):
        assert second.tobytes() == np.delete(matrix_of(records).toarray(), 1, 0).tobytes()


def test_entries_of_one_cell_are_added_in_the_order_they_were_given_in():
    rng = np.random.default_rng(0)
    places = rng.integers(0, 3, (2, 4000))
    X = scipy.sparse.coo_array((rng.standard_t(1, 4000), tuple(places)), shape=(3, 3))
    assert to_features(X)[0:3].tobytes() == X.toarray().tobytes()


def test_what_was_given_is_neither_changed_nor_copied():
    X = matrix_of([[(3, 1.0), (1, 2.0), (3, 4.0)]] * N_ROWS)
    stored = [a.tobytes() for a in (X.data, X.indices, X.indptr)]
    features = to_features(X)
    assert features[0:1].tolist() == [[0.0, 2.0, 0.0, 5.0, 0.0]]
    assert [a.tobytes() for a in (X.data, X.indices, X.indptr)] == stored
    assert np.shares_memory(features._entries, X.data)


def test_ends_that_were_written_over_reach_nothing_outside():
    X = matrix_of([[(0, 1.0)]] * N_ROWS)
    X.indptr[3:5] = 2**30, -7
    read = to_features(X)[0:N_ROWS]
    assert np.delete(read, [2, 3, 4], 0).tolist() == [[1.0, 0.0, 0.0, 0.0, 0.0]] * (N_ROWS - 3)


def objects():
    """A matrix of objects, which SciPy makes none of by itself."""
    X = scipy.sparse.csr_array(table())
    X.data = X.data.astype(object)
    return X


WRONG = {
    "objects": (objects(), r"hold real numbers.*got object"),
    "no rows": (scipy.sparse.csr_array((0, 3)), r"found 0 sample\(s\)"),
    "no columns": (scipy.sparse.csr_matrix((3, 0)), r"found 0 feature\(s\)"),
    "a vector": (scipy.sparse.coo_array(np.ones(3)), r"must be a matrix of records by features"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_refused_is_refused_by_shape_and_type(kind):
    X, words = WRONG[kind]
    with pytest.raises(InputError, match=words):
        to_features(X)


@pytest.mark.parametrize("name", OTHERS)
def test_formats_that_only_scipy_can_read_are_refused_with_the_way_out(name):
    X = scipy.sparse.csr_array(table()).asformat(name)
    with pytest.raises(InputError, match=rf"csr, csc or coo; got '{name}': pass X.tocsr\(\)"):
        to_features(X)


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_too_few_ends_are_refused_without_the_number_of_rows(name):
    X = scipy.sparse.csr_array(table()).asformat(name)
    X.indptr = X.indptr[:-1]
    with pytest.raises(InputError, match=r"^X.indptr must have one number more than .* fewer\.$"):
        to_features(X)


@pytest.mark.parametrize("row", [-1, 20, 2**33])
def test_an_entry_in_a_row_that_is_not_there_is_nobodys(row):
    dense = table()
    X = scipy.sparse.coo_array(dense)
    rows, columns = (held.astype(np.int64) for held in X.coords)
    X.coords = np.append(rows, row), np.append(columns, 0)
    X.data = np.append(X.data, 5.0)
    assert to_features(X)[0:20].tobytes() == to_matrix(dense).tobytes()


def test_columns_whose_ends_were_written_over_reach_nothing_outside():
    for end in (900_000, -7, 2**30):
        X = scipy.sparse.csc_array(np.ones((40, 4)))
        X.indptr[1] = end
        assert to_features(X)[0:40].shape == (40, 4)


@pytest.mark.parametrize("name", ["csr", "csc", "coo"])
def test_arrays_of_unequal_length_are_cut_to_the_shortest(name):
    X = scipy.sparse.csr_array(np.eye(3)).asformat(name)
    if name == "coo":
        X.coords = X.coords[0], X.coords[1][:-1]
    else:
        X.indices = X.indices[:-1]
    assert to_features(X)[0:3].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("width", [1, 7, 600_000, 3_000_000])
def test_pieces_are_cut_by_the_shape_alone(width):
    X = scipy.sparse.coo_array(([2.0], ([3], [0])), shape=(5, width))
    pieces = list(dense_pieces(to_features(X)))
    assert sum(map(len, pieces)) == 5
    assert max(piece.size for piece in pieces) <= max(width, 1_000_000)
    assert np.concatenate([piece[:, 0] for piece in pieces]).tolist() == [0, 0, 0, 2, 0]
    held = np.broadcast_to(0.0, (5, width))
    assert [p.shape for p in dense_pieces(held)] == [p.shape for p in pieces]
