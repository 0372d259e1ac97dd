"""How many groups a median of means has, and how far one record moves it.

Kamath, Liu and Zhang (2022, Algorithm 3) and Tao, Wu, Cheng and Wang (2022, Algorithm 3) use the
same number of groups; they differ in how a record is bounded before the group means.
"""

import math

from tailguard.checks import InputError, check_choice
from tailguard.means.formulas import checked
from tailguard.means.formulas import group_count as group_count
from tailguard.means.formulas import whole_groups as whole_groups


def check_groups(groups: str | None, *, prints: bool) -> str:
    """Return where the error bound must hold: ``"pointwise"``, or ``"uniform"`` over the set.

    Printed noise has ``"uniform"`` by default.

    Examples
    --------
    >>> check_groups(None, prints=False), check_groups(None, prints=True)
    ('pointwise', 'uniform')
    """
    if groups is None:
        return "uniform" if prints else "pointwise"
    return check_choice("groups", groups, ("pointwise", "uniform"))


@checked
def group_count_with_probability(
    *, n_rows: int, n_features: int, diameter: float, failure_probability: float
) -> float:
    """How many groups a bound at all points of the set needs, for this failure probability.

    ``d log(d diameter n / failure_probability)``, and at least 1.

    *Correction.* The paper hides a constant: its net of width ``n^-3`` needs
    ``8 d log(3 diameter n^3)`` groups, 10 to 20 times as many.

    *Reference.* Kamath, Liu and Zhang 2022, proof of Theorem B.8.

    Examples
    --------
    >>> sizes = {"n_rows": 10**5, "n_features": 10, "diameter": 2.0}
    >>> round(group_count_with_probability(failure_probability=0.1, **sizes), 3)
    168.112
    """
    ratio = n_features * diameter * n_rows / failure_probability
    return max(1.0, n_features * math.log(ratio))


@checked
def median_sensitivity(*, value_range: float, n_rows: int, n_groups: int) -> float:
    """How far replacing one record moves one coordinate of the median of group means.

    One record moves one group mean by at most ``value_range`` over the size of the smallest
    group. The median follows it by at most that, and by at most half of that if the number of
    groups is even: it is then the average of the two middle means, and sorting never increases the
    sum of the absolute moves.

    *Correction.* The papers use ``n_groups / n_rows`` for the inverse size of the smallest group.
    This is up to 1.5 times too small if the groups do not divide the rows (with two or more rows
    to a group). They do not use the half.

    Examples
    --------
    >>> median_sensitivity(value_range=60.0, n_rows=1000, n_groups=10)
    0.3
    >>> median_sensitivity(value_range=60.0, n_rows=1000, n_groups=11)
    0.6666666666666666
    """
    if n_groups > n_rows:
        raise InputError(f"n_groups must be at most n_rows = {n_rows}; got {n_groups}.")
    move = value_range / (n_rows // n_groups)
    return move / 2.0 if n_groups % 2 == 0 else move
