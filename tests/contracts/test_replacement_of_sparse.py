"""The replacement contract for sparse matrices: no record's type decides how another is added up.

A matrix has one type for all its entries, and one record may be what makes it that type. So another
record, whose entries of one place are added, must come out the same whatever the type is.
"""

from itertools import product

import numpy as np
import pytest
import scipy.sparse

import tailguard as tg
from tailguard.data.matrices import to_features

N_ROWS, N_COLUMNS = 9, 4
# The first record, which decides the type, and entries of the others that the type holds exactly:
# true and true are none of 1 in whole numbers, 100 and 100 are too many for a byte, and a float32
# cannot hold what 1 and 2**-30 come to.
TYPES = {
    "bool": (True, [True, True]),
    "int8": (-1, [100, 100]),
    "uint8": (255, [200, 200]),
    "int16": (-3, [30_000, 30_000]),
    "uint16": (2**16 - 1, [2**16 - 1, 2]),
    "int32": (-(2**20), [2**31 - 1, 1]),
    "uint32": (2**32 - 1, [2**32 - 1, 2]),
    "int64": (-(2**40), [2**62, 2**62]),
    "uint64": (2**64 - 2**11, [2**63, 2**63]),
    "float32": (0.5, [1.0, 2.0**-30]),
    "float64": (0.1, [1e300, 1.0]),
    "longdouble": (np.longdouble(1) / 3, [1e300, -1.0]),
    "complex64": (1j, [1.0, 2.0**-30]),
    "complex128": (0.1j, [2.0**-60, 1.0]),
}
HOLDS = [pair for pair in product(TYPES, repeat=2) if np.can_cast(*pair)]
FORMS = ["csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix"]


def matrix_of(first, entries, dtype, form):
    """Each record but the first has entries of the same place; those of COO come in turns."""
    rows = [0, *np.tile(np.arange(1, N_ROWS), len(entries))]
    values = np.array([first, *np.repeat(entries, N_ROWS - 1)], dtype=dtype)
    columns = np.array(rows) % N_COLUMNS
    shape = (N_ROWS, N_COLUMNS)
    if form.startswith("coo"):
        return getattr(scipy.sparse, form)((values, (rows, columns)), shape=shape)
    lines, others = (rows, columns) if form.startswith("csr") else (columns, rows)
    order = np.argsort(lines, kind="stable")
    ends = np.searchsorted(np.sort(lines), np.arange(shape[form.startswith("csc")] + 1))
    parts = (values[order], np.array(others)[order], ends)
    return getattr(scipy.sparse, form)(parts, shape=shape)


@pytest.mark.parametrize(("narrow", "wide"), HOLDS)
def test_no_type_that_one_record_asks_for_changes_what_another_comes_to(narrow, wide):
    entries = TYPES[narrow][1]
    expected = float(sum(float(np.array(entry, narrow).real) for entry in entries))
    for dtype, form in product((narrow, wide), FORMS):
        read = to_features(matrix_of(TYPES[dtype][0], entries, dtype, form))[0:N_ROWS]
        assert read.dtype == np.float64
        others = read[np.arange(1, N_ROWS), np.arange(1, N_ROWS) % N_COLUMNS]
        assert others.tolist() == [expected] * (N_ROWS - 1), (dtype, form)


@pytest.mark.parametrize(("narrow", "wide"), [("bool", "int8"), ("int8", "float64")])
def test_a_whole_fit_of_other_records_is_the_same(narrow, wide):
    """The first record is void before and after, so that nothing else may differ."""
    rng = np.random.default_rng(0)
    n_rows, entries = 400, TYPES[narrow][1]
    rows = np.repeat(np.arange(n_rows), 2)
    columns = rng.integers(0, 2, n_rows).repeat(2)
    values = np.tile(entries, n_rows)
    y = rng.standard_normal(n_rows)
    y[0] = np.nan
    fits = []
    for dtype in (narrow, wide):
        X = scipy.sparse.coo_array((values.astype(dtype), (rows, columns)), shape=(n_rows, 2))
        X.data[0] = TYPES[dtype][0]
        model = tg.LinearRegression(epsilon=8.0, delta=1e-3, random_state=0).fit(X, y)
        fits.append(model.coef_.tobytes())
    assert fits[0] == fits[1]
