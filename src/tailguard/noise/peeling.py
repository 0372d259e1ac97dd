"""Peeling on the lattice: the places of the largest magnitudes, and their noised values.

The vector consists of integers. Replacing one record moves each of them, and so each magnitude, by
at most ``charged / grid``. The noise of choices and the noise of values have the same scale.
Arithmetic is exact, on integers; float keys are compared only if rounding cannot change their
order.

The Gaussian form chooses by exponential mechanisms. Adding independent Gumbel noise to every
magnitude and taking the ``count`` largest is the same as ``count`` such mechanisms in turn, each
over the remaining places. Only the chosen places are released. So the noise must be true Gumbel
noise, and floats may be used only if rounding cannot change the order:

* a Gumbel variable is ``-log(-log(u))`` with ``u`` uniform; 64 binary digits of ``u`` determine it
  to within ``2**-26``, unless ``u`` lies within ``2**-38`` of 0 or 1;
* the error of float arithmetic is far below the ``SLACK`` that is allowed for each key;
* in about one release in a million some keys remain undecided: these get 256 further digits each
  and are compared in decimal arithmetic.

Ties after 320 digits go to the earlier place. Two keys are that close with
probability below ``2**-300``, which bounds the total variation of a pair.

The Laplace form chooses by noisy maxima instead; :func:`select_by_laplace` proves their cost.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithm 4 (its noise is 3.4 to 6.4 times what its guarantee needs);
Cai, Wang and Zhang 2021, Algorithm 2; Durfee and Rogers 2019, Lemma 4.2 (the largest
Gumbel-noised scores are exponential mechanisms one after the other); McSherry and Talwar 2007.
"""

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from tailguard.array_types import FloatArray, IntArray
from tailguard.checks import InputError, check_choice, check_integer, shown
from tailguard.noise.discrete_gaussian import coordinate_distance
from tailguard.noise.discrete_laplace import discrete_laplace
from tailguard.noise.lattice import (
    ANSWER_LIMIT,
    check_calibrated,
    lattice_calibration,
    lattice_noise,
)
from tailguard.noise.sources import Source, Words
from tailguard.privacy.accounting.total_cost import EXACT, Distance
from tailguard.privacy.calibration import (
    PEELINGS,
    Calibration,
    Sensitivity,
    peeling_event,
    share_factor,
)
from tailguard.privacy.decimals import decimals
from tailguard.privacy.events import Event

PAIR_VARIATION = 2.0**-300
"""Probability that two keys agree to the last digit drawn."""

SLACK = 2.0**-20  # of a key: 64 times the error of 2**-26
FAR_SLACK = 2.0**-40  # more for each noise scale below the largest score, as floats are rounded
WORD, HALF = 2.0**-64, np.uint64(2**63)
EXTREME = np.uint64(2**26)  # words this close to either end determine their variable too poorly
FURTHER_WORDS = 4
PRECISION = 130  # decimal digits; 320 binary digits are 97 decimal ones


def gumbel_top(scores: IntArray, count: int, scale: float, source: Source) -> IntArray:
    """Return the places of the ``count`` largest of ``score + scale * Gumbel``, in rising order.

    Guarantee
    ---------
    Within ``scores.size**2 * PAIR_VARIATION`` of ``count`` exponential mechanisms
    ``P(j) ~ exp(score_j / scale)`` without replacement, in total variation.

    Edge cases
    ----------
    Equal keys go to the earlier place. Scores must stay within ``2**61``.
    """
    words = source.words(scores.size)
    if count >= scores.size:
        return np.arange(scores.size)
    gaps = (scores - scores.max()) / scale
    keys = gaps + _gumbel(words)
    slack = SLACK + FAR_SLACK * np.abs(gaps)
    slack[np.minimum(words, ~words) < EXTREME] = np.inf
    low, high = keys - slack, keys + slack
    # At least ``count`` keys surely reach the first level; at most ``count`` can exceed the second.
    sure_level = -np.partition(-low, count - 1)[count - 1]
    possible_level = -np.partition(-high, count)[count]
    surely_chosen = low > possible_level
    undecided = np.flatnonzero((high >= sure_level) & ~surely_chosen)
    n_missing = count - int(np.count_nonzero(surely_chosen))
    if n_missing < undecided.size:
        undecided = _settle_order(scores, words, scale, undecided, source)[:n_missing]
    return np.union1d(np.flatnonzero(surely_chosen), undecided)


