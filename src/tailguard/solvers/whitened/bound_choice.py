"""Whether the rest of the rounds should read features within nearer or farther bounds.

No public bound suits all tables: where a linear score is true far out, farther bounds fit better;
where columns have codes or clusters, nearer ones do. Halfway the fit so far is compared with itself
read within other bounds, record by record.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Theorem 1; Liu and Talwar 2019 (private selection).
"""

from dataclasses import replace

import numpy as np

from tailguard.losses.base import Loss
from tailguard.losses.link import Link
from tailguard.queries.loss_differences import LossDifferences
from tailguard.solvers.whitened.bounds import OTHERS
from tailguard.solvers.whitened.clipping import NORMAL_SPREAD, SMALLEST_SPREAD, SlopeDistribution
from tailguard.solvers.whitened.session import FitSession
from tailguard.solvers.whitened.state import Fit

__all__ = ["CHOICE", "CHOICE_PHASE", "choose_bound"]

CHOICE = "choice of bounds"
CHOICE_PHASE = 2  # before which bounds are chosen
# By how many noise standard deviations a farther bound has to win. A nearer one may lose by one, as
# the fit was made within the bound that it has, and is at home there.
FARTHER = {Link.IDENTITY: 1.0, Link.LOGIT: 3.0, Link.LOG: 2.0}
NEARER = -1.0
# Differences are bounded at the loss of a typical residual, at half a nat, and at two counts in
# scales of the target. Low bounds show most: what bounds of features do has one sign over the
# records that they touch.
HALF_NAT, COUNTS = 0.5, 2.0


def choose_bound(session: FitSession, fit: Fit) -> Fit:
    """Ask once, and read features within the bound that wins.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.whitened.example import example_fit
    >>> fit = choose_bound(*example_fit(tg.losses.Squared(), phase=0))
    >>> fit.geometry.bound  # all features lie within this
    4.0
    """
    loss, problem, geometry = session.loss, session.problem, fit.geometry
    others = OTHERS[loss.link]
    views = (geometry.view, *(replace(geometry.view, bound=bound) for bound in others))
    query = LossDifferences(loss, views, _limit(loss, fit.clipping.slopes))
    stage = session.stage(CHOICE)
    differences = session.ask(query, np.tile(fit.weights, (len(views), 1)), stage)
    noise_std = query.noise_std(problem.n_rows, problem.n_features, stage.mu)
    farther = np.array(others) > geometry.bound
    differences = differences + np.where(farther, FARTHER[loss.link], NEARER) * noise_std
    best = int(np.argmin(differences))
    if not differences[best] < 0.0:
        return fit
    chosen = replace(fit, geometry=replace(geometry, bound=others[best]))
    return chosen.noted(f"features are read within {others[best]:g} scales of their location")


def _limit(loss: Loss, slopes: SlopeDistribution) -> float:
    """Return the bound of a difference, in units of the loss."""
    if not loss.link.scaled:
        return HALF_NAT
    if loss.link.log or not slopes.seen:
        return COUNTS
    residual = max(slopes.spread / NORMAL_SPREAD, SMALLEST_SPREAD)
    return max(float(loss.value(residual, 0.0)), 1e-12)
