"""Dates as numbers: the same from every kind of column, each cell by itself."""

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tailguard as tg
from support import hostile
from tailguard.data.design import design_matrix, feature_marks
from tailguard.data.terms.dates import UNITS, checked_dates, date_numbers

DAYS = {"origin": "2020-01-01", "unit": "days"}
TEXTS = ["2020-01-01", "2020-03-01", "1999-12-31", None]
EXPECTED = [0.0, 60.0, -7306.0, np.nan]
DATES = [None if text is None else datetime.date.fromisoformat(text) for text in TEXTS]
MOMENTS = [
    None if day is None else datetime.datetime(day.year, day.month, day.day) for day in DATES
]
STAMPS = pd.to_datetime(pd.Series(TEXTS))
COLUMNS = {
    "list of text": TEXTS,
    "list of dates": DATES,
    "list of moments": MOMENTS,
    "list of stamps": [*STAMPS],
    "list of NumPy's": [*STAMPS.to_numpy()],
    "list of bytes": [text and text.encode() for text in TEXTS],
    "objects": pd.Series(TEXTS, dtype=object),
    "text of pandas": pd.Series(TEXTS, dtype="string"),
    "categories": pd.Series(TEXTS, dtype="category"),
    **{f"datetime64 {unit}": STAMPS.astype(f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")},
    "another order of bytes": STAMPS.to_numpy().astype(">M8[s]"),
    "index": pd.Index(STAMPS),
    "with a zone": STAMPS.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "arrow in pandas": STAMPS.astype("timestamp[us][pyarrow]"),
    "date of arrow in pandas": pd.Series(DATES, dtype="date32[pyarrow]"),
    "polars dates": pl.Series(DATES),
    **{
        f"polars {unit}": pl.Series(MOMENTS, dtype=pl.Datetime(unit)) for unit in ("ms", "us", "ns")
    },
    "polars text": pl.Series(TEXTS),
    "polars with a zone": pl.Series(MOMENTS).dt.replace_time_zone("UTC"),
    "date32": pa.array(DATES, pa.date32()),
    "date64": pa.array(DATES, pa.date64()),
    **{f"timestamp {unit}": pa.array(MOMENTS, pa.timestamp(unit)) for unit in ("s", "ms", "us")},
    "chunks": pa.chunked_array([pa.array(DATES[:2]), pa.array(DATES[2:])]),
    "arrow text": pa.array(TEXTS),
    "dictionary of dates": pa.array(DATES, pa.date32()).dictionary_encode(),
    "dictionary of timestamps": pa.chunked_array(
        [
            pa.array(part, pa.timestamp("ns", "UTC")).dictionary_encode()
            for part in (MOMENTS[:2], MOMENTS[2:])
        ]
    ),
    "dictionary in pandas": pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array(DATES).dictionary_encode())
    ),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_type_has_the_same_numbers(kind):
    np.testing.assert_array_equal(date_numbers(COLUMNS[kind], DAYS), EXPECTED)


UNITS_OF_TYPES = ["D", "s", "ms", "us", "ns"]


@pytest.mark.parametrize("unit", ["seconds", "days"])
@pytest.mark.parametrize("shortest", UNITS_OF_TYPES)
def test_one_cell_that_changes_the_type_of_a_column_changes_no_other_moment(shortest, unit):
    """Fractions too: to the last bit, since a fit may look as closely at them as floats allow."""
    ticks = np.random.default_rng(0).integers(-(2**63) + 10**15, 2**62, 500)
    stamps = [pd.Timestamp(each, unit="ns").floor(shortest) for each in ticks.tolist()]
    units = UNITS_OF_TYPES[max(1, UNITS_OF_TYPES.index(shortest)) :]  # pandas has no days
    series = [pd.Series(stamps).astype(f"M8[{each}]") for each in units]
    kinds = [*series, *map(pa.array, series), *map(pl.Series, series)]
    kinds += [each.dt.tz_localize("UTC") for each in series]
    kinds += [pd.Series([*stamps, "n/a"])[:-1], pd.Series([*stamps, "?"], dtype="category")[:-1]]
    kinds += [pd.Series(stamps, dtype="category"), [each.isoformat() for each in stamps]]
    kinds += [[*series[-1].to_numpy()], [each.tz_localize("UTC") for each in stamps]]
    kinds += [] if shortest == "ns" else [[each.to_pydatetime() for each in stamps]]
    first, *others = (date_numbers(each, DAYS | {"unit": unit}).tobytes() for each in kinds)
    assert all(other == first for other in others)


def test_moments_finer_than_text_holds_are_cut_as_text_is():
    fine = pd.Series(["2020-01-01T00:00:00.123456789", "1969-12-31T23:59:59.999999999", None])
    stamps = fine.astype("M8[ns]")
    for column in (stamps, stamps.to_numpy(), pd.Series([*stamps], dtype=object), pa.array(stamps)):
        assert date_numbers(column, DAYS).tobytes() == date_numbers(fine, DAYS).tobytes()
    tiny = np.array([-1, 5 * 10**12], dtype="M8[as]")
    found = date_numbers(tiny, {"origin": "1970-01-01", "unit": "seconds"})
    np.testing.assert_allclose(found, [-1e-6, 5e-6], rtol=1e-9)


def test_moments_are_taken_in_universal_time_in_every_unit():
    tokyo = datetime.datetime(2020, 1, 1, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    cells = [tokyo, "2020-01-01T09:00+09:00", "2020-01-01T00:00:00Z", "2020-01-01 12:00"]
    np.testing.assert_array_equal(date_numbers(cells, DAYS), [0.0, 0.0, 0.0, 0.5])
    for unit, seconds in UNITS.items():
        found = date_numbers(["2021-01-01"], {"origin": "2020-01-01", "unit": unit})
        assert found[0] == 366 * 86400 / seconds
    shifted = {"origin": "2020-01-01T12:00+12:00", "unit": "days"}
    assert date_numbers(["2020-01-01"], shifted)[0] == 0.0


def test_other_formats_are_declared():
    declared = DAYS | {"format": "%d/%m/%Y"}
    cells = ["02/01/2020", " 01/03/2020 ", "2020-03-01", "13/13/2020", b"02/01/2020"]
    np.testing.assert_array_equal(date_numbers(cells, declared), [1, 60, np.nan, np.nan, 1])
    for digits in ([20200102, 20200301], [20200102.0, np.nan], ["20200102", None]):
        found = date_numbers(pd.Series(digits), DAYS)
        assert found[0] == 1.0
    assert np.isnan(date_numbers([2020.5, 1e300, True, "2020", 3], DAYS)).all()


def test_a_cell_of_any_kind_changes_no_other():
    for case in hostile.cells(200):
        np.testing.assert_array_equal(date_numbers([*TEXTS, case.cell], DAYS)[:4], EXPECTED)


def test_declared_dates_are_features_with_constants_and_marks():
    table = pd.DataFrame({"issued": ["2020-01-03", "", "soon", None]})
    schema = tg.Schema(dates={"issued": DAYS}).settled(["issued"])
    assert schema.numeric == ()
    assert schema.coefficient_names == ("issued",)
    np.testing.assert_array_equal(design_matrix(table, schema)[:, 0], [2, np.nan, np.nan, np.nan])
    marks = feature_marks(table, schema)[:, 0]
    assert [np.isfinite(marks[0]), *np.isnan(marks[1:])] == [True, True, False, True]
    filled = tg.Schema(dates={"issued": DAYS}, missing={"issued": 9}).settled(["issued"])
    np.testing.assert_array_equal(design_matrix(table, filled)[:, 0], [2, 9, 9, 9])


# Formats that read no date, or another one on another machine.
NO_FORMATS = [
    *((each, "must have a format such as '%d/%m/%Y'") for each in ("iso", 7)),
    *(("%d %b %Y", "'%b'"), ("%d/%m/%Y %Z", "'%Z'"), ("%d/%m/%Y %p", "'%p'"), ("%x", "'%x'")),
    *(("%Q", "'%Q'"), ("%d/%m/%Y %", "'%'"), ("%Y-%Y", "each part once")),
    *((each, "reads a date with its year") for each in ("%d/%m", "%H:%M", "%%Y")),
]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (["issued"], "dates must map names of columns to their origin and unit"),
        ({"issued": "2020-01-01"}, "must declare an origin and a unit"),
        ({"issued": {"unit": "days"}}, "must declare an origin and a unit"),
        ({"issued": DAYS | {"zone": "UTC"}}, "must declare an origin and a unit"),
        ({"issued": DAYS | {"origin": "first"}}, "must have an origin such as '2020-01-01'"),
        ({"issued": DAYS | {"origin": 2020}}, "must have an origin such as '2020-01-01'"),
        ({"issued": DAYS | {"unit": "months"}}, "must be one of 'seconds', 'hours', 'days'"),
        *(({"issued": DAYS | {"format": each}}, words) for each, words in NO_FORMATS),
    ],
)
def test_what_is_no_declaration_of_dates_is_refused(declared, words):
    with pytest.raises(tg.InputError, match=words):
        tg.Schema(dates=declared)


