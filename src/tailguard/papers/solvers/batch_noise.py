"""What each of many disjoint random batches may spend, and why.

Reference
---------
:mod:`tailguard.privacy.amplification.grouped` (Feldman, McMillan and Talwar 2021; McSherry 2009);
Xu et al. 2025, Algorithm 6 (the printed noise).
"""

import math

from tailguard.gate.stage import BUDGET_MARGIN
from tailguard.papers.printed.terms import printed_in
from tailguard.privacy.amplification.grouped import grouped_shuffle
from tailguard.privacy.guarantees import ApproxDP, Guarantee


def batch_noise(promise: Guarantee, *, n_batches: int, n_rows: int) -> tuple[float, bool]:
    """Return the mu that each batch may spend, and whether that counts on a shuffle.

    The better of two proofs: disjoint batches, or a shuffle of batches.
    """
    alone = promise.gaussian_mu() * (1.0 - BUDGET_MARGIN)
    if not isinstance(promise, ApproxDP) or n_batches == 1:
        return alone, False
    mu, shuffled = grouped_shuffle(promise, n_groups=n_batches)
    return (mu * (1.0 - BUDGET_MARGIN), True) if shuffled else (alone, False)


def printed_batch_noise(promise: Guarantee, *, n_batches: int, n_rows: int) -> tuple[float, bool]:
    """Return the same for the printed noise, ``C sqrt(T log(1/delta)) / (n epsilon)``.

    One record moves the mean of a batch of ``b`` records by ``2 C / b``.
    """
    asked = printed_in(promise)
    spread = math.sqrt(-n_batches * math.log(asked.delta))
    batch = n_rows // n_batches
    return 2.0 * n_rows * asked.epsilon / (batch * spread), n_batches > 1
