"""Arrays of NumPy, of any shape, masked or not."""

from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.data.tables.kinds import Kind, other_cells


def kind(array: Any) -> Kind | None:
    """Say how an array is read by its type; None where it is refused.

    Examples
    --------
    >>> kind(np.zeros(2)), kind(np.array(["a"])), kind(np.array(["2020-01-01"], "M8[D]"))
    ('numbers', 'cells', 'others')
    """
    return kind_of_dtype(array.dtype)


def kind_of_dtype(dtype: Any) -> Kind | None:
    """Say how NumPy's types are read: objects, text and bytes cell by cell; one may be complex.

    Lengths of time are refused: NumPy makes them of whole numbers that stand beside one.

    Examples
    --------
    >>> kind_of_dtype(np.dtype(bool))
    'numbers'
    """
    if dtype.kind in "OUST":
        return "cells"
    if dtype.kind == "M":
        return "others"
    return "numbers" if dtype.kind in "biufc" else None


def numbers(array: Any) -> FloatArray:
    """Return float32 as it is and all else as float64, contiguous and in the machine's order.

    A complex number with an imaginary part is missing: one such cell makes all others complex.

    Examples
    --------
    >>> numbers(np.ma.MaskedArray([1, 2], mask=[0, 1]))
    array([ 1., nan])
    """
    single = array.dtype.kind == "f" and array.dtype.itemsize == np.float32().itemsize
    values = np.ma.getdata(array)
    if array.dtype.kind == "c":
        values = np.where(values.imag == 0.0, values.real, np.nan)
    with np.errstate(all="ignore"):
        floats = np.require(values, np.float32 if single else np.float64, ["C", "A"])
    floats = floats.view(np.ndarray)
    if isinstance(array, np.ma.MaskedArray):
        floats = np.where(np.ma.getmaskarray(array), floats.dtype.type(np.nan), floats)
    return floats


def cells(array: Any) -> list[Any]:
    """Return the cells in C order as Python objects, None where they are masked.

    Examples
    --------
    >>> cells(np.array([["a"], ["b"]]))
    ['a', 'b']
    """
    values = np.asarray(np.ma.getdata(array)).ravel()
    dates = kind(array) == "others"
    found = other_cells(np.isnat(values)) if dates else values.tolist()
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array).ravel()
        found = [None if gone else cell for cell, gone in zip(found, hidden, strict=True)]
    return list(found)
