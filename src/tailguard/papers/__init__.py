"""One file a paper: what its theorems promise, and the constants its algorithms run with.

Bounds are predictors: the constants that a theorem hides are set to 1, so read slopes and ratios
off them and not levels. :mod:`~tailguard.papers.fano` has a lower bound with all of its constants,
:mod:`~tailguard.papers.rates` the slopes of every mean estimator, and
:mod:`~tailguard.papers.parameters` the thresholds, step counts and noise scales.
"""

from tailguard.papers import (
    fano,
    kamath2022,
    parameters,
    rates,
    tao2022,
    wang2020,
    xu2025,
    zhao2024,
)

__all__ = [
    "fano",
    "kamath2022",
    "parameters",
    "rates",
    "tao2022",
    "wang2020",
    "xu2025",
    "zhao2024",
]
