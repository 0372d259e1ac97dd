"""A problem that each registered solver takes."""

import tailguard as tg
from tailguard.plans.problem import Problem

CONSTRAINTS = {
    "dp-sgd": tg.sets.L2Ball(1.0),
    "hard-thresholding": tg.sets.SparseBall(2),
    "noisy-gradient-descent": tg.sets.L2Ball(1.0),
    "localised": tg.sets.L2Ball(1.0),
    "sample-and-aggregate": tg.sets.L2Ball(1.0),
    "shrinking-localised": tg.sets.L1Ball(1.0),
    "doubling-localised": tg.sets.Box([-1.0] * 3, [1.0] * 3),
    "permuted-accelerated": tg.sets.L2Ball(1.0),
    "doubling-accelerated": tg.sets.L1Ball(1.0),
}
FREE = ("whitened-newton",)  # take no constraint, fit an intercept


def problem_for(name, loss=None, n_rows=300):
    """A problem of three columns that the solver takes, with its constraint."""
    intercept = name in FREE
    return Problem(loss or tg.losses.Squared(), n_rows, 3, intercept, CONSTRAINTS.get(name))
