"""Averages of the descent loop."""

import pytest

from tailguard.solvers.descent import Schedule, averaging_weights


@pytest.mark.parametrize("iterate", ["last", "average", "tail"])
def test_averaging_weights_sum_to_one(iterate):
    for n_steps in (1, 2, 7, 100):
        weights = averaging_weights(Schedule(n_steps, 0.1, iterate))
        assert weights.sum() == pytest.approx(1.0)
        assert weights[-1] > 0
