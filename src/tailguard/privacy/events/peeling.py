"""What peeling costs: the largest entries of a vector, chosen one by one, and their noised values.

No entry of the vector moves by more than ``ratio`` noise scales when one record is replaced. There
are two forms, named as the mechanisms are:

``"peeled-gaussian"``
    Each choice is an exponential mechanism over the magnitudes left: two magnitudes move against
    each other by twice the ratio, so its losses span a range of ``2 * ratio``. Values get Gaussian
    noise: ``ratio * sqrt(count)`` in l2. In zCDP: ``rho = ratio**2 (2 n_selected + n_free) / 2``.
``"peeled-laplace"``
    Each choice is a noisy maximum with fresh Laplace noise, which is ``2 * ratio``-DP and nothing
    sharper is proved; each value is ``ratio``-DP. Pure: ``(3 n_selected + n_free) ratio``.

``n_free`` entries, such as an intercept, are released without being chosen.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithm 4, and Cai, Wang and Zhang 2021, Algorithm 2 (peeling);
Durfee and Rogers 2019, Lemma 4.2, with Cesar and Rogers 2021, Lemma 3 (its Gumbel form).
"""

import math

from tailguard.checks import InputError, check_choice, check_integer, check_positive
from tailguard.privacy.events import (
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Repeated,
)

PEELINGS = ("peeled-gaussian", "peeled-laplace")
"""The two forms."""


def peeling_event(form: str, ratio: float, n_selected: int, n_free: int = 0) -> Event:
    """Return what one peeling costs.

    *Guarantee.* Holds for replace-one neighbours whose vectors differ by at most ``ratio`` noise
    scales in every entry.
    """
    check_choice("form", form, PEELINGS)
    check_positive("ratio", ratio)
    chosen, released = _counts(n_selected, n_free)
    if form == "peeled-gaussian":
        value: Event = Gaussian(ratio * math.sqrt(released))
        choice: Event = BoundedRange(2.0 * ratio)
    else:
        value, choice = Repeated(Laplace(ratio), released), Pure(2.0 * ratio)
    return Composed((Repeated(choice, chosen), value)) if chosen else value


def share_factor(form: str, n_selected: int, n_free: int = 0) -> float:
    """Return what a release spends, over its ratio.

    The Gaussian form spends ``mu``, in the sense that it is ``mu**2 / 2``-zCDP as mu-GDP would be;
    the Laplace form spends ``epsilon``.
    """
    check_choice("form", form, PEELINGS)
    chosen, released = _counts(n_selected, n_free)
    if form == "peeled-gaussian":
        return math.sqrt(chosen + released)
    return float(2 * chosen + released)


def _counts(n_selected: int, n_free: int) -> tuple[int, int]:
    """Return how many entries are chosen and how many values are released."""
    chosen = check_integer("n_selected", n_selected, minimum=0)
    free = check_integer("n_free", n_free, minimum=0)
    if not chosen + free:
        raise InputError("n_selected and n_free must not both be 0: nothing would be released.")
    return chosen, chosen + free
