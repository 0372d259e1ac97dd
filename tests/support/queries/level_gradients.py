"""One level and several, through a skewed map, a leaning loss and an exposure."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View


def examples():
    pair = np.zeros(N_FEATURES)
    squared, poisson = tg.losses.Squared(), tg.losses.Poisson()
    quantile = tg.losses.Quantile(0.7)
    raw = Units.raw(N_FEATURES, intercept=False)
    skewed = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.3, 0.0, 1e-3]])
    plain, whitened = View.plain(squared, raw), View(squared, raw, skewed)
    constant = View.plain(poisson, skewed_units(True))
    opposite = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for name, view, limit, levels, shares, loss in (
        ("three", plain, 2.0, (1.0, 4.0, 64.0), (1.0, 0.3, 0.1), squared),
        ("whitened", whitened, 3.0, (0.5, 1.0), (1.0, 1.0), squared),
        ("tiny", plain, 1e-150, (1.0,), (1.0,), squared),
        ("quantile", View(quantile, raw, skewed), 3.0, (0.3,), (1.0,), quantile),
    ):
        query = LevelGradients(view, limit, levels, shares)
        yield Example(f"level-gradients/{name}", query, pair, *opposite, loss)
    yield Example(
        "level-gradients/exposure",
        LevelGradients(constant, 3.0, (4.0, 9.0), (1.0, 1.0)), np.zeros(4),
        (1e9, 0, 0, 1e9, 1.0), (-1e9, 0, 0, 1e9, 1.0), poisson, exposed=True,
    )  # fmt: skip
