"""Fourth powers of residuals on normal columns: a large Lipschitz constant, and small moments.

The example of Xu and others (2025, Section 4): ``E (<w, x> - y)^4`` on the unit l1 ball, columns
normal and cut at the number of records, targets bounded. The growth of the risk is 4.
"""

import math

import numpy as np
from scipy import stats
from scipy.special import gammaln

from tailguard.checks import check_integer
from tailguard.datasets.dataset import Dataset, check_sizes
from tailguard.datasets.heavy_tailed import alternating_weights
from tailguard.means.formulas import check_facts

TARGET_BOUND = 1.0  # "O(1)" in the paper
NOISE_STD = 0.5  # not stated


def fourth_power_line(n_rows: int, n_features: int, *, seed: int = 0) -> Dataset:
    """Draw normal columns, cut at plus and minus ``n_rows``, and a bounded noisy linear score.

    Examples
    --------
    >>> data = fourth_power_line(1000, 3)
    >>> bool(abs(data.target).max() <= TARGET_BOUND)
    True
    """
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    check_sizes(n_rows=n_rows, n_features=n_features)
    X = stats.truncnorm(-n_rows, n_rows).rvs((n_rows, n_features), random_state=rng)
    weights = alternating_weights(n_features)
    weights = weights / np.abs(weights).sum()
    target = X @ weights + NOISE_STD * rng.standard_normal(n_rows)
    names = tuple(f"x{j}" for j in range(n_features))
    words = "Normal columns cut at the number of records, bounded targets."
    target = np.clip(target, -TARGET_BOUND, TARGET_BOUND)
    return Dataset(X, names, target, weights, 0.0, words)


def fourth_power_lipschitz(
    *, n_rows: int, n_features: int, target_bound: float = TARGET_BOUND
) -> float:
    """Lipschitz constant of the loss: ``4 (n + target_bound)^3 n sqrt(d)``.

    On the unit l1 ball a score is at most the largest entry of its record, which is n.

    Examples
    --------
    >>> f"{fourth_power_lipschitz(n_rows=10**4, n_features=4):.1e}"
    '8.0e+16'
    """
    check_facts(n_rows=n_rows, n_features=n_features, target_bound=target_bound)
    return 4.0 * (n_rows + target_bound) ** 3 * n_rows * math.sqrt(n_features)


def fourth_power_scale(
    *, n_features: int, moment_order: float, target_bound: float = TARGET_BOUND
) -> float:
    """Bound the root of the moment of the gradient's largest norm on the set, however many records.

    The norm is ``4 (M + |y|)^3 |x|`` for the largest entry M of the record x. By the inequalities
    of Cauchy-Schwarz and Minkowski its moment of order p has a root of at most
    ``4 ((d E|g|^(6p))^(1/(6p)) + target_bound)^3 (E|x|^(2p))^(1/(2p))``, ``g`` standard normal,
    ``|x|^2`` chi-squared; a cut only makes entries smaller.

    Examples
    --------
    >>> round(fourth_power_scale(n_features=4, moment_order=4.0))
    759
    """
    check_facts(n_features=n_features, moment_order=moment_order, target_bound=target_bound)
    p, half = moment_order, n_features / 2.0
    largest = 3.0 * p * math.log(2.0) + gammaln(3.0 * p + 0.5) - math.log(math.pi) / 2.0
    largest = (largest + math.log(n_features)) / (6.0 * p)
    norm = (p * math.log(2.0) + gammaln(half + p) - gammaln(half)) / (2.0 * p)
    return float(4.0 * (math.exp(largest) + target_bound) ** 3 * math.exp(norm))
