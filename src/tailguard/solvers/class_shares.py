"""Shares of several classes, from released counts, and whether a fit can be better than the shares.

No probability exceeds one, so no fit can reduce the mean log-loss of the shares by more than their
entropy. If classes are rare, the entropy is small, and the noise of counts causes most of the loss
of a constant. So the first release counts the classes, and a second release counts them again, with
the budget that reduces this loss to a small part of the entropy. If a comparison could not detect
that a fit gains most of the entropy, the rest of the budget goes to counts as well. All of this
depends only on released counts and public numbers.

Reference
---------
Cover and Thomas 2006, Section 2.1 (entropy) and Theorem 2.7.1 (log-loss of wrong shares); Cochran
1977, Section 5.6 (weights by precision).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate.stage import Stage
from tailguard.losses.multinomial import Multinomial
from tailguard.queries.histograms import Bins, WhitenedHistogram
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.solvers.session import BudgetSession

# The least assumed number of records of a class, in standard deviations of the noise.
LEAST_COUNT = 0.5
# Classes are counted again if noise is expected to add more than this part of the entropy to the
# loss of the shares. At epsilon 3, with 2,000 simulated records and rare classes, this halves the
# loss of the shares. With .0005 the loss is .4 of that, but fits that are kept gain .03 less.
LARGEST_LOSS = 0.003
# No fit is tried if a comparison detects only gains above this part of the entropy. A limit of a
# fifth would exclude fits that gain two thirds of the entropy (n * mu of 300, one record in a
# hundred of the rarest class). Of over a hundred fits with equally strong signals, those beyond .5
# lost .03 to .24 of the entropy. Both were measured where a fit had to win by two deviations.
LARGEST_MARGIN = 0.5
# In a comparison a record's gain is cut at two nats. A fit is kept if it wins by one standard
# deviation of the noise. With two, 24 real targets explain .02 to .04 less at epsilon .3 and 1, and
# the worst fits are as bad. Floors are values ``f``: a fit gives each class at least ``exp(-f)``
# times its share.
LARGEST_GAIN, MARGIN_OF_CLASSES, FLOORS = 2.0, 1.0, np.arange(1.0, 8.5, 0.5)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Released counts of the records of each class, and the variance of their noise."""

    counts: FloatArray
    variance: float

    @property
    def likely(self) -> FloatArray:
        """The counts, each at least one and at least ``LEAST_COUNT`` noise deviations."""
        return np.maximum(self.counts, max(LEAST_COUNT * math.sqrt(self.variance), 1.0))

    @property
    def shares(self) -> FloatArray:
        """The share of each class in the records; none is zero."""
        return np.asarray(self.likely / self.likely.sum())

    @property
    def loss(self) -> float:
        """The expected loss that noise adds to the shares, as a part of their entropy."""
        likely, shares = self.likely, self.shares
        entropy = -float(shares @ np.log(shares)) * float(likely.sum())
        return float((self.variance / (2.0 * likely)).sum()) / entropy

    def joined(self, other: "ClassCounts") -> "ClassCounts":
        """Return the mean of both counts, weighted by precision."""
        part = self.variance / (self.variance + other.variance)
        counts = (1.0 - part) * self.counts + part * other.counts
        return ClassCounts(counts, part * other.variance)


def backward_counts(view: View, classes: int) -> WhitenedHistogram:
    """Return the query that counts each class, the last one first."""
    # At scores of zero a residual is minus the number of the class.
    return WhitenedHistogram(view, "residual", Bins("linear", 0.5 - classes, 1.0, classes))


def count_classes(session: BudgetSession, classes: int, stage: Stage) -> ClassCounts:
    """Count the records of each class."""
    query = backward_counts(_view(session), classes)
    counts, noise_std = session.histograms(query, None, stage)
    return ClassCounts(counts[::-1], noise_std**2)


def sharpened(
    session: BudgetSession, counted: ClassCounts, first: Stage, again: Stage
) -> ClassCounts:
    """Count again; the budget reduces the loss of shares enough, if that of ``again`` can."""
    mu = first.mu * math.sqrt(max(counted.loss / LARGEST_LOSS - 1.0, 0.0))
    if mu == 0.0:
        return counted
    stage = replace(again, mu=min(mu, again.mu))
    return counted.joined(count_classes(session, counted.counts.size, stage))


def can_win(session: BudgetSession, shares: FloatArray, choice: Stage) -> bool:
    """Whether a comparison at this stage could detect a fit that is better than the shares."""
    _, margin = compare_classes(session, _view(session), shares, choice)
    return margin <= LARGEST_MARGIN * -float(shares @ np.log(shares))


def compare_classes(
    session: BudgetSession, view: View, shares: FloatArray, stage: Stage
) -> tuple[LossDifferences, float]:
    """Return the query that compares two fits of several classes with the classes' shares.

    Also return the margin by which a fit must win. Each fit is floored: a class keeps
    at least ``exp(-f)`` times its share, for the ``f`` of least total cost. The probabilities then
    add up to at most ``1 + exp(-f)`` and are divided by their sum, so no record loses more than
    ``f + log(1 + exp(-f))`` and losses need not be cut.
    """
    candidates = []
    for floor in FLOORS:
        cost = math.log1p(math.exp(-floor))
        query = LossDifferences(
            Multinomial(shares.size), (view,) * 3, floor + cost,
            gain=min(LARGEST_GAIN / (floor + cost), 1.0),
            score_bounds=(np.log(shares) - floor, np.zeros(shares.size)),
        )  # fmt: skip
        margin = MARGIN_OF_CLASSES * session.noise_of(query, stage)
        candidates.append((margin + cost, query, margin))
    _, query, margin = min(candidates, key=lambda candidate: candidate[0])
    return query, margin


def _view(session: BudgetSession) -> View:
    """Return a view of records in the user's units."""
    return View.plain(None, Units.raw(session.problem.n_features, intercept=True))
