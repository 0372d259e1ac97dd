"""How many groups a median of means has, and what it loses to a mean.

Kamath, Liu and Zhang (2022, Algorithm 3) and Tao, Wu, Cheng and Wang (2022, Algorithm 3) use the
same number of groups; they differ in how a record is bounded before the group means.
"""

import math

from tailguard.means.facts import check_facts, checked

FAILURE_PROBABILITY = 0.1  # of a median of means, where none is stated: a round figure
# The spread of a median over that of a mean, for nearly Gaussian group means (Laplace 1818); the
# centre of noised group means has about the noise of their median.
CENTRE_LOSS = math.sqrt(math.pi / 2.0)


@checked
def group_count(*, n_features: int, failure_probability: float = FAILURE_PROBABILITY) -> float:
    """How many groups the theory needs, ``4 log(2 d / failure_probability)``, before rounding.

    *Reference.* Kamath, Liu and Zhang 2022, Algorithm 3, line 2.
    """
    return 4.0 * math.log(2.0 * n_features / failure_probability)


def whole_groups(count: float, *, n_rows: int) -> int:
    """Round a number of groups up to an even one, and to at most half of the rows.

    Even, because the median of an even number of means is half as sensitive
    (:func:`median_sensitivity`). Below four rows there is one group.
    """
    check_facts(count=count, n_rows=n_rows)
    largest = n_rows // 2 - (n_rows // 2) % 2
    return max(1, min(2 * math.ceil(count / 2.0), largest))
