"""The samplers of whole numbers at 1e8 draws, against their exact laws.

A scale that is off by a thousandth, and a last digit that leans by one part in five hundred, are
rejected: a bias of a sampler that small draws cannot show.
"""

import itertools

import mpmath
import numpy as np
import pytest

from support.statistics import goodness_of_fit
from tailguard.noise.discrete_gaussian import BASE_STD, discrete_gaussian, lattice_std
from tailguard.noise.discrete_laplace import discrete_laplace
from tailguard.noise.sources import SimulationSource

pytestmark = pytest.mark.audit

N_DRAWS, RUNS = 10**8, 100
# Cells end here, in scales; a whole number on an end lies in the upper cell.
ENDS = np.concatenate(
    [np.linspace(-4.5, -3.0, 4), np.linspace(-2.8, 2.8, 29), [3.0, 3.5, 4.0, 4.5]]
)
OFF, LEANING = 1.001, 0.002
LAST = 64  # residues of the last six binary digits


def normal_below(end, std):
    """Share of a rounded normal below a whole number; the discrete one is within 1e-11 of it."""
    return mpmath.ncdf((mpmath.mpf(int(end)) - 0.5) / std)


def one_level_below(end, std):
    """Share of the discrete Gaussian below a whole number, by summing its weights."""
    weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mpmath.mpf(std) ** 2)) for k in ONE_LEVEL]
    return mpmath.fsum(weights[: int(end) - ONE_LEVEL[0]]) / mpmath.fsum(weights)


ONE_LEVEL = range(-700, 701)  # beyond lie 1e-26 of it


def laplace_below(end, scale):
    """Share of the discrete Laplace distribution below a whole number."""
    ratio = mpmath.exp(-1 / mpmath.mpf(scale))
    if end <= 0:
        return ratio ** (1 - int(end)) / (1 + ratio)
    return 1 - ratio ** int(end) / (1 + ratio)


LAWS = {
    "gaussian, one level": (lambda n, s: discrete_gaussian(n, 1, s), one_level_below, BASE_STD),
    "gaussian, three levels": (
        lambda n, s: discrete_gaussian(n, 3, s), normal_below, lattice_std(3),
    ),
    "gaussian, five levels": (
        lambda n, s: discrete_gaussian(n, 5, s), normal_below, lattice_std(5),
    ),
    "laplace, 2**4": (lambda n, s: discrete_laplace(n, 4, s), laplace_below, 2.0**4),
    "laplace, 2**26": (lambda n, s: discrete_laplace(n, 26, s), laplace_below, 2.0**26),
}  # fmt: skip


def shares(below, ends, scale):
    """Return the share of each cell."""
    reached = [mpmath.mpf(0), *(below(end, scale) for end in ends), mpmath.mpf(1)]
    return np.array([float(high - low) for low, high in itertools.pairwise(reached)])


@pytest.mark.parametrize("name", LAWS)
def test_a_hundred_million_draws_have_the_exact_law_and_no_other(name):
    draw, below, scale = LAWS[name]
    ends = np.unique(np.ceil(ENDS * scale)).astype(np.int64)
    source = SimulationSource(20)
    counts, last = np.zeros(ends.size + 1, np.int64), np.zeros(LAST, np.int64)
    for _ in range(RUNS):
        drawn = draw(N_DRAWS // RUNS, source)
        counts += np.bincount(np.searchsorted(ends, drawn, side="right"), minlength=counts.size)
        last += np.bincount(drawn % LAST, minlength=LAST)
    right, wrong = shares(below, ends, scale), shares(below, ends, OFF * scale)
    verdict = goodness_of_fit(counts, right, false_alarm=1e-6, alternative=wrong)
    assert verdict.accepted
    assert verdict.power > 0.95
    if scale > 1e4:  # digits of a narrow law are not uniform
        even = np.full(LAST, 1.0 / LAST)
        leaning = even * (1.0 + LEANING * (-1.0) ** np.arange(LAST))
        digits = goodness_of_fit(last, even, false_alarm=1e-6, alternative=leaning)
        assert digits.accepted
        assert digits.power > 0.95
