"""Slopes on a log-log plot, one a seed, and what they say together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tailguard.checks import InputError
from tailguard.reproduce.results import student_interval


@dataclass(frozen=True)
class FittedSlope:
    """Mean of the seeds' slopes, and its 95 % confidence interval.

    Examples
    --------
    >>> FittedSlope(-0.51, -0.54, -0.48).near(-0.5, tolerance=0.1)
    True
    """

    mean: float
    low: float
    high: float

    def near(self, wanted: float, *, tolerance: float) -> bool:
        """Whether the mean is within the tolerance of a slope."""
        return abs(self.mean - wanted) <= tolerance


def fit_slope(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of log(error) in log(size), by least squares.

    Examples
    --------
    >>> round(fit_slope([10, 100, 1000], [6.0, 0.6, 0.06]), 12)
    -1.0
    """
    if len(sizes) != len(errors) or len(set(sizes)) < 2:
        raise InputError(
            f"errors must be as many as sizes, of which two must differ; got {len(errors)} and "
            f"{len(sizes)}."
        )
    slope, _ = np.polyfit(np.log(sizes), np.log(errors), 1)
    return float(slope)


def slope_of(sizes: Sequence[float], errors: Sequence[Sequence[float]]) -> FittedSlope:
    """Fit a slope to each seed's errors; mean and Student's t interval over the seeds.

    Examples
    --------
    >>> found = slope_of([1, 10], [[1.0, 0.1], [1.0, 0.1], [1.0, 0.1]])
    >>> found.mean == found.low == found.high
    True
    """
    slopes = [fit_slope(sizes, of_seed) for of_seed in errors]
    return FittedSlope(float(np.mean(slopes)), *student_interval(slopes))
