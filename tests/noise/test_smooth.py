"""Noise on a smooth scale: exact normal numbers, the right width, and nothing about the scale."""

from decimal import Decimal, getcontext, localcontext

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from support.sources import QuietSource, ScriptedSource
from support.statistics import gaussian_scale_test, goodness_of_fit
from tailguard.checks import InputError
from tailguard.noise.mechanisms import SMOOTH_MECHANISMS
from tailguard.noise.smooth import (
    DIGITS,
    NORMAL_VARIATION,
    WORDS,
    SmoothAnswer,
    _pi,
    _sine,
    exact_normals,
)
from tailguard.noise.sources import SimulationSource, make_source
from tailguard.privacy.calibration import SmoothCalibration
from tailguard.privacy.decimals import decimals

N_DRAWS = 4_000
DRAWS = np.array([float(number) for number in exact_normals(N_DRAWS, SimulationSource(5))])
FALSE_ALARM = 1e-6


def test_sine_and_pi_are_right_to_a_hundred_digits():
    with mpmath.workdps(130), decimals(DIGITS):
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


SHIFT = 0.4


def public(name, size=3, **changes):
    facts = {"smoothness": 0.1, "shift": SHIFT, "calibration": "tight", "value_limit": 4.0}
    delta = 1e-6 if name == "smooth-gaussian" else None
    facts = {**facts, "scale_ceiling": 8.0, "delta": delta, **changes}
    return SmoothCalibration(name, size, **facts)


@pytest.fixture(params=sorted(SMOOTH_MECHANISMS))
def mechanism(request):
    return SMOOTH_MECHANISMS[request.param]


def released(mechanism, value, scale, size=3, source=None, **changes):
    calibration = public(mechanism.name, size, **changes)
    answer = SmoothAnswer(
        np.broadcast_to(np.asarray(value, float), size), np.broadcast_to(float(scale), size)
    )
    steps = mechanism.release(answer, calibration, source or SimulationSource(3))
    assert steps.dtype == np.int64
    return steps * calibration.grid


def noise(name, scale, size=N_DRAWS):
    """Noise in units of the scale over the shift, per draw."""
    draws = released(SMOOTH_MECHANISMS[name], 1.5, scale, size=size)
    return (draws - 1.5) / (scale / SHIFT)


def test_gaussian_noise_has_the_width_of_its_scale_and_no_other():
    draws = noise("smooth-gaussian", 0.3)
    for ratio, accepted in ((0.9, False), (1.0, True), (1.1, False)):
        verdict = gaussian_scale_test(ratio * draws, 1.0, false_alarm=FALSE_ALARM)
        assert verdict.accepted is accepted
        assert verdict.power >= 0.999


@pytest.mark.long
def test_arsinh_normal_noise_has_the_width_of_its_scale_and_no_other():
    # Cells of |Z|, equally likely under the right law; those of a wrong law are exact.
    edges = np.sinh(norm.isf(np.linspace(0.5, 0.0, 11)[1:-1]))
    cells = np.array([0.0, *edges, np.inf])
    draws = np.abs(noise("arsinh-normal", 0.3, size=13_000))
    for ratio, accepted in ((0.9, False), (1.0, True), (1.1, False)):
        counts = np.histogram(ratio * draws, bins=[0.0, *edges, 1e300])[0]
        wrong = min(
            (2 * np.diff(norm.cdf(np.arcsinh(cells / other))) for other in (0.9, 1.1)),
            key=lambda likely: np.abs(likely - 0.1).sum(),
        )
        verdict = goodness_of_fit(
            counts, np.full(10, 0.1), false_alarm=FALSE_ALARM, alternative=wrong
        )
        assert verdict.accepted is accepted
        assert verdict.power >= 0.999


def test_noise_is_proportional_to_the_scale(mechanism):
    unit = noise(mechanism.name, 0.5, size=50)
    for scale in (1e-6, 8.0):
        rounding = public(mechanism.name).grid * SHIFT * (1 / scale + 1 / 0.5)
        assert np.abs(noise(mechanism.name, scale, size=50) - unit).max() <= rounding


def test_scales_are_kept_within_public_limits(mechanism):
    floor = public(mechanism.name).scale_floor
    for scale, kept in ((0.0, floor), (-1.0, floor), (np.nan, 8.0), (np.inf, 8.0), (9.0, 8.0)):
        np.testing.assert_array_equal(
            released(mechanism, 1.0, scale), released(mechanism, 1.0, kept)
        )


def test_answers_are_kept_within_public_limits(mechanism):
    for value, kept in ((np.inf, 4.0), (-1e300, -4.0), (np.nan, 0.0)):
        np.testing.assert_array_equal(
            released(mechanism, value, 0.1), released(mechanism, kept, 0.1)
        )


def test_a_quiet_source_gives_the_answer_on_the_public_lattice(mechanism):
    grid = public(mechanism.name).grid
    for scale in (1e-9, 1.0, 8.0):
        quiet = released(mechanism, [0.1, -4.0, 4.0], scale, source=QuietSource())
        assert np.abs(quiet - [0.1, -4.0, 4.0]).max() <= grid / 2


def test_the_lattice_is_public_and_finer_than_any_noise(mechanism):
    calibration = public(mechanism.name)
    assert calibration.grid <= calibration.scale_floor / 32
    assert calibration.scale_floor == 2.0**-31 * 4.0
    narrow, wide = (
        set(released(mechanism, 0.0, s, size=200) / calibration.grid) for s in (1e-7, 1)
    )
    for steps in (narrow, wide):
        assert np.gcd.reduce([int(step) for step in steps]) == 1


def test_releases_beyond_the_last_step_are_clipped(mechanism):
    wide = {"shift": 2.0**-24, "scale_ceiling": 1e300}
    steps = released(mechanism, 0.0, 1e300, **wide) / public(mechanism.name, **wide).grid
    np.testing.assert_array_equal(np.abs(steps), 2.0**61)


def test_releases_are_fresh_and_simulations_repeat(mechanism):
    fresh = {released(mechanism, 0.0, 1.0, source=make_source(None)).tobytes() for _ in range(10)}
    assert len(fresh) == 10
    first, second = (released(mechanism, 0.0, 1.0) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_foreign_calibrations_and_shapes_are_refused_without_a_word_about_values(mechanism):
    (other,) = set(SMOOTH_MECHANISMS) - {mechanism.name}
    answer = SmoothAnswer(np.full(3, 123.456), np.full(3, 123.456))
    assert "123" not in repr(answer)
    with pytest.raises(InputError, match="mechanism"):
        mechanism.release(answer, public(other), QuietSource())
    with pytest.raises(InputError, match="mechanism"):
        mechanism.event(public(other))
    with pytest.raises(InputError, match="vectors of 2 coordinates") as refused:
        mechanism.release(answer, public(mechanism.name, 2), QuietSource())
    assert "123" not in str(refused.value)


def test_what_it_costs_and_how_exact_it_is(mechanism):
    calibration = public(mechanism.name)
    assert mechanism.event(calibration) == calibration.event
    assert mechanism.distance(calibration).log_ratio == 0.0
    assert 0.0 < mechanism.distance(calibration).variation < 1e-34


def test_a_calibration_without_room_for_noise_is_refused(mechanism):
    for shift in (0.0, -1.0, 2.0**-25, np.nan):
        with pytest.raises(InputError, match="cover the noise in addition"):
            public(mechanism.name, shift=shift)


def test_a_range_that_floats_cannot_tell_apart_is_refused(mechanism):
    with pytest.raises(InputError, match="range of answers must be wider"):
        public(mechanism.name, scale_ceiling=1e-10)
