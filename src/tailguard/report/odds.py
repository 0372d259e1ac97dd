"""Upper bounds on the success of an attacker, from a guarantee or from the cost of a run.

The attacker knows everything except which of two versions of one record is in the data. A
hypothesis test on the released numbers compares the two versions. If the probability of a false
alarm is ``alpha``, the probability of detecting the second version is at most ``hits(alpha)``.

Reference
---------
Kairouz, Oh and Viswanath 2015, Theorem 2.1, after Wasserman and Zhou 2010 ((epsilon, delta) as a
test); Dong, Roth and Su 2022, Definition 2.6 (the test of mu). For zCDP: at
order ``a``, the probabilities of an event satisfy ``P <= (Q exp(a rho)) ** ((a - 1) / a)``, by the
convexity in Renyi's divergence (Bun and Steinke 2016, Definition 1.1 and Lemma 2.2). The best order
is ``sqrt(log(1 / Q) / rho)``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scipy.special import expit, ndtr, ndtri

FALSE_ALARMS = (0.001, 0.01, 0.1)
"""Probabilities of a false alarm that a page shows."""


@dataclass(frozen=True)
class Odds:
    """The largest probabilities of a right guess, and of a hit at each rate of false alarms.

    For the guess, both versions are equally likely before the release.
    """

    right_guesses: float
    hits: tuple[float, ...]


def odds_of(guarantee: Mapping[str, Any]) -> Odds:
    """Return the odds that a guarantee allows, from its dictionary."""
    kind = guarantee["kind"]
    if kind == "gdp":
        return odds_of_mu(guarantee["mu"])
    if kind == "zcdp":
        return _odds_of_rho(guarantee["rho"])
    return _odds_of_epsilon(guarantee["epsilon"], guarantee.get("delta", 0.0))


def odds_of_mu(mu: float) -> Odds:
    """Return the odds of Gaussian releases with a total mu: those of N(0, 1) against N(mu, 1)."""
    hits = [float(ndtr(ndtri(alarms) + mu)) for alarms in FALSE_ALARMS]
    return Odds(float(ndtr(mu / 2.0)), tuple(hits))


def _odds_of_epsilon(epsilon: float, delta: float) -> Odds:
    """Return the odds of (epsilon, delta); two lines bound the probability of hits."""
    factor = math.exp(min(epsilon, 700.0))  # larger epsilons overflow
    hits = [
        min(factor * alarms + delta, 1.0 - (1.0 - delta - alarms) / factor, 1.0)
        for alarms in FALSE_ALARMS
    ]
    right = expit(epsilon) + delta * expit(-epsilon)
    return Odds(min(1.0, float(right)), tuple(hits))


def _odds_of_rho(rho: float) -> Odds:
    """Return the odds of zCDP; the divergence of order one bounds the variation distance.

    The divergence is at most rho, so the distance is at most ``sqrt(rho / 2)`` (Pinsker) and
    ``sqrt(1 - exp(-rho))`` (Bretagnolle and Huber 1979).
    """
    distance = min(math.sqrt(rho / 2.0), math.sqrt(-math.expm1(-rho)))
    hits = []
    for alarms in FALSE_ALARMS:
        gap = math.sqrt(-math.log(alarms)) - math.sqrt(rho)
        hits.append(min(1.0, alarms + distance, math.exp(-gap * gap) if gap > 0.0 else 1.0))
    return Odds((1.0 + distance) / 2.0, tuple(hits))


def percent(share: float) -> str:
    """Return a share in percent; rounding up to three digits keeps an upper bound valid."""
    digits = 2 - math.floor(math.log10(100.0 * share)) if share > 0.0 else 0
    scale = 10.0**digits
    return f"{math.ceil(100.0 * share * scale * (1.0 - 1e-12)) / scale:g} %"
