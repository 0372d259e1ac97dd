"""Curvatures and centres that losses have at a typical record."""

import pytest

import tailguard as tg
from tailguard.solvers.limits import centre_fraction, typical_curvature


@pytest.mark.parametrize(
    ("loss", "curvature"),
    [
        (tg.losses.Squared(), 1.0),
        (tg.losses.LpLoss(4), 12.0),  # E 12 r^2
        (tg.losses.Logistic(), 0.2066),  # E p (1 - p) at a standard normal score
        (tg.losses.Poisson(), 1.0),
        (tg.losses.Quantile(0.9, width=1e-3), 0.1755),  # normal density at its 0.9-quantile
    ],
)
def test_typical_curvature_is_the_mean_second_derivative(loss, curvature):
    assert typical_curvature(loss) == pytest.approx(curvature, rel=5e-3)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
def test_quantile_losses_are_centred_at_their_quantile(level):
    assert centre_fraction(tg.losses.Quantile(level)) == pytest.approx(level)
