"""One level and several, through a skewed map, a bounded slope, an exposure, and of classes."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.queries.class_view import ClassView
from tailguard.queries.clip_levels import ContributionLevels
from tailguard.queries.units import Units
from tailguard.queries.view import View


def examples():
    zero = np.zeros(N_FEATURES)
    squared, logistic, poisson = tg.losses.Squared(), tg.losses.Logistic(), tg.losses.Poisson()
    raw = Units.raw(N_FEATURES, intercept=False)
    skewed = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.3, 0.0, 1e-3]])
    opposite = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for name, view, levels in (
        ("one", View.plain(squared, raw), (1.5,)),
        ("three", View(squared, raw, skewed), (1.0, 4.0, 64.0)),
        ("tiny", View.plain(squared, raw), (1e-150,)),
        ("huge", View(squared, raw, 1e90 * skewed), (1e3, 1e90)),
    ):
        query = ContributionLevels(view, levels)
        yield Example(f"contribution-levels/{name}", query, zero, *opposite, squared)
    yield Example(
        "contribution-levels/logistic", ContributionLevels(View(logistic, raw, skewed), (0.2, 0.7)),
        zero, (9.0, 0, 0, 1.0), (9.0, 0, 0, 0.0), logistic,
    )  # fmt: skip
    yield Example(
        "contribution-levels/exposure",
        ContributionLevels(View.plain(poisson, skewed_units(True)), (4.0, 9.0)), np.zeros(4),
        (1e9, 0, 0, 1e9, 1.0), (-1e9, 0, 0, 1e9, 1.0), poisson, exposed=True,
    )  # fmt: skip
    classes = ClassView(None, raw, np.vstack([skewed, np.eye(3), 1e3 * skewed]), n_classes=3)
    yield Example(
        "contribution-levels/classes", ContributionLevels(classes, (0.5, 4.0)), np.zeros(9),
        (9e3, 0, 0, 1.0), (-9e3, 0, 0, 1.0), None,
    )  # fmt: skip
