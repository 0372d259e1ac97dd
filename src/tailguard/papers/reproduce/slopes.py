"""Slopes on a log-log plot, one a seed, and what they say together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tailguard.checks import InputError
from tailguard.papers.reproduce.results import student_interval

TOLERANCE = 0.1  # between slopes, as docs/reproduce.md states it
READINGS = ("as printed", "as corrected")  # of a bound's slopes


@dataclass(frozen=True)
class FittedSlope:
    """Mean of the seeds' slopes, and its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    def near(self, wanted: float) -> bool:
        """Whether the mean is within the tolerance of a slope."""
        return abs(self.mean - wanted) <= TOLERANCE


def fit_slope(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of log(error) in log(size), by least squares."""
    if len(sizes) != len(errors) or len(set(sizes)) < 2:
        raise InputError(
            f"errors must be as many as sizes, of which two must differ; got {len(errors)} and "
            f"{len(sizes)}."
        )
    slope, _ = np.polyfit(np.log(sizes), np.log(errors), 1)
    return float(slope)


def slope_of(measured: Mapping[float, Mapping[int, float]]) -> FittedSlope:
    """Fit a slope to size -> seed -> error; mean and Student's t interval over common seeds."""
    seeds = sorted(set.intersection(*({*each} for each in measured.values())))
    errors = ([each[seed] for each in measured.values()] for seed in seeds)
    slopes = [fit_slope([*measured], of_seed) for of_seed in errors]
    return FittedSlope(float(np.mean(slopes)), *student_interval(slopes))
