"""Attacks on a query: replace records by extreme ones; measure the change in lattice steps."""

from functools import lru_cache

import numpy as np

from support.adversary import datasets, neighbours, replaced
from support.query_example import N_FEATURES
from tailguard.data.rows.unordered import UnorderedRows
from tailguard.noise.sources import make_source
from tailguard.queries.base import GaussianQuery

N_ROWS = 40
MU = 0.7


def has_pure_form(query):
    """Whether the query can be calibrated to an epsilon of pure DP."""
    return type(query).pure_sensitivity is not GaussianQuery.pure_sensitivity


def calibrated(example, n_rows, *, pure=False):
    """The calibration for Gaussian noise, or for Laplace noise if ``pure``."""
    query = example.query
    calibrate = query.calibrate_pure if pure else query.calibrate
    return calibrate(n_rows, N_FEATURES, MU)


def lattice(example, data, *, pure=False, order=None, home=None, calibration=None):
    """The exact integers that the query releases, before noise; records are read in a given order.

    ``home`` makes other rows of records in memory, and ``calibration`` is that of the example if
    None.
    """
    rows = example.read(data)
    rows = rows if order is None else rows.in_order(order)
    rows = rows if home is None else home(rows)
    calibration = calibration or calibrated(example, len(data), pure=pure)
    with np.errstate(all="ignore"):
        return example.query.answer(rows, example.state, calibration)


def unordered(rows):
    """Records without an order, for the argument ``home`` of :func:`lattice`."""
    return UnorderedRows(rows, make_source(0))


def homes_of(example):
    """The storage of records: with an order, and without one if the query needs no places."""
    return (None,) if example.query.by_place else (None, unordered)


def move(first, second, norm="l2"):
    """The distance of two integer vectors in a norm, in exact arithmetic."""
    gaps = [abs(int(a) - int(b)) for a, b in zip(first, second, strict=True)]
    if norm == "linf":
        return float(max(gaps))
    return float(sum(gaps)) if norm == "l1" else sum(gap**2 for gap in gaps) ** 0.5


def norm_of(example, *, pure=False):
    """The norm in which the query states its sensitivity."""
    return calibrated(example, N_ROWS, pure=pure).sensitivity.norm


def allowed(example, n_rows=N_ROWS, *, pure=False):
    """The charged sensitivity in lattice steps."""
    calibration = calibrated(example, n_rows, pure=pure)
    return calibration.charged / calibration.grid


@lru_cache(maxsize=40)
def worst_neighbours(n_pairs, seed, n_rows, width):
    """Datasets and the records to replace in each: the same ones for all queries of a width."""
    rng, pairs_each = np.random.default_rng(seed), 25
    drawn = datasets(rng, n_pairs // pairs_each, n_rows, width)
    return [(data, [*neighbours(rng, data, pairs_each)]) for data in drawn]


def attack(example, n_pairs, seed, *, n_rows=N_ROWS, pure=False, home=None):
    """Replace ``n_pairs`` records in total; return the largest change over the allowed one."""
    worst, norm = 0.0, norm_of(example, pure=pure)
    how = {"home": home, "calibration": calibrated(example, n_rows, pure=pure)}
    for data, pairs in worst_neighbours(n_pairs, seed, n_rows, example.width):
        before = lattice(example, data, **how)
        for slot, record in pairs:
            after = lattice(example, replaced(data, slot, record), **how)
            worst = max(worst, move(before, after, norm))
    return worst / allowed(example, n_rows, pure=pure)
