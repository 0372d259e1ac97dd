"""Power tails: moments of exactly one, means of zero, and tails of the stated index."""

import numpy as np
import pytest
from scipy import integrate, stats

from tailguard.checks import InputError
from tailguard.papers.instances.heavy_laws import MARGIN, ParetoLaw, StudentLaw


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
def test_the_students_moment_is_one(order):
    """Against quadrature in the logarithm of t, where the heavy tail falls exponentially."""
    law = StudentLaw(order)
    moment, _ = integrate.quad(
        lambda u: 2.0 * np.exp(u * (order + 1.0) + stats.t.logpdf(np.exp(u), law.index)), -40, 100,
        points=[0.0, 10.0], limit=500,
    )  # fmt: skip
    # Beyond exp(100) the density is a power, and the rest of the integral one of exp(-MARGIN u).
    end = 2.0 * np.exp(100.0 * (order + 1.0) + stats.t.logpdf(np.exp(100.0), law.index))
    moment += end / MARGIN
    assert moment * law.scale**order == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
def test_the_paretos_central_moment_is_one(order):
    law = ParetoLaw(order)
    index, mean = law.index, law.index / (law.index - 1.0)
    moment, _ = integrate.quad(
        lambda u: abs(np.exp(u) - mean) ** order * index * np.exp(-index * u), 0.0, 200.0,
        points=[np.log(mean), 5.0], limit=500,
    )  # fmt: skip
    left = index * np.exp(-MARGIN * 200.0) / MARGIN  # beyond, the mean does not count
    assert (moment + left) * law.scale**order == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("law", [StudentLaw(3.0), ParetoLaw(3.0)])
def test_samples_follow_the_law(law):
    rows = law.sample(200_000, 2, seed=1)
    assert np.abs(rows.mean(axis=0)).max() < 0.02
    far = np.quantile(rows, [0.99, 0.9999])
    assert np.log(100.0) / np.log(far[1] / far[0]) == pytest.approx(law.index, rel=0.2)
    assert (rows == law.sample(200_000, 2, seed=1)).all()


def test_sizes_are_checked():
    with pytest.raises(InputError, match="n_features"):
        StudentLaw(2.0).sample(10, 0)
    with pytest.raises(InputError, match="moment_order"):
        ParetoLaw(1.0).sample(10, 1)
