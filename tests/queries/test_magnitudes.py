"""Units of other columns than those that are counted are refused: NumPy would repeat a scale."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.data.rows.base import RecordBlock
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.privacy.events import Gaussian, Laplace
from tailguard.queries.kernels.norms import MagnitudeCount
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.units import Units

OF = pytest.mark.parametrize("of", ["norm", "entries", "differences"])


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
def test_the_kernel_repeats_no_scale(of):
    kernel = MagnitudeCount(
        center=np.zeros(1), inverse_scale=np.ones(1), edges=np.ones(1), of=of, multiplier=1
    )
    with pytest.raises(ValueError, match="a scale is needed for every column"):
        kernel.sum_block(RecordBlock(np.zeros((4, 3))))


@pytest.mark.parametrize("edges", [(), (0.0, 1.0), (-1.0,), (1.0, 1.0), (2.0, 1.0)])
def test_edges_that_bound_no_cells_are_refused(edges):
    with pytest.raises(tg.InputError, match="edges must be positive and increasing"):
        CountMagnitudes(Units.raw(2, intercept=False), edges)
