"""The private means of Wang, Xiao, Devadas and Xu (2020), tight and as printed.

*Needed for privacy.* Nothing of the data for the soft mean. The printed scale of the trimmed mean
is not smooth and gives no privacy.

*Needed for accuracy.* Raw second moments for the soft mean; a known range of the means for the
trimmed one.
"""

from dataclasses import dataclass
from typing import Any

from tailguard.checks import InputError
from tailguard.estimators.mean import MeanResult
from tailguard.gate.stage import Share
from tailguard.means.base import MeanFacts
from tailguard.means.soft import Soft
from tailguard.means.trimmed import FIRST_SHARE, Trimmed
from tailguard.papers.printed.means import Printed, PrintedLevel, mean_of_paper
from tailguard.papers.printed.queries import PrintedTrimmedMean
from tailguard.papers.printed.terms import printed_in
from tailguard.papers.wang2020 import parameters
from tailguard.privacy.accounting.zcdp import rho_of_simple
from tailguard.privacy.guarantees import ApproxDP
from tailguard.queries.units import Units


@dataclass(frozen=True)
class PrintedSoft(PrintedLevel, Soft):
    """The soft mean at the printed scale, which ignores the noise, with the printed noise."""

    def scale(self, facts: MeanFacts, budget: Share) -> float:
        """Return the scale of Theorem 6."""
        moment = facts.known_moment("raw").at_order(2.0)
        chance = {"failure_probability": self.failure_probability}
        return facts.into(parameters.printed_scale, moment, **chance)

    def printed_spend(self, facts: MeanFacts, level: float, groups: int) -> float:
        """Return the true cost of the noise of Algorithm 4: at most what it promises."""
        asked = printed_in(facts.guarantee)
        if facts.moment is None:
            raise InputError(
                "calibration='printed' needs moment= with the soft mean and epsilon=, as the "
                "printed noise is stated for a moment."
            )
        known = {"epsilon": asked.epsilon, "delta": asked.delta, "n_steps": 1}
        known["failure_probability"] = self.failure_probability
        moment = facts.known_moment("raw").at_order(2.0)
        noise_std = facts.into(parameters.printed_noise_std, moment, **known)
        query = self.raw_query(facts.n_features, level, groups)
        return query.sensitivity(facts.n_rows, facts.n_features).ideal / noise_std


@dataclass(frozen=True)
class PrintedTrimmed(Printed, Trimmed):
    """The trimmed mean with constants, scale and conversion of epsilon as printed."""

    shares = (FIRST_SHARE,)  # the printed constants do not depend on it

    def rho(self, facts: MeanFacts) -> float:
        """Return the budget by the textbook's conversion."""
        proved = super().rho(facts)  # refuses other promises
        asked = facts.guarantee
        return rho_of_simple(asked.epsilon, asked.delta) if isinstance(asked, ApproxDP) else proved

    def query(
        self, units: Units, low: float, high: float, resolution: float, share: float = FIRST_SHARE
    ) -> PrintedTrimmedMean:
        """Return the query on the printed scale."""
        return PrintedTrimmedMean(
            None,
            units,
            low,
            high,
            n_trimmed=self.n_trimmed,
            smoothness_share=share,
            resolution=resolution,
        )


def soft_mean(X: Any, *, calibration: str = "tight", **options: Any) -> MeanResult:
    """Estimate the mean of every column under smoothed soft truncation.

    Parameters
    ----------
    X
        Numeric columns, or one vector, as for ``tg.mean``.
    calibration
        ``"tight"``: the least noise that has a proof, as in ``tg.mean(method="soft")``.
        ``"printed"``: scale and noise of Theorem 6; the noise is enough.
    options
        Options of ``tg.mean`` for this method: the promise, ``moment``, ``random_state``,
        ``failure_probability``, ``ledger``.

    *Guarantee.* That of the certificate. Printed noise is charged its true cost. If that exceeds
    the promise, the call takes ``random_state`` and no ledger, and is not private.

    *Reference.* Wang and others 2020, Theorem 6 and Algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> options = {"moment": tg.Moment(2.0, 5.0, kind="raw"), "epsilon": 1.0, "delta": 1e-5}
    >>> soft_mean(np.ones(10_000), calibration="printed", **options).certificate.mode
    'private'
    """
    return mean_of_paper(X, "soft", PrintedSoft, calibration=calibration, **options)


def trimmed_mean(X: Any, *, calibration: str = "tight", **options: Any) -> MeanResult:
    """Estimate the mean of every column without its smallest and largest values.

    Parameters
    ----------
    X
        Numeric columns, or one vector, as for ``tg.mean``.
    calibration
        ``"tight"``: the least noise that has a proof, as in ``tg.mean(method="trimmed")``.
        ``"printed"``: Algorithm 2, whose noise scale gives no privacy.
    options
        Options of ``tg.mean`` for this method: the promise, ``moment``, ``random_state``,
        ``low``, ``high``, ``n_trimmed``, ``ledger``.

    *Guarantee.* That of the certificate. Printed noise is charged its true cost. If that exceeds
    the promise, the call takes ``random_state`` and no ledger, and is not private.

    *Reference.* Wang and others 2020, Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> options = {"low": 0.0, "high": 2.0, "epsilon": 1.0, "delta": 1e-5, "random_state": 0}
    >>> trimmed_mean(np.ones(10_000), calibration="printed", **options).certificate.total.epsilon
    inf
    """
    return mean_of_paper(X, "trimmed", PrintedTrimmed, calibration=calibration, **options)
