"""Counts of levels: what is counted, how far a record moves them, and their noise."""

import numpy as np

from tailguard.data.rows.arrays import make_rows
from tailguard.queries.level_tables import LevelCounts

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
