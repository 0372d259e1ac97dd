"""Published mechanisms and libraries that receive the true bounds, for ``bench_describe.py``.

A rival takes a column's sorted values and returns a function. Its arguments are rho, the zCDP of
one statistic, and a random generator; its results are five quantiles, mean and standard deviation,
with NaN for those that the rival does not support. All protect a replaced record among a public
number of records.

* ``exponential``: quantiles by the exponential mechanism (Smith 2011, Algorithm 2), at the cost of
  its bounded range, rho = epsilon^2 / 8 (Cesar and Rogers 2021, Lemma 3);
* ``tree``: all quantiles of a column from one tree of counts, 16 children per node and 4 levels
  between the true bounds, with Gaussian noise (Hay et al. 2010 without their consistency), at the
  cost of five statistics;
* both: mean and second moment of values between the true bounds, with Gaussian noise;
* ``diffprivlib``: its own quantiles, mean and deviation, by the exponential and the Laplace
  mechanism, each at the same part of rho (epsilon^2 / 8 and epsilon^2 / 2);
* ``opendp``: quantiles of 1 000 candidates by its noisy maximum, clamped mean and variance with its
  Gaussian noise, each at the same part of rho for two edits of a table of known size;
* ``google``: the quantile tree of Google's library as PyDP wraps it, of its default size, with its
  Gaussian noise for a record in two places, at the cost of five statistics;
* ``tumult``: the quantile of Tumult Core, without Spark, at its own cost for two edits.

The last four run if they are installed (``make peers``). The noise of the last three is not seeded.
"""

import math
from importlib.util import find_spec

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
STATISTICS = (*(f"{100 * level:g}%" for level in LEVELS), "mean", "std")
DELTA = 1e-6
BRANCHES, HEIGHT = 16, 4  # the defaults of Google's library
N_CANDIDATES = 1000  # for a quantile, between the true bounds
NO_MOMENTS = [math.nan, math.nan]


def bounds_of(values):
    """The true bounds; of a constant column the next number is the upper one."""
    return float(values[0]), float(max(values[-1], np.nextafter(values[0], np.inf)))


def bounded_moments(values):
    low, high, n = values[0], values[-1], values.size
    center, radius = (low + high) / 2.0, max((high - low) / 2.0, 1e-300)
    u = (values - center) / radius
    means = u.mean(), (u**2).mean()

    def answer(rho, rng):
        std = 1.0 / n / math.sqrt(2.0 * rho)
        first, second = means[0] + rng.normal(0.0, 2.0 * std), means[1] + rng.normal(0.0, std)
        return [center + radius * first, radius * math.sqrt(max(second - first**2, 0.0))]

    return answer


def exponential(values):
    """Smith 2011: gaps between sorted values, weighted by how far their ranks are off."""
    ends = np.concatenate([values[:1], values, values[-1:]])
    with np.errstate(divide="ignore"):
        gaps = np.log(np.diff(ends))
    places, moments = np.flatnonzero(np.isfinite(gaps)), bounded_moments(values)
    gaps = gaps[places]

    def quantile(level, epsilon, rng):
        if not places.size:
            return values[0]
        score = gaps - epsilon / 2.0 * np.abs(places - level * values.size)
        place = places[np.argmax(score + rng.gumbel(size=gaps.size))]
        return rng.uniform(ends[place], ends[place + 1])

    def answer(rho, rng):
        epsilon = math.sqrt(8.0 * rho)
        return [*(quantile(level, epsilon, rng) for level in LEVELS), *moments(rho, rng)]

    return answer


