"""Declared labels as numbers.

A column that has a type is accepted or refused by it: the cells of some types (dates, for one)
cannot always be turned into Python objects, and a failure would tell of a record.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tailguard.checks import InputError
from tailguard.kernels.block import FloatArray
from tailguard.quiet import quietly
from tailguard.tables import is_a, is_column, table_columns, type_word

__all__ = ["arrow_cells", "column_cells", "encode_labels"]

MISSING = object()  # equal to no label that anybody declares


def encode_labels(y: Any, classes: Sequence[Any]) -> FloatArray:
    """Return the place of each label among ``classes``, and NaN for what is not among them.

    The classes are declared, never looked up in the data: an undeclared or missing label makes its
    record void. So does a cell that cannot be compared. A column of another type than text,
    integers, real numbers or booleans is refused.

    Examples
    --------
    >>> encode_labels(["yes", "no", "perhaps", None], classes=("no", "yes"))
    array([ 1.,  0., nan, nan])
    """
    places = {label: float(place) for place, label in enumerate(_plain(classes))}
    if len(places) < 2 or len(places) != len(classes):
        raise InputError(
            f"classes must be at least two different labels; got {len(classes)}, of which "
            f"{len(places)} are different."
        )
    with quietly():
        return np.array([_place(label, places) for label in column_cells(y, "y")], dtype=np.float64)


def arrow_cells(column: Any, where: str, *, floats: bool) -> list[Any]:
    """Return the cells of a pyarrow column whose type a label can have; None where one is missing.

    Text is decoded here, as pyarrow raises where the bytes of a cell are no text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> arrow_cells(pa.array(["north", None]), "Column 'region'", floats=False)
    ['north', None]
    """
    import pyarrow as pa  # noqa: PLC0415 (the column is from there)

    kind = column.type
    _check_arrow_type(kind, where, floats=floats)
    if pa.types.is_dictionary(kind):
        cells = []
        for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            levels = arrow_cells(part.dictionary, where, floats=floats)
            places = part.indices.to_pylist()
            cells += [None if place is None else levels[place] for place in places]
        return cells
    if not _is_text(kind):
        return list(column.to_pylist())
    coded = column.cast(pa.large_binary()).to_pylist()
    return [None if cell is None else cell.decode(errors="replace") for cell in coded]


def _check_arrow_type(kind: Any, where: str, *, floats: bool) -> None:
    from pyarrow import types  # noqa: PLC0415

    inner = kind.value_type if types.is_dictionary(kind) else kind
    right = _is_text(inner) or types.is_integer(inner) or types.is_boolean(inner)
    if not (right or (floats and types.is_floating(inner))):
        raise _wrong_type(where, kind, floats=floats)


def _is_text(kind: Any) -> bool:
    from pyarrow import types  # noqa: PLC0415

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _wrong_type(where: str, dtype: Any, *, floats: bool = True) -> InputError:
    allowed = "text, integers, real numbers or booleans" if floats else "text, integers or booleans"
    return InputError(f"{where} must hold {allowed}; got {type_word(dtype)}.")


def column_cells(y: Any, where: str) -> list[Any]:
    """Return a column of labels as Python objects, judging it by its type.

    Examples
    --------
    >>> column_cells(np.array(["no", "yes"]), "y")
    ['no', 'yes']
    """
    columns = table_columns(y)
    shape = getattr(y, "shape", (0,)) if columns is None else (len(y), len(columns))
    if len(shape) != 1 and shape[1:] != (1,):
        raise InputError(f"{where} must be one column of labels; got shape {tuple(shape)}.")
    if columns is not None:
        y = columns[0][1]
    if is_a(y, "pyarrow", "Array") or is_a(y, "pyarrow", "ChunkedArray"):
        return arrow_cells(y, where, floats=True)
    if is_a(y, "polars", "Series"):
        return _polars_cells(y, where)
    if is_column(y):
        return _pandas_cells(y, where)
    if not hasattr(y, "dtype") and not hasattr(y, "__array__"):
        return list(y)
    return _array_cells(y, where)


def _polars_cells(column: Any, where: str) -> list[Any]:
    polars, dtype = sys.modules["polars"], column.dtype
    words = (polars.String, polars.Categorical, polars.Enum, polars.Boolean)
    if not (dtype in words or dtype.is_integer() or dtype.is_float()):
        raise _wrong_type(where, dtype)
    return list(column.to_list())


def _pandas_cells(column: Any, where: str) -> list[Any]:
    dtype, array = column.dtype, getattr(column, "array", column)
    if isinstance(dtype, np.dtype):
        return _array_cells(column.to_numpy(), where)
    if is_a(dtype, "pandas", "CategoricalDtype"):
        levels = _pandas_cells(dtype.categories, where)
        return [MISSING if code < 0 else levels[code] for code in array.codes]
    text = is_a(dtype, "pandas", "StringDtype")
    if is_a(dtype, "pandas", "ArrowDtype") or (text and dtype.storage == "pyarrow"):
        return arrow_cells(array.__arrow_array__(), where, floats=True)
    if not text and getattr(dtype, "kind", "O") not in "biuf":
        raise _wrong_type(where, dtype)
    return list(array)


def _array_cells(y: Any, where: str) -> list[Any]:
    labels = np.ma.asarray(y)
    values = np.ma.getdata(labels)
    if values.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {where} must hold labels.")
    if values.dtype.kind not in "biufOUST":
        raise _wrong_type(where, values.dtype)
    masked = np.ma.getmaskarray(labels)
    pairs = zip(values.ravel().tolist(), masked.ravel(), strict=True)
    return [MISSING if hidden else cell for cell, hidden in pairs]


def _plain(labels: Any) -> list[Any]:
    """Return declared labels as a list of Python objects."""
    for method in ("to_pylist", "to_list"):
        if hasattr(labels, method):
            return list(getattr(labels, method)())
    if hasattr(labels, "__array__"):
        return list(np.asarray(labels).tolist())
    return list(labels)


def _place(label: Any, places: dict[Any, float]) -> float:
    """Find one label; a cell that cannot be compared is an undeclared label."""
    try:
        return places.get(label, np.nan)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return np.nan
