"""The search for a clip level finds quantiles in any unit, and its steps are fixed."""

import numpy as np
import pytest

from tailguard.solvers.noisy_gradient_descent import bisect


def counter(norms, log=None):
    def count_below(threshold):
        if log is not None:
            log.append(threshold)
        return float((norms <= threshold).sum())

    return count_below


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e6, 1e300])
def test_medians_are_found_in_every_unit(scale):
    norms = np.abs(np.random.default_rng(0).standard_normal(2001)) * scale
    found = bisect(counter(norms), 1000.5, steps=60)
    assert found == pytest.approx(np.median(norms), rel=1e-6)


def test_eleven_steps_leave_a_factor_of_two():
    for unit in (1e-9, 1.0, 1e9):
        norms = unit * np.abs(np.random.default_rng(1).standard_cauchy(999))
        median, rough = np.median(norms), bisect(counter(norms), 499.5, steps=11)
        assert median <= rough <= 2.0 * median


def test_the_number_of_releases_does_not_depend_on_the_data():
    for norms in (np.zeros(50), np.full(50, 1e308), np.full(50, np.nan)):
        log = []
        bisect(counter(norms, log), 25.0, steps=17)
        assert len(log) == 17
