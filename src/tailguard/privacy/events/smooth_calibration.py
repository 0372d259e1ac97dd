"""The public numbers of a release whose noise follows the records.

The scale itself is worked out by the query, used by the mechanism inside the gate, and forgotten.
What leaves is a point of a lattice that is fixed beforehand: a lattice in steps of the scale would
tell the scale.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailguard.checks import InputError, check_positive
from tailguard.privacy.events import Event
from tailguard.privacy.events.arsinh import arsinh_event
from tailguard.privacy.events.smooth_gaussian import smooth_gaussian_event

SCALE_FLOOR = 2.0**-31
"""The smallest scale, in units of the largest answer: data that are all equal get noise too."""

FLOAT_MARGIN = 2.0**-16
"""By how much queries raise their scales. Answers that err by 4 roundings of ``value_limit`` each
differ by at most ``8 * 2**-53 * value_limit``, which is ``2**-19`` of the smallest scale."""

# How much a product of floats, exp(-k t) times a scale, may change the logarithm of a scale: some
# 1e-14 where it is above the floor, where k t is below 23.
_LOG_MARGIN = 2.0**-40
# Noise beyond 1e7 scales is no use, and the proof of the sampler ends there.
_SMALLEST_SHIFT = 2.0**-24
# Steps of the released lattice in the smallest scale; its noise is at least as wide.
_STEPS = 32.0


@dataclass(frozen=True)
class SmoothCalibration:
    """Limits, noise and cost of one release on a smooth scale; public, fixed before any reading.

    Attributes
    ----------
    mechanism
        ``"arsinh-normal"``, with a scale for each coordinate, or ``"smooth-gaussian"``, with one
        scale for all.
    size
        The number of coordinates released.
    smoothness
        By how much the logarithm of the scale may differ between neighbours: the papers' t or beta.
    shift
        The answer gets ``scale / shift`` times the noise: the papers' s or gamma.
    calibration
        What the cost rests on; see :mod:`tailguard.privacy.events.arsinh`.
    value_limit
        The largest magnitude of a coordinate of the answer.
    scale_ceiling
        The largest scale; no two answers are further apart.
    delta
        Of an (epsilon, delta) release; None for a concentrated one.
    facts
        Further public numbers for the books.
    """

    mechanism: str
    size: int
    smoothness: float
    shift: float
    calibration: str
    value_limit: float
    scale_ceiling: float
    delta: float | None = None
    facts: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_positive("smoothness", self.smoothness)
        if not self.shift >= _SMALLEST_SHIFT:
            raise InputError(
                "the budget must leave something for the noise beside the smoothness of its scale; "
                f"at smoothness {self.smoothness:.3g} it leaves a shift of {self.shift:.3g}."
            )
        check_positive("value_limit", self.value_limit)
        check_positive("scale_ceiling", self.scale_ceiling)
        if self.scale_floor > self.scale_ceiling:
            raise InputError(
                f"the range of answers must be wider than {SCALE_FLOOR:.2g} of their magnitude, as "
                f"floats must tell them apart; got {self.scale_ceiling:.3g} and "
                f"{self.value_limit:.3g}."
            )

    # Neither is a public number here.
    charged = None
    noise_std = None

    @property
    def norm(self) -> str:
        """In which norm the answer moves by at most the scale."""
        return "linf" if self.mechanism == "arsinh-normal" else "l2"

    @property
    def decay(self) -> float:
        """The smoothness that queries use; floats may add what is left to the stated one."""
        return max(self.smoothness - _LOG_MARGIN, 0.0)

    @property
    def scale_floor(self) -> float:
        """The smallest scale; larger by far than any rounding error of the answer."""
        return SCALE_FLOOR * self.value_limit

    @property
    def grid(self) -> float:
        """The width of a step of the released lattice, a power of two."""
        return float(2.0 ** math.floor(math.log2(self.scale_floor / _STEPS)))

    @property
    def event(self) -> Event:
        """What the release costs."""
        cost = arsinh_event if self.mechanism == "arsinh-normal" else smooth_gaussian_event
        return cost(self.parameters())

    def parameters(self) -> dict[str, float | int | str]:
        """Return what the books need to recompute the cost."""
        numbers: dict[str, float | int | str] = {
            "smoothness": self.smoothness,
            "shift": self.shift,
            "calibration": self.calibration,
            "coordinates": self.size,
        }
        if self.delta is not None:
            numbers["delta"] = self.delta
        return {**numbers, **self.facts}