def _gumbel(words: Words) -> FloatArray:
    """Return ``-log(-log(u))`` for the middle of each word's interval."""
    upper = words >= HALF
    to_zero, to_one = (
        (np.minimum(end, HALF).astype(np.float64) + 0.5) * WORD for end in (words, ~words)
    )
    exponential = np.where(upper, -np.log1p(-to_one), -np.log(to_zero))
    return -np.log(exponential)


def _settle_order(
    scores: IntArray, words: Words, scale: float, places: IntArray, source: Source
) -> IntArray:
    """Sort places by their keys, largest first, after drawing more digits for each."""
    further = source.words(FURTHER_WORDS * places.size).reshape(-1, FURTHER_WORDS)
    best = int(scores[places].max())
    with decimals(PRECISION):
        keys = [
            Decimal(int(scores[place]) - best) / Decimal(scale)
            - _exponential(int(words[place]), digits.tolist()).ln()
            for place, digits in zip(places, further, strict=True)
        ]
        # Still within the context, because negation rounds too.
        order = sorted(range(places.size), key=lambda index: (-keys[index], index))
    return places[order]


def _exponential(first: int, further: list[int]) -> Decimal:
    """Return ``-log(u)`` for the middle of the interval of numbers with the drawn digits."""
    digits = first
    for word in further:
        digits = digits << 64 | word
    middle = 2 * digits + 1
    return -(Decimal(middle) / Decimal(1 << 64 * (1 + len(further)) + 1)).ln()


@dataclass(frozen=True)
class PeelingCalibration(Calibration):
    """The lattice and the noise of one peeling; its sensitivity is in the linf norm.

    Attributes
    ----------
    n_selected
        The number of entries that are chosen by their magnitude.
    n_free
        The number of last entries that are released without being chosen.
    """

    n_selected: int = 1
    n_free: int = 0

    def parameters(self) -> dict[str, float | int | str]:
        """Return the numbers, beside sensitivity and noise, that determine the cost."""
        return {"n_selected": self.n_selected, "n_free": self.n_free}

    @property
    def ratio(self) -> float:
        """By how many noise scales one entry may move."""
        return self.charged / (self.grid * self.lattice_scale)


