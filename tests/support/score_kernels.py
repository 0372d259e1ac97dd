"""Loops of a linear score and blocks of records to run them on."""

import numpy as np

from support.adversary import records
from support.loops import loop
from tailguard.data.rows.base import RecordBlock
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

LOSS_NAMES = [*LOSSES, None]


def make_block(rng, n_rows, n_features, *, extreme, dtype=np.float64, offset=True):
    data = rng.standard_t(2, size=(n_rows, n_features + 2))
    if extreme:
        data = records(rng, n_rows, n_features + 2)
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(data[:, :n_features], dtype=dtype)
    target, offsets = np.ascontiguousarray(data[:, n_features:].T)
    return RecordBlock(features, target, offsets if offset else None)


def make_query(rng, name, n_features, *, intercept=True, offset_center=0.1, **limits):
    """A query of clipped gradients in odd units, and weights to evaluate it at."""
    center, scale = rng.standard_normal(n_features), rng.uniform(0.5, 2.0, n_features)
    units = Units(center, scale, intercept, 0.3, 2.0, offset_center)
    loss = None if name is None else make_loss(name)
    query = MeanClippedGradient(loss, units, **{"row_limit": 3.0, "clip_norm": 1.5} | limits)
    return query, rng.standard_normal(n_features + intercept)


def make_kernel(rng, name, n_features, *, grid=2.0**-40, **options):
    """The loop of a query of clipped gradients."""
    return loop(*make_query(rng, name, n_features, **options), grid)
