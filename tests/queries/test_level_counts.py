"""Counts of levels: what is counted, how far a record moves them, and their noise."""

import numpy as np

import tailguard as tg
from support.stages import once
from support.statistics import gaussian_scale_test
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian, Repeated
from tailguard.queries.level_counts import LevelCounts

INDICATORS = ((0, 2), (3,))


def counted(features):
    features = np.asarray(features, dtype=np.float64)
    rows = make_rows(features, np.zeros(len(features)))
    query = LevelCounts(INDICATORS)
    calibration = query.calibrate(len(features), features.shape[1], 1.0)
    counts = query.answer(rows, None, calibration) * calibration.grid
    assert (counts == counts.round()).all()
    return counts.astype(int)


def test_each_record_counts_once_a_column_by_its_first_level():
    rows = [[0, 9, 0, 0], [1, 9, 0, 1], [0, 9, 1, 1], [1, 9, 1, 0], [0, 9, -3, -0.0]]
    assert counted(rows).tolist() == [1, 2, 2, 3, 2]


def test_a_void_record_is_counted_nowhere():
    assert counted([[1, np.nan, 0, 1], [0, 0, 0, 0]]).tolist() == [1, 0, 0, 1, 0]


def test_no_replacement_moves_more_than_one_count_down_and_one_up_a_column():
    rng = np.random.default_rng(0)
    hostile = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, 1e308, np.nan, np.inf])
    base = rng.choice(hostile[:3], (50, 4))
    before, query = counted(base), LevelCounts(INDICATORS)
    largest = 0.0
    for _ in range(2000):
        changed = base.copy()
        changed[rng.integers(50)] = rng.choice(hostile, 4)
        moved = (counted(changed) - before).astype(float)
        for part in query.by_column(moved):
            assert np.abs(part).sum() <= 2.0
        largest = max(largest, float(np.linalg.norm(moved)))
    assert largest == query.sensitivity(50, 4).ideal


def test_noise_has_the_scale_that_the_sensitivity_asks_for():
    mu, n_runs, query = 0.5, 1_000, LevelCounts(INDICATORS)
    rows = make_rows(np.tile([[1.0, 0.0, 0.0, 1.0]], (40, 1)), np.zeros(40))
    gate = Gate(rows, guarantee=tg.GDP(mu * np.sqrt(n_runs) * 1.001), source=SimulationSource(1))
    gate.reserve(Repeated(Gaussian(mu), n_runs), coordinates=10**6)
    drawn = np.array([gate.ask(query, None, once(mu)) for _ in range(n_runs)])
    noise = np.ravel(drawn - [0.0, 40.0, 0.0, 0.0, 40.0])
    std = np.sqrt(2.0 * len(INDICATORS)) / mu
    verdict = gaussian_scale_test(noise, std, false_alarm=1e-6)
    assert verdict.accepted
    assert verdict.power >= 0.99
    for wrong in (0.9, 1.1):
        assert not gaussian_scale_test(noise * wrong, std, false_alarm=1e-6).accepted
