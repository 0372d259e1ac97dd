"""Mean estimation tasks in one line: sizes, guarantee and moment."""

from tailguard.gate.plan import Problem
from tailguard.means.base import MeanFacts


def task_of(n_rows, n_features, guarantee, moment=None, unit=None):
    """The task that a method plans for."""
    return MeanFacts(Problem(None, n_rows, n_features, moment=moment, unit=unit), guarantee)


def planned(method, task):
    """The plan of a method for the task."""
    return method.plan(task.problem, task.guarantee)
