"""How well the scores of several classes predict labels: explained deviance, log-loss, accuracy.

The table has a column of scores for each class, the place of a row's class, and its *outcome*:
twice that place, plus one if the class has the largest score. One histogram of outcomes gives the
shares of the classes and the accuracy. The deviances of the scores are compared with those of the
shares, as for one score. The noise of the shares adds to the mean deviance of the constant; the
interval is wider by what it is expected to add.

Reference
---------
Agresti and Coull 1998 (the interval of a share); Cochran 1977, Section 5.6 (log-loss of wrong
shares); Dwork and Roth 2014, Proposition 2.1.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.gate import Gate
from tailguard.gate.plan import Plan
from tailguard.losses.base import Loss
from tailguard.losses.multinomial import Multinomial
from tailguard.means.base import noise_std_of
from tailguard.queries.value_histograms import ValueHistograms
from tailguard.summaries.distributions.distribution import Z
from tailguard.summaries.scores.score import (
    SEEN,
    Constant,
    ScoreEstimate,
    ScoreSolution,
    ScoreStatistics,
)


@dataclass(frozen=True)
class ClassScoreStatistics(ScoreStatistics):
    """The solver of a score of several classes.

    Examples
    --------
    >>> ClassScoreStatistics.of(Multinomial(3)).loss
    Multinomial(n_classes=3)
    """

    @classmethod
    def of(cls, loss: Loss | Multinomial, model: str = "") -> Self:
        """Return the statistics of a score for a loss of several classes."""
        return cls(loss=loss, model=model)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        assert isinstance(self.loss, Multinomial)
        return self.loss.n_classes

    @property
    def _errors(self) -> dict[str, float]:
        return {"outcomes": math.sqrt(self.n_classes)} | super()._errors

    def _query(self, name: str) -> Any:
        if name == "outcomes":
            return ValueHistograms((self.n_classes + 1,), 2 * self.n_classes - 1)
        return super()._query(name)

    def run(self, plan: Plan, gate: Gate) -> ScoreSolution:
        """Make all planned releases, and combine their answers."""
        query, stage = self._query("outcomes"), plan.by_name["outcomes"]
        noise_std = noise_std_of(query, gate.n_records, gate.n_features, stage.asked)
        ((*counts, total),) = gate.ask(query, np.arange(query.n_edges)[None] + 0.5, stage)
        solution = ScoreSolution.begun(plan)
        if total <= SEEN * noise_std:
            return solution
        total = min(float(total), float(gate.n_records))
        # Counts are shifted to add up to the total, which reduces the noise of many.
        outcomes = np.array(counts) + (total - sum(counts)) / len(counts)
        classes, correct = outcomes.reshape(-1, 2).sum(axis=1), float(outcomes[1::2].sum())
        solution = replace(solution, accuracy=accuracy(correct, total, noise_std, self.n_classes))
        if total - classes.max() <= SEEN * math.sqrt(2.0) * noise_std:
            return solution
        return self._explained(solution, gate, self._shares(classes, noise_std), total)

    def _shares(self, classes: FloatArray, noise_std: float) -> Constant:
        """Return the constant of released counts; none of its deviances is clipped."""
        assert self.loss is not None
        # As in fits, a class has at least half a standard deviation of the noise of its count.
        likely = np.maximum(classes, max(noise_std / math.sqrt(2.0), 1.0))
        scores = np.log(likely / likely.sum())
        largest = float(-scores.min())
        return Constant(scores, 1.0, largest, float((noise_std**2 / likely).sum() / likely.sum()))


def accuracy(correct: float, total: float, noise_std: float, n_classes: int) -> ScoreEstimate:
    """Return the share of correct rows.

    ``correct`` is the sum of half of ``2 * n_classes`` counts, which were shifted to add up to
    ``total``. The count and the total have noise of the same ``noise_std``.

    Examples
    --------
    >>> accuracy(80.0, 100.0, 0.0, 3).value
    0.8
    """
    share = min(max(correct / total, 0.0), 1.0)
    # The errors of the counts, without their mean, and half of the error of the total.
    noise = noise_std / total * math.hypot(math.sqrt(n_classes / 2.0), share - 0.5)
    likely = (share * total + 2.0) / (total + 4.0)
    width = Z * math.hypot(noise, math.sqrt(likely * (1.0 - likely) / (total + 4.0)))
    return ScoreEstimate(share, max(share - width, 0.0), min(share + width, 1.0))