def test_dates_have_no_levels_and_no_other_place():
    with pytest.raises(tg.InputError, match="dates must not be of a column with declared levels"):
        tg.Schema(dates={"issued": DAYS}, categorical={"issued": ["2020"]})
    with pytest.raises(tg.InputError, match="dates must name features; got 'issued'"):
        tg.Schema(dates={"issued": DAYS}, drop=["issued"])
    day = datetime.date(2020, 1, 1)
    assert checked_dates({"issued": {"origin": day, "unit": "days"}}) == {"issued": DAYS}


def test_lengths_of_time_are_no_dates():
    table = pd.DataFrame({"issued": pd.to_timedelta([1, 2], unit="D")})
    schema = tg.Schema(dates={"issued": DAYS}).settled(["issued"])
    assert np.isnan(design_matrix(table, schema)).all()


class Loud(datetime.tzinfo):
    """A zone that came with a cell: what it runs is not ours."""

    def utcoffset(self, moment):
        raise SystemExit("secret")

    dst = tzname = utcoffset


def test_a_zone_of_an_unknown_type_is_not_asked():
    known = datetime.datetime(2020, 1, 2, tzinfo=ZoneInfo("UTC"))
    column = [datetime.datetime(2020, 1, 2, tzinfo=Loud()), known]
    np.testing.assert_array_equal(
        date_numbers(column, checked_dates({"c": DAYS})["c"]), [np.nan, 1]
    )


@pytest.mark.parametrize(
    ("pattern", "cell"),
    [
        ("%d/%m/%y", "02/01/20"),
        ("%Y%j", "2020002"),
        ("%Y.%m.%d %H:%M:%S.%f%z", "2020.01.02 01:00:00.0+0100"),
        ("100%% %Y-%m-%d", "100% 2020-01-02"),
    ],
)
def test_formats_of_numbers_are_taken(pattern, cell):
    declared = checked_dates({"issued": DAYS | {"format": pattern}})["issued"]
    assert date_numbers([cell], declared)[0] == 1.0
