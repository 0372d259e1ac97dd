"""What the samplers of Gaussian, Laplace and normal noise make of given words."""

from decimal import Decimal
from fractions import Fraction
from math import floor

import mpmath
import numpy as np
import pytest

from support.sources import QuietSource, ScriptedSource
from tailguard.noise import discrete_gaussian as gaussian
from tailguard.noise import discrete_laplace as laplace
from tailguard.noise import exact_normal
from tailguard.noise.bernoulli import binary_digits, settle_tie
from tailguard.noise.gaussian_table import LARGEST, gaussian_table
from tailguard.noise.sources import SimulationSource

LAST = 2**64 - 1


def source(seed=5):
    return SimulationSource(seed)


@pytest.mark.parametrize("levels", [1, 2, 3, 4, 5])
def test_gaussian(known, levels):
    draws = gaussian.discrete_gaussian(12, levels, source())
    extremes = gaussian.discrete_gaussian(
        2, levels, ScriptedSource([1] * levels + [LAST - 1] * levels + [0] * 2 * levels)
    )
    known([draws, extremes, gaussian.lattice_std(levels), gaussian.coordinate_distance(levels)],
          rel=1e-14)  # fmt: skip


@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("cell", [0, 3, 700, 704, 1100, 1407])
def test_gaussian_ties(known, levels, cell):
    table = gaussian_table()
    tie, further = int(table.upper[cell]), int(table.lower[cell])
    found = []
    for place in range(levels):
        for second in (0, further - 1, further, further + 1, LAST):
            first = [2**63] * levels
            first[place] = tie
            words = ScriptedSource([*first, max(second, 0)])
            found.append(gaussian.discrete_gaussian(1, levels, words))
    known(found)


def test_gaussian_table(known):
    table = gaussian_table()
    places = [*range(12), 200, LARGEST - 1, LARGEST, LARGEST + 1, 1200, *range(1397, 1409)]
    known(
        [
            *(len(table.upper), len(table.lower), len(table.first_cell)),
            *(table.upper[places], table.lower[places], table.first_cell[:: 2**8]),
            [sum(each.tolist()) for each in (table.upper, table.lower, table.first_cell)],
            [each.flags.writeable for each in (table.upper, table.lower, table.first_cell)],
        ]
    )


def test_gaussian_table_by_other_arithmetic():
    """Cumulative probabilities by 60 digits of another package."""
    table = gaussian_table()
    with mpmath.workdps(60):
        weights = [mpmath.exp(-mpmath.mpf(x * x) / 8192) for x in range(-LARGEST, LARGEST + 1)]
        total = mpmath.fsum(weights)
        for cell in (0, 500, 704, 903, 1407):
            digits = int(mpmath.floor(mpmath.fsum(weights[: cell + 1]) / total * 2**128))
            assert (int(table.upper[cell]), int(table.lower[cell])) == divmod(digits, 2**64)


@pytest.mark.parametrize("log2_scale", [0, 1, 4, 16, 26])
def test_laplace(known, log2_scale):
    size = laplace.discrete_laplace(0, log2_scale, source()).size
    known([laplace.discrete_laplace(12, log2_scale, source()), size])


@pytest.mark.parametrize("digit", range(7))
def test_laplace_ties_and_overflows(known, digit):
    thresholds = laplace._thresholds(1)
    found = []
    for step in (-1, 0, 1):
        for side in range(2):
            first = [LAST] * (2 * thresholds.size)
            first[side * thresholds.size + digit] = int(thresholds[digit]) + step
            words = ScriptedSource([*first, LAST, 0, LAST, 0, LAST])
            found.append(laplace.discrete_laplace(1, 1, words))
    known(found)


def test_laplace_thresholds(known):
    thresholds = [laplace._thresholds.__wrapped__(log2_scale) for log2_scale in (0, 1, 16, 26)]
    known([thresholds, [each.flags.writeable for each in thresholds]])


def test_laplace_saturates():
    words = [LAST] * 14
    words[6] = 0
    draw = laplace.discrete_laplace(1, 1, ScriptedSource([*words, 0, 0, 0, LAST]))
    assert draw == 4 * 2**6
    noise = np.array([2**62 - 1, 1 - 2**62])
    words = np.full((2, 2, 7), LAST, dtype=np.uint64)
    words[0, 0, 6] = words[1, 1, 6] = 0
    laplace._settle_digits(words, 1, noise, ScriptedSource([LAST, LAST]))
    np.testing.assert_array_equal(noise, [2**62, -(2**62)])


def test_batches_of_laplace_draws_are_cut_where_they_should_be():
    class Counting(QuietSource):
        def __init__(self):
            self.asked = []

        def words(self, count):
            self.asked.append(count)
            return super().words(count)

    words = Counting()
    laplace.discrete_laplace(2 * 2**12 + 1, 0, words)
    assert words.asked == [2**12 * 2 * 6] * 2 + [2 * 6]


PROBABILITIES = {
    "1/e": lambda: Decimal(-1).exp(),
    "third": lambda: Decimal(1) / 3,
    "tiny": lambda: Decimal(-32).exp(),
}


@pytest.mark.parametrize("name", PROBABILITIES)
def test_digits(known, name):
    counts = (1, 8, 64, 128, 192)
    found = [binary_digits(PROBABILITIES[name], count) for count in counts]
    known([str(each) for each in found])
    with mpmath.workdps(80):
        exact = {"third": mpmath.mpf(1) / 3, "1/e": mpmath.exp(-1), "tiny": mpmath.exp(-32)}
        assert found == [int(mpmath.floor(exact[name] * 2**count)) for count in counts]


def test_ties_of_coins():
    third = PROBABILITIES["third"]
    second, later = (floor(Fraction(2**count, 3)) % 2**64 for count in (128, 192))
    tosses = [[second - 1], [second + 1], [second, later - 1], [second, later + 1],
              [second, later, 0], [second, later, LAST]]  # fmt: skip
    for words, expected in zip(tosses, [True, False] * 3, strict=True):
        script = ScriptedSource(words)
        assert settle_tie(third, script) is expected
        assert script.exhausted


def test_normals(known):
    draws = exact_normal.exact_normals(4, source())
    ends = [exact_normal._normal(first, second) for first in (0, 1, 2**383, 2**384 - 1)
            for second in (0, 2**382, exact_normal.MIDDLE, 2**384 - 1)]  # fmt: skip
    known([str(each) for each in (*draws, *ends, exact_normal._pi())])


def test_normals_by_other_arithmetic():
    words = source(9).words(24)
    draws = exact_normal.exact_normals(2, source(9))
    with mpmath.workdps(130):
        for draw, each in zip(draws, words.reshape(2, 2, 6), strict=True):
            whole = [sum(int(w) << 64 * (5 - k) for k, w in enumerate(part)) for part in each]
            uniform = (whole[0] + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** 384
            angle = 2 * mpmath.pi * (whole[1] - exact_normal.MIDDLE) / mpmath.mpf(2) ** 384
            exact = mpmath.sqrt(-2 * mpmath.log(uniform)) * mpmath.sin(angle)
            assert abs(mpmath.mpf(str(draw)) / exact - 1) < mpmath.mpf(10) ** -113


@pytest.mark.parametrize(
    ("module", "name"), [(gaussian, "_compiled_draws"), (laplace, "_compiled_differences")]
)
def test_machine_code_takes_words_that_cannot_be_written(known, monkeypatch, module, name):
    monkeypatch.setattr(module, "compiled", lambda function, *given, **named: (given, named))
    (signature,), named = getattr(module, name).__wrapped__()
    known([[(str(each.dtype), each.mutable) for each in signature.args], named])
