"""The noise of the coordinate-wise means is the one that the books state; false alarms at 1e-6."""

import numpy as np
import pytest

import tailguard as tg
from support.sources import QuietSource
from support.stages import once, pure
from support.statistics import gaussian_scale_test, laplace_scale_test
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.clamped import ClampedMean
from tailguard.means.soft import SoftMean
from tailguard.means.truncated import TruncatedMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian, Laplace, Repeated
from tailguard.queries.units import Units

WIDE = Units.raw(40, intercept=False)
WIDE_QUERIES = {
    "clamped": ClampedMean(None, WIDE, threshold=1.0, n_groups=6),
    "truncated": TruncatedMean(None, WIDE, threshold=1.0, n_groups=7),
    "soft": SoftMean(None, WIDE, scale=1.0),
}


@pytest.mark.parametrize("name", WIDE_QUERIES)
def test_the_noise_is_the_one_that_the_books_state(name):
    query, n_runs = WIDE_QUERIES[name], 240
    X = np.random.default_rng(3).standard_t(2, size=(100, 40))
    for event, stage, scale_test, unit in (
        (Gaussian(1.0), once(1.0), gaussian_scale_test, 1.0),
        (Laplace(1.0), pure(1.0), laplace_scale_test, 2.0**0.5),
    ):
        noised, quiet = (
            Gate(make_rows(X), guarantee=tg.GDP(1e3), source=source)
            for source in (SimulationSource(5), QuietSource())
        )
        for gate in (noised, quiet):
            gate.reserve(Repeated(event, n_runs), coordinates=100 * n_runs)
        exact = quiet.ask(query, np.zeros(40), stage)
        draws = np.array([noised.ask(query, np.zeros(40), stage) for _ in range(n_runs)]) - exact
        (release,) = noised.certificate().releases
        verdict = scale_test(draws, release.noise_std / unit, false_alarm=1e-6)
        assert verdict.accepted
        assert verdict.power >= 0.999
