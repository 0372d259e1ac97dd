"""The planned cost of hard thresholding: one peeling per block of records, and its form.

Reference
---------
McSherry 2009, Theorem 4 (disjoint blocks cost as much as one); Tao, Wu, Cheng and Wang 2022,
Algorithm 5.
"""

import math
from collections.abc import Iterable

from tailguard.gate.stage import Stage
from tailguard.privacy.accounting.total_cost import calibrate
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.calibration import PEELINGS, peeling_event, share_factor
from tailguard.privacy.events import Composed, Event, Gaussian, Laplace, Parallel
from tailguard.privacy.guarantees import Guarantee, PureDP

BLOCK_MAP = "hard thresholding"
"""Name of the partition into blocks."""

ACCURACY = 1e-6  # of the calibrated ratio; what is lost goes to the safe side


def peeling_stage(
    form: str, ratio: float, n_selected: int, n_free: int, *, n_blocks: int, size: int
) -> Stage:
    """Plan one peeling of each of so many blocks of records; its mu is the root of twice its rho.

    Parameters
    ----------
    form
        ``"peeled-gaussian"`` or ``"peeled-laplace"``.
    ratio
        Sensitivity of an entry over the scale of its noise.
    n_selected, n_free
        How many entries are chosen, and how many are released without being chosen.
    """
    one = peeling_event(form, ratio, n_selected, n_free)
    share = ratio * share_factor(form, n_selected, n_free)
    return Stage(
        "descent",
        "the largest entries of steps, a block of records each",
        math.sqrt(2.0 * ZcdpAccountant().compose(one).rho),
        1,
        size,
        block_map=BLOCK_MAP,
        n_blocks=n_blocks,
        share=Gaussian(share) if form == "peeled-gaussian" else Laplace(share),
        kept=one,
    )


def best_form(
    guarantee: Guarantee, earlier: Iterable[Event], n_selected: int, n_free: int
) -> tuple[str, float]:
    """Return the form of least noise beside ``earlier`` within the guarantee, and its ratio."""
    beside = tuple(earlier)

    def largest_ratio(form: str) -> float:
        """Return the largest ratio that the guarantee allows."""

        def event_of(ratio: float) -> Event:
            """Return what everything costs at a ratio."""
            one = peeling_event(form, ratio, n_selected, n_free)
            return Composed((*beside, Parallel(BLOCK_MAP, 0, one)))

        return calibrate(event_of, guarantee, guess=0.1, accuracy=ACCURACY)

    forms = PEELINGS[1:] if isinstance(guarantee, PureDP) else PEELINGS
    found = [(form, largest_ratio(form)) for form in forms]
    # A choice suffers from the scale of the noise, a value from its standard deviation.
    return min(found, key=lambda pair: (1.0 if n_selected else std_of(pair[0])) / pair[1])


def std_of(form: str) -> float:
    """Return the standard deviation of a value's noise, in scales."""
    return 1.0 if form == "peeled-gaussian" else math.sqrt(2.0)
