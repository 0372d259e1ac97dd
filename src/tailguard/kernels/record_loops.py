"""Loops that ask a user's function for the gradient of one record at a time.

The function gets copies, so it cannot change the records or the weights. Whatever goes wrong inside
it concerns that record only, whose gradient then counts as zero: an exception or a warning that
reached the outside would say something about a record.
"""

import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError

from .block import FloatArray, RecordBlock

__all__ = ["gradients"]

Gradient = Callable[[FloatArray, FloatArray, float], Any]

# Filters for warnings belong to the whole process: one block at a time.
ONE_AT_A_TIME = threading.Lock()


def gradients(
    gradient: Gradient, weights: FloatArray, size: int, block: RecordBlock
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the gradient of each record of a block that is not void, and which records those are.

    Examples
    --------
    >>> block = RecordBlock(np.array([[1.0], [np.nan], [3.0]]))
    >>> found, used = gradients(lambda w, x, y: 2 * x, np.zeros(1), 1, block)
    >>> found[:, 0], used
    (array([2., 0., 6.]), array([ True, False,  True]))
    """
    used = ~block.void()
    found = np.zeros((block.n_rows, size))
    if hasattr(gradient, "py_func"):
        _run_compiled(gradient, weights, block, used, found)
    else:
        with ONE_AT_A_TIME, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _run_python(gradient, weights, block, used, found)
    return found, used


def _run_python(
    gradient: Gradient, weights: FloatArray, block: RecordBlock, used: Any, found: FloatArray
) -> None:
    targets = block.vector("target")
    for i in np.flatnonzero(used):
        row = block.features[i].astype(np.float64)
        try:
            result = np.asarray(gradient(weights.copy(), row, float(targets[i])))
            if result.shape == found[i].shape and result.dtype.kind in "biuf":
                found[i] = result
        except Exception:
            found[i] = 0.0


def _run_compiled(
    gradient: Any, weights: FloatArray, block: RecordBlock, used: Any, found: FloatArray
) -> None:
    from numba.core.errors import NumbaError  # noqa: PLC0415 (Numba takes a while to load)

    targets = np.ascontiguousarray(block.vector("target"))
    arguments = (gradient, weights, block.features, targets, used, found)
    try:
        _compiled_loop()(*arguments)
    except NumbaError:
        # Types decide whether a function compiles, never a record.
        raise InputError(
            "gradient must compile with Numba for (weights, features, target) of types float64[:], "
            "float64[:] and float64, and return a vector of real numbers; it does not."
        ) from None


@cache
def _compiled_loop() -> Callable[..., None]:
    from numba import njit  # noqa: PLC0415

    loop: Callable[..., None] = njit(nogil=True)(_loop)
    return loop


def _loop(
    gradient: Gradient,
    weights: FloatArray,
    features: Any,
    targets: FloatArray,
    used: Any,
    found: FloatArray,
) -> None:
    for i in range(len(features)):
        if used[i]:
            row = features[i].astype(np.float64)
            try:
                result = gradient(weights.copy(), row, targets[i])
                if result.size == found.shape[1]:
                    for j in range(result.size):
                        found[i, j] = result[j]
            except Exception:
                found[i, :] = 0.0
