"""Bisection finds quantiles in any unit, and its steps are fixed."""

import numpy as np
import pytest

from tailguard.solvers.bisection import (
    SIGNED_OCTAVE_STEPS,
    UNSIGNED_OCTAVE_STEPS,
    bisect_quantiles,
)


def counter(data, log=None):
    def counts_below(thresholds):
        if log is not None:
            log.append(thresholds)
        return (data <= thresholds).sum(axis=0)

    return counts_below


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e6, 1e300])
def test_medians_are_found_in_every_unit(scale):
    data = np.random.default_rng(0).standard_normal((2001, 4)) * scale + 3 * scale
    found = bisect_quantiles(counter(data), np.full(4, 1000.5), steps=60, signed=True)
    np.testing.assert_allclose(found, np.median(data, axis=0), rtol=1e-6)


def test_octave_steps_leave_a_factor_of_two():
    data = np.abs(np.random.default_rng(1).standard_cauchy((999, 3))) * [1e-9, 1.0, 1e9]
    median = np.median(data, axis=0)
    rough = bisect_quantiles(
        counter(data), np.full(3, 499.5), steps=UNSIGNED_OCTAVE_STEPS, signed=False
    )
    assert ((median <= rough) & (rough <= 2 * median)).all()
    signed = bisect_quantiles(
        counter(-data), np.full(3, 499.5), steps=SIGNED_OCTAVE_STEPS, signed=True
    )
    assert ((-median <= signed) & (signed <= -median / 2)).all()


def test_the_number_of_releases_does_not_depend_on_the_data():
    for data in (np.zeros((50, 1)), np.full((50, 1), 1e308), np.full((50, 1), np.nan)):
        log = []
        bisect_quantiles(counter(data, log), np.array([25.0]), steps=17, signed=True)
        assert len(log) == 17
