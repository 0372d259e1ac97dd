"""The laws of hard instances: records that are nearly all zero, nearly Gaussian, nearly fair coins.

Each knows its mean and its moments exactly, and draws records from a seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_integer, check_positive, shown
from tailguard.datasets.dataset import check_sizes


@dataclass(frozen=True, eq=False)
class SpikeLaw:
    """Zero, or with a small chance one point.

    As heavy a tail as a moment allows, in a place where clipping hides it and noise hides the rest.
    """

    point: FloatArray
    chance: float

    @property
    def mean(self) -> FloatArray:
        """Expectation of a record."""
        mean: FloatArray = self.chance * self.point
        return mean

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
        hits = _generator_of_rows(n_rows, seed).random(n_rows) < self.chance
        rows: FloatArray = hits[:, None] * self.point
        return rows


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """Independent Gaussian coordinates of one standard deviation."""

    mean: FloatArray
    std: float = 1.0

    def sample(self, n_rows: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        drawn = _generator_of_rows(n_rows, seed).standard_normal((n_rows, self.mean.size))
        rows: FloatArray = self.mean + self.std * drawn
        return rows


@dataclass(frozen=True, eq=False)
class SignLaw:
    """Independent coordinates of fixed size, whose signs are those of a word a little too often.

    The sign is the word's with chance ``(1 + bias) / 2``.
    """

    word: NDArray[np.int8]
    size: float
    bias: float

    @property
    def mean(self) -> FloatArray:
        """Expectation of a record."""
        mean: FloatArray = self.bias * self.size * self.word.astype(np.float64)
        return mean

    def divergence(self, n_differing: int) -> float:
        """Kullback-Leibler divergence of one record from that of a word with other signs there.

        ``bias log((1 + bias) / (1 - bias))`` for each differing place, about ``2 bias^2``.
        """
        return float(n_differing * self.bias * 2.0 * np.arctanh(self.bias))

    def sample(self, n_rows: int, *, seed: int = 0) -> FloatArray:
        """Draw records."""
        agree = (
            _generator_of_rows(n_rows, seed).random((n_rows, self.word.size))
            < (1.0 + self.bias) / 2.0
        )
        rows: FloatArray = self.size * np.where(agree, self.word, -self.word).astype(np.float64)
        return rows


def spike(word: NDArray[np.int8], *, chance: float, order: float, bound: float) -> SpikeLaw:
    """``(bound / chance)^(1/order)`` times a word, at that chance: raw moments are the bound."""
    check_moment_order(order)
    size = (check_positive("moment_bound", bound) / chance) ** (1.0 / order)
    return SpikeLaw(size * word, chance)


def check_moment_order(order: float) -> float:
    """Refuse orders at which a spike has no bounded mean."""
    if check_finite("moment_order", order) <= 1.0:
        raise InputError(f"moment_order must be a number above 1; got {shown(order)}.")
    return float(order)


def _generator_of_rows(n_rows: int, seed: int) -> np.random.Generator:
    """Check the size of a sample, and start the generator of its seed."""
    check_sizes(n_rows=n_rows)
    return np.random.default_rng(check_integer("seed", seed, minimum=0))
