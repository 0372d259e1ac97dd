"""The private means of Kamath, Liu and Zhang (2022), tight and as printed.

*Needed for privacy.* Nothing of the data.

*Needed for accuracy.* Central moments of an order of at least 2 for the clamped mean, raw second
moments for the soft one.
"""

import math
from dataclasses import dataclass
from typing import Any

from tailguard.estimators.mean import MeanResult
from tailguard.gate.stage import Share
from tailguard.means.base import Level, MeanFacts
from tailguard.means.clamped import Clamped, clamping_bias
from tailguard.papers.kamath2022 import parameters
from tailguard.papers.printed.means import UNIT, PrintedLevel, mean_of_paper
from tailguard.papers.printed.terms import stated_rho
from tailguard.papers.wang2020.means import PrintedSoft
from tailguard.privacy.accounting.zcdp import rho_of_simple
from tailguard.privacy.guarantees import PureDP


@dataclass(frozen=True)
class PrintedClamped(PrintedLevel, Clamped):
    """The clamped median of means as printed, with four times the noise it needs."""

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the threshold of Corollary 4.2, which does not depend on the moment."""
        moment = facts.known_moment("central")
        if isinstance(facts.guarantee, PureDP):
            epsilon = facts.guarantee.epsilon
            threshold = facts.into(parameters.mean_threshold_pure, moment, epsilon=epsilon, **UNIT)
        else:
            threshold = facts.into(parameters.mean_threshold, moment, rho=_rho(facts), **UNIT)
        bias = facts.into(clamping_bias, moment, threshold=threshold, mean_bound=threshold)
        return Level(threshold, bias, facts.sampling)

    def printed_spend(self, facts: MeanFacts, level: float, groups: int) -> float:
        """Return the true cost of the noise of Theorem 4.1: less than it promises."""
        query = self.raw_query(facts.n_features, level, groups)
        known = {"threshold": level, "failure_probability": self.failure_probability}
        if isinstance(facts.guarantee, PureDP):
            known["epsilon"] = facts.guarantee.epsilon
            scale = facts.into(parameters.printed_noise_scale_pure, **known)
            return query.pure_sensitivity(facts.n_rows, facts.n_features).ideal / scale
        noise_std = facts.into(parameters.printed_noise_std, rho=_rho(facts), **known)
        return query.sensitivity(facts.n_rows, facts.n_features).ideal / noise_std


@dataclass(frozen=True)
class PrintedZcdpSoft(PrintedSoft):
    """The soft mean with the noise of Algorithm 4, which assumes too small a bound on psi."""

    def printed_spend(self, facts: MeanFacts, level: float, groups: int) -> float:
        """Return its true cost: more than it promises for a smoothing above 1.3233."""
        spent = parameters.printed_soft_noise_rho(rho=_rho(facts), smoothing=self.smoothing_used)
        return math.sqrt(2.0 * spent)


def _rho(facts: MeanFacts) -> float:
    """Return the budget of Lemma 2.3."""
    return stated_rho(facts.guarantee, rho_of_simple)


def clamped_mean(X: Any, *, calibration: str = "tight", **options: Any) -> MeanResult:
    """Estimate the mean of every column by a median of means of clamped entries.

    Parameters
    ----------
    X
        Numeric columns, or one vector, as for ``tg.mean``.
    calibration
        ``"tight"``: the least noise that has a proof, as in ``tg.mean(method="clamped")``.
        ``"printed"``: the noise of Theorem 4.1, which is four times too much, and the threshold of
        Corollary 4.2, for data in units in which their moment is 1; epsilon and delta are
        converted by Lemma 2.3.
    options
        Options of ``tg.mean`` for this method: the promise, ``moment``, ``random_state``,
        ``threshold``, ``n_groups``, ``ledger``.

    *Guarantee.* That of the certificate. Printed noise is charged its true cost. If that exceeds
    the promise, the call takes ``random_state`` and no ledger, and is not private.

    *Reference.* Kamath, Liu and Zhang 2022, Algorithm 3 and Theorem 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> options = {"threshold": 3.0, "guarantee": tg.ZCDP(0.5), "random_state": 0}
    >>> X = np.ones(10_000)
    >>> noise = [clamped_mean(X, calibration=x, **options).noise_std for x in ("tight", "printed")]
    >>> round(noise[1] / noise[0])
    4
    """
    return mean_of_paper(X, "clamped", PrintedClamped, calibration=calibration, **options)


def soft_mean(X: Any, *, calibration: str = "tight", **options: Any) -> MeanResult:
    """Estimate the mean of every column under smoothed soft truncation.

    Parameters
    ----------
    X
        Numeric columns, or one vector, as for ``tg.mean``.
    calibration
        ``"tight"``: the least noise that has a proof, as in ``tg.mean(method="soft")``.
        ``"printed"``: the noise of Algorithm 4, too little for a smoothing above 1.3233; epsilon
        and delta are converted by Lemma 2.3.
    options
        Options of ``tg.mean`` for this method: the promise, ``moment``, ``random_state``,
        ``threshold``, ``smoothing``, ``ledger``.

    *Guarantee.* That of the certificate. Printed noise is charged its true cost. If that exceeds
    the promise, the call takes ``random_state`` and no ledger, and is not private.

    *Reference.* Kamath, Liu and Zhang 2022, Algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> options = {"threshold": 3.0, "guarantee": tg.ZCDP(0.5), "random_state": 0}
    >>> soft_mean(np.ones(10_000), calibration="printed", **options).certificate.mode
    'reproduction: NOT PRIVATE'
    """
    return mean_of_paper(X, "soft", PrintedZcdpSoft, calibration=calibration, **options)
