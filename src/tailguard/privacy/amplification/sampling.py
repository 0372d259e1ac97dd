"""Gaussian releases on a secret sample of the records: privacy profiles.

A batch of fixed size is not a Poisson sample: with replace-one neighbours and public sizes it costs
several times as much. Each scheme has its own profile, so that the two are never confused.

Reference
---------
Balle, Barthe and Gaboardi 2018 (sampling without replacement; Theorem 2, advanced joint convexity);
Lebeda, Regehr, Kamath and Steinke 2024 (why the worst pair of one step may not be the worst pair of
many steps).
"""

import math

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.profiles import TAIL, Profile, convexified, gaussian_profile

# Beyond this epsilon a profile is constant, so that nothing overflows.
LARGEST = 300.0


def fixed_size_profile(mu: float, rate: float) -> Profile:
    """Profile of a Gaussian release on a sample of fixed size, drawn without replacement.

    *Guarantee.* Replace-one neighbours; ``mu`` is the sensitivity within the sample divided by the
    noise.

    *Reference.* Balle, Barthe and Gaboardi 2018 (sampling without replacement).
    """
    base = gaussian_profile(mu)
    return Profile(lambda e: rate * base.delta(_inner(e, rate)), _end(mu, rate))


def poisson_profile(mu: float, rate: float) -> Profile:
    """Profile of a Gaussian release on a Poisson sample, by a proved bound.

    *Guarantee.* Replace-one neighbours; ``mu`` is the replace-one sensitivity divided by the noise,
    and the presence of a record moves the answer by at most half that sensitivity. The sample's
    size is secret.

    *Reference.* Balle, Barthe and Gaboardi 2018, Theorem 2.
    """
    replaced, absent = gaussian_profile(mu), gaussian_profile(mu / 2.0)

    def delta(e: FloatArray) -> FloatArray:
        """Mix the deltas of a replaced record and of an absent record, as in the proof."""
        inner = _inner(e, rate)
        share = np.exp(np.minimum(e, LARGEST) - inner)
        return rate * ((1.0 - share) * absent.delta(inner) + share * replaced.delta(inner))

    return Profile(lambda e: convexified(e, delta(e)), _end(mu, rate))


def _inner(e: FloatArray, rate: float) -> FloatArray:
    """Return the epsilon inside the sample: log(1 + (exp(e) - 1) / rate)."""
    return np.asarray(np.log1p(np.expm1(np.minimum(e, LARGEST)) / rate))


def _end(mu: float, rate: float) -> float:
    """Return an epsilon with delta below ``TAIL``, from such an epsilon inside the sample."""
    return math.log1p(rate * math.expm1(min(epsilon_of(mu, TAIL), LARGEST)))