class Peeling:
    """Chooses the largest entries and noises them: ``"peeled-gaussian"`` or ``"peeled-laplace"``.

    Guarantee
    ---------
    For replace-one neighbours whose lattice vectors differ by at most ``charged / grid`` in every
    entry. The Gaussian form chooses by exact exponential mechanisms and is ``share**2 / 2``-zCDP,
    up to ``distance``; its event is tighter. The Laplace form chooses by noisy maxima and is
    ``share``-DP, with no delta at all: its sampler is exact.

    Edge cases
    ----------
    The Gaussian form chooses between equal magnitudes at random, as the exponential mechanism does;
    the Laplace form chooses the earlier of equal noised magnitudes. The noised value of a chosen
    entry may be zero.

    Reference
    ---------
    Durfee and Rogers 2019, Lemma 4.2, and Cesar and Rogers 2021, Lemma 3 (Gaussian); Tao, Wu, Cheng
    and Wang 2022, Algorithm 4, and Dwork and Roth 2014, Claim 3.9 (Laplace: report noisy max. In
    the claim scores only grow; here they move either way, so a choice costs twice as much).

    Examples
    --------
    >>> from tailguard.noise.sources import make_source
    >>> vector = Sensitivity("linf", 2.0, 2.0, 4, largest_partial=1e6, largest_total=1e6)
    >>> mechanism = Peeling("peeled-gaussian")
    >>> calibration = mechanism.calibrate(vector, 1.0, n_selected=2)
    >>> answer = np.rint(np.array([0.0, -1e6, 5e5, 0.0]) / calibration.grid).astype(np.int64)
    >>> mechanism.release(answer, calibration, make_source(None)).nonzero()[0]
    array([1, 2])
    """

    def __init__(self, name: str) -> None:
        self.name = check_choice("form", name, PEELINGS)

    def calibrate(
        self, sensitivity: Sensitivity, share: float, *, n_selected: int = 1, n_free: int = 0
    ) -> PeelingCalibration:
        """Choose lattice and noise so that a release spends at most ``share``."""
        check_choice("sensitivity.norm", sensitivity.norm, ("linf",))
        check_integer("n_free", n_free, minimum=0, maximum=sensitivity.size)
        check_integer("n_selected", n_selected, minimum=0, maximum=sensitivity.size - n_free)
        factor = share_factor(self.name, n_selected, n_free)
        # Calibrated for one entry, for which all norms agree.
        entry = replace(sensitivity, norm="l2" if self.name == "peeled-gaussian" else "l1", size=1)
        one_entry = lattice_calibration(self.name.removeprefix("peeled-"), entry, share / factor)
        return PeelingCalibration(
            sensitivity=sensitivity,
            mechanism=self.name,
            grid=one_entry.grid,
            lattice_scale=one_entry.lattice_scale,
            levels=one_entry.levels,
            charged=one_entry.charged,
            share=one_entry.share * factor,
            n_selected=n_selected,
            n_free=n_free,
        )

    def event(self, calibration: Calibration) -> Event:
        """Return what one release of this calibration costs."""
        checked = _checked(calibration, self.name)
        return peeling_event(self.name, checked.ratio, checked.n_selected, checked.n_free)

    def release(self, lattice: IntArray, calibration: Calibration, source: Source) -> IntArray:
        """Return noised values at the chosen and the free places, zero elsewhere."""
        checked = _checked(calibration, self.name)
        check_calibrated(lattice, checked, self.name)
        size = lattice.size
        answer = np.clip(lattice, -ANSWER_LIMIT, ANSWER_LIMIT)
        selectable = size - checked.n_free
        places = np.arange(selectable, size)
        if checked.n_selected:
            chosen = self._select(np.abs(answer[:selectable]), checked, source)
            places = np.concatenate((chosen, places))
        released = np.zeros(size, dtype=np.int64)
        noised = answer[places] + lattice_noise(places.size, checked, source)
        released[places] = np.clip(noised, -ANSWER_LIMIT, ANSWER_LIMIT)
        return released

    def distance(self, calibration: Calibration) -> Distance:
        """Return how far noise and choices are from ideal: values' noise, and ties of two keys."""
        checked = _checked(calibration, self.name)
        if self.name == "peeled-laplace":
            return EXACT
        values = coordinate_distance(checked.levels).times(checked.n_selected + checked.n_free)
        return values + Distance(variation=checked.sensitivity.size**2 * PAIR_VARIATION)

    def _select(
        self, magnitudes: IntArray, checked: PeelingCalibration, source: Source
    ) -> IntArray:
        """Choose ``n_selected`` places."""
        if self.name == "peeled-laplace":
            return select_by_laplace(magnitudes, checked.n_selected, checked.log2_scale, source)
        return gumbel_top(magnitudes, checked.n_selected, checked.lattice_scale, source)


def select_by_laplace(
    magnitudes: IntArray, count: int, log2_scale: int, source: Source
) -> IntArray:
    """Return the places of ``count`` noisy maxima, one after the other with fresh noise.

    If magnitudes move by ``m``, a round costs ``2 m / scale`` in pure DP: given all other noise, a
    place wins if its own noise reaches a threshold, a whole number. A neighbour raises the
    threshold by at most ``2 m``; the discrete Laplace tail beyond it is then still at least
    ``exp(-2 m / scale)`` times as large as before.
    """
    remaining = np.arange(magnitudes.size)
    chosen = []
    for _ in range(count):
        noised = magnitudes[remaining] + discrete_laplace(remaining.size, log2_scale, source)
        best = int(np.argmax(noised))  # the earliest of equal ones
        chosen.append(int(remaining[best]))
        remaining = np.delete(remaining, best)
    return np.array(sorted(chosen), dtype=np.int64)


def _checked(calibration: Calibration, name: str) -> PeelingCalibration:
    """Return the calibration; refuse one for another mechanism."""
    check_choice("calibration.mechanism", calibration.mechanism, (name,))
    if not isinstance(calibration, PeelingCalibration):
        raise InputError(f"calibration must be a PeelingCalibration; got {shown(calibration)}.")
    return calibration
