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
    slopes = np.outer([1.0, 1.0], [1.0, 0.0, 0.0])
    held = LossDifferences(squared, (plain, replace(plain, bound=2.0)), 0.5)
    within, beyond = (9.0, 0, 0, 2.0), (9.0, 0, 0, 9.0)
    yield Example("loss-differences/bounds", held, slopes, within, beyond, squared)
    scores = LossDifferences(squared, (plain, plain), 0.5, score_bounds=(0.0, 1.0))
    yield Example("loss-differences/scores", scores, slopes, within, beyond, squared)
    gains = replace(held, limit=2.0, gain=0.25)
    yield Example("loss-differences/gains", gains, slopes, within, beyond, squared)
