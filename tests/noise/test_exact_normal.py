"""Normal numbers in decimal arithmetic: exact functions, the right law, whatever the context."""

from decimal import Decimal, getcontext, localcontext

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from support.sources import QuietSource, ScriptedSource
from support.statistics import gaussian_scale_test, goodness_of_fit
from tailguard.noise.smooth import NORMAL_VARIATION, WORDS, _pi, _sine, exact_normals, precisely
from tailguard.noise.sources import SimulationSource

N_DRAWS = 4_000
DRAWS = np.array([float(number) for number in exact_normals(N_DRAWS, SimulationSource(5))])
FALSE_ALARM = 1e-6


def test_sine_and_pi_are_right_to_a_hundred_digits():
    with mpmath.workdps(130), precisely():
        assert abs(_pi() - Decimal(str(mpmath.pi))) < Decimal("1e-118")
        for angle in ("3.2", "-1.5707963", "1e-30", "-0.25", "0"):
            assert abs(_sine(Decimal(angle)) - Decimal(str(mpmath.sin(angle)))) < Decimal("1e-115")


def test_one_number_is_the_polar_form_of_its_words():
    words = [3**40, 7, 2**63, 1, 0, 2**64 - 1, 2**61, 5, 6, 7, 8, 9]
    (drawn,) = exact_normals(1, ScriptedSource(words))
    with mpmath.workdps(140):
        first, second = (
            mpmath.mpf(sum(word << 64 * (5 - place) for place, word in enumerate(half)))
            for half in (words[:6], words[6:])
        )
        middle = sum(2**63 << 64 * place for place in range(6))
        radius = mpmath.sqrt(-2 * mpmath.log((first + 0.5) / 2**384))
        expected = radius * mpmath.sin(2 * mpmath.pi * (second - middle) / 2**384)
        assert abs(drawn - Decimal(str(expected))) < Decimal("1e-110")


def test_a_quiet_source_gives_exactly_nothing():
    assert exact_normals(3, QuietSource()) == [0, 0, 0]


@pytest.mark.parametrize("half", [[0] * 6, [2**64 - 1] * 6])
def test_the_ends_of_the_uniform_numbers_are_finite(half):
    (drawn,) = exact_normals(1, ScriptedSource(half + [2**62] * WORDS))
    assert drawn.is_finite()
    assert abs(drawn) < 24


def test_scale_is_right_and_wrong_scales_are_rejected():
    for ratio, accepted in ((0.9, False), (1.0, True), (1.1, False)):
        verdict = gaussian_scale_test(ratio * DRAWS, 1.0, false_alarm=FALSE_ALARM)
        assert verdict.accepted is accepted
        assert verdict.power >= 0.999


def test_shape_is_normal_and_heavier_tails_would_be_seen():
    edges = norm.ppf(np.linspace(0.0, 1.0, 21))
    counts = np.histogram(DRAWS, bins=[-100, *edges[1:-1], 100])[0]
    wider = np.diff(norm.cdf(edges / 1.2))
    verdict = goodness_of_fit(counts, np.full(20, 0.05), false_alarm=FALSE_ALARM, alternative=wider)
    assert verdict.accepted
    assert verdict.power >= 0.999


def test_numbers_are_independent_and_fresh():
    assert abs(np.corrcoef(DRAWS[:-1], DRAWS[1:])[0, 1]) < 5 / N_DRAWS**0.5
    source = SimulationSource(1)
    assert exact_normals(2, source) != exact_normals(2, source)
    assert NORMAL_VARIATION < 1e-35


def test_the_users_own_decimal_settings_neither_matter_nor_change():
    expected = exact_normals(2, SimulationSource(9))
    with localcontext() as context:
        context.prec = 3
        assert exact_normals(2, SimulationSource(9)) == expected
        assert getcontext().prec == 3
