"""Kernels of a linear score and blocks of records to run them on."""

from dataclasses import dataclass

import numpy as np

from support.adversary import records
from tailguard.data.rows.base import RecordBlock
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum

LOSS_NAMES = [*LOSSES, None]


@dataclass(frozen=True)
class InNumPyOnly:
    """A loss without its compiled slope, which sends kernels to the NumPy twin."""

    loss: object
    slope_loop = None

    def slope(self, score, target):
        return self.loss.slope(score, target)


def make_block(rng, n_rows, n_features, *, extreme, dtype=np.float64, offset=True):
    data = rng.standard_t(2, size=(n_rows, n_features + 2))
    if extreme:
        data = records(rng, n_rows, n_features + 2)
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(data[:, :n_features], dtype=dtype)
    target, offsets = np.ascontiguousarray(data[:, n_features:].T)
    return RecordBlock(features, target, offsets if offset else None)


def make_kernel(rng, name, n_features, *, grid=2.0**-40, **options):
    intercept = options.pop("intercept", True)
    loss = None if name is None else make_loss(name)
    defaults = {"row_limit": 3.0, "clip_norm": 1.5, "target_center": 0.3, "target_scale": 2.0}
    return ClippedGradientSum(
        weights=rng.standard_normal(n_features + intercept),
        center=rng.standard_normal(n_features),
        inverse_scale=rng.uniform(0.5, 2.0, n_features),
        intercept=intercept,
        loss=loss,
        **{"grid": grid, "offset_center": 0.1} | defaults | options,
    )
