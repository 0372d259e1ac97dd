"""Clipped gradients: limits, units, an intercept, an exposure, labels and counts."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units


def examples():
    weights = np.array([0.3, -0.2, 0.1])
    squared, huber = tg.losses.Squared(), tg.losses.Huber(1.0)
    poisson, logistic = tg.losses.Poisson(), tg.losses.Logistic()
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    gradients = [
        ("squared-limits", MeanClippedGradient(squared, raw, 2.0, 0.75), zero, squared),
        ("huber", MeanClippedGradient(huber, raw, row_limit=3.0, slope_limit=1.0), weights, huber),
        ("tiny", MeanClippedGradient(squared, raw, clip_norm=1e-150), weights, squared),
    ]
    for name, query, state, loss in gradients:
        yield Example(
            f"mean-clipped-gradient/{name}", query, state, (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6), loss
        )
    intercept = MeanClippedGradient(squared, skewed_units(True), 2.5, 1.0)
    yield Example(
        "mean-clipped-gradient/units",
        intercept,
        np.array([0.1, 0.1, 0.1, 0.5]),
        (50.0, 0, 0, 1e9),
        (50.0, 0, 0, -1e9),
        squared,
    )
    yield Example(
        "mean-clipped-gradient/logistic",
        MeanClippedGradient(logistic, raw, row_limit=4.0, slope_limit=0.5),
        zero,
        (1e3, 0, 0, 1.0),
        (1e3, 0, 0, 0.0),
        logistic,
    )
    yield Example(
        "mean-clipped-gradient/poisson",
        MeanClippedGradient(poisson, raw, row_limit=2.0, slope_limit=4.0),
        zero,
        (5.0, 0, 0, 1e9),
        (-5.0, 0, 0, 1e9),
        poisson,
    )
    yield Example(
        "mean-clipped-gradient/rows",
        MeanClippedGradient(None, raw, row_limit=3.0, slope_limit=1.0),
        zero,
        (1e5, 0, 0, 0.0),
        (-1e5, 0, 0, 0.0),
    )
    centred = Units(np.zeros(3), np.ones(3), intercept=True, target_scale=2.0, offset_center=0.5)
    yield Example(
        "mean-clipped-gradient/exposure",
        MeanClippedGradient(poisson, centred, row_limit=2.0, slope_limit=4.0),
        np.zeros(4),
        (5.0, 0, 0, 1e9, 1.0),
        (5.0, 0, 0, 0.0, 1e9),
        poisson,
        exposed=True,
    )
