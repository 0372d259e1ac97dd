"""The choice after a sparse descent: the fit, half of it, features cut closer, or a constant.

Truncated gradients leave a bias where targets or columns are skewed, and steps may diverge on
columns with heavy tails. So the last release compares losses on all records, and the best of a few
public candidates is kept: a fit that seems worse than its own constant becomes the constant.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Theorem 1 (sums with bounded terms).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.gate.stage import BUDGET_MARGIN, Stage
from tailguard.losses.base import Link
from tailguard.losses.logistic import Logistic
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units
from tailguard.queries.view import View

CHOICE = "choice of fit"
PURPOSE = "losses of the fit, of half of it, of features cut closer, and of constants"
N_DIFFERENCES = 4
LABELS, COUNTED = "shares of labels", 0.2  # of the budget of the choice
MOST_COMPARED = N_DIFFERENCES + 2  # numbers that are released here
FAR_SCORE, LEAST_SHARE = 50.0, 0.5
CLOSER = 1.0 / 3.0  # the factor of the closer cut of features
# Limits of a difference: for log-loss, in natural logarithms; otherwise the loss of a residual of
# so many scales. By trial.
LARGEST_DIFFERENCES, LARGEST_RESIDUAL = {Link.LOGIT: 2.0}, 2.0
SURE = 2.0  # standard deviations of the noise by which a candidate is surely better than another
# The intercept of the fit is kept unless a score of zero is better by this fraction of the limit:
# clipped losses prefer the median target.
ASTRAY = 0.1

ALONE = "no coefficient was kept: a comparison of losses found the constant better"
HALVED = "half of each coefficient was kept: a comparison of losses found that better"
UNSURE = (
    "the comparison with a constant does not exceed its noise: predictions may be worse than a "
    "constant"
)


@dataclass(frozen=True, eq=False)
class SparseChoice:
    """What was chosen: weights, the limit of features, and notes.

    ``noise`` is the noise of a weight over that of the last step, NaN for a constant: its noise is
    not known after a choice.
    """

    weights: FloatArray
    feature_limit: float
    notes: tuple[str, ...] = ()
    noise: float = 1.0


def choice_stages(
    share: float, problem: Problem, guarantee: Guarantee, promise: Guarantee
) -> tuple[Stage, ...]:
    """Plan the comparison with a share of the squared mu of ``promise``; none with pure DP.

    For labels the shares of both are released first, and the descent starts at their constant.
    """
    if share == 0.0 or isinstance(guarantee, PureDP):
        return ()
    mu = promise.gaussian_mu() * (1.0 - BUDGET_MARGIN) * math.sqrt(share)
    loss = problem.scored
    counted = problem.intercept and not problem.link.scaled
    counted = counted and loss is not None and loss.quasi_likelihood
    part = COUNTED if counted else 0.0
    choice = Stage(CHOICE, PURPOSE, mu * math.sqrt(1.0 - part), 1, N_DIFFERENCES)
    if not counted:
        return (choice,)
    words = "how many records have each label"
    return (Stage(LABELS, words, mu * math.sqrt(part / 2.0), 2, 1), choice)


def start_of(gate: Gate, stage: Stage, units: Units) -> FloatArray:
    """Release how many records have each label; return the weights of the best constant."""
    start = np.eye(units.size)[-1]
    view = View(Logistic(), units, start[:, None])
    query = LevelGradients(view, 1.0, (1.0,))
    # Far below zero the slope of a record is minus its label, far above zero one minus its label.
    ones, zeros = (
        abs(float(gate.ask(query, sign * FAR_SCORE * start, stage)[0, 0])) for sign in (-1.0, 1.0)
    )
    noise = query.noise_std(gate.n_records, gate.n_features, stage.mu)
    least = LEAST_SHARE * float(np.max(noise))
    return start * math.log(max(ones, least) / max(zeros, least))


def choose(
    gate: Gate, stage: Stage, query: PeeledStep, start: FloatArray, weights: FloatArray
) -> SparseChoice:
    """Compare the candidates in one release, and return the best."""
    loss, units, feature_limit = query.loss, query.units, query.feature_limit
    assert loss is not None
    zero, constant = np.zeros(weights.size), start
    if units.intercept and not start.any():
        constant = np.append(zero[:-1], weights[-1])
    half = (weights + constant) / 2.0
    # Scores need no whitened rows, and a square matrix would be large.
    view = View(loss, units, np.eye(units.size, 1), bound=feature_limit)
    closer = replace(view, bound=CLOSER * feature_limit)
    of_residual = max(float(loss.value(LARGEST_RESIDUAL, 0.0)), 1e-12)
    limit = LARGEST_DIFFERENCES.get(loss.link, of_residual)
    comparison = LossDifferences(loss, (view, view, view, closer, view), limit)
    candidates = np.array([constant, weights, half, weights, zero])
    if not view.reads(candidates):
        return SparseChoice(weights, feature_limit, (UNSURE,))
    differences = gate.ask(comparison, candidates, stage)
    noise = comparison.noise_std(gate.n_records, gate.n_features, stage.mu)
    # The first candidate is kept unless another one is clearly better.
    best = int(np.argmin(differences[:3] + SURE * noise * np.array([0.0, 1.0, 1.0])))
    lowest = float(differences[3] if differences[3] < -ASTRAY * limit - SURE * noise else 0.0)
    if not differences[best] < lowest:
        alone = zero if lowest < 0.0 else constant
        return SparseChoice(alone, feature_limit, (ALONE,), math.nan)
    notes = (UNSURE,) * bool(differences[best] > lowest - SURE * noise) + (HALVED,) * (best == 1)
    factor = 0.5 if best == 1 else 1.0
    return SparseChoice(candidates[best + 1], comparison.views[best + 1].bound, notes, factor)
