"""The private mean of Tao, Wu, Cheng and Wang (2022), tight and as printed.

*Needed for privacy.* Nothing of the data.

*Needed for accuracy.* Raw moments of an order above 1 and up to 2.
"""

from dataclasses import dataclass
from typing import Any

from tailguard.estimators.mean import MeanResult
from tailguard.gate.stage import Share
from tailguard.means.base import Level, MeanFacts
from tailguard.means.truncated import Truncated
from tailguard.papers.printed.means import PrintedLevel, mean_of_paper
from tailguard.papers.printed.terms import printed_in
from tailguard.papers.tao2022 import parameters
from tailguard.papers.tao2022.printed import printed_mean_threshold


@dataclass(frozen=True)
class PrintedTruncated(PrintedLevel, Truncated):
    """The truncated mean, or median of means, with the printed threshold and noise."""

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the threshold of Algorithm 1, or of Corollary 1 for a median of means."""
        moment, asked = self.raw_moment(facts), printed_in(facts.guarantee)
        if groups > 1 or facts.n_features > 1:
            threshold = facts.into(printed_mean_threshold, moment, epsilon=asked.epsilon)
        else:
            known = {"epsilon": asked.epsilon, "delta": asked.delta}
            known["failure_probability"] = self.failure_probability
            threshold = facts.into(parameters.scalar_threshold, moment, **known)
        return self.level_at(threshold, moment, facts)

    def printed_spend(self, facts: MeanFacts, level: float, groups: int) -> float:
        """Return the true cost of the noise of Algorithm 1 or 3.

        It can exceed the promise for an odd number of groups that do not divide the rows, and for
        epsilon above 1.
        """
        asked, n, d = printed_in(facts.guarantee), facts.n_rows, facts.n_features
        query = self.raw_query(d, level, groups)
        known = {"epsilon": asked.epsilon, "delta": asked.delta, "threshold": level}
        if groups == d == 1:
            noise_std = facts.into(parameters.printed_scalar_noise_std, **known)
        else:
            known |= {"failure_probability": self.failure_probability}
            noise_std = facts.into(parameters.printed_noise_std, **known)
        return query.sensitivity(n, d).ideal / noise_std


def truncated_mean(X: Any, *, calibration: str = "tight", **options: Any) -> MeanResult:
    """Estimate the mean of every column; entries beyond a threshold count as zero.

    Parameters
    ----------
    X
        Numeric columns, or one vector, as for ``tg.mean``.
    calibration
        ``"tight"``: the least noise that has a proof, as in ``tg.mean(method="truncated")``.
        ``"printed"``: threshold and noise of Algorithm 1, or 3.
    options
        Options of ``tg.mean`` for this method: the promise, ``moment``, ``random_state``,
        ``threshold``, ``n_groups``, ``ledger``.

    *Guarantee.* That of the certificate. Printed noise is charged its true cost. If that exceeds
    the promise, the call takes ``random_state`` and no ledger, and is not private.

    *Reference.* Tao and others 2022, Algorithms 1 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> options = {"moment": tg.Moment(2.0, 1.0, kind="raw"), "epsilon": 1.0, "delta": 1e-5}
    >>> result = truncated_mean(np.ones(10_000), calibration="printed", **options)
    >>> round(result.choice.plan.settings["threshold"], 6)
    35.605041
    """
    return mean_of_paper(X, "truncated", PrintedTruncated, calibration=calibration, **options)
