"""Repeated shuffles of units that may fail, with the failures charged at the total epsilon.

Each round is within some total variation distance of one whose units are epsilon-DP. To replace all
rounds costs delta that distance, times the number of rounds, times 1 + exp(total epsilon); the
epsilon of one round in its place would understate it.

Reference
---------
Feldman, McMillan and Talwar 2021, Theorem 3.8; Zhu, Dong and Wang 2022, Theorem 10.
"""

from tailguard.checks import check_failure, check_open_unit
from tailguard.privacy.accounting.distance import Distance
from tailguard.privacy.accounting.smallest import smallest_epsilon
from tailguard.privacy.accounting.total_cost import epsilon_at_distance
from tailguard.privacy.amplification.clones import failure_variation
from tailguard.privacy.events import Approximate, Pure, Repeated, ShuffledPure


def repeated_clones_epsilon(
    delta: float, *, times: int, n_units: int, unit_epsilon: float, unit_delta: float = 0.0
) -> float:
    """Epsilon of ``times`` shuffles, fresh ones, of (``unit_epsilon``, ``unit_delta``)-DP units.

    *Guarantee.* Never below the truth, never above what the units cost without a shuffle; the
    rounds may be chosen in the light of earlier ones.

    *Edge cases.* Infinity where failures alone use up ``delta``. For Gaussian units the event
    ``Shuffled`` is sharper: it weighs failures against losses at every epsilon.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.

    Examples
    --------
    >>> round(repeated_clones_epsilon(1e-6, times=10, n_units=1000, unit_epsilon=0.5), 3)
    0.242
    """
    check_open_unit("delta", delta)
    check_failure("unit_delta", unit_delta)
    event = Repeated(ShuffledPure(unit_epsilon, n_units), times)
    unit = Approximate(unit_epsilon, unit_delta) if unit_delta else Pure(unit_epsilon)
    variation = min(times * failure_variation(n_units, unit_epsilon, unit_delta), 0.5)
    return min(
        epsilon_at_distance(event, delta, Distance(variation=variation)).epsilon,
        smallest_epsilon(Repeated(unit, times), delta).epsilon,
    )
