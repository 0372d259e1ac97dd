"""Slopes, and slopes held within a bound."""

from dataclasses import replace

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.units import Units
from tailguard.queries.view import View


def examples():
    squared = tg.losses.Squared()
    raw = Units.raw(N_FEATURES, intercept=False)
    plain = View.plain(squared, raw)
    slopes = np.outer([0.0, 1.0, 9.0], [1.0, 0.0, 0.0])
    higher, lower = (9.0, 0, 0, 1e3), (9.0, 0, 0, -1e3)
    differences = LossDifferences(squared, 3 * (plain,), 2.0)
    yield Example("loss-differences/slopes", differences, slopes, higher, lower, squared)
    held = LossDifferences(squared, (plain, replace(plain, bound=2.0)), 0.5)
    within, beyond = (9.0, 0, 0, 2.0), (9.0, 0, 0, 9.0)
    yield Example("loss-differences/bounds", held, slopes[[1, 1]], within, beyond, squared)
