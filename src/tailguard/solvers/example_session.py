"""A session of a plan of given stages over given records, for examples."""

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.losses.squared import Squared
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import GDP
from tailguard.solvers.session import BudgetSession


def example_session(X: FloatArray, *stages: Stage, mu: float = 1.0) -> BudgetSession:
    """Reserve stages over records whose target is their first column."""
    guarantee = GDP(mu)
    problem = Problem(Squared(), len(X), X.shape[1], intercept=True)
    plan = Plan("example", problem, guarantee, stages)
    gate = Gate.over(X, X[:, 0], guarantee=guarantee, loss=plan.problem.loss, random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return BudgetSession(plan, gate)
