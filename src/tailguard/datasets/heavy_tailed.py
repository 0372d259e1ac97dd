"""Linear, logistic and Poisson models on heavy-tailed columns in raw units."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tailguard.array_types import FloatArray
from tailguard.checks import (
    InputError,
    check_choice,
    check_finite,
    check_integer,
    check_positive,
    named_arguments,
    shown,
)
from tailguard.datasets.dataset import Dataset, check_sizes


@dataclass(frozen=True, eq=False)
class RawDesign:
    """Standardised columns, with the unit and the offset of each in the design matrix.

    Column ``j`` of the design matrix is ``units[j] * (offsets[j] + standardised[:, j])``.

    Examples
    --------
    >>> import numpy as np
    >>> design = RawDesign(np.ones((4, 1)), np.array([100.0]), np.array([2.0]))
    >>> data = design.dataset(np.array([5.0]), 1.0, target=np.zeros(4), description="Ones.")
    >>> data.features[0], data.coefficients, data.intercept
    (array([300.]), array([0.05]), -9.0)
    """

    standardised: FloatArray
    units: FloatArray
    offsets: FloatArray

    def dataset(
        self,
        weights: FloatArray,
        intercept: float,
        *,
        target: NDArray[Any],
        description: str,
        exposure: FloatArray | None = None,
    ) -> Dataset:
        """Return the dataset; weights and intercept are those of the standardised columns."""
        return Dataset(
            features=self.units * (self.offsets + self.standardised),
            feature_names=tuple(f"x{j}" for j in range(weights.size)),
            target=target,
            coefficients=weights / self.units,
            intercept=intercept - float(weights @ self.offsets),
            description=description,
            exposure=exposure,
        )


def draw_raw_design(
    rng: np.random.Generator,
    n_rows: int,
    n_features: int,
    *,
    tail: float,
    units: tuple[float, float],
    offset: float,
) -> RawDesign:
    """Draw Student-t columns in different units, with centres far from zero.

    Units are from ``units[0]`` to ``units[1]``. The distance of a centre from zero is ``offset``
    standard deviations, with alternating signs. ``tail`` is the number of degrees of freedom:
    moments of order ``tail`` and higher do not exist. If the variance exists (``tail > 2``), it is
    1 before columns are scaled by their units.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> design = draw_raw_design(rng, 100, 3, tail=3.0, units=(1e-6, 1e6), offset=50.0)
    >>> design.units, design.offsets
    (array([1.e-06, 1.e+00, 1.e+06]), array([ 50., -50.,  50.]))
    """
    check_sizes(n_rows=n_rows, n_features=n_features)
    check_positive("tail", tail)
    check_finite("offset", offset)
    if not isinstance(units, tuple | list | np.ndarray) or len(units) != 2:
        raise InputError(f"units must be a pair of numbers above 0; got {shown(units)}.")
    column_units = np.geomspace(
        check_positive("units[0]", units[0]), check_positive("units[1]", units[1]), n_features
    )
    standardised = rng.standard_t(tail, size=(n_rows, n_features))
    if tail > 2:
        standardised /= np.sqrt(tail / (tail - 2))
    signs = np.where(np.arange(n_features) % 2 == 0, 1.0, -1.0)
    return RawDesign(standardised, column_units, offset * signs)


def alternating_weights(n_features: int) -> FloatArray:
    """Return weights with alternating signs, decreasing magnitudes and norm 1.

    Examples
    --------
    >>> alternating_weights(2).round(3)
    array([ 0.816, -0.577])
    """
    order = np.arange(n_features)
    weights = np.where(order % 2 == 0, 1.0, -1.0) / np.sqrt(1.0 + order)
    return weights / np.linalg.norm(weights)


@named_arguments
def heavy_tailed_linear(
    n_rows: int,
    n_features: int,
    *,
    tail: float = 3.0,
    noise: str = "lognormal",
    noise_std: float = 0.5,
    units: tuple[float, float] = (1e-6, 1e6),
    offset: float = 50.0,
    seed: int = 0,
) -> Dataset:
    """Simulate a linear model whose columns and noise are heavy-tailed.

    The signal has variance 1 if ``tail > 2``. The intercept for standardised columns is 10.

    Parameters
    ----------
    n_rows, n_features
        The numbers of records and columns.
    tail
        Degrees of freedom of the Student-t columns; moments below this order exist.
    noise
        ``"lognormal"`` (skewed, mean zero), ``"student"`` (``tail`` degrees of freedom) or
        ``"normal"``.
    noise_std
        The standard deviation of the noise (its scale if the variance does not exist).
    units
        The smallest and the largest raw unit of a column; other units lie between in equal ratios.
    offset
        Distance of every column's centre from zero, in standard deviations of the column.
    seed
        Seed of the simulation.

    Examples
    --------
    >>> data = heavy_tailed_linear(200, 3, tail=2.5, noise="student", seed=4)
    >>> data.features.shape, data.target.shape
    ((200, 3), (200,))
    """
    check_choice("noise", noise, ("lognormal", "student", "normal"))
    check_positive("noise_std", noise_std)
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    design = draw_raw_design(rng, n_rows, n_features, tail=tail, units=units, offset=offset)
    weights = alternating_weights(n_features)
    errors = noise_std * _draw_errors(rng, noise, n_rows, tail)
    return design.dataset(
        weights,
        10.0,
        target=10.0 + design.standardised @ weights + errors,
        description=(
            f"Linear model on Student-t columns with {tail:g} degrees of freedom, "
            f"{noise} noise of scale {noise_std:g}."
        ),
    )


def _draw_errors(rng: np.random.Generator, noise: str, n_rows: int, tail: float) -> FloatArray:
    """Draw errors with mean zero and, if the variance exists, variance one."""
    if noise == "normal":
        return rng.standard_normal(n_rows)
    if noise == "student":
        return rng.standard_t(tail, n_rows) / (np.sqrt(tail / (tail - 2)) if tail > 2 else 1.0)
    skewed = rng.lognormal(0.0, 1.0, n_rows)
    # Mean and variance of the standard lognormal: exp(1/2) and e (e - 1).
    return (skewed - np.exp(0.5)) / np.sqrt(np.e * (np.e - 1.0))


@named_arguments
def heavy_tailed_logistic(
    n_rows: int,
    n_features: int,
    *,
    tail: float = 3.0,
    signal: float = 2.0,
    units: tuple[float, float] = (1e-6, 1e6),
    offset: float = 50.0,
    seed: int = 0,
) -> Dataset:
    """Simulate labels 0 and 1 from a logistic model with heavy-tailed columns.

    Parameters
    ----------
    n_rows, n_features, tail, units, offset, seed
        As in :func:`heavy_tailed_linear`.
    signal
        The standard deviation of the log-odds (if ``tail > 2``).

    Examples
    --------
    >>> data = heavy_tailed_logistic(200, 3, seed=4)
    >>> sorted(set(data.target.tolist()))
    [0, 1]
    """
    check_positive("signal", signal)
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    design = draw_raw_design(rng, n_rows, n_features, tail=tail, units=units, offset=offset)
    weights = signal * alternating_weights(n_features)
    chance = expit(0.3 + design.standardised @ weights)
    return design.dataset(
        weights,
        0.3,
        target=(rng.random(n_rows) < chance).astype(np.int64),
        description=f"Logistic model on Student-t columns with {tail:g} degrees of freedom.",
    )


@named_arguments
def heavy_tailed_poisson(
    n_rows: int,
    n_features: int,
    *,
    tail: float = 3.0,
    signal: float = 0.5,
    units: tuple[float, float] = (1e-6, 1e6),
    offset: float = 50.0,
    seed: int = 0,
) -> Dataset:
    """Simulate counts from a Poisson model with heavy-tailed columns and skewed exposures.

    The expected count is ``exposure * exp(score)``, with the score clipped to ``[-4, 4]``.

    Parameters
    ----------
    n_rows, n_features, tail, units, offset, seed
        As in :func:`heavy_tailed_linear`.
    signal
        The standard deviation of the score (if ``tail > 2``).

    Examples
    --------
    >>> data = heavy_tailed_poisson(200, 3, seed=4)
    >>> data.target.min() >= 0, data.exposure.min() > 0
    (np.True_, np.True_)
    """
    check_positive("signal", signal)
    rng = np.random.default_rng(check_integer("seed", seed, minimum=0))
    design = draw_raw_design(rng, n_rows, n_features, tail=tail, units=units, offset=offset)
    weights = signal * alternating_weights(n_features)
    # The exponential of a Student-t variable has no mean; without a clip, few records would have
    # most of the counts.
    score = np.clip(design.standardised @ weights, -4.0, 4.0)
    exposure = rng.lognormal(0.0, 0.5, n_rows)
    return design.dataset(
        weights,
        0.0,
        target=rng.poisson(exposure * np.exp(score)),
        description=(
            f"Poisson model on Student-t columns with {tail:g} degrees of freedom "
            "and lognormal exposures."
        ),
        exposure=exposure,
    )
