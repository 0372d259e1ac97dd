"""Gradient oracles: the private means that a descent may use, by name.

An oracle builds a query from the loss, whose gradients are averaged, and the units in which records
are read. A line of ``ORACLES`` makes a private mean of :mod:`tailguard.means` an oracle of every
descent.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 1: descent over any private mean of the gradients.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, class_called
from tailguard.losses.base import Loss
from tailguard.means.centres import CENTRES, Estimate, own_centre
from tailguard.means.iterative import ALL
from tailguard.queries.units import Units

ORACLES = {
    "clipped": "tailguard.queries.clipped_gradient:MeanClippedGradient",
    "clamped": "tailguard.means.clamped:ClampedMean",
    "truncated": "tailguard.means.truncated:TruncatedMean",
    "soft": "tailguard.means.soft:SoftMean",
    "trimmed": "tailguard.means.trimmed:TrimmedMean",
    "iterative": "tailguard.means.iterative:IterativeMean",
}
"""Name -> ``"module:Class"`` of a query that is built from loss, units and its own parameters."""

SMOOTH_ORACLES = ("trimmed",)
"""Oracles whose noise depends on the records. They have no mu, so their budget is an event."""

MANY_ROWS = 2**40  # enough for any number of groups


@dataclass(frozen=True)
class Oracle:
    """The private mean that averages gradients: its name and its parameters.

    Attributes
    ----------
    name
        One of :data:`ORACLES`.
    parameters
        Public numbers of that mean, in the units of the gradient.
    estimate
        A function of the user, from the noised means of groups, one per row, to the centre that
        replaces the gradient. Its input has only numbers that the gate released.

    Examples
    --------
    >>> import tailguard as tg
    >>> oracle = make_oracle("clipped", clip_norm=2.0)
    >>> oracle.query(tg.losses.Squared(), Units.raw(3, intercept=False)).norm_limit
    2.0
    """

    name: str
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    estimate: Estimate | None = None

    @property
    def smooth(self) -> bool:
        """Whether the noise depends on the records."""
        return self.name in SMOOTH_ORACLES

    def query(self, loss: Loss | None, units: Units) -> Any:
        """Return the query of the mean gradient of ``loss``, with records in ``units``."""
        return class_called(self.name, ORACLES)(loss, units, **self.parameters)

    def gradient(self, answer: FloatArray, size: int) -> FloatArray:
        """Return the gradient, of ``size`` entries, from an answer of the gate."""
        if self.estimate is None:
            return answer
        return own_centre(answer.reshape(-1, size), self.estimate)

    def describe(self) -> str:
        """Return the name and the parameters as text."""
        stated = ", ".join(
            f"{name} = {value if isinstance(value, str) else f'{value:g}'}"
            for name, value in self.parameters.items()
        )
        if self.estimate is not None:
            own = getattr(self.estimate, "__name__", type(self.estimate).__name__)
            stated = stated.replace(f"centre = {ALL}", f"centre = {own}")
        return f"{self.name} ({stated})" if stated else self.name


def make_oracle(name: str, **parameters: float | int | str | Estimate) -> Oracle:
    """Build an oracle by its name; refuse parameters that its mean does not have.

    ``centre=`` of the iterative mean may be a function of your own, from the noised means of
    groups, one per row, to a vector. So every function of clipped and noised group means can be an
    oracle.

    Examples
    --------
    >>> make_oracle("clamped", threshold=3.0, n_groups=22).describe()
    'clamped (threshold = 3, n_groups = 22)'
    >>> make_oracle("clamped", limit=3.0)
    Traceback (most recent call last):
        ...
    tailguard.checks.InputError: oracle 'clamped' takes threshold and n_groups; got limit.
    """
    attributes = fields(class_called(name, ORACLES, "oracle"))
    known = [each.name for each in attributes if each.name not in ("loss", "units")]
    *most, last = known
    names = f"{', '.join(most)} and {last}"
    for given in parameters:
        if given not in known:
            raise InputError(f"oracle {name!r} takes {names}; got {given}.")
    estimate = parameters.get("centre")
    if estimate == ALL:
        raise InputError(f"centre must be one of {', '.join(CENTRES)} or a function; got {ALL!r}.")
    public = {each: value for each, value in parameters.items() if not callable(value)}
    oracle = Oracle(name, public)
    if callable(estimate):
        oracle = Oracle(name, {**public, "centre": ALL}, estimate)
    try:
        query = oracle.query(None, Units.raw(1, intercept=False))
    except TypeError:
        raise InputError(f"oracle {name!r} needs {names}; got {', '.join(parameters)}.") from None
    if not oracle.smooth and not math.isfinite(query.sensitivity(MANY_ROWS, 1).ideal):
        raise InputError(f"oracle {name!r} needs a finite bound among {names}; got none.")
    return oracle
