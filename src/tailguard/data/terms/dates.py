"""Convert dates to numbers: the time after a public origin, cell by cell.

A column with a date type is read as a whole. All other columns are read cell by cell: text in ISO
8601 or in a declared format, whole numbers as the text of their digits, and ``datetime`` objects. A
moment without a time zone is in universal time (UTC).
"""

import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime, timezone
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice, shown
from tailguard.data.cells import cell_identifier
from tailguard.data.columns import cells_of
from tailguard.data.frames import is_a
from tailguard.quiet import quietly

UNITS = {"seconds": 1.0, "hours": 3600.0, "days": 86400.0, "weeks": 604800.0, "years": 31557600.0}
"""Seconds of each unit; a year has 365.25 days."""

KEYS = ("origin", "unit", "format")
"""Declarations of a column of dates; the format is optional."""

DIRECTIVES = frozenset("YymdjHMSfz%")
"""Directives that a format may use; others depend on the machine's locale, or define no moment."""
EXAMPLE = datetime(2001, 2, 3, 4, 5, 6, 7, UTC)  # formats are tried on this moment

ZONES = (timezone, ZoneInfo)
"""Classes of time zones that are accepted: others could run code from the cell."""

# Seconds per unit of time of NumPy. Months and years have no fixed length, so they are not listed.
TICKS = {"W": 604800.0, "D": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
# Shorter units: how many make a second.
PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}


def checked_dates(given: Any) -> dict[str, dict[str, str]]:
    """Return the declarations of date columns as text: origin, unit and optionally a format."""
    if not isinstance(given, Mapping) or not all(isinstance(column, str) for column in given):
        raise InputError(
            "dates must map names of columns to their origin and unit, such as {'issued': "
            f"{{'origin': '2020-01-01', 'unit': 'days'}}}}; got {shown(given)}."
        )
    return {
        column: _checked_date(f"dates[{column!r}]", declared) for column, declared in given.items()
    }


def _checked_date(where: str, declared: Any) -> dict[str, str]:
    if not isinstance(declared, Mapping) or not {"origin", "unit"} <= {*declared} <= {*KEYS}:
        raise InputError(
            f"{where} must declare an origin and a unit, and perhaps a format, such as {{'origin': "
            f"'2020-01-01', 'unit': 'days', 'format': '%d.%m.%Y'}}; got {shown(declared)}."
        )
    origin, pattern = declared["origin"], declared.get("format")
    origin = origin.isoformat() if isinstance(origin, date) else origin
    if not isinstance(origin, str) or np.isnan(_seconds_of_text(None, origin)):
        raise InputError(f"{where} must have an origin such as '2020-01-01'; got {shown(origin)}.")
    check_choice(f"{where}['unit']", declared["unit"], UNITS)
    if pattern is not None:
        _check_format(where, pattern)
    checked = {"origin": origin, "unit": declared["unit"]}
    return checked if pattern is None else {**checked, "format": pattern}


def _check_format(where: str, pattern: Any) -> None:
    """Refuse a format that parses no date, or whose result depends on the machine."""
    if not isinstance(pattern, str) or "%" not in pattern:
        raise InputError(f"{where} must have a format such as '%d/%m/%Y'; got {shown(pattern)}.")
    directives = re.findall("%(.?)", pattern, re.DOTALL)
    unknown = next((each for each in directives if each not in DIRECTIVES), None)
    if unknown is not None:
        allowed = " ".join(f"%{each}" for each in "YymdjHMSfz")
        raise InputError(
            f"{where} must have a format of {allowed} and %%, which mean the same on every "
            f"machine; got {shown(f'%{unknown}')} in {shown(pattern)}."
        )
    has_year = "Y" in directives or "y" in directives  # Python 3.14 warns of days without a year
    try:
        parsed = datetime.strptime(EXAMPLE.strftime(pattern), pattern) if has_year else None
    except (ValueError, re.error):
        parsed = None
    if parsed is None or parsed.year != EXAMPLE.year:
        raise InputError(
            f"{where} must have a format that reads a date with its year, and each part once, such "
            f"as '%d/%m/%Y'; got {shown(pattern)}."
        )


def has_date_type(column: Any) -> bool:
    """Whether the type of a column, and not its cells, says that it holds dates."""
    return _seconds_of_column(column) is not None


def date_numbers(column: Any, declared: Mapping[str, str]) -> FloatArray:
    """Return the time of each cell after the origin, in the declared unit; NaN if not a date."""
    seconds = _seconds(column, declared.get("format"))
    return (seconds - _seconds_of_text(None, declared["origin"])) / UNITS[declared["unit"]]


def _seconds(column: Any, pattern: str | None) -> FloatArray:
    """Return the seconds after 1970 of each cell; NaN if it is not a date."""
    dtype: Any = getattr(column, "dtype", None)
    if is_a(dtype, "pandas", "CategoricalDtype"):  # its levels have a date type if all are dates
        levels = np.append(_seconds(dtype.categories, pattern), np.nan)
        return np.asarray(levels[getattr(column, "array", column).codes])
    column = _without_dictionary(column)
    seconds = _seconds_of_column(column)
    if seconds is None:
        cells = cells_of(column)
        with quietly():
            seconds_of = map(partial(_seconds_of_cell, pattern), cells)
            seconds = np.fromiter(seconds_of, np.float64, len(cells))
    return seconds


