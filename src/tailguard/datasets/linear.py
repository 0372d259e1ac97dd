"""A linear model with heavy-tailed columns in raw units and noise of the reader's choice."""

import numpy as np
from numpy.typing import NDArray

from tailguard.checks import check_choice, check_integer, check_positive
from tailguard.datasets.dataset import Dataset
from tailguard.datasets.features import alternating_weights, draw_raw_design


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

    The signal has variance 1 where ``tail > 2``; the intercept in standardised columns is 10.

    Parameters
    ----------
    n_rows, n_features
        How many records, and how many columns.
    tail
        Degrees of freedom of the Student-t columns: moments below this order exist.
    noise
        ``"lognormal"`` (skewed, mean zero), ``"student"`` (``tail`` degrees of freedom) or
        ``"normal"``.
    noise_std
        The standard deviation of the noise (its scale where no variance exists).
    units
        The smallest and largest raw unit of a column; the others lie between, in equal ratios.
    offset
        Distance of every column's centre from zero, in its own standard deviations.
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


def _draw_errors(
    rng: np.random.Generator, noise: str, n_rows: int, tail: float
) -> NDArray[np.float64]:
    """Errors of mean zero and, where it exists, variance one."""
    if noise == "normal":
        return rng.standard_normal(n_rows)
    if noise == "student":
        return rng.standard_t(tail, n_rows) / (np.sqrt(tail / (tail - 2)) if tail > 2 else 1.0)
    skewed = rng.lognormal(0.0, 1.0, n_rows)
    # Mean and variance of the standard lognormal: exp(1/2) and e (e - 1).
    centred: NDArray[np.float64] = (skewed - np.exp(0.5)) / np.sqrt(np.e * (np.e - 1.0))
    return centred
