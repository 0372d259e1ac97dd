"""Whether the fit, half of it or its constant alone is kept, where noise may be most of it.

With little budget shrinkage does not know all errors of a fit: units, whitening and clip levels
come from histograms that are hardly seen. Differences of losses, record by record, show them.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Theorem 1; Liu and Talwar 2019 (private selection).
"""

from dataclasses import replace

import numpy as np

from tailguard.losses.link import Link
from tailguard.queries.loss_differences import LossDifferences
from tailguard.solvers.whitened.schedule import FIT_CHOICE, OTHER_FITS
from tailguard.solvers.whitened.session import FitSession
from tailguard.solvers.whitened.state import Fit

__all__ = ["choose_fit"]

KEPT = ("half of the fit was kept", "nothing but the constant was kept")
# What of the stated noise is left in them; of a constant that was chosen none is stated.
NOISE_KEPT = (0.5, np.nan)
# Differences are bounded at half a nat, and at one count in scales of the target; of residuals at
# the loss of one scale of the target: low bounds show most, as in the choice of bounds.
LARGEST_DIFFERENCE = {Link.LOGIT: 0.5, Link.LOG: 1.0}


def choose_fit(session: FitSession, fit: Fit) -> Fit:
    """Ask once which of them loses least, and keep that.

    Examples
    --------
    >>> import tailguard as tg
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((2000, 5)), rng.standard_normal(2000)  # nothing to fit
    >>> model = tg.LinearRegression(guarantee=tg.GDP(0.2), random_state=8).fit(X, y)
    >>> model.notes_[-1], model.plan_.stage("choice of fit").times
    ('nothing but the constant was kept', 1)
    """
    if not session.plans(FIT_CHOICE):
        return fit
    loss, geometry, now = session.loss, fit.geometry, fit.whitened
    # A likelihood's constant is the one that it started at, residuals' that of the mean row.
    start = geometry.inverse @ fit.iterates[0].start if loss.link.curved else now
    level = geometry.along_constant(start)
    others = [geometry.matrix @ weights for weights in ((now + level) / 2.0, level)]
    limit = LARGEST_DIFFERENCE.get(loss.link) or float(loss.value(1.0, 0.0))
    query = LossDifferences(loss, (geometry.view,) * (1 + OTHER_FITS), limit)
    weights = np.array([fit.weights, *others])
    differences = session.ask(query, weights, session.stage(FIT_CHOICE))
    best = int(np.argmin(differences))
    if not differences[best] < 0.0:
        return fit
    noise_std = fit.noise_std * NOISE_KEPT[best]
    return replace(fit, weights=others[best], noise_std=noise_std).noted(KEPT[best])
