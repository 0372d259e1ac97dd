"""Sensitivities, and the noise that is calibrated to them.

Queries make these data classes, mechanisms read them, and certificates print them. All numbers are
computed from public numbers; no record is read.

*Smooth noise.* If the noise depends on the records, the query computes its scale, the mechanism
uses the scale inside the gate, and nothing stores it. The released number is a point of a lattice
that is fixed beforehand: lattice steps in proportion to the scale would reveal the scale.

*Peeling.* The largest entries of a vector are chosen one by one and released with noise. No entry
moves by more than ``ratio`` noise scales if one record is replaced. There are two forms, with the
names of their mechanisms:

``"peeled-gaussian"``
    Each choice is an exponential mechanism over the remaining magnitudes. The difference of two
    magnitudes moves by up to twice the ratio, so the losses of a choice span a range of
    ``2 * ratio``. ``count`` released values get Gaussian noise, at ``ratio * sqrt(count)`` in l2.
    The total in zCDP is ``rho = ratio**2 (2 n_selected + n_free) / 2``.
``"peeled-laplace"``
    Each choice is a noisy maximum with fresh Laplace noise, which is ``2 * ratio``-DP; no smaller
    epsilon is proved. Each value is ``ratio``-DP. The total in pure DP is
    ``(3 n_selected + n_free) ratio``.

``n_free`` entries, such as an intercept, are released without being chosen.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithm 4, and Cai, Wang and Zhang 2021, Algorithm 2 (peeling);
Durfee and Rogers 2019, Lemma 4.2, with Cesar and Rogers 2021, Lemma 3 (its Gumbel form).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tailguard.checks import InputError, check_choice, check_integer, check_positive
from tailguard.privacy.arsinh import arsinh_event
from tailguard.privacy.events import (
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Repeated,
)
from tailguard.privacy.smooth_gaussian import smooth_gaussian_event

SMALLEST_SHARE = 2.0**-24
"""The smallest Gaussian mu of a release, divided by the root of its size, that has a lattice.

Below it, rounding to the lattice may cost more than the statistic. Plans refuse such a release, so
no run fails after its budget is reserved.
"""

LARGEST_SHARE, LARGEST_RECORDS_SHARE = 2.0**17, 2.0**44
"""The largest Gaussian mu of a release, and of mu times the number of records, with a lattice.

Beyond either, the noise is finer than the accuracy of chunk sums. Plans refuse such a release too.
"""

Norm = Literal["l1", "l2", "linf"]


@dataclass(frozen=True)
class Sensitivity:
    """How far replacing one record can move a released vector, in the units of the vector.

    Attributes
    ----------
    norm
        The norm in which the move is measured.
    ideal
        The supremum of the move over all neighbours, in real arithmetic.
    computed
        The supremum for the statistic as computed in floats, with its summation error. It is never
        below ``ideal``.
    size
        The number of coordinates released.
    largest_partial
        A bound on the magnitude of a coordinate of one chunk's sum, before rounding to the lattice.
    largest_total
        A bound on the magnitude of a coordinate of the whole vector.
    integer
        Whether the vector consists of exact integers, so that rounding to the lattice is exact.
    roundings
        How often a coordinate of one record is rounded to the lattice: once per row of the record.

    Examples
    --------
    >>> Sensitivity("l2", ideal=2.0, computed=2.0, size=3, largest_partial=1e3, largest_total=1e6)
    Sensitivity(norm='l2', ideal=2.0, computed=2.0, size=3, largest_partial=1000.0, \
largest_total=1000000.0, integer=False, roundings=1)
    """

    norm: Norm
    ideal: float
    computed: float
    size: int
    largest_partial: float
    largest_total: float
    integer: bool = False
    roundings: int = 1


@dataclass(frozen=True)
class Calibration:
    """The lattice and the noise of one release, fixed before any record is read.

    The released vector is ``grid * (lattice + noise)`` with integers ``lattice`` and ``noise``.

    Attributes
    ----------
    sensitivity
        The sensitivity that the query states.
    mechanism
        The mechanism's name in the registry, such as ``"gaussian"`` or ``"laplace"``.
    grid
        The width of one lattice step, in the units of the vector.
    lattice_scale
        The noise parameter in lattice steps: the standard deviation of the discrete Gaussian, or
        the scale of the discrete Laplace distribution.
    levels
        How many table draws make up one discrete Gaussian; 0 for Laplace.
    charged
        The sensitivity that the books record: ``computed`` plus the rounding to the lattice.
    share
        What the release spends: ``mu`` for Gaussian noise, ``epsilon`` for Laplace noise. It is
        ``charged`` divided by the noise scale, and never above the requested share.

    Examples
    --------
    >>> s = Sensitivity("l2", ideal=2.0, computed=2.0, size=1, largest_partial=9, largest_total=9)
    >>> c = Calibration(s, "gaussian", 1e-6, 2e6, 3, 2.0, 1.0)
    >>> c.noise_std
    2.0
    """

    sensitivity: Sensitivity
    mechanism: str
    grid: float
    lattice_scale: float
    levels: int
    charged: float
    share: float

    @property
    def norm(self) -> Norm:
        """The norm of the sensitivity."""
        return self.sensitivity.norm

    @property
    def size(self) -> int:
        """The number of coordinates released."""
        return self.sensitivity.size

    @property
    def log2_scale(self) -> int:
        """The logarithm of the scale of Laplace noise in lattice steps, a power of two."""
        return int(math.log2(self.lattice_scale))

    def parameters(self) -> dict[str, float | int | str]:
        """Return public numbers for the books, in addition to those of the query: none here."""
        return {}

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on each coordinate, in the units of the vector."""
        spread = self.grid * self.lattice_scale
        return spread if self.mechanism.endswith("gaussian") else spread * 2.0**0.5