def tree(values):
    """Descend from the root to the leaf that holds a level, by noised counts of children."""
    low, width = values[0], max(values[-1] - values[0], 1e-300)
    leaf = np.minimum((values - low) / width * BRANCHES**HEIGHT, BRANCHES**HEIGHT - 1).astype(int)
    counts = [
        np.bincount(leaf // BRANCHES ** (HEIGHT - h), minlength=BRANCHES**h)
        for h in range(1, HEIGHT + 1)
    ]
    moments = bounded_moments(values)

    def quantile(level, noised):
        node, rest, part = 0, level, 0.5
        for layer in noised:
            children = layer[node * BRANCHES : (node + 1) * BRANCHES]
            total = children.sum()
            if total <= 0.0:
                node, part, rest = node * BRANCHES + BRANCHES // 2, 0.0, 0.5
                continue
            below = np.append(0.0, np.cumsum(children) / total)
            child = min(int(np.searchsorted(below, rest, side="right")) - 1, BRANCHES - 1)
            rest = min(max((rest - below[child]) / max(children[child] / total, 1e-12), 0.0), 1.0)
            node, part = node * BRANCHES + child, rest
        return low + width * (node + part) / BRANCHES**HEIGHT

    def answer(rho, rng):
        std = math.sqrt(HEIGHT / (rho * len(LEVELS)))  # l2 sensitivity sqrt(2 * HEIGHT)
        noised = [np.maximum(c + rng.normal(0.0, std, c.size), 0.0) for c in counts]
        return [*(quantile(level, noised) for level in LEVELS), *moments(rho, rng)]

    return answer


def diffprivlib(values):
    from diffprivlib import tools  # noqa: PLC0415 (of the environment of `make peers`)

    def answer(rho, rng):
        options = {"bounds": bounds_of(values)}
        options["random_state"] = np.random.RandomState(int(rng.integers(2**31)))
        chosen, noised = math.sqrt(8.0 * rho), math.sqrt(2.0 * rho)
        found = []
        for level in LEVELS:
            try:
                found.append(float(tools.quantile(values, level, chosen, **options)))
            except RuntimeError:  # its weights are no numbers where values lie close together
                found.append(math.nan)
        return [*found, *(tool(values, noised, **options) for tool in (tools.mean, tools.std))]

    return answer


def opendp(values):
    """Scores of candidates, mean and variance are worked out once, and noised by its mechanisms."""
    import opendp.prelude as dp  # noqa: PLC0415 (of the environment of `make peers`)

    dp.enable_features("contrib", "idealized-numerics")
    bounds, records = bounds_of(values), values.tolist()
    plain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=values.size)
    bounded = dp.vector_domain(dp.atom_domain(bounds=bounds, nan=False), size=values.size)
    grid, edits = np.unique(np.linspace(*bounds, N_CANDIDATES)), dp.symmetric_distance()
    asked = [
        dp.t.make_quantile_score_candidates(plain, edits, grid.tolist(), level) for level in LEVELS
    ]
    asked += [dp.t.make_mean(bounded, edits), dp.t.make_variance(bounded, edits, ddof=0)]
    exact = [each(records) for each in asked]
    measure = dp.zero_concentrated_divergence()

    def noised(transformation, value, mechanism, rho):
        # rho falls with the square of the scale.
        scale = math.sqrt((transformation >> mechanism(1.0)).map(2) / rho)
        space = transformation.output_domain, transformation.output_metric
        return (space >> mechanism(scale))(value)

    def answer(rho, rng):
        choice = lambda scale: dp.m.then_noisy_max(measure, scale, True)  # noqa: E731
        told = [
            noised(each, value, choice if place < len(LEVELS) else dp.m.then_gaussian, rho)
            for place, (each, value) in enumerate(zip(asked, exact, strict=True))
        ]
        return [*grid[told[:-2]], told[-2], math.sqrt(max(told[-1], 0.0))]

    return answer


def epsilon_of(mu):
    """The epsilon at which a Gaussian release of this mu has the delta (Dong et al. 2022)."""

    def excess(epsilon):
        lost = norm.cdf(mu / 2.0 - epsilon / mu)
        return lost - math.exp(epsilon) * norm.cdf(-mu / 2.0 - epsilon / mu) - DELTA

    return brentq(excess, 0.0, 50.0 * mu) if excess(0.0) > 0.0 else 0.0


def google(values):
    from pydp.algorithms.quantile_tree import QuantileTree  # noqa: PLC0415 (as above)

    counts = QuantileTree(*bounds_of(values), HEIGHT, BRANCHES)
    for value in values.tolist():
        counts.add_entry(value)

    def answer(rho, rng):
        epsilon = epsilon_of(math.sqrt(2.0 * rho * len(LEVELS)))
        if epsilon <= 0.0:  # it takes no smaller budget
            return [math.nan] * len(STATISTICS)
        # Two places of one entry each: the l2 sensitivity of a replaced record.
        options = epsilon, DELTA, 2, 1, list(LEVELS), "gaussian"
        return [*counts.compute_quantiles(*options), *NO_MOMENTS]

    return answer


def tumult(values):
    import pandas as pd  # noqa: PLC0415 (of Tumult's environment)
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain  # noqa: PLC0415 (as above)
    from tmlt.core.domains.pandas_domains import PandasSeriesDomain  # noqa: PLC0415 (as above)
    from tmlt.core.measurements.pandas_measurements.series import (  # noqa: PLC0415 (as above)
        NoisyQuantile,
    )
    from tmlt.core.measures import RhoZCDP  # noqa: PLC0415 (as above)
    from tmlt.core.utils.exact_number import ExactNumber  # noqa: PLC0415 (as above)

    low, high = bounds_of(values)
    told = pd.Series(values, dtype=np.float64)
    domain = PandasSeriesDomain(NumpyFloatDomain())

    def answer(rho, rng):
        epsilon = ExactNumber.from_float(math.sqrt(8.0 * rho) / 2.0, round_up=False)
        asked = (NoisyQuantile(domain, RhoZCDP(), q, low, high, epsilon) for q in LEVELS)
        return [*(each(told) for each in asked), *NO_MOMENTS]

    return answer


RIVALS = {"exponential": exponential, "tree": tree, "diffprivlib": diffprivlib, "opendp": opendp}
RIVALS |= {"google": google, "tumult": tumult}
LIBRARIES = {"diffprivlib": "diffprivlib", "opendp": "opendp", "google": "pydp", "tumult": "tmlt"}


def installed():
    """The rivals that can be asked here."""
    return [name for name in RIVALS if name not in LIBRARIES or find_spec(LIBRARIES[name])]
