"""Identifiers are read exactly, each by itself, and refuse nothing."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tailguard as tg
from support import hostile
from tailguard.data.columns import identifiers_of
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.noise.sources import make_source

FAR = 2**62 + 1  # as a float, the same as its neighbours
PLACE = 1
# What a cell is, and what it tells.
CELLS = [
    *((each, 41) for each in (41, np.int8(41), np.uint64(41), 41.0, np.float32(41), 41 + 0j)),
    *((each, 41) for each in (Decimal("41"), Decimal("41.00"), Decimal("4.1e1"), Fraction(82, 2))),
    *((each, 1) for each in (True, np.True_)),
    *((each, FAR) for each in (FAR, np.int64(FAR), Decimal(FAR), Fraction(FAR))),
    *((each, -(2**63)) for each in (-(2**63), np.int64(-(2**63)), Decimal(-(2**63)))),
    *((each, hex(2**63)) for each in (2**63, np.uint64(2**63), float(2**63), Decimal(2**63))),
    (np.longdouble(2**60) + 1, 2**60 + 1),
    (10**5000, hex(10**5000)),
    *((each, "p 7") for each in ("p 7", np.str_("p 7"), b"p 7", np.bytes_(b"p 7"))),
    (b"\xff", "\udcff"),
    (UUID(int=7), str(UUID(int=7))),
    *((each, None) for each in (None, pd.NA, float("nan"), np.inf, 1.5, Decimal("1.5"))),
    *((each, None) for each in (Decimal("nan"), Decimal("snan"), Decimal("-inf"), 1j)),
    *((each, None) for each in (Fraction(1, 3), Decimal("1e999999999"), date(2026, 1, 1))),
    *((each, None) for each in ([41], (41,), {"id": 41}, object(), np.datetime64("2026-01-01"))),
]


@pytest.mark.parametrize(("cell", "told"), CELLS, ids=lambda part: type(part).__name__)
def test_a_cell_is_read_exactly_and_changes_no_other(cell, told):
    column = [FAR, None, "x", np.str_("y"), UUID(int=9)]
    expected = [FAR, None, "x", "y", str(UUID(int=9))]
    column[PLACE], expected[PLACE] = cell, told
    held = np.empty(len(column), dtype=object)
    held[:] = column
    for given in (column, held, pd.Series(held, dtype=object)):
        found = identifiers_of(given)
        assert found == expected
        assert list(map(type, found)) == list(map(type, expected))


def test_500_hostile_cells_concern_themselves_only():
    expected = [FAR, "x", str(UUID(int=9)), 41, 7]
    for found in hostile.cells(500):
        column = [FAR, "x", UUID(int=9), found.cell, Decimal(41), 7.0]
        hostile.VICTIMS[:] = [column]
        read = identifiers_of(column)
        assert [*read[:3], *read[4:]] == expected, found.kind
        assert read[3] is None or type(read[3]) in (int, str)


def tampered():
    """A UUID whose number was written over, by one that has code of its own."""
    uuid = UUID(int=5)
    object.__setattr__(uuid, "int", type("Loud", (int,), {"__index__": lambda self: 1 / 0})(5))
    return uuid


def test_an_object_that_was_tampered_with_tells_nothing():
    negative = UUID(int=5)
    object.__setattr__(negative, "int", None)
    assert identifiers_of([tampered(), negative, 7]) == [None, None, 7]


FAR_COLUMNS = {
    "pandas int64": pd.Series([FAR, 7]),
    "pandas Int64": pd.Series([FAR, 7, None], dtype="Int64"),
    "pandas uint64": pd.Series([FAR, 7], dtype="uint64"),
    "pandas objects": pd.Series([FAR, 7, None], dtype=object),
    "pandas levels": pd.Series([FAR, 7, FAR], dtype="category"),
    "polars": pl.Series([FAR, 7, None]),
    "polars decimals": pl.Series([Decimal(FAR), Decimal(7)]),
    "arrow": pa.chunked_array([[FAR, 7], [None]]),
    "arrow decimals": pa.array([Decimal(FAR), Decimal(7), None]),
    "arrow levels": pa.array([FAR, 7]).dictionary_encode(),
    "text": np.array([str(FAR), "7"]),
}


@pytest.mark.parametrize("name", FAR_COLUMNS)
def test_whole_numbers_of_64_digits_are_exact_whatever_holds_them(name):
    hashed = KeyedHash(make_source(None))
    expected = hashed.of(np.array([FAR, 7]))
    np.testing.assert_array_equal(hashed.of(identifiers_of(FAR_COLUMNS[name]))[:2], expected)


UUIDS = [UUID(int=5), UUID(int=2**127)]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(UUIDS),
        pd.Series(list(map(str, UUIDS))),
        pl.Series(list(map(str, UUIDS))),
        pa.array(UUIDS, pa.uuid()),
        pd.Series(pd.array(UUIDS, dtype=pd.ArrowDtype(pa.uuid()))),
    ],
    ids=["UUID", "text", "polars text", "arrow", "pandas arrow"],
)
def test_a_uuid_is_its_text_whatever_holds_it(column):
    assert KeyedHash(make_source(1)).of(identifiers_of(column)).tolist() == (
        KeyedHash(make_source(1)).of(list(map(str, UUIDS))).tolist()
    )


# A column, and the same one with a cell missing or odd: one of them was refused.
PAIRS = {
    "booleans": (pd.Series([True, False, True]), pd.Series([True, None, True])),
    "dates": (
        pd.Series(pd.to_datetime(["2026-01-01"] * 3)),
        pd.Series([pd.Timestamp("2026-01-01"), "?", pd.Timestamp("2026-01-01")]),
    ),
    "complex numbers": (np.array([7, 8, 9]), np.array([7, 8 + 1j, 9])),
    "nanoseconds": (pa.array([1, 2, 3], pa.timestamp("ns")), pa.array([None] * 3)),
    "lists": (pa.array([[1], [2], [3]]), pa.array([[1], None, [3]])),
    "long numbers": (pl.Series([7, 8, 9]), pl.Series([7, 2**100, 9], dtype=pl.Int128)),
    "masked": (np.arange(3), np.ma.masked_array(range(3), [False, True, False])),
    "decimals": (pa.array([Decimal("7.5")] * 3), pa.array([Decimal("7.5"), None, Decimal("7.5")])),
    "text that is none": (
        pa.StringArray.from_buffers(
            3,
            pa.py_buffer(np.array([0, 1, 2, 3], dtype=np.int32).tobytes()),
            pa.py_buffer(b"a\xffb"),
        ),
        pa.array(["a", None, "b"]),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_no_column_is_refused_since_one_cell_may_have_made_its_type(name):
    """Nor does one change what another tells, but where what made the column did so."""
    first, second = map(identifiers_of, PAIRS[name])
    assert len(first) == len(second) == 3
    assert [first[0], first[2]] == [second[0], second[2]]
    assert name != "masked" or second[1] is None


def test_a_fit_takes_identifiers_of_any_type():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.standard_normal(300), "y": rng.standard_normal(300)})
    for ids in (pd.date_range("2026-01-01", periods=300), [UUID(int=i) for i in range(300)]):
        model = tg.LinearRegression(epsilon=8.0, delta=1e-3, random_state=0)
        model.fit(table.assign(id=ids), target="y", row_id="id")
        assert np.isfinite(model.coef_).all()