def _seconds_of_column(column: Any) -> FloatArray | None:
    """Return the seconds after 1970 of a column with a date type; None for other types."""
    if is_a(column, "polars", "Series"):
        return _seconds_of_polars(column)
    dtype: Any = getattr(column, "dtype", None)
    column = _as_arrow(column)
    if _is_arrow(column):
        return _seconds_of_arrow(column)
    if is_a(dtype, "pandas", "DatetimeTZDtype"):
        return _seconds_of_numpy(np.asarray(column, dtype=f"M8[{dtype.unit}]"))
    return _seconds_of_numpy(np.asarray(column)) if getattr(dtype, "kind", "") == "M" else None


def _as_arrow(column: Any) -> Any:
    """Return the Arrow array of a pandas column that holds one; any other column unchanged."""
    holds_arrow = is_a(getattr(column, "dtype", None), "pandas", "ArrowDtype")
    return getattr(column, "array", column).__arrow_array__() if holds_arrow else column


def _is_arrow(column: Any) -> bool:
    return is_a(column, "pyarrow", "Array") or is_a(column, "pyarrow", "ChunkedArray")


def _without_dictionary(column: Any) -> Any:
    """Return dates that Arrow stores as a dictionary as plain dates; other columns unchanged."""
    arrow = _as_arrow(column)
    if not _is_arrow(arrow):
        return column
    from pyarrow import types  # noqa: PLC0415

    kind = arrow.type.value_type if types.is_dictionary(arrow.type) else None
    has_dates = kind is not None and (types.is_date(kind) or types.is_timestamp(kind))
    return arrow.cast(kind) if has_dates else column


def _seconds_of_numpy(moments: Any) -> FloatArray:
    unit, count = np.datetime_data(moments.dtype)
    if unit not in TICKS | PER_SECOND:  # years or months
        moments, unit, count = moments.astype("M8[s]"), "s", 1
    seconds = _seconds_of_ticks(moments.astype(np.int64) * count, unit)  # of any byte order
    return np.where(np.isnat(moments), np.nan, seconds)


def _seconds_of_ticks(ticks: IntArray, unit: str) -> FloatArray:
    """Return ticks as seconds, with the digits and the rounding of ``_after_1970``.

    One cell may turn a column of dates into text or objects, and the others must keep their bits.
    """
    if unit in TICKS:
        return ticks.astype(np.float64) * TICKS[unit]
    per_second = PER_SECOND[unit]
    whole, rest = np.divmod(ticks, per_second)
    micros = rest * 1000 if unit == "ms" else rest // (per_second // 10**6)
    return whole + micros / 1e6


def _seconds_of_polars(column: Any) -> FloatArray | None:
    polars, dtype = sys.modules["polars"], column.dtype
    if dtype != polars.Date and not isinstance(dtype, polars.Datetime):
        return None
    unit = "D" if dtype == polars.Date else dtype.time_unit
    ticks = column.to_physical().cast(polars.Int64).fill_null(0).to_numpy()
    return np.where(column.is_null().to_numpy(), np.nan, _seconds_of_ticks(ticks, unit))


def _seconds_of_arrow(column: Any) -> FloatArray | None:
    import pyarrow as pa  # noqa: PLC0415

    kind = column.type
    if not pa.types.is_date(kind) and not pa.types.is_timestamp(kind):
        return None
    unit = kind.unit if pa.types.is_timestamp(kind) else "D" if kind == pa.date32() else "ms"
    integers = pa.int32() if unit == "D" else pa.int64()
    ticks = np.asarray(column.cast(integers).cast(pa.int64()).fill_null(0))
    return np.where(np.asarray(column.is_null()), np.nan, _seconds_of_ticks(ticks, unit))


def _seconds_of_cell(pattern: str | None, cell: Any) -> float:
    """Return the seconds after 1970 of one cell; NaN if it is not a date."""
    try:
        if type(cell) is datetime:
            safe_zone = cell.tzinfo is None or type(cell.tzinfo) in ZONES
            return _after_1970(cell) if safe_zone else np.nan
        if type(cell) is date:
            return _after_1970(datetime(cell.year, cell.month, cell.day))
        if type(cell) is np.datetime64:
            return float(_seconds_of_numpy(np.array([cell]))[0])
        if type(cell) is getattr(sys.modules.get("pandas"), "Timestamp", None):
            return float(_seconds_of_numpy(np.array([cell.asm8]))[0])
        text = cell_identifier(cell)  # text, or a whole number
        return np.nan if text is None else _seconds_of_text(pattern, str(text).strip())
    except Exception:
        return np.nan


def _seconds_of_text(pattern: str | None, text: str) -> float:
    """Return the seconds after 1970 of text in the pattern or ISO 8601; NaN for other text."""
    try:
        if pattern is None:
            return _after_1970(datetime.fromisoformat(text))
        return _after_1970(datetime.strptime(text, pattern))
    except (ValueError, OverflowError):
        return np.nan


def _after_1970(moment: datetime) -> float:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    passed = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return passed.days * 86400 + passed.seconds + passed.microseconds / 1e6
