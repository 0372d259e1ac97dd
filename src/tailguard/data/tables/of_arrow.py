"""Columns of pyarrow, chunked or not. It is loaded by the user already, and never by us."""

from typing import Any

from tailguard.array_types import FloatArray
from tailguard.data.tables.cells import cell_numbers
from tailguard.data.tables.kinds import Kind, other_cells

TEXT = {"string", "large_string", "string_view"}
BYTES = {"binary", "large_binary", "binary_view"}
# Of a type of these, which may be followed by how they are stored.
UUIDS = "extension<arrow.uuid"


def kind(column: Any) -> Kind:
    """Say how a column is read by its type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kind(pa.array([1.5])), kind(pa.array(["a"])), kind(pa.array([[1]]))
    ('numbers', 'cells', 'others')
    """
    return kind_of_type(column.type)


def kind_of_type(arrow: Any) -> Kind:
    """Say how Arrow's types are read; one without a single value says nothing, so by its cells.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kind_of_type(pa.null()), kind_of_type(pa.dictionary(pa.int8(), pa.string()))
    ('cells', 'levels')
    """
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(arrow):
        return "levels"
    text = str(arrow) in TEXT | BYTES or str(arrow).startswith(UUIDS)
    if types.is_null(arrow) or types.is_fixed_size_binary(arrow) or text:
        return "cells"
    plain = types.is_boolean(arrow) or types.is_integer(arrow) or types.is_floating(arrow)
    return "numbers" if plain or types.is_decimal(arrow) else "others"


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers as floats.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers(pa.array([1, None]))
    array([ 1., nan])
    """
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_decimal(column.type):
        return cell_numbers(column.to_pylist())  # a cast rounds by the scale of the widest cell
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    column = column.cast(pa.float64(), safe=False)  # a safe cast may refuse large integers
    floats: FloatArray = column.to_numpy(zero_copy_only=False)  # a null becomes NaN
    return floats


def floats(table: Any) -> list[FloatArray] | None:
    """Return the columns of a table of one type of Arrow's floats; None of any other.

    The type is looked at once, where ``numbers`` looks at that of each column: in batches of 47104
    records of 20 columns that was a seventh of the time of turning them into records.

    Examples
    --------
    >>> import pyarrow as pa
    >>> floats(pa.table({"age": [41.0, None], "cost": [7.5, 3.0]}))
    [array([41., nan]), array([7.5, 3. ])]
    >>> floats(pa.table({"age": [41, 50], "cost": [7.5, 3.0]})) is None
    True
    """
    if {str(kind) for kind in table.schema.types} not in ({"float"}, {"double"}):
        return None
    return [column.to_numpy(zero_copy_only=False) for column in table.columns]


def cells(column: Any) -> list[Any]:
    """Return the cells as Python objects, text as bytes: pyarrow raises where these are no text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells(pa.array(["a", None, "b"]).dictionary_encode())
    [b'a', None, b'b']
    """
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(column.type):
        found: list[Any] = []
        for part in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            levels = cells(part.dictionary)
            places = part.indices.to_pylist()
            found += [None if place is None else levels[place] for place in places]
        return found
    if kind(column) == "others":
        return other_cells(column.is_null().to_pylist())
    if str(column.type) in TEXT:
        column = column.cast(pa.large_binary())
    return list(column.to_pylist())
