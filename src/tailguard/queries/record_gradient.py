"""The mean of clipped gradients of a record loss: a function that returns one record's gradient.

It serves users' own gradients and losses of several scores. The function sees a copy of one record,
and its result is clipped to ``clip_norm`` in l2 norm. After an exception or a result of another
shape the record contributes zero. Exceptions and warnings must not leave the gate, since they would
reveal something about the record.

Reference
---------
Abadi et al. 2016, Algorithm 1 (clipping per record); Zhao et al. 2024, Algorithm 2.
"""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailguard.array_types import BoolArray, FloatArray, IntArray
from tailguard.checks import InputError, check_positive
from tailguard.data.rows.base import RecordBlock, chunks_of, rounded_sum
from tailguard.losses.base import RecordLoss
from tailguard.losses.compiled import Gradient, compile_loop
from tailguard.privacy.calibration import Sensitivity
from tailguard.queries.base import GaussianQuery, sum_sensitivity
from tailguard.queries.clipping import clip_rows
from tailguard.quiet import quietly

# A user's Python function may not be safe in two threads at once.
ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class MeanRecordGradient(GaussianQuery):
    """Mean of l2-clipped gradients of a record loss; the state is the weight vector.

    Guarantee
    ---------
    Replacing any record by any other moves the released sum by at most ``2 * clip_norm`` in l2
    norm, plus the charged rounding, provided that the function keeps nothing between calls.

    Examples
    --------
    >>> import tailguard as tg
    >>> loss = tg.losses.RecordGradient(lambda w, x, y: (w @ x - y) * x)
    >>> MeanRecordGradient(loss, clip_norm=1.0).sensitivity(n_rows=10, n_features=2).ideal
    2.0
    """

    loss: RecordLoss
    clip_norm: float

    name = "sum of clipped record gradients"
    places = "none"
    takes_persons = True

    def sensitivity(self, n_rows: int, n_features: int) -> Sensitivity:
        """State the sensitivity of the sum; see the module's reference."""
        return sum_sensitivity(self.clip_norm, self.loss.size(n_features), n_rows)

    def read_state(self, state: FloatArray) -> FloatArray:
        """Return the weights; refuse anything but a vector of numbers."""
        weights = np.array(state, dtype=np.float64)
        if weights.ndim != 1 or not np.isfinite(weights).all():
            raise InputError("weights must be a vector of finite numbers.")
        check_positive("clip_norm", self.clip_norm)
        return weights

    def sum_block(self, block: RecordBlock, state: FloatArray, grid: float) -> IntArray:
        """Sum the clipped gradients at the weights ``state`` on the lattice."""
        size = self.loss.size(block.features.shape[1])
        total = np.zeros(size, dtype=np.int64)
        for chunk in chunks_of(block):
            gradients, _ = record_gradients(self.loss.record_gradient, state, size, chunk)
            clip_rows(gradients, self.clip_norm)
            gradients = gradients if chunk.weight is None else gradients * chunk.weight[:, None]
            total += rounded_sum(gradients, grid, alone=chunk.alone)
        return total

    def finish(self, noised: FloatArray, n_rows: int) -> FloatArray:
        """Divide the noised sum by the public number of records."""
        return noised / n_rows

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {"norm_limit": self.clip_norm}


def record_gradients(
    gradient: Gradient, weights: FloatArray, size: int, block: RecordBlock
) -> tuple[FloatArray, BoolArray]:
    """Return the gradients of a block's records, zero if void, and which records are usable."""
    void = block.void()
    # For a void record the function gets zeros: the running time would show a skipped record.
    features = np.where(void[:, None], 0.0, block.features.astype(np.float64))
    targets = np.where(void, 0.0, block.vector("target"))
    gradients = np.zeros((block.n_rows, size))
    if hasattr(gradient, "py_func"):
        with quietly():
            _run_compiled(gradient, weights, features, targets, gradients)
    else:
        with ONE_AT_A_TIME, quietly():
            _run_python(gradient, weights, features, targets, gradients)
    return np.where(void[:, None], 0.0, gradients), ~void


def _run_python(
    gradient: Gradient,
    weights: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    gradients: FloatArray,
) -> None:
    """Write the results of a Python function, called record by record."""
    for i in range(len(features)):
        try:
            result = np.asarray(gradient(weights.copy(), features[i].copy(), float(targets[i])))
            if result.shape == gradients[i].shape and result.dtype.kind in "biuf":
                gradients[i] = result
        except KeyboardInterrupt:
            raise
        except BaseException:  # any error, even SystemExit, would reveal something about records
            gradients[i] = 0.0


def _run_compiled(
    gradient: Any,
    weights: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    gradients: FloatArray,
) -> None:
    """Write the results of a function that Numba compiles, called in a compiled loop."""
    loop = compile_loop(gradient)
    try:
        loop(gradient, weights, features, targets, gradients)
    except KeyboardInterrupt:
        raise
    except BaseException:  # Numba cannot catch it, for example in a Python block of the function
        gradients[:] = 0.0
        for i in range(len(features)):  # single by single, so that only failing records become zero
            single = slice(i, i + 1)
            try:
                loop(gradient, weights, features[single], targets[single], gradients[single])
            except KeyboardInterrupt:
                raise
            except BaseException:
                gradients[single] = 0.0
