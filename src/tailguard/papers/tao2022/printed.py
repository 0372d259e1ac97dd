"""Formulas of Tao, Wu, Cheng and Wang (2022) as printed, before the library's corrections.

*Needed for privacy.* Nothing of the data.

*Needed for accuracy.* As in :mod:`tailguard.papers.tao2022.parameters`.
"""

import math

from tailguard.means.formulas import checked_up_to_2, moment_scale


@checked_up_to_2
def printed_mean_threshold(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> float:
    """Threshold of the mean of several columns as printed, ``(u n epsilon / sqrt(d))^(1/(1+v))``.

    Here ``u`` is ``moment_bound`` and ``1 + v`` is ``moment_order``.

    *Reference.* Tao and others 2022, Corollary 1.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 16, "moment_order": 2.0}
    >>> round(printed_mean_threshold(epsilon=1.0, moment_bound=4.0, **args), 4)
    316.2278
    """
    return moment_scale(moment_bound * (epsilon * n_rows / math.sqrt(n_features)), moment_order)


@checked_up_to_2
def uniform_group_count(
    *, n_rows: int, n_features: int, moment_order: float, diameter: float
) -> float:
    """Return how many groups the mean needs for a bound that holds at all points of a set.

    ``4 log(2 d) + 8 d log(diameter n^(v/(1+v)))``, by a union bound over a net of width
    ``n^(-v/(1+v))``; ``1 + v`` is ``moment_order``, and ``diameter`` is that of the set.

    *Reference.* Tao and others 2022, proof of Lemma 19.

    Examples
    --------
    >>> args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0}
    >>> round(uniform_group_count(diameter=2.0, **args), 1)
    528.0
    """
    log_ratio = math.log(diameter) + (1.0 - 1.0 / moment_order) * math.log(n_rows)
    return 4.0 * math.log(2.0 * n_features) + max(0.0, 8.0 * n_features * log_ratio)
