"""The papers: a package each with its parameters, its bounds, and its theorems as solvers.

Bounds are functions of public numbers: the constants that a theorem hides are set to 1, so read
slopes and ratios off them and not levels. :mod:`~tailguard.papers.fano` has a lower bound with all
of its constants, :mod:`~tailguard.papers.rates` the slopes of every mean estimator, and
:mod:`~tailguard.papers.common` what the papers share.
"""

from tailguard.papers import (
    baselines,
    biswas2020,
    common,
    fano,
    hu2022,
    instances,
    kamath2022,
    ksu2020,
    pure,
    rates,
    solvers,
    tao2022,
    wang2020,
    xu2025,
    zhao2024,
)

__all__ = [
    "baselines",
    "biswas2020",
    "common",
    "fano",
    "hu2022",
    "instances",
    "kamath2022",
    "ksu2020",
    "pure",
    "rates",
    "solvers",
    "tao2022",
    "wang2020",
    "xu2025",
    "zhao2024",
]
