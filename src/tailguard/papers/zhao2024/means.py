"""The private means of Zhao et al. (2024), tight and as printed.

*Needed for privacy.* Nothing of the data; the groups of the iterative mean are secret.

*Needed for accuracy.* Moments along every direction.
"""

import math
from dataclasses import dataclass
from typing import Any

from tailguard.estimators.mean import MeanResult
from tailguard.gate.stage import Share
from tailguard.means.base import Level, MeanFacts, directional_level
from tailguard.means.clipped import Clipped
from tailguard.means.iterative import Iterative
from tailguard.papers.printed.means import UNIT, PrintedLevel, mean_of_paper, with_rounding
from tailguard.papers.printed.terms import printed_in, stated_rho
from tailguard.papers.zhao2024 import parameters
from tailguard.privacy.events import Gaussian


@dataclass(frozen=True)
class PrintedClipped(PrintedLevel, Clipped):
    """The l2-clipped mean with the clip norm and the budget of the paper."""

    def printed_spend(self, facts: MeanFacts, level: float, groups: int) -> float:
        """Return what the noise of Theorem 2 spends: less than a promised epsilon and delta."""
        return math.sqrt(2.0 * _rho(facts))

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the clip norm of equation (19), for the printed budget."""
        return directional_level(facts, parameters.mean_clip_norm, rho=_rho(facts), **UNIT)


@dataclass(frozen=True)
class PrintedIterative(PrintedLevel, Iterative):
    """The iterative mean with the noise of equation (24), for secret groups."""

    def group_share(self, facts: MeanFacts) -> tuple[Share, bool]:
        """Return the share of a group by equation (24)."""
        asked, k = printed_in(facts.guarantee), self.groups(facts.problem)
        terms = {"epsilon": asked.epsilon, "delta": asked.delta}
        rho = parameters.printed_amplified_rho(n_groups=k, **terms)
        return with_rounding(facts, Gaussian(math.sqrt(2.0 * rho))), True

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the printed clip norm."""
        epsilon = printed_in(facts.guarantee).epsilon
        return directional_level(facts, parameters.iterative_clip_norm, epsilon=epsilon, **UNIT)


def _rho(facts: MeanFacts) -> float:
    """Return the budget of equation (15), or the rho of Algorithm 2."""
    return stated_rho(facts.guarantee, parameters.printed_rho)


def clipped_mean(X: Any, *, calibration: str = "tight", **options: Any) -> MeanResult:
    """Estimate the mean of every column from rows clipped in l2 norm.

    Parameters
    ----------
    X
        Numeric columns, or one vector, as for ``tg.mean``.
    calibration
        ``"tight"``: the least noise that has a proof, as in ``tg.mean(method="clipped")``.
        ``"printed"``: the noise of Theorem 2, which is too much for epsilon and delta, and for rho
        a millionth too little because of rounding; and the clip norm of equation (19), which does
        not depend on the moment (E38).
    options
        Options of ``tg.mean`` for this method: the promise, ``moment``, ``random_state``,
        ``clip_norm``, ``ledger``.

    *Guarantee.* That of the certificate. Printed noise is charged its true cost. If that exceeds
    the promise, the call takes ``random_state`` and no ledger, and is not private.

    *Reference.* Zhao and others 2024, Algorithm 2 and Theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> options = {"clip_norm": 3.0, "epsilon": 1.0, "delta": 1e-5}
    >>> clipped_mean(np.ones(10_000), calibration="printed", **options).certificate.mode
    'private'
    """
    return mean_of_paper(X, "clipped", PrintedClipped, calibration=calibration, **options)


def iterative_mean(X: Any, *, calibration: str = "tight", **options: Any) -> MeanResult:
    """Estimate the mean of every column by the centre of noised group means.

    Parameters
    ----------
    X
        Numeric columns, or one vector, as for ``tg.mean``.
    calibration
        ``"tight"``: the least noise that has a proof, as in ``tg.mean(method="iterative")``.
        ``"printed"``: the noise of equation (24), whose proof fails, though by another proof it is
        mostly too much; and the clip norm of Theorem 7, which does not depend on the moment (E38).
    options
        Options of ``tg.mean`` for this method: the promise, ``moment``, ``random_state``,
        ``clip_norm``, ``n_groups``.

    *Guarantee.* That of the certificate. Printed noise is charged its true cost. If that exceeds
    the promise, the call takes ``random_state`` and no ledger, and is not private.

    *Reference.* Zhao and others 2024, Algorithm 3 and Theorem 6.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> options = {"clip_norm": 3.0, "n_groups": 1000, "epsilon": 1.0, "delta": 1e-5}
    >>> result = iterative_mean(np.ones(10_000), calibration="printed", **options)
    >>> result.certificate.total.epsilon < 0.02
    True
    """
    return mean_of_paper(X, "iterative", PrintedIterative, calibration=calibration, **options)
