"""Binary labels whose log-odds are linear in heavy-tailed columns."""

import numpy as np
from scipy.special import expit

from tailguard.checks import check_integer, check_positive
from tailguard.datasets.dataset import Dataset
from tailguard.datasets.features import alternating_weights, draw_raw_design


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
        As in :func:`~tailguard.datasets.linear.heavy_tailed_linear`.
    signal
        The standard deviation of the log-odds (where ``tail > 2``).

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
