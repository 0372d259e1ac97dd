"""Several classes: their shares of the records, from released counts, and whether a fit can win.

No record's probability exceeds one. So no fit has a mean log-loss lower than that of the shares by
more than their entropy. Where classes are rare that is little, and the noise of their counts is
most of what a constant loses. If a comparison could not see most of the entropy, what is left of
the budget buys more counts. Released shares and public numbers decide.

Reference
---------
Cover and Thomas 2006, Section 2.1 (entropy); Cochran 1977, Section 5.6 (weights by precision).
"""

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate.stage import Stage
from tailguard.queries.bins import Bins
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.queries.whitened_histogram import WhitenedHistogram
from tailguard.solvers.newton.choices import compare_classes
from tailguard.solvers.session import BudgetSession

# A class is taken to have at least half as many records as the noise has standard deviation.
LEAST_COUNT = 0.5
# No fit is tried where its gain must surpass this part of the entropy. With a fifth fits would be
# given up that gain two thirds of it (n * mu of 300, one record in a hundred of the rarest class);
# of over a hundred fits of signals as strong those beyond .5 lost .03 to .24 of it.
LARGEST_MARGIN = 0.5


def class_shares(session: BudgetSession, classes: int, stage: Stage) -> FloatArray:
    """Return the share of the records that each class has, none of them zero."""
    # At scores of zero a residual is minus the class's number: bins count classes backwards.
    bins = Bins("linear", 0.5 - classes, 1.0, classes)
    query = WhitenedHistogram(_view(session), "residual", bins)
    counts, noise_std = session.histograms(query, None, stage)
    counts = np.maximum(counts[::-1], max(LEAST_COUNT * noise_std, 1.0))
    return np.asarray(counts / counts.sum())


def can_win(session: BudgetSession, shares: FloatArray, choice: Stage) -> bool:
    """Whether a comparison at that stage could tell that a fit is better than the shares."""
    _, sure = compare_classes(session, _view(session), shares, choice)
    return sure <= LARGEST_MARGIN * -float(shares @ np.log(shares))


def counted_again(session: BudgetSession, shares: FloatArray, counted: Stage) -> FloatArray:
    """Spend what is left on counts; return the mean of both shares, weighted by precision."""
    rest = session.rest()
    part = rest.mu**2 / (counted.mu**2 + rest.mu**2)
    return (1.0 - part) * shares + part * class_shares(session, shares.size, rest)


def _view(session: BudgetSession) -> View:
    """Read records as they are."""
    return View.plain(None, Units.raw(session.problem.n_features, intercept=True))
