"""Within which bounds features are read, and whether a fit, half of it or its constant is kept.

A scale that fits most records of a column can be far too small for some: a column that is mostly
zero, of two clusters, with codes for what is missing, or of a heavy tail. Then a few rows are
thousands of times as long as others, whose clipped slopes say little and whose predictions are
far off. Within bounds a model is linear where most records lie and constant beyond. No public bound
suits all tables: where a linear score is true far out, farther bounds fit better. Halfway the fit
so far is compared with itself read within other bounds, record by record.

With little budget shrinkage does not know all errors of a fit: units, whitening and clip levels
come from histograms that are hardly seen. So at last the fit is compared with half of it, and with
its constant alone.

Reference
---------
Tukey 1962, Section 18 (winsorising); Hampel, Ronchetti, Rousseeuw and Stahel 1986, Section 6.2
(bounding the influence of position in a regression); Dwork, McSherry, Nissim and Smith 2006,
Theorem 1; Liu and Talwar 2019 (private selection).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate.stage import Stage
from tailguard.losses.base import Link
from tailguard.losses.multinomial import Multinomial
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.view import View
from tailguard.solvers.newton.clipping import NORMAL_SPREAD, SMALLEST_SPREAD
from tailguard.solvers.newton.fit_session import FitSession
from tailguard.solvers.newton.schedule import FEATURE_BOUNDS
from tailguard.solvers.newton.state import Fit, unknown_noise
from tailguard.solvers.session import BudgetSession

# By how many noise standard deviations a farther bound has to win with a log link, whose means are
# exponentials. Others take what looks best: a margin for nearer bounds loses a tenth where a linear
# score is true far out (families K and L), one for farther bounds .007 of the constant's excess at
# epsilon 1 in the mean of 41 real tables.
FARTHER = 2.0
# Where the farthest bound surely wins by more than so much a record, features are read farther
# still, within so many scales. Log-odds of lognormal columns win .01 to .05 nats (T4, L4), those of
# real tables at most .006, and these lose by it. Linear truths with heavy columns win, whose
# predictions else lose a quarter more (K to N, epsilon 4); of 41 real tables one changes.
FARTHER_STILL = {Link.LOGIT: (0.01, 64.0), Link.IDENTITY: (0.0, 256.0)}
# Differences of bounds, and of fits, are cut at half a nat, and at so many counts in scales of the
# target; those of residuals at the loss of a typical one, and of one scale of the target. Low
# bounds show most: what bounds of features do has one sign over the records that they touch.
LARGEST_DIFFERENCES = {Link.LOGIT: (0.5, 0.5), Link.LOG: (2.0, 1.0)}
# Of several classes a record's gain is cut at two nats. A fit is kept where it wins by twice the
# standard deviation of the noise: of two that do not differ from the constant one in 22 says so at
# most. Floors are logarithms of the parts of a class's share that a fit leaves it.
LARGEST_GAIN, SURE, FLOORS = 2.0, 2.0, np.arange(1.0, 8.5, 0.5)
HALF_KEPT = "half of each coefficient was kept: by a comparison of losses that is better"


def choose_bound(session: FitSession, fit: Fit) -> Fit:
    """Ask once, and read features within the bound that wins; the present one where none does."""
    loss, problem, view = session.loss, session.problem, fit.geometry.view
    if (told := LARGEST_DIFFERENCES.get(loss.link)) is None:
        residual = max(fit.clipping.slopes.spread / NORMAL_SPREAD, SMALLEST_SPREAD)
        limit = max(float(loss.value(residual, 0.0)), 1e-12)
    else:
        limit, _ = told
    _, *others = FEATURE_BOUNDS[loss.link]
    views = (view, *(replace(view, bound=bound) for bound in others))
    query, stage = LossDifferences(loss, views, limit), session.stage("choice of bounds")
    differences = session.ask(query, np.tile(fit.weights, (len(views), 1)), stage)
    sure = FARTHER * query.noise_std(problem.n_rows, problem.n_features, stage.mu)
    if loss.link.log:
        differences = differences + sure * (np.array(others) > view.bound)
    best = int(np.argmin(differences))
    if not differences[best] < 0.0:
        return fit
    bound = others[best]
    gain, farther = FARTHER_STILL.get(loss.link, (math.inf, bound))
    if bound == others[-1] and differences[best] < -(gain + sure):
        bound = farther
    chosen = replace(fit, geometry=replace(fit.geometry, bound=bound))
    return chosen.noted(f"features are read within {bound:g} scales of their location")


def choose_fit(session: FitSession, fit: Fit) -> Fit:
    """Ask once which of fit, half of it and its constant loses least, and keep that."""
    if not session.plans("choice of fit"):
        return fit
    loss, geometry, now = session.loss, fit.geometry, fit.whitened
    # A likelihood's constant is the one that it started at, residuals' that of the mean row.
    start = geometry.inverse @ fit.iterates[0].start if loss.link.curved else now
    level = geometry.along_constant(start)
    half, constant = (geometry.matrix @ weights for weights in ((now + level) / 2.0, level))
    _, limit = LARGEST_DIFFERENCES.get(loss.link) or (0.0, float(loss.value(1.0, 0.0)))
    weights = np.array([fit.weights, half, constant])
    query = LossDifferences(loss, (geometry.view,) * len(weights), limit)
    differences = session.ask(query, weights, session.stage("choice of fit"))
    # What the ridge costs is public, and added to what the records say.
    whitened = np.array([now, (now + level) / 2.0, level])
    costs = np.einsum("ij,jk,ik->i", whitened, geometry.penalty, whitened) / 2.0
    differences = differences + costs[1:] - costs[0]
    if not differences.min() < 0.0:
        return fit
    if differences[0] <= differences[1]:
        kept = 0.0 if loss.link.curved else geometry.along_constant(fit.noise)
        halved = replace(fit, weights=half, noise=(fit.noise + kept) / 2.0)
        return halved.noted(HALF_KEPT)
    # Of a constant that was chosen no noise is stated.
    alone = replace(fit, weights=constant, noise=unknown_noise(geometry.width))
    return alone.noted("no coefficient was kept: by a comparison of losses the constant is better")


def compare_classes(
    session: BudgetSession, view: View, shares: FloatArray, stage: Stage
) -> tuple[LossDifferences, float]:
    """Return the comparison of two fits of several classes with the shares of these.

    And what makes a difference sure. Fits give each class a floor, of those the one that costs
    least beside that. With ``exp(-f)`` times each share as floors probabilities add up to
    ``1 + exp(-f)`` at most before they are divided by that, so that no record loses more than
    ``f + log(1 + exp(-f))``: losses are not cut.
    """
    found = []
    for floor in FLOORS:
        cost = math.log1p(math.exp(-floor))
        query = LossDifferences(
            Multinomial(shares.size), (view,) * 3, floor + cost,
            gain=min(LARGEST_GAIN / (floor + cost), 1.0),
            score_bounds=(np.log(shares) - floor, np.zeros(shares.size)),
        )  # fmt: skip
        sure = SURE * query.noise_std(session.n_rows(), session.problem.n_features, stage.mu)
        found.append((sure + cost, query, sure))
    _, query, sure = min(found, key=lambda each: each[0])
    return query, sure
