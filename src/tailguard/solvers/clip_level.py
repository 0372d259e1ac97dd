"""A clip level for gradients, released as a private quantile of their norms at the start.

The quantile is searched by bisection of the ordered floats: the bit pattern of a positive double
grows with its value, and halving the range of patterns eleven times leaves one octave. Nothing but
noised counts is looked at, and no bound on the norms is needed.

Reference
---------
Andrew, Thakkar, McMahan and Ramaswamy 2021 (a clip level from a private quantile); Smith 2011,
Section 3 (quantiles from noisy ranks); IEEE 754-2019, section 3.4 (binary interchange format).
"""

import math
from collections.abc import Callable

import numpy as np

from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.gate.stage import BUDGET_MARGIN, Stage
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.sets.whole_space import WholeSpace

CLIP_SHARE = 0.1  # of mu**2
CLIP_STEPS = 13  # to a quarter of an octave
LARGEST_PATTERN = int(np.float64(np.finfo(np.float64).max).view(np.int64))  # of a finite float
CLIP_RELEASES = CLIP_STEPS + 1  # one more for the number of records that are not void
CLIP_QUANTILE = 0.9  # of the gradient norms at the start


def clip_level_stage(problem: Problem, guarantee: Guarantee, start: float) -> Stage:
    """Plan the search: a tenth of the budget."""
    total_mu = guarantee.gaussian_mu() * (1.0 - BUDGET_MARGIN)
    share = total_mu * math.sqrt(CLIP_SHARE / CLIP_RELEASES)
    query = _norm_counts(problem, start)
    share = query.calibrate(problem.n_rows, problem.n_features, share).share
    return Stage("clip level", "a private clip level for the gradients", share, CLIP_RELEASES, 1)


def release_clip_norm(gate: Gate, problem: Problem, stage: Stage, start: float) -> float:
    """Bisect for a quantile of the gradient norms at the start."""
    query = _norm_counts(problem, start)

    def count_below(threshold: float) -> float:
        """Ask how many gradients are shorter."""
        return float(gate.ask(query, np.array([threshold]), stage)[0])

    level = bisect(count_below, CLIP_QUANTILE * count_below(math.inf), steps=CLIP_STEPS)
    return float(np.clip(level, 2.0**-500, 2.0**500))


def bisect(count_below: Callable[[float], float], wanted: float, *, steps: int) -> float:
    """Return a float at or below which about as many lie as wanted, after so many counts."""
    low, high = 0, LARGEST_PATTERN
    for _ in range(steps):
        middle = low // 2 + high // 2
        if count_below(_float_of(middle)) >= wanted:
            high = middle
        else:
            low = middle
    return _float_of(high)


def _float_of(pattern: int) -> float:
    """Return the float of a bit pattern."""
    return float(np.int64(pattern).view(np.float64))


def _norm_counts(problem: Problem, start: float) -> CountNormsBelow:
    assert problem.loss is not None  # a mean is not descended to
    point = (problem.constraint or WholeSpace()).project(np.full(problem.size, start))
    return CountNormsBelow(problem.loss, point, problem.intercept)
