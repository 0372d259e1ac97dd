"""Two choices by comparing losses: the bound to which features are cut, and whether to shrink.

A scale that suits most records of a column can be far too small for some: the column may be mostly
zero, have two clusters, use codes for missing values, or have a heavy tail. Then a few rows are
thousands of times as long as the others; their clipped slopes carry little information, and their
predictions are far off. With features cut to a bound, a model is linear where most records are and
constant beyond. No public bound suits all tables: if the linear score holds far out, farther bounds
fit better. So halfway through the fit, its losses under several bounds are compared record by
record.

With a small budget, the shrinkage of the steps does not allow for all errors of a fit, because
units, whitening and clip levels come from noisy histograms. So at the end the fit is compared with
half of it, and with its constant alone.

Reference
---------
Tukey 1962, Section 18 (winsorising); Hampel, Ronchetti, Rousseeuw and Stahel 1986, Section 6.2
(bounding the influence of position in a regression); Dwork, McSherry, Nissim and Smith 2006,
Theorem 1; Liu and Talwar 2019 (private selection).
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.losses.base import Link
from tailguard.queries.loss_differences import LossDifferences
from tailguard.solvers.newton.newton import FitSession
from tailguard.solvers.newton.schedule import FEATURE_BOUNDS
from tailguard.solvers.newton.state import Fit, unknown_noise

# With a log link, whose means are exponentials, a farther bound must win by this many standard
# deviations of the noise. Other links take the bound that looks best. If farther bounds needed a
# margin, tables whose linear score holds far out would lose a tenth (families K and L of the
# benchmarks); if nearer bounds needed one, 41 real tables would lose .007 of the constant's excess
# at epsilon 1 on average.
MARGIN_OF_BOUNDS = 2.0
# (gain, bound) of a link: if the farthest bound that was compared wins by more than the gain per
# record and a margin for noise, features are cut at this farther bound, in scales. With logit
# links, the farthest bound gains .01 to .05 nats with lognormal columns (tables T4 and L4 of the
# benchmarks). On real tables it gains at most .006, and the farther bound would make them worse.
# With identity links, linear truths with heavy columns (families K to N, epsilon 4) have a quarter
# more excess without the farther bound; of 41 real tables one changes.
EXTRA_BOUND = {Link.LOGIT: (0.01, 64.0), Link.IDENTITY: (0.0, 256.0)}
# Where loss differences are cut, (between bounds, between fits): in nats with a logit link, in
# units of the target's scale with a log link. Losses of residuals have other limits: the loss of a
# typical residual between bounds, and that of one scale of the target between fits. Low limits have
# the least noise and lose little, as a bound moves the losses of records that it cuts in one
# direction.
LARGEST_DIFFERENCES = {Link.LOGIT: (0.5, 0.5), Link.LOG: (2.0, 1.0)}
HALF_KEPT = "half of each coefficient was kept: a comparison of losses found that better"


def choose_bound(session: FitSession, fit: Fit) -> Fit:
    """Compare bounds in one release, and cut features at the best if it beats the present one."""
    loss, view = session.loss, fit.geometry.view
    limits = LARGEST_DIFFERENCES.get(loss.link)
    # The limit must be above zero, also if the scale is nearly zero.
    limit = limits[0] if limits else max(float(loss.value(fit.clipping.slopes.scale, 0.0)), 1e-12)
    _, *others = FEATURE_BOUNDS[loss.link]
    views = (view, *(replace(view, bound=bound) for bound in others))
    query, stage = LossDifferences(loss, views, limit), session.stages["choice of bounds"]
    differences = session.ask(query, np.tile(fit.weights, (len(views), 1)), stage)
    margin = MARGIN_OF_BOUNDS * session.noise_of(query, stage)
    if loss.link.log:
        differences = differences + margin * (np.array(others) > view.bound)
    best = int(np.argmin(differences))
    if not differences[best] < 0.0:
        return fit
    bound = others[best]
    gain, extra = EXTRA_BOUND.get(loss.link, (math.inf, bound))
    if bound == others[-1] and differences[best] < -(gain + margin):
        bound = extra
    chosen = replace(fit, geometry=replace(fit.geometry, bound=bound))
    return chosen.noted(f"features are read within {bound:g} scales of their location")


def choose_fit(session: FitSession, fit: Fit) -> Fit:
    """Compare the fit, half of it and its constant in one release, and keep the best."""
    loss, geometry, whole = session.loss, fit.geometry, fit.whitened
    # A likelihood's constant is that of its start; with residuals, the fit's score of a mean row.
    origin = geometry.inverse @ fit.iterates[0].start if loss.link.curved else whole
    constant_part = geometry.along_constant(origin)
    between = (whole + constant_part) / 2.0
    half, constant = (geometry.matrix @ weights for weights in (between, constant_part))
    limits = LARGEST_DIFFERENCES.get(loss.link)
    limit = limits[1] if limits else float(loss.value(1.0, 0.0))
    weights = np.array([fit.weights, half, constant])
    query = LossDifferences(loss, (geometry.view,) * len(weights), limit)
    differences = session.ask(query, weights, session.stages["choice of fit"])
    # The cost of the ridge is public, and is added to the released differences.
    whitened = np.array([whole, between, constant_part])
    costs = np.einsum("ij,jk,ik->i", whitened, geometry.penalty, whitened) / 2.0
    differences = differences + costs[1:] - costs[0]
    if not differences.min() < 0.0:
        return fit
    if differences[0] <= differences[1]:
        noise = 0.0 if loss.link.curved else geometry.along_constant(fit.noise)
        halved = replace(fit, weights=half, noise=(fit.noise + noise) / 2.0)
        return halved.noted(HALF_KEPT)
    # The noise of a constant that was chosen by comparison is not known.
    alone = replace(fit, weights=constant, noise=unknown_noise(geometry.width))
    return alone.noted("no coefficient was kept: a comparison of losses found the constant better")