SCALE_FLOOR = 2.0**-31
"""The smallest scale, in units of the largest answer: equal records must get noise too."""

FLOAT_MARGIN = 2.0**-16
"""The fraction by which queries raise their scales. If each of two answers has an error of 4
roundings of ``value_limit``, the errors move their difference by at most ``8 * 2**-53 *
value_limit``, which is ``2**-19`` of the smallest scale."""

# Above the rounding error of the logarithm of exp(-k t) times a scale. The error is about 1e-14 if
# the product is above the floor, since k t is then below 23.
_LOG_MARGIN = 2.0**-40
# Noise beyond 1e7 scales is useless, and the proof of the sampler does not cover it.
_SMALLEST_SHIFT = 2.0**-24
# Steps of the released lattice in the smallest scale; the noise is at least that wide.
_STEPS = 32.0


@dataclass(frozen=True)
class SmoothCalibration:
    """Limits, noise and cost of one release on a smooth scale: public numbers, fixed in advance.

    Attributes
    ----------
    mechanism
        ``"arsinh-normal"``, with a scale for each coordinate, or ``"smooth-gaussian"``, with one
        scale for all.
    size
        The number of coordinates released.
    smoothness
        By how much the logarithm of the scale may differ between neighbours: t or beta in papers.
    shift
        The noise is multiplied by ``scale / shift``: s or gamma in papers.
    calibration
        The proof behind the cost; see :mod:`tailguard.privacy.arsinh`.
    value_limit
        The largest magnitude of a coordinate of the answer.
    scale_ceiling
        The largest scale. Two answers never differ by more.
    delta
        The delta of an (epsilon, delta) release; None for a concentrated one.
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
                "the budget must cover the noise in addition to the smoothness of its scale; at "
                f"smoothness {self.smoothness:.3g} it allows a shift of {self.shift:.3g}."
            )
        check_positive("value_limit", self.value_limit)
        check_positive("scale_ceiling", self.scale_ceiling)
        if self.scale_floor > self.scale_ceiling:
            raise InputError(
                f"the range of answers must be wider than {SCALE_FLOOR:.2g} of their magnitude, as "
                f"floats must distinguish them; got {self.scale_ceiling:.3g} and "
                f"{self.value_limit:.3g}."
            )

    # Neither is public: both depend on the records.
    charged = None
    noise_std = None

    @property
    def norm(self) -> str:
        """The norm in which the answer moves by at most the scale."""
        return "linf" if self.mechanism == "arsinh-normal" else "l2"

    @property
    def decay(self) -> float:
        """The smoothness that queries use: slightly below the stated one, because of rounding."""
        return max(self.smoothness - _LOG_MARGIN, 0.0)

    @property
    def scale_floor(self) -> float:
        """The smallest scale, which is far larger than any rounding error of the answer."""
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
        """Return the numbers from which the books recompute the cost."""
        numbers: dict[str, float | int | str] = {
            "smoothness": self.smoothness,
            "shift": self.shift,
            "calibration": self.calibration,
            "coordinates": self.size,
        }
        if self.delta is not None:
            numbers["delta"] = self.delta
        return {**numbers, **self.facts}


PEELINGS = ("peeled-gaussian", "peeled-laplace")
"""The two forms of peeling."""


def peeling_event(form: str, ratio: float, n_selected: int, n_free: int = 0) -> Event:
    """Return the cost of one peeling.

    *Guarantee.* Holds for replace-one neighbours whose vectors differ by at most ``ratio`` noise
    scales in every entry.
    """
    check_choice("form", form, PEELINGS)
    check_positive("ratio", ratio)
    n_choices, n_values = _counts(n_selected, n_free)
    if form == "peeled-gaussian":
        value: Event = Gaussian(ratio * math.sqrt(n_values))
        choice: Event = BoundedRange(2.0 * ratio)
    else:
        value, choice = Repeated(Laplace(ratio), n_values), Pure(2.0 * ratio)
    return Composed((Repeated(choice, n_choices), value)) if n_choices else value


def share_factor(form: str, n_selected: int, n_free: int = 0) -> float:
    """Return what a release spends, divided by its ratio.

    The Laplace form spends an ``epsilon``. The Gaussian form spends a ``mu``: it is
    ``mu**2 / 2``-zCDP, as a mu-GDP release would be.
    """
    check_choice("form", form, PEELINGS)
    n_choices, n_values = _counts(n_selected, n_free)
    if form == "peeled-gaussian":
        return math.sqrt(n_choices + n_values)
    return float(2 * n_choices + n_values)


def _counts(n_selected: int, n_free: int) -> tuple[int, int]:
    """Return how many entries are chosen and how many values are released."""
    n_choices = check_integer("n_selected", n_selected, minimum=0)
    n_unchosen = check_integer("n_free", n_free, minimum=0)
    if not n_choices + n_unchosen:
        raise InputError("n_selected and n_free must not both be 0: nothing would be released.")
    return n_choices, n_choices + n_unchosen
