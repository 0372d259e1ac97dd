import numpy as np
from numpy.testing import assert_array_equal

from tailguard.losses.link import Link
from tailguard.losses.residual import ResidualLoss


def test_every_finite_target_is_valid():
    targets = [0.0, -1e308, 1e308, np.nan, np.inf, -np.inf]
    assert_array_equal(ResidualLoss().valid_target(targets), [True] * 3 + [False] * 3)


def test_score_is_the_prediction():
    assert_array_equal(ResidualLoss().mean([1, -2]), [1.0, -2.0])
    assert ResidualLoss.link is Link.IDENTITY
