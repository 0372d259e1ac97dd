"""Certificates for tests."""

import math

from tailguard.privacy.accounting.total_cost import Distance
from tailguard.privacy.books import MemoryBooks
from tailguard.privacy.books.releases import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Gaussian, Repeated
from tailguard.privacy.guarantees import ApproxDP

PROMISE = ApproxDP(5.0, 1e-6)


def gaussian(mu, **changes):
    return Release("gradient", "ClippedGradient", "gaussian", "l2", 3.0 * mu, 3.0, **changes)


def laplace(epsilon, **changes):
    return Release("count", "Count", "laplace", "l1", epsilon, math.sqrt(2), **changes)


def certify(planned, releases, guarantee=PROMISE, **facts):
    books = MemoryBooks()
    books.reserve(planned)
    for release in releases:
        books.record(release)
    facts = {"n_rows": 1000, "planned": books.reserved, "releases": books.releases, **facts}
    return Certificate(guarantee, **facts)


def example():
    return certify(
        Composed((Repeated(Gaussian(0.1), 50), Gaussian(0.5))),
        [gaussian(0.1, parameters={"clip_norm": 1.5}), gaussian(0.1), gaussian(0.1)],
        assumptions_for_accuracy=("finite fourth moments of the features",),
        unused_stages=("refinement: the first stage was already precise",),
        sampler_distance=Distance(1e-13, 1e-22),
    )
