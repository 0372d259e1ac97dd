"""Types that one cell decides: in every library the other cells keep the bits that they had.

What is compared is what the library itself kept. Where it made something else of another cell, such
as nothing at all, that cell was lost before we saw it.
"""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from support import hostile
from tailguard.checks import InputError
from tailguard.data.columns import identifiers_of, numbers_of
from tailguard.data.labels import encode_labels
from tailguard.data.matrices import to_vector

NATIVE = {
    "integers": [1, -2, 2**53 + 1, 41, 0, 7],
    "wide integers": [2**63 + 3, 1, 2**64 - 1, 41, 0, 7],
    "wider integers": [2**64 + 2**11 + 1, 10**25, 41, -(10**30), 0, 7],
    "complex numbers": [0.1, 1j, 2.0 + 0j, 5e-324, -3.0, 1e22],
    "floats": [0.1, -1e300, 5e-324, 1 / 3, 1e22, 1e-7],
    "booleans": [True, False, True, True, False, True],
    "single floats": list(np.array([0.1, 1e30, 1e-45, 1 / 3, 3.0, 7.5], np.float32)),
    "integers and gaps": [1, None, 2**53 + 1, 41, None, 7],
    "floats and gaps": [0.1, None, 5e-324, 1 / 3, None, 1e-7],
    "booleans and gaps": [True, None, True, None, False, True],
    "text": ["0.1", "-2", "2.5e-7", "9007199254740993", " 5 ", "7"],
    "decimals": [Decimal("0.1"), Decimal("-123456789012345678901.5"), Decimal(3), 1, 2, 7],
}


def panics(cells):
    """Whether a cell would crash polars, and print so: a decimal that is no number."""
    return any(isinstance(cell, Decimal) and not cell.is_finite() for cell in cells)


MAKERS = {
    "numpy": np.array,
    "numpy masked": lambda cells: np.ma.array(cells, mask=[False] * len(cells)),
    "pandas": pd.Series,
    "pandas nullable": lambda cells: pd.Series(cells).convert_dtypes(),
    "pandas arrow": lambda cells: pd.Series(cells).convert_dtypes(dtype_backend="pyarrow"),
    "pandas index": pd.Index,
    "polars": lambda cells: None if panics(cells) else pl.Series(cells, strict=False),
    "pyarrow": pa.array,
    "pyarrow from pandas": lambda cells: pa.Array.from_pandas(pd.Series(cells)),
}
CELLS = hostile.data()
CELLS += [0.5, 3, True, "x", "2.5", b"x", 2**63, -1, 2**64, 10**400, Decimal("1e-30")]


def made(make, cells):
    """Return the column, or None where the library cannot hold these cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(cells)
        except BaseException:
            return None


def cells_of(column):
    """The cells that a column holds, as Python objects."""
    lister = {pa.Array: "to_pylist", pl.Series: "to_list"}
    name = next((name for kind, name in lister.items() if isinstance(column, kind)), "tolist")
    return list(getattr(column, name)())


def kept(original, held):
    """Whether a library holds this very number, true value or gap, in whatever form."""
    if original is None:
        return held is pd.NA or str(held) in {"None", "nan"}
    if isinstance(held, str):
        words = {"true": 1.0, "false": 0.0}
        try:
            held = words[held.lower()] if held.lower() in words else float(held)
        except ValueError:
            return False
        original = float(original)
    return type(held) in {int, float, bool, Decimal} and float(held) == float(original)


def compared(make, values, cell, alone, declared):
    """Compare the bits of what the library kept; return how many cells that were."""
    column = made(make, [*values, cell])
    if column is None or getattr(column, "ndim", 1) != 1:
        return 0
    try:
        found = to_vector(column)
    except InputError as refused:
        declared.add(str(refused).partition("; got ")[2].partition(":")[0])
        return 0
    held = cells_of(column)
    places = [place for place, value in enumerate(values) if kept(value, held[place])]
    assert found[places].tobytes() == alone[places].tobytes()
    return len(places)


@pytest.mark.parametrize("library", MAKERS)
def test_one_cell_changes_no_bit_of_the_others(library):
    make, declared, count = MAKERS[library], set(), 0
    for values in NATIVE.values():
        clean = made(make, values)
        if clean is not None:
            alone = to_vector(clean)
            count += sum(compared(make, values, cell, alone, declared) for cell in CELLS)
    assert not declared
    assert count > 900


@pytest.mark.parametrize("make", [np.array, np.ma.array])
@pytest.mark.parametrize("length", [(3, "s"), (3, "D"), ("NaT", "ns")])
def test_whole_numbers_beside_a_length_of_time_stay_as_they_are(make, length):
    column = make([5, -7, np.timedelta64(*length)])
    assert column.dtype.kind == "m"
    last = np.nan if length[0] == "NaT" else 3.0
    np.testing.assert_array_equal(to_vector(column), [5.0, -7.0, last])
    matrix = column.reshape(-1, 1)
    np.testing.assert_array_equal(numbers_of(matrix, "X"), [[5.0], [-7.0], [last]])
    assert identifiers_of(column)[:2] == [5, -7]
    np.testing.assert_array_equal(encode_labels(column, [5, -7]), [0.0, 1.0, np.nan])
