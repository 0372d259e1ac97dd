"""The Gaussian mechanism against an auditor that knows the worst pair of neighbours."""

import math

import numpy as np
import pytest

from support.audits import gdp_audit
from tailguard.noise.discrete_gaussian import coordinate_distance
from tailguard.noise.mechanisms import GaussianMechanism, LaplaceMechanism
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.distance import EXACT
from tailguard.privacy.calibration import Sensitivity

# Runs per side that catch 1.3 times too little noise with 99.9 % at this false alarm.
FALSE_ALARM, N_RUNS = 1e-6, 4500
CLIPPED_SUM = Sensitivity("l2", 2.0, 2.0 + 1e-9, 3, largest_partial=1024, largest_total=1e4)


class UnderNoised(GaussianMechanism):
    """A mutant that adds 1.3 times too little noise."""

    def release(self, lattice, calibration, source):
        noised = super().release(lattice, calibration, source)
        return lattice + np.rint((noised - lattice) / 1.3).astype(np.int64)


@pytest.mark.parametrize(
    ("mechanism", "accepted"), [(GaussianMechanism(), True), (UnderNoised(), False)]
)
def test_gdp_audit_accepts_the_mechanism_and_catches_the_mutant(mechanism, accepted):
    calibration = mechanism.calibrate(CLIPPED_SUM, 1.0)
    # The whole charged sensitivity along one diagonal: the worst pair for a clipped sum.
    step = math.floor(calibration.charged / calibration.grid / math.sqrt(3))
    source = SimulationSource(31)

    def scores(lattice):
        released = [mechanism.release(lattice, calibration, source) for _ in range(N_RUNS)]
        return np.sum(released, axis=1) / math.sqrt(3) / calibration.lattice_scale

    verdict = gdp_audit(
        scores(np.zeros(3, dtype=np.int64)),
        scores(np.full(3, step)),
        threshold=0.65,
        claimed_mu=calibration.share,
        true_mu=1.3,
        false_alarm=FALSE_ALARM,
    )
    assert verdict.power > 0.999
    assert verdict.accepted == accepted
    assert verdict.statistic > 0.8  # the pair is close to the worst


@pytest.mark.parametrize(("mu", "levels"), [(1.0, 5), (600.0, 4)])
def test_the_distance_counts_coordinates_and_levels(mu, levels):
    calibration = GaussianMechanism().calibrate(CLIPPED_SUM, mu)
    assert GaussianMechanism().distance(calibration) == coordinate_distance(levels).times(3)
    assert GaussianMechanism().distance(calibration).variation == 3 * levels * 5e-27


def test_laplace_is_exact():
    statistic = Sensitivity("l1", 1.0, 1.0, 4, largest_partial=1024, largest_total=1e4)
    calibration = LaplaceMechanism().calibrate(statistic, 1.0)
    assert LaplaceMechanism().distance(calibration) == EXACT
