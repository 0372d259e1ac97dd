"""Loops that ask a user's function for the gradient of one record at a time.

The function gets copies, so it cannot change the records or the weights. Whatever goes wrong inside
it concerns that record only, whose gradient then counts as zero: an exception or a warning that
reached the outside would say something about a record.
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import InputError
from tailguard.quiet import quietly

from .block import FloatArray, RecordBlock

__all__ = ["gradients"]

Gradient = Callable[[FloatArray, FloatArray, float], Any]

# A function of Python need not bear two threads at once.
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
    void = block.void()
    # The function sees zeros for a void record: that it is left out would tell by the time saved.
    features = np.where(void[:, None], 0.0, block.features.astype(np.float64))
    targets = np.where(void, 0.0, block.vector("target"))
    found = np.zeros((block.n_rows, size))
    if hasattr(gradient, "py_func"):
        with quietly():
            _run_compiled(gradient, weights, features, targets, found)
    else:
        with ONE_AT_A_TIME, quietly():
            _run_python(gradient, weights, features, targets, found)
    return np.where(void[:, None], 0.0, found), ~void


def _run_python(
    gradient: Gradient,
    weights: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    found: FloatArray,
) -> None:
    for i in range(len(features)):
        try:
            result = np.asarray(gradient(weights.copy(), features[i].copy(), float(targets[i])))
            if result.shape == found[i].shape and result.dtype.kind in "biuf":
                found[i] = result
        except KeyboardInterrupt:
            raise
        except BaseException:  # SystemExit too
            found[i] = 0.0


def _run_compiled(
    gradient: Any, weights: FloatArray, features: FloatArray, targets: FloatArray, found: FloatArray
) -> None:
    loop = _compiled_for(gradient, weights, features, targets, found)
    try:
        loop(gradient, weights, features, targets, found)
    except KeyboardInterrupt:
        raise
    except BaseException:  # what Numba cannot catch, as in a block of Python within the function
        found[:] = 0.0
        for i in range(len(features)):
            _run_one(loop, gradient, weights, features, targets, found, i)


def _run_one(
    loop: Any,
    gradient: Any,
    weights: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    found: FloatArray,
    i: int,
) -> None:
    """Run the same machine code on one record only, which is alone concerned if that fails."""
    one = slice(i, i + 1)
    try:
        loop(gradient, weights, features[one], targets[one], found[one])
    except KeyboardInterrupt:
        raise
    except BaseException:
        found[i] = 0.0


def _compiled_for(*arguments: Any) -> Any:
    """Return the loop compiled for the types of the arguments, which no record decides."""
    from numba import typeof  # noqa: PLC0415 (Numba takes a while to load)
    from numba.core.errors import NumbaError  # noqa: PLC0415

    loop = _compiled_loop()
    try:
        loop.compile(tuple(typeof(argument) for argument in arguments))  # type: ignore[no-untyped-call]
    except NumbaError:
        raise InputError(
            "gradient must compile with Numba for (weights, features, target) of types float64[:], "
            "float64[:] and float64, and return a vector of real numbers; it does not."
        ) from None
    return loop


@cache
def _compiled_loop() -> Any:
    from numba import njit  # noqa: PLC0415

    return njit(nogil=True)(_loop)


def _loop(
    gradient: Gradient,
    weights: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    found: FloatArray,
) -> None:
    for i in range(len(features)):
        try:
            result = gradient(weights.copy(), features[i].copy(), targets[i])
            if result.size == found.shape[1]:
                for j in range(result.size):
                    found[i, j] = result[j]
        except Exception:
            found[i, :] = 0.0
