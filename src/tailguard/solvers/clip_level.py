"""A clip level for gradients, released as a private quantile of their norms at the start.

Reference
---------
Andrew, Thakkar, McMahan and Ramaswamy 2021 (a clip level from a private quantile).
"""

import math

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.plans.budget import BUDGET_MARGIN
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.sets.whole_space import WholeSpace
from tailguard.solvers.bisection import UNSIGNED_OCTAVE_STEPS, bisect_quantiles

__all__ = ["CLIP_RELEASES", "clip_level_stage", "release_clip_norm"]


CLIP_SHARE = 0.1  # of mu**2
CLIP_STEPS = UNSIGNED_OCTAVE_STEPS + 2  # to a quarter of an octave
CLIP_RELEASES = CLIP_STEPS + 1  # one more for the number of records that are not void
CLIP_QUANTILE = 0.9  # of the gradient norms at the start


def clip_level_stage(problem: Problem, guarantee: Guarantee, start: float) -> Stage:
    """Plan the search: a tenth of the budget.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Logistic(), n_rows=1000, n_features=3)
    >>> round(clip_level_stage(problem, tg.GDP(1.0), start=0.0).total_mu ** 2, 2)
    0.1
    """
    total_mu = guarantee.gaussian_mu() * (1.0 - BUDGET_MARGIN)
    share = total_mu * math.sqrt(CLIP_SHARE / CLIP_RELEASES)
    query = _norm_counts(problem, start)
    share = query.calibrate(problem.n_rows, problem.n_features, share).share
    return Stage("clip level", "a private clip level for the gradients", share, CLIP_RELEASES, 1)


def release_clip_norm(gate: Gate, problem: Problem, stage: Stage, start: float) -> float:
    """Bisect for a quantile of the gradient norms at the start.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Logistic(), n_rows=4, n_features=4)
    >>> stage = clip_level_stage(problem, tg.GDP(1.0), start=0.0)
    >>> gate = Gate.over(np.eye(4), np.ones(4), guarantee=tg.GDP(1.0), loss=problem.loss)
    >>> gate.reserve(stage.event)
    >>> release_clip_norm(gate, problem, stage, start=0.0) > 0.0
    True
    """
    query = _norm_counts(problem, start)

    def counts_below(thresholds: FloatArray) -> FloatArray:
        """Ask how many gradients are shorter."""
        return gate.ask(query, thresholds, stage)

    counted = counts_below(np.array([np.inf]))
    level = bisect_quantiles(counts_below, CLIP_QUANTILE * counted, steps=CLIP_STEPS, signed=False)
    return float(np.clip(level[0], 2.0**-500, 2.0**500))


def _norm_counts(problem: Problem, start: float) -> CountNormsBelow:
    assert problem.loss is not None  # a mean is not descended to
    point = (problem.constraint or WholeSpace()).project(np.full(problem.size, start))
    return CountNormsBelow(problem.loss, point, problem.intercept)
