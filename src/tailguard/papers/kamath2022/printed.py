"""Formulas of Kamath, Liu and Zhang (2022), from theorems and proofs, that the library corrects.

*Needed for privacy.* Nothing of the data.

*Needed for accuracy.* As in :mod:`tailguard.papers.kamath2022.parameters`.
"""

import math

from tailguard.means.formulas import checked


@checked
def printed_strongly_convex_chance(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, n_steps: int
) -> float:
    """Chance of failure of each block, ``T d / n + d (sqrt(d) T^(3/2) / (n sqrt(rho)))^(2-2/k)``.

    Clipped to at most 1/2: beyond it the theorem is void.

    *Reference.* Kamath, Liu and Zhang 2022, proof of Theorem 5.7.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(printed_strongly_convex_chance(rho=0.5, n_steps=10, **args), 6)
    0.015142
    """
    private = math.sqrt(n_features * n_steps / rho) * n_steps / n_rows
    chance = n_features * (n_steps / n_rows + math.pow(private, 2.0 - 2.0 / moment_order))
    return min(0.5, chance)


@checked
def uniform_group_count(*, n_rows: int, n_features: int, diameter: float) -> float:
    """How many groups the mean needs for a bound that holds at all points of the set at once.

    ``8 d log(3 diameter n^3)``, by a union bound over a net of width ``n^-3``. With few rows this
    exceeds the number of rows.

    *Reference.* Kamath, Liu and Zhang 2022, proof of Theorem 5.2.

    Examples
    --------
    >>> round(uniform_group_count(n_rows=10**5, n_features=10, diameter=2.0), 1)
    2906.4
    """
    nats = math.log(3.0 * diameter) + 3.0 * math.log(n_rows)
    return max(1.0, 8.0 * n_features * nats)
