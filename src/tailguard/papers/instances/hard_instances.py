"""Laws that no private algorithm can distinguish: the hard instances behind the lower bounds.

Each theorem has a function, which returns one law for each word of a packing. On the worst of these
laws, no algorithm's error is below the lower bound by more than a constant factor. The papers'
constants are corrected if they prove nothing or violate the papers' own assumptions.

Records are zero except for rare spikes, Gaussian, or nearly fair coins. Each law has its exact mean
and moments, and draws records from a seed.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_integer, check_positive, shown
from tailguard.datasets.dataset import check_sizes
from tailguard.means.formulas import check_order
from tailguard.papers.instances.packings import CodeWords, constant_weight_words, sparse_words


@dataclass(frozen=True, eq=False)
class SpikeLaw:
    """Zero, or with a small probability one point.

    This is the heaviest tail that a moment allows: clipping removes the point, or noise hides it.
    """

    point: FloatArray
    chance: float

    @property
    def mean(self) -> FloatArray:
        """Expectation of a record."""
        return self.chance * self.point

    def raw_moment(self, order: float) -> float:
        """Largest ``E|x_j|^order`` of a coordinate."""
        return float(self.chance * np.abs(self.point).max() ** order)

    def central_moment(self, order: float) -> float:
        """Largest ``E|x_j - E x_j|^order`` of a coordinate."""
        chance, rest = self.chance, 1.0 - self.chance
        spread = rest**order * chance + chance**order * rest
        return float(spread * np.abs(self.point).max() ** order)

    def directional_moment(self, order: float) -> float:
        """Largest ``E|<x, u>|^order`` over unit vectors u: along the point."""
        return float(self.chance * np.linalg.norm(self.point) ** order)

    def sample(self, n_rows: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        hits = generator(seed, n_rows=n_rows).random(n_rows) < self.chance
        return hits[:, None] * self.point


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """Independent Gaussian coordinates of one standard deviation."""

    mean: FloatArray
    std: float = 1.0

    def sample(self, n_rows: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        drawn = generator(seed, n_rows=n_rows).standard_normal((n_rows, self.mean.size))
        return self.mean + self.std * drawn


@dataclass(frozen=True, eq=False)
class SignLaw:
    """Independent coordinates of fixed size, with signs biased towards those of a word.

    The sign is the word's with probability ``(1 + bias) / 2``.
    """

    word: NDArray[np.int8]
    size: float
    bias: float

    @property
    def mean(self) -> FloatArray:
        """Expectation of a record."""
        return self.bias * self.size * self.word.astype(np.float64)

    def divergence(self, n_differing: int) -> float:
        """Kullback-Leibler divergence from the law of a word with ``n_differing`` other signs.

        ``bias log((1 + bias) / (1 - bias))`` for each differing place, about ``2 bias^2``.
        """
        return float(n_differing * self.bias * 2.0 * np.arctanh(self.bias))

    def sample(self, n_rows: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        drawn = generator(seed, n_rows=n_rows).random((n_rows, self.word.size))
        agree = drawn < (1.0 + self.bias) / 2.0
        return self.size * np.where(agree, self.word, -self.word).astype(np.float64)


def spike(word: NDArray[np.int8], *, chance: float, order: float, bound: float) -> SpikeLaw:
    """``(bound / chance)^(1/order)`` times a word, with probability ``chance``.

    Its raw moments equal the bound.
    """
    check_order(order, minimum=1.0)  # at 1 a spike has no bounded mean
    size = (check_positive("moment_bound", bound) / chance) ** (1.0 / order)
    return SpikeLaw(size * word, chance)


def generator(seed: int, **sizes: int) -> np.random.Generator:
    """Return the generator of records of checked sizes."""
    check_sizes(**sizes)
    return np.random.default_rng(check_integer("seed", seed, minimum=0))


# With this factor of chances the private term of Fano's inequality is positive; with the papers'
# factor 1 it is negative.
CHANCE_FACTOR = 0.25


def zcdp_chance(n_rows: int, size: float, *, rho: float, factor: float = CHANCE_FACTOR) -> float:
    """Chance at which rho-zCDP hides a spike: ``factor sqrt(size) / (n sqrt(rho))``, at most 1.

    ``size`` is the dimension, or the logarithm of the number of laws.

    *Reference.* Kamath, Liu and Zhang 2022, proof of Lemma 6.3, with a factor that the paper sets
    to 1.

    Examples
    --------
    >>> zcdp_chance(10_000, 16, rho=1.0)
    0.0001
    """
    check_rows(n_rows)
    root = math.sqrt(check_positive("size", size) / check_positive("rho", rho))
    return min(1.0, check_positive("factor", factor) * root / n_rows)


def pure_chance(
    n_rows: int, size: float, *, epsilon: float, factor: float = CHANCE_FACTOR
) -> float:
    """Chance at which epsilon-DP hides a spike: ``factor size / (n epsilon)``, at most 1.

    *Reference.* Kamath, Liu and Zhang 2022, proof of Lemma 6.3, with a factor that the paper sets
    to 1; Tao and others 2022 need about 0.1 for the logarithm of the number of laws.

    Examples
    --------
    >>> pure_chance(10_000, 16, epsilon=1.0)
    0.0004
    """
    check_rows(n_rows)
    share = check_positive("size", size) / check_positive("epsilon", epsilon)
    return min(1.0, check_positive("factor", factor) * share / n_rows)


def hard_means(
    n_features: int,
    n_laws: int,
    *,
    chance: float,
    moment_order: float,
    moment_bound: float = 1.0,
    seed: int = 0,
) -> tuple[SpikeLaw, ...]:
    """Spikes along words of weight ``d // 2``: hard for means, and for convex losses.

    Raw moments of the coordinates are at most ``moment_bound``, and so are central moments of order
    2 and above. All means have the norm ``r = moment_bound^(1/k) chance^(1-1/k) sqrt(d // 2)``. If
    two words differ in ``h`` places, their means are ``r sqrt(2 h / d)`` apart.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma 6.3 and Theorem 6.4; Tao and others 2022,
    Theorems 8 and 9, whose separation is half the norm and not twice the norm.

    Examples
    --------
    >>> chance = zcdp_chance(1000, 64, rho=0.5)
    >>> laws = hard_means(64, 8, chance=chance, moment_order=2.0)
    >>> len(laws), round(laws[0].raw_moment(2.0), 12), laws[0].central_moment(2.0) < 1.0
    (8, 1.0, True)
    """
    _check_chance(chance)
    words = constant_weight_words(n_features, n_laws, seed=seed)
    return _spikes(words, chance, moment_order, moment_bound)


def hard_means_sampling(
    n_features: int, n_laws: int, *, n_rows: int, factor: float = CHANCE_FACTOR, seed: int = 0
) -> tuple[GaussianLaw, ...]:
    """Gaussians whose means are ``min(1, factor sqrt(d/n)) / sqrt(d)`` times a word.

    Hard for every algorithm, private or not.

    *Reference.* Kamath, Liu and Zhang 2022, Lemma 6.3, its first term.

    Examples
    --------
    >>> laws = hard_means_sampling(16, 4, n_rows=1000)
    >>> len(laws), laws[0].mean.max().round(5)
    (4, np.float64(0.00791))
    """
    check_rows(n_rows)
    words = constant_weight_words(n_features, n_laws, seed=seed)
    shift = min(1.0, check_positive("factor", factor) * math.sqrt(n_features / n_rows))
    return tuple(GaussianLaw(shift / math.sqrt(n_features) * word) for word in words)


def hard_scalar_mean(
    *, n_rows: int, moment_order: float, epsilon: float, moment_bound: float = 1.0
) -> SpikeLaw:
    """Return the spike in one column that is hardest to distinguish from constant zero.

    The chance is ``v / (10 (1 + v) epsilon n)`` for moments of order 1 + v.

    *Reference.* Tao and others 2022, Theorem 2 and Lemma 16.

    Examples
    --------
    >>> law = hard_scalar_mean(n_rows=1000, moment_order=2.0, epsilon=1.0)
    >>> law.chance, law.raw_moment(2.0)
    (5e-05, 1.0)
    """
    check_rows(n_rows)
    check_order(moment_order, minimum=1.0)
    share = 1.0 - 1.0 / moment_order
    chance = min(1.0, share / (10.0 * check_positive("epsilon", epsilon) * n_rows))
    _check_chance(chance)
    return spike(np.ones(1, dtype=np.int8), chance=chance, order=moment_order, bound=moment_bound)


def hard_sparse_means(
    n_features: int,
    n_nonzero: int,
    n_laws: int,
    *,
    chance: float,
    moment_order: float,
    moment_bound: float = 1.0,
    seed: int = 0,
) -> tuple[SpikeLaw, ...]:
    """Spikes along sparse words: hard for sparse means.

    For ``zcdp_chance`` and ``pure_chance``, a natural ``size`` is the logarithm of the number of
    words, ``n_nonzero / 2 * log(2 (d - n_nonzero) / n_nonzero)``.

    *Reference.* Tao and others 2022, Theorem 11; its words are divided by sqrt(2 n_nonzero), which
    the moments do not need.

    Examples
    --------
    >>> laws = hard_sparse_means(100, 4, 6, chance=0.001, moment_order=1.5)
    >>> len(laws), round(laws[0].raw_moment(1.5), 12)
    (6, 1.0)
    """
    _check_chance(chance)
    words = sparse_words(n_features, n_nonzero, n_laws, seed=seed)
    return _spikes(words, chance, moment_order, moment_bound)


def squared_excess(law: SpikeLaw | GaussianLaw, point: Sequence[float]) -> float:
    """Excess risk of ``point`` for the loss ``||w - x||^2 / 2``: half the squared distance.

    Examples
    --------
    >>> import numpy as np
    >>> squared_excess(GaussianLaw(np.array([3.0, 4.0])), [0.0, 0.0])
    12.5
    """
    return float(np.sum((_as_point(law, point) - law.mean) ** 2) / 2.0)


def linear_excess(law: SpikeLaw | GaussianLaw, point: Sequence[float]) -> float:
    """Excess risk of ``point`` for the loss ``-<w, x>`` on the unit ball.

    Examples
    --------
    >>> import numpy as np
    >>> linear_excess(GaussianLaw(np.array([3.0, 4.0])), [0.6, 0.8])
    0.0
    """
    return float(np.linalg.norm(law.mean) - _as_point(law, point) @ law.mean)


def one_column_each(records: FloatArray, *, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Reduce each record x to a random column j: features ``sqrt(d) e_j``, target ``sqrt(d) x_j``.

    The mean squared loss of the pair is that of ``||w - x||^2 / 2``, which is not a loss of one
    score. A pair depends only on its own record, so an algorithm that is private for pairs is
    private for records: lower bounds hold for both.

    Examples
    --------
    >>> rows, target = one_column_each(np.array([[3.0, 4.0]]), seed=0)
    >>> rows.round(3), target.round(3)
    (array([[0.   , 1.414]]), array([5.657]))
    """
    n_rows, size = records.shape
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    places, columns = np.arange(n_rows), rng.integers(size, size=n_rows)
    rows = np.zeros((n_rows, size))
    rows[places, columns] = math.sqrt(size)
    return rows, math.sqrt(size) * records[places, columns]


def _spikes(words: CodeWords, chance: float, order: float, bound: float) -> tuple[SpikeLaw, ...]:
    return tuple(spike(word, chance=chance, order=order, bound=bound) for word in words)


def _as_point(law: SpikeLaw | GaussianLaw, point: Sequence[float]) -> FloatArray:
    """Check that a point has the coordinates of a record."""
    coordinates = np.asarray(point, dtype=np.float64)
    if coordinates.shape != law.mean.shape:
        raise InputError(f"point must have shape {law.mean.shape}; got {coordinates.shape}.")
    return coordinates


def _check_chance(chance: float) -> None:
    """Refuse all but probabilities above 0."""
    if not 0.0 < check_finite("chance", chance) <= 1.0:
        raise InputError(f"chance must be a number above 0 and at most 1; got {shown(chance)}.")


def check_rows(n_rows: int) -> None:
    """Refuse a number of rows that no array has."""
    check_integer("n_rows", n_rows, minimum=1, maximum=sys.maxsize)
