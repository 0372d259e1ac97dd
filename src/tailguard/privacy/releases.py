"""One line in the books: what was released, and the numbers that its privacy cost follows from."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tailguard.checks import InputError, check_choice, check_integer, check_positive
from tailguard.privacy.events import Event, Gaussian, Laplace, Parallel, Repeated

__all__ = ["Release"]

# How the cost follows from sensitivity and noise. A Laplace variable of scale b has the standard
# deviation b sqrt(2).
EVENT_OF: Mapping[str, Callable[[float, float], Event]] = {
    "gaussian": lambda sensitivity, noise_std: Gaussian(sensitivity / noise_std),
    "laplace": lambda sensitivity, noise_std: Laplace(sensitivity * math.sqrt(2.0) / noise_std),
}
NORM_OF = {"gaussian": "l2", "laplace": "l1"}


@dataclass(frozen=True)
class Release:
    """What was released, with every number that its cost follows from.

    Attributes
    ----------
    name
        What it is for, in the reader's words.
    kind
        The query that made it.
    mechanism
        ``"gaussian"`` or ``"laplace"``.
    norm
        The norm of the sensitivity: ``"l2"`` for Gaussian, ``"l1"`` for Laplace noise.
    sensitivity
        The charged sensitivity, rounding and summation error included.
    noise_std
        Standard deviation of the noise on each coordinate, in the same units.
    times
        How many such releases were made in a row.
    block_map, block
        The block of records that was read, or None for all of them.
    parameters
        Plain numbers and words from which the sensitivity can be recomputed.

    Examples
    --------
    >>> Release("slope", "Mean", "gaussian", "l2", sensitivity=2.0, noise_std=8.0).event()
    Gaussian(mu=0.25)
    """

    name: str
    kind: str
    mechanism: str
    norm: str
    sensitivity: float
    noise_std: float
    times: int = 1
    block_map: str | None = None
    block: int | None = None
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("mechanism", self.mechanism, EVENT_OF)
        check_choice("norm", self.norm, (NORM_OF[self.mechanism],))
        check_positive("sensitivity", self.sensitivity)
        check_positive("noise_std", self.noise_std)
        check_integer("times", self.times, minimum=1)
        if (self.block_map is None) != (self.block is None):
            raise InputError("block_map and block must be given together, or not at all.")
        object.__setattr__(self, "parameters", dict(self.parameters))

    def event(self) -> Event:
        """Recompute the privacy event from the numbers."""
        event = EVENT_OF[self.mechanism](self.sensitivity, self.noise_std)
        if self.block_map is not None and self.block is not None:
            event = Parallel(self.block_map, self.block, event)
        return event if self.times == 1 else Repeated(event, self.times)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; ``Release(**data)`` reads it back."""
        return asdict(self)
