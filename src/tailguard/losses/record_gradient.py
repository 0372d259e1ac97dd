"""A user's own loss, defined by the gradient of one record."""

import inspect
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_integer, check_text, shown

from .base import RecordLoss
from .compiled import Gradient, compile_loop


def _least_squares(weights: FloatArray, features: FloatArray, target: float) -> FloatArray:
    """Return the gradient of half the squared residual, as a user would write it."""
    return np.asarray((features @ weights - target) * features)


@dataclass(frozen=True, init=False)
class RecordGradient(RecordLoss):
    """Any loss, defined by ``function(weights, features, target) -> gradient`` of ONE record.

    Guarantee
    ---------
    Every record's gradient is bounded before it is summed, whatever the function returns. So
    privacy needs only a pure function of its three arguments: no state, no randomness, no side
    effects, no exceptions. Accuracy needs the gradient of a convex loss.

    Parameters
    ----------
    function
        A Python function, or one compiled by ``numba.njit``, which is much faster.
    size
        The number of weights; by default the number of features.
    name
        A public name of the function, which identifies it in a checkpoint. If the function holds
        values (a closure, a ``partial``, a method, defaults, attributes), a checkpoint requires
        the name. A checkpoint never reads these values, so change the name if they change.

    Edge cases
    ----------
    A gradient with an entry that is not finite makes the record void. Output perturbation refuses
    the loss. A function of ``numba.njit`` is compiled at once, and refused if that fails.

    Examples
    --------
    >>> def gradient(weights, features, target):
    ...     return (features @ weights - target) * features
    >>> loss = RecordGradient(gradient)
    >>> loss.size(n_features=2)
    2
    >>> loss.record_gradient(np.zeros(2), np.array([1.0, 2.0]), 3.0)
    array([-3., -6.])
    """

    name: ClassVar[str] = "record_gradient"
    contract_examples = ((_least_squares,),)  # arguments that the contract tests try
    needs_target: ClassVar[bool] = False
    n_classes = None
    function: Gradient
    n_weights: int | None
    public_name: str | None

    def __init__(
        self, function: Gradient, size: int | None = None, *, name: str | None = None
    ) -> None:
        _check_function(function)
        n_weights = None if size is None else check_integer("size", size, minimum=1)
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "n_weights", n_weights)
        object.__setattr__(self, "public_name", None if name is None else check_text("name", name))

    @property
    def record_gradient(self) -> Gradient:
        """The function itself."""
        return self.function

    def size(self, n_features: int) -> int:
        """Return the number of weights: as given, or one per feature."""
        return n_features if self.n_weights is None else self.n_weights


def _check_function(function: object) -> None:
    """Refuse a function that cannot be called with a record; do not check its results.

    Compile a function of Numba now, so a failure occurs before any budget is spent.
    """
    requirement = (
        "function must be a function (weights, features, target) -> gradient of ONE record"
    )
    if not callable(function):
        raise InputError(f"{requirement}; got {shown(function)}.")
    try:
        signature = inspect.signature(getattr(function, "py_func", function))
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise InputError(f"{requirement}; got one with the arguments {signature}.") from None
    if hasattr(function, "py_func"):
        compile_loop(function)
