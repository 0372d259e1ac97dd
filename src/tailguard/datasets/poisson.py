"""Counts whose log-rate is linear in heavy-tailed columns, observed for unequal lengths of time."""

import numpy as np

from tailguard.checks import check_integer, check_positive
from tailguard.datasets.dataset import Dataset
from tailguard.datasets.features import alternating_weights, draw_raw_design

# Beyond this log-rate the simulated rate stays where it is: the exponential of a Student-t variable
# has no mean, and a handful of records would otherwise hold nearly all of the counts.
LOG_RATE_LIMIT = 4.0


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

    The expected count is ``exposure * exp(score)`` with the score limited to ``[-4, 4]``.

    Parameters
    ----------
    n_rows, n_features, tail, units, offset, seed
        As in :func:`~tailguard.datasets.linear.heavy_tailed_linear`.
    signal
        The standard deviation of the score (where ``tail > 2``).

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
    score = np.clip(design.standardised @ weights, -LOG_RATE_LIMIT, LOG_RATE_LIMIT)
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
