"""Means as tests ask for them: sizes, promise and moment in one line."""

from tailguard.gate.plan import Problem
from tailguard.means.base import MeanFacts


def task_of(n_rows, n_features, guarantee, moment=None, unit=None):
    """What a method plans for."""
    return MeanFacts(Problem(None, n_rows, n_features, moment=moment, unit=unit), guarantee)


def planned(method, task):
    """The plan of a method for the task."""
    return method.plan(task.problem, task.guarantee)
