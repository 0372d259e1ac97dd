"""Examples of queries on a smooth scale, attacks on their smoothness, and exact divergences."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

import tailguard as tg
from support.adversary import datasets, neighbours, replaced
from tailguard.data.rows.arrays import make_rows
from tailguard.means.trimmed import TrimmedMean
from tailguard.noise.mechanisms import ALL_MECHANISMS
from tailguard.privacy.events import Approximate, ZeroConcentrated
from tailguard.queries.sample_aggregate import SampleAggregate
from tailguard.queries.units import Units

N_FEATURES = 3
RAW = Units.raw(N_FEATURES, intercept=False)
NUMERICAL = {"calibration": "numerical"}


@dataclass(frozen=True)
class SmoothExample:
    """A query, its state, the requested event and the number of rows."""

    name: str
    query: Any
    state: Any
    event: Any
    n_rows: int
    loss: Any = None

    @property
    def width(self):
        return N_FEATURES + 1

    def calibration(self):
        return self.query.calibrate_event(self.n_rows, N_FEATURES, self.event)


def block_means(features, target):
    return features.mean(axis=0) + target.mean()


def fails_for_some(features, target):
    if features[:, 0].max() > 2.0:
        raise RuntimeError(f"a record holds {features[:, 0].max()}")
    return np.where(features[0] < -1.0, np.nan, features[0])


def trimmed(name, n_rows=41, n_trimmed=8, rho=3.0, loss=None, units=RAW, **options):
    options = {"resolution": 2.0, **options}
    query = TrimmedMean(loss, units, -2.0, 2.0, n_trimmed=n_trimmed, **options)
    state = np.linspace(-0.2, 0.3, units.size)
    return SmoothExample(f"trimmed-mean/{name}", query, state, ZeroConcentrated(rho), n_rows, loss)


def smooth_examples():
    squared = tg.losses.Squared()
    centred = Units(np.array([0.5, -1.0, 0.0]), np.array([1.0, 2.0, 1e-3]), True, 0.25, 2.0)
    yield trimmed("tight", rho=8.0)
    yield trimmed("exact", rho=8.0, exact=True)
    yield trimmed("numerical", calibration="numerical")
    yield trimmed("published", calibration="published")
    yield trimmed("one-left", n_rows=17, rho=12.0)
    yield trimmed("one-trimmed", n_trimmed=1, rho=80.0, resolution=60.0, exact=True)
    yield trimmed("squared", loss=squared, units=centred, calibration="numerical")
    yield trimmed("chosen", n_rows=300, n_trimmed=None, rho=2.0, calibration="numerical")
    overlapping = {"n_blocks": 36, "layout": "overlapping"}
    for name, estimator, options, n_rows, event in (
        ("means", block_means, {"n_blocks": 20}, 41, Approximate(3.0, 1e-3)),
        ("single", block_means, {"n_blocks": 9}, 9, Approximate(9.0, 1e-2)),
        ("failing", fails_for_some, {"least_rows": 4}, 61, Approximate(8.0, 1e-2)),
        ("overlapping", block_means, overlapping, 80, Approximate(9.0, 1e-2)),
        ("certified", block_means, {"n_blocks": 20, **NUMERICAL}, 41, Approximate(3.0, 1e-3)),
    ):
        query = SampleAggregate(estimator, (0.5, 0.0, 0.0), 6.0, **options)
        yield SmoothExample(f"sample-aggregate/{name}", query, None, event, n_rows)


def answer(example, data, query=None):
    """Value and scale for the noise: the query's, within the mechanism's public limits."""
    public = example.calibration()
    features, target = data[:, :N_FEATURES].copy(), data[:, N_FEATURES].copy()
    rows = make_rows(features, target, loss=example.loss)
    with np.errstate(all="ignore"):
        found = (query or example.query).answer(rows, example.state, public)
    assert ALL_MECHANISMS[public.mechanism].name == public.mechanism
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.scale).all()
    limited = np.clip(found.value, -public.value_limit, public.value_limit)
    np.testing.assert_array_equal(found.value, limited)
    return found.value, np.clip(found.scale, public.scale_floor, public.scale_ceiling)


def breach(example, first, second):
    """Changes of scale and value between two answers, over those allowed; at most 1 if valid."""
    (f, s), (g, r) = first, second
    ratio = float(np.abs(np.log(s / r)).max()) / example.calibration().smoothness
    least = np.minimum(s, r)
    if example.name.startswith("sample"):
        return ratio, float(np.linalg.norm(f - g) / least[0])
    return ratio, float((np.abs(f - g) / least).max())


def smooth_attack(example, n_pairs, seed, query=None):
    """Replace ``n_pairs`` records in total; return the largest of both ratios."""
    rng = np.random.default_rng(seed)
    worst = (0.0, 0.0)
    for data in datasets(rng, max(n_pairs // 10, 4), example.n_rows, example.width):
        before = answer(example, data, query)
        for slot, record in neighbours(rng, data, 10):
            after = answer(example, replaced(data, slot, record), query)
            worst = tuple(map(max, worst, breach(example, before, after)))
    return worst


def renyi(smoothness, shift, order, *, reverse=False):
    """Renyi divergence of Z from exp(smoothness) Z + shift, arsinh-normal Z, by quadrature."""
    reach = 14.0 + 2.0 * order * abs(smoothness)
    y = np.linspace(-reach, reach, 60_001)
    z = np.sinh(y)
    moved = np.arcsinh((z - shift) / np.exp(smoothness))

    def log_density(normal):
        return -(normal**2) / 2 - np.logaddexp(normal, -normal) + np.log(2 / np.sqrt(2 * np.pi))

    p, q = log_density(y), log_density(moved) - smoothness
    p, q = (q, p) if reverse else (p, q)
    log_terms = order * p + (1 - order) * q + np.log(np.cosh(y))
    return float((logsumexp(log_terms) + np.log(y[1] - y[0])) / (order - 1))
