import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from tailguard.checks import InputError
from tailguard.losses import Quantile


def pinball(residual, level):
    return (1 - level) * residual if residual > 0 else -level * residual


def test_value_is_the_pinball_loss_averaged_over_the_window():
    level, width = 0.8, 0.5
    for residual in (-2.0, -0.5, -0.3, 0.0, 0.2, 0.5, 3.0):
        ends = (residual - width, residual + width)
        total, _ = quad(pinball, *ends, args=(level,), points=[0.0] if min(ends) < 0 else None)
        found = Quantile(level, width).value(residual, 0.0)
        assert_allclose(found, total / (2 * width), atol=1e-9)


def test_outside_the_window_nothing_changes():
    assert_allclose(Quantile(0.3, 0.1).value([-4.0, 5.0], 0.0), [1.2, 3.5])
    assert_allclose(Quantile(0.3, 0.1).slope([-4.0, 5.0], 0.0), [-0.3, 0.7])


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_smoothing_moves_a_gaussian_quantile_by_little(level):
    targets = norm.ppf((np.arange(20000) + 0.5) / 20000)
    truth = norm.ppf(level)
    loss = Quantile(level)
    assert loss.slope(truth - 0.01, targets).mean() < 0 < loss.slope(truth + 0.01, targets).mean()


def test_bounds():
    loss = Quantile(level=0.9, width=0.25)
    assert loss.slope_bound() == 0.9
    assert loss.curvature_bound() == 2.0
    assert loss.clipped_curvature_bound(clip_norm=1.0, row_bound=3.0) == 18.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"level": 0.0}, "level must be a number strictly between 0 and 1"),
        ({"level": 1}, "level must be a number strictly between 0 and 1"),
        ({"width": 1e-300}, r"width must be a number from 1e-100 to 1e\+100; got"),
        ({"width": 1e300}, r"width must be a number from 1e-100 to 1e\+100; got"),
        ({"width": 0.0}, r"width must be a number from 1e-100 to 1e\+100; got"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(InputError, match=message):
        Quantile(**parameters)
