"""Histograms of magnitudes, against plain NumPy.

Units of other columns than those that are counted are refused: NumPy would repeat a scale.
"""

from itertools import pairwise

import numpy as np
import pytest

import tailguard as tg
from support.loops import loop
from tailguard.data.rows.base import RecordBlock
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.units import Units

EDGES = (0.5, 1.0, 2.0, 4.0)
OF = pytest.mark.parametrize("of", ["norm", "entries", "differences"])


def counts(of, X, grid=1.0):
    units = Units(np.full(3, 0.5), np.full(3, 0.5), intercept=False)
    return loop(CountMagnitudes(units, EDGES, of), grid=grid).sum_block(RecordBlock(X))


@OF
@pytest.mark.parametrize("known", [1, 99])
@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_units_of_other_columns_are_refused_before_anything_is_booked(of, known, kind):
    query = CountMagnitudes(Units.raw(known, intercept=False), (1.0,), of)
    stage = Stage.of(kind(0.1), "counts", "magnitudes", 1, 2)
    guarantee = tg.GDP(0.1) if kind is Gaussian else tg.PureDP(0.1)
    gate = Gate.over(np.zeros((400, 100)), guarantee=guarantee, random_state=0)
    gate.reserve(stage.event, coordinates=10)
    with pytest.raises(tg.InputError, match="units must be those of all 100 columns"):
        gate.ask(query, None, stage)
    assert not gate.books.releases


@OF
def test_the_loop_repeats_no_scale(of):
    query = CountMagnitudes(Units.raw(1, intercept=False), (1.0,), of)
    with pytest.raises(tg.InputError, match="center must have one entry per feature"):
        query.sum_block(RecordBlock(np.zeros((4, 3))), None, 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@OF
def test_counts_are_those_of_numpy(of, dtype):
    X = np.random.default_rng(0).standard_t(2, (3_001, 3)).astype(dtype)  # the last has no partner
    standard = (X.astype(np.float64) - 0.5) * 2.0
    if of == "differences":
        standard = standard[:-1:2] - standard[1::2]
    magnitudes = np.linalg.norm(standard, axis=1) if of == "norm" else np.abs(standard).ravel()
    cells = pairwise([0.0, *EDGES, np.inf])
    expected = [((magnitudes > low) & (magnitudes <= high)).sum() for low, high in cells]
    found = counts(of, X, grid=1 / 7)
    np.testing.assert_array_equal(found, 7 * np.array(expected))


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324])
def test_extreme_records_are_counted(value):
    assert counts("entries", np.full((1, 3), value)).sum() == 3
    assert counts("norm", np.full((1, 3), value)).sum() == 1


@pytest.mark.parametrize("edges", [(), (0.0, 1.0), (-1.0,), (1.0, 1.0), (2.0, 1.0)])
def test_edges_that_bound_no_cells_are_refused(edges):
    with pytest.raises(tg.InputError, match="edges must be positive and increasing"):
        CountMagnitudes(Units.raw(2, intercept=False), edges)


def test_magnitudes_of_anything_else_are_refused():
    with pytest.raises(tg.InputError, match="of must be"):
        CountMagnitudes(Units.raw(2, intercept=False), EDGES, "pairs")
