"""What is claimed of a release, and the least that counted errors prove.

Whoever tells two neighbours apart errs in two ways: takes the first for the second (wrong), or
misses the second. Upper bounds on both chances prove that at least so much privacy is lost. The
chances that a claim allows are a convex set, and stay one where both are exchanged: either
neighbour may be the first.

Reference
---------
Kairouz, Oh and Viswanath 2015, Theorem 2.1 (errors under epsilon and delta); Dong, Roth and Su
2022, Section 2 (under mu); van Erven and Harremoes 2014, Theorem 9 (data processing for Renyi
divergences) and Theorem 13 (their quasi-convexity).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_positive, shown
from tailguard.privacy.guarantees import Guarantee

ORDERS = 1.0 + np.geomspace(0.01, 63.0, 60)
"""Renyi orders at which a claim in rho is tested: any of them is valid, more are sharper."""


class PrivacyClaim:
    """What is claimed: an amount in some unit, which counted errors may prove to be too small.

    The unit, one of mu, epsilon, rho or delta, is the name of the attribute that has the amount.

    Examples
    --------
    >>> claim: PrivacyClaim = GaussianClaim(1.0)
    >>> claim.unit, claim.amount
    ('mu', 1.0)
    """

    unit: ClassVar[str]

    @property
    def amount(self) -> float:
        """How much is claimed."""
        return float(getattr(self, self.unit))

    def least(self, wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the least amount that is possible with errors of at most these chances."""
        raise TypeError(f"{type(self).__name__} must say what errors prove.")

    def describe(self) -> str:
        """Say the claim in words."""
        return f"{self.unit} = {self.amount:.4g}"


@dataclass(frozen=True)
class GaussianClaim(PrivacyClaim):
    """``mu``-GDP: both errors lie above the curve of N(0, 1) against N(mu, 1).

    Examples
    --------
    >>> from scipy.stats import norm
    >>> float(GaussianClaim(1.0).least(norm.sf(1.0), norm.cdf(-0.5)).round(9))
    1.5
    """

    mu: float
    unit = "mu"

    def least(self, wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return ``Phi^-1(1 - wrong) - Phi^-1(missed)``, which is exact for Gaussian noise."""
        found: FloatArray = np.maximum(-ndtri(wrong) - ndtri(missed), 0.0)
        return found


@dataclass(frozen=True)
class EpsilonClaim(PrivacyClaim):
    """(``epsilon``, ``delta``)-DP, of which epsilon is bounded at that delta.

    Examples
    --------
    >>> float(EpsilonClaim(1.0, 0.0).least(0.5 * np.exp(-2.0), 0.5).round(9))
    2.0
    """

    epsilon: float
    delta: float
    unit = "epsilon"

    def least(self, wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the least epsilon, of the event and of its complement."""
        one = np.maximum(1.0 - self.delta - missed, 1e-300) / wrong
        other = np.maximum(1.0 - self.delta - wrong, 1e-300) / missed
        found: FloatArray = np.log(np.maximum(np.maximum(one, other), 1.0))
        return found

    def describe(self) -> str:
        """Say the claim in words."""
        return f"epsilon = {self.epsilon:.4g} at delta = {self.delta:.4g}"


@dataclass(frozen=True)
class ConcentratedClaim(PrivacyClaim):
    """``rho``-zCDP: no event has a larger Renyi divergence than the whole release.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> bool(ConcentratedClaim(0.5).least(norm.sf(0.5), norm.cdf(-0.5)) < 0.5)
    True
    """

    rho: float
    unit = "rho"

    def least(self, wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the largest of the event's divergences over their orders, in either direction."""
        q, r = np.broadcast_arrays(np.asarray(wrong, float), np.asarray(missed, float))
        found = np.zeros(q.shape)
        for first, second in (((1.0 - r), q), ((1.0 - q), r)):
            found = np.maximum(found, np.where(first > second, _divergence(first, second), 0.0))
        return found


def _divergence(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the largest Renyi divergence over its order, of two coins."""
    order = ORDERS[:, None]
    p, q = (np.clip(np.ravel(chance), 1e-300, 1.0 - 1e-16) for chance in (first, second))
    heads = order * np.log(p) + (1.0 - order) * np.log(q)
    tails = order * np.log1p(-p) + (1.0 - order) * np.log1p(-q)
    divergences = np.logaddexp(heads, tails) / (order - 1.0) / order
    found: FloatArray = divergences.max(axis=0).reshape(np.shape(first))
    return found


@dataclass(frozen=True)
class ProfileClaim(PrivacyClaim):
    """One point of a privacy profile: ``delta`` at ``epsilon``, which may be 0.

    Examples
    --------
    >>> float(ProfileClaim(0.0, 0.5).least(0.1, 0.2).round(9))
    0.7
    """

    epsilon: float
    delta: float
    unit = "delta"

    def least(self, wrong: FloatArray, missed: FloatArray) -> FloatArray:
        """Return the least delta, of the event and of its complement."""
        ratio = np.exp(self.epsilon)
        one, other = 1.0 - missed - ratio * wrong, 1.0 - wrong - ratio * missed
        found: FloatArray = np.maximum(np.maximum(one, other), 0.0)
        return found

    def describe(self) -> str:
        """Say the claim in words."""
        return f"delta = {self.delta:.4g} at epsilon = {self.epsilon:.4g}"


# What a guarantee of each kind claims; a pure one has no delta.
KINDS: dict[str, Callable[[Any], PrivacyClaim]] = {
    "gdp": lambda guarantee: GaussianClaim(guarantee.mu),
    "pure": lambda guarantee: EpsilonClaim(guarantee.epsilon, 0.0),
    "approx": lambda guarantee: EpsilonClaim(guarantee.epsilon, guarantee.delta),
    "zcdp": lambda guarantee: ConcentratedClaim(guarantee.rho),
}


def claim_of(guarantee: Guarantee) -> PrivacyClaim:
    """Return what a guarantee claims.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import ZCDP
    >>> claim_of(ZCDP(0.5)).describe()
    'rho = 0.5'
    """
    kind = getattr(guarantee, "kind", None)
    if kind not in KINDS:
        raise InputError(
            f"claim must be a tg.ApproxDP, PureDP, ZCDP or GDP; got {shown(guarantee)}."
        )
    claim = KINDS[kind](guarantee)
    check_positive("claim", check_finite("claim", claim.amount))
    return claim
