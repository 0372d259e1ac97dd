"""The printed scales of Wang and others (2020): as printed, of no finite cost, behind one door."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.stages import smooth
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import CryptographicSource, SimulationSource
from tailguard.papers.printed.queries import (
    PrintedTrimmedMean,
    printed_smooth_scale,
)
from tailguard.privacy.books import MemoryBooks
from tailguard.privacy.events import Approximate, Gaussian, Unbounded, ZeroConcentrated
from tailguard.queries.sample_aggregate import ball_radii, central_scale
from tailguard.queries.units import Units

ONE = Units.raw(1, intercept=False)
FAR = np.zeros((100, 1))
FAR[7] = 1e6


TRIMMED = PrintedTrimmedMean(None, ONE, -1.0, 1.0, n_trimmed=20)
EVENT, CONCENTRATED = Approximate(8.0, 1e-2), ZeroConcentrated(0.8)


def over(X, guarantee, source=None, ledger=None):
    source = source or SimulationSource(0)
    return Gate(make_rows(X), guarantee=guarantee, source=source, ledger=ledger)


def test_the_door_is_for_simulations_without_a_ledger():
    public = TRIMMED.calibrate_event(100, 1, CONCENTRATED)
    secret = over(FAR, tg.ZCDP(0.8), CryptographicSource())
    ledger = MemoryBooks()
    charged = over(FAR, tg.ZCDP(0.8), CryptographicSource(), ledger)
    for refused in (secret, charged):
        with pytest.raises(tg.BudgetError, match="random_state must be given, and no ledger"):
            refused.reserve(public.event, unprotected=True)
        with pytest.raises(tg.QueryError, match=r"query must be one of tailguard\.queries"):
            refused.ask(TRIMMED, np.zeros(1), smooth(CONCENTRATED))
        assert refused.certificate().mode == "private"
    assert ledger.reserved.events == ledger.releases == ()


def test_printed_queries_pass_through_the_open_door_alone():
    """A reservation within the guarantee opens nothing, whatever was asked for."""
    gate = over(FAR, tg.ZCDP(0.8))
    gate.reserve(Gaussian(0.1), unprotected=True)
    with pytest.raises(tg.QueryError, match="query must be one of"):
        gate.ask(TRIMMED, np.zeros(1), smooth(CONCENTRATED))
    assert gate.certificate().mode == "simulation: NOT PRIVATE"
    with pytest.raises(tg.BudgetError, match="the plan must cost at most"):
        gate.reserve(Unbounded())


def test_what_an_open_door_releases_is_booked_and_covered():
    gate = over(FAR, tg.ZCDP(0.8))
    gate.reserve(Unbounded(), unprotected=True)
    gate.ask(TRIMMED, np.zeros(1), smooth(CONCENTRATED))
    (release,) = gate.books.releases
    assert release.parameters["calibration"] == "printed"
    with pytest.raises(tg.BudgetError, match="must be covered by the reserved budget"):
        gate.ask(TRIMMED, np.zeros(1), smooth(CONCENTRATED))
    with pytest.raises(tg.QueryError, match="state must"):
        gate.ask(TRIMMED, object(), smooth(CONCENTRATED))


def test_the_printed_scale_jumps_where_the_smooth_one_may_not():
    together, apart = np.zeros((400, 1)), np.zeros((400, 1))
    apart[:20] = 1.0  # as many as a record may be in
    pair = [ball_radii(points) for points in (together, apart)]
    printed = [printed_smooth_scale(radii, 1.0, 1.0, overlap=20) for radii in pair]
    assert printed == pytest.approx([2.0 * math.exp(-9.0), 2.0])
    assert printed[1] / printed[0] == pytest.approx(8103, rel=1e-4)
    proved = [central_scale(radii, 1.0, 1.0, overlap=20) for radii in pair]
    assert abs(math.log(proved[1] / proved[0])) <= 1.0
