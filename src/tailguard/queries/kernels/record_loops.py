"""Loops that ask a user's function for the gradient of one record at a time.

The function gets copies, so it cannot change the records or the weights. Whatever goes wrong inside
it concerns that record only, whose gradient then counts as zero: an exception or a warning that
reached the outside would say something about a record.
"""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.data.rows.base import RecordBlock
from tailguard.losses.compiled import Gradient, compile_loop
from tailguard.quiet import quietly

# A function of Python need not bear two threads at once.
ONE_AT_A_TIME = threading.Lock()


def gradients(
    gradient: Gradient, weights: FloatArray, size: int, block: RecordBlock
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the gradients of the usable records of a block, and which records those are."""
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
    loop = compile_loop(gradient)
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
