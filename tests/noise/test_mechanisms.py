"""How far the mechanisms are from what is accounted for; the contract has what else they keep."""

import pytest

from tailguard.noise.discrete_gaussian import coordinate_distance
from tailguard.noise.lattice import LatticeMechanism
from tailguard.privacy.accounting.total_cost import EXACT
from tailguard.privacy.calibration import Sensitivity

CLIPPED_SUM = Sensitivity("l2", 2.0, 2.0 + 1e-9, 3, largest_partial=1024, largest_total=1e4)


@pytest.mark.parametrize(("mu", "levels"), [(1.0, 5), (600.0, 4)])
def test_the_distance_counts_coordinates_and_levels(mu, levels):
    calibration = LatticeMechanism("gaussian").calibrate(CLIPPED_SUM, mu)
    distance = LatticeMechanism("gaussian").distance(calibration)
    assert distance == coordinate_distance(levels).times(3)
    assert distance.variation == 3 * levels * 5e-27


def test_laplace_is_exact():
    statistic = Sensitivity("l1", 1.0, 1.0, 4, largest_partial=1024, largest_total=1e4)
    calibration = LatticeMechanism("laplace").calibrate(statistic, 1.0)
    assert LatticeMechanism("laplace").distance(calibration) == EXACT
