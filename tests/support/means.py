"""Means as tests ask for them: sizes, promise and moment in one line."""

from dataclasses import replace

from tailguard.means.base import MeanFacts
from tailguard.plans.problem import Problem


def task_of(
    n_rows, n_features, guarantee, moment=None, calibration="tight", unsafe=False, unit=None
):
    """What a method plans for."""
    problem = Problem(None, n_rows, n_features, moment=moment, unit=unit)
    return MeanFacts(problem, guarantee, calibration, unsafe)


def planned(method, task):
    """The plan of a method at the task's calibration."""
    shared = {
        "calibration": task.calibration,
        "unsafe_reproduction": task.unsafe_reproduction,
    }
    return replace(method, **shared).plan(task.problem, task.guarantee)
