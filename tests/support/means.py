"""Mean estimation tasks in one line: sizes, guarantee and moment; answers without noise."""

from support.sources import QuietSource
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.means.base import MeanFacts


def task_of(n_rows, n_features, guarantee, moment=None, unit=None):
    """The task that a method plans for."""
    return MeanFacts(Problem(None, n_rows, n_features, moment=moment, unit=unit), guarantee)


def planned(method, task):
    """The plan of a method for the task."""
    return method.plan(task.problem, task.guarantee)


def without_noise(X, method, promise):
    """The answer of a method whose noise is zero."""
    plan = method.plan(Problem(None, *X.shape), promise)
    gate = Gate(make_rows(X), guarantee=promise, source=QuietSource())
    gate.reserve(plan.event)
    return method.run(plan, gate).coef
