"""Costs of noise on a smooth scale and of peeling on a grid, and what they refuse."""

import math

import pytest

from support.known import outcome
from tailguard.privacy.events import arsinh, peeling, smooth_gaussian
from tailguard.privacy.events.arsinh import ARSINH_BASIS
from tailguard.privacy.events.smooth_calibration import SmoothCalibration
from tailguard.privacy.events.smooth_gaussian_exact import exact_delta_of_smooth_gaussian

SIZES = (1e-4, 0.03, 0.7, 2.0, 2.0001, 9.0, 9.5, 40.0)
CALIBRATIONS = ("tight", "numerical", "published", "paper")
every_calibration = pytest.mark.parametrize("calibration", CALIBRATIONS)
BAD = (0.0, -1.0, math.nan, None, True)


@every_calibration
def test_arsinh(known, calibration):
    known(
        [
            [outcome(arsinh.arsinh_rho, x, 0.5, calibration) for x in SIZES],
            [outcome(arsinh.arsinh_rho, 0.5, x, calibration) for x in SIZES],
            [arsinh.arsinh_smoothness(x, s, calibration) for x in SIZES for s in (0.1, 0.6)],
            [arsinh.arsinh_shift(x, 0.2, calibration) for x in SIZES],
            [arsinh.arsinh_shift(0.3, x, calibration) for x in SIZES],
        ]
    )


@every_calibration
def test_events(known, calibration):
    public = {"smoothness": 0.02, "shift": 0.07, "calibration": calibration, "delta": 1e-5}
    calls = (arsinh.arsinh_event, smooth_gaussian.smooth_gaussian_event)
    known([call({**public, "coordinates": n}) for call in calls for n in (1, 3)], rel=1e-8)


@pytest.mark.parametrize("call", [arsinh.arsinh_event, smooth_gaussian.smooth_gaussian_event],
                         ids=["arsinh", "gaussian"])  # fmt: skip
def test_refused_events(known, call):
    public = {"smoothness": 0.02, "shift": 0.07, "calibration": "tight", "delta": 1e-5,
              "coordinates": 2}  # fmt: skip
    changes = [
        *({"calibration": bad} for bad in ("", None, "loose")),
        *({name: bad} for name in ("smoothness", "shift") for bad in BAD),
        *({"coordinates": bad} for bad in (0, -1, 1.5, None)),
        *({"delta": bad} for bad in (0.0, 1.0, None)),
    ]
    known([outcome(call, {**public, **change}) for change in changes], rel=1e-8)


def test_refusals(known):
    known(
        [
            *(outcome(arsinh.arsinh_rho, bad, 1.0) for bad in BAD),
            *(outcome(arsinh.arsinh_rho, 1.0, bad) for bad in BAD),
            *(outcome(arsinh.arsinh_smoothness, bad, 0.5) for bad in BAD),
            *(outcome(arsinh.arsinh_smoothness, 0.5, bad) for bad in (0.0, 1.0)),
            *(outcome(arsinh.arsinh_shift, bad, 0.5) for bad in BAD),
            *(outcome(smooth_gaussian.smooth_gaussian_constants, bad, 1e-5, 2) for bad in BAD),
            *(outcome(smooth_gaussian.smooth_gaussian_constants, 1.0, d, 2) for d in (0.0, 1.0)),
            outcome(smooth_gaussian.smooth_gaussian_constants, 1.0, 1e-5, 2, "loose"),
            outcome(smooth_gaussian.smooth_gaussian_constants, 20.1, 1e-5, 2, "numerical"),
            outcome(smooth_gaussian.smooth_gaussian_constants, 1.0, 1e-5, 1001, "numerical"),
            [*ARSINH_BASIS.items()],
        ]
    )


@pytest.mark.parametrize("size", [1, 2, 30, 1000, 1001])
@pytest.mark.parametrize("smoothness", [0.004, 0.05, 2.0, 2.01])
def test_deltas_of_smooth_gaussians(known, smoothness, size):
    """Far in the tails noncentral laws lose digits, and a bound near 1e-8 is one of its margins."""
    shifts, epsilons = (0.03, 0.4, 20.0, 20.1), (0.05, 1.0, 20.0, 20.1)
    known(
        [
            [f(smoothness, shift, size, e) for shift in shifts for e in epsilons]
            for f in (smooth_gaussian.delta_of_smooth_gaussian, exact_delta_of_smooth_gaussian)
        ],
        rel=1e-10,
    )


@every_calibration
def test_constants_of_smooth_gaussians(known, calibration):
    given = [(0.5, 1e-5, 1), (2.0, 1e-3, 40), (20.0, 1e-9, 2)]
    constants = smooth_gaussian.smooth_gaussian_constants
    known([constants(*each, calibration) for each in given], rel=1e-8)


@pytest.mark.parametrize("form", peeling.PEELINGS)
def test_peeling(known, form):
    counts = [(1, 0), (5, 0), (5, 2), (0, 3)]
    known(
        [
            [peeling.peeling_event(form, 0.3, *each) for each in counts],
            [peeling.share_factor(form, *each) for each in counts],
            [outcome(call, *given) for call, given in _wrong_peelings(form)],
        ]
    )


def _wrong_peelings(form):
    event, factor = peeling.peeling_event, peeling.share_factor
    return [
        *((event, (form, bad, 1)) for bad in BAD),
        *((event, (form, 1.0, bad)) for bad in (0, -1, 1.5)),
        *((event, (form, 1.0, 1, bad)) for bad in (-1, 1.5)),
        *((factor, (form, bad)) for bad in (0, -1, 1.5)),
        *((factor, (form, 1, bad)) for bad in (-1, 1.5)),
        *((event, ("gumbel", 1.0, 1)), (factor, ("gumbel", 1))),
    ]


@pytest.mark.parametrize("mechanism", ["arsinh-normal", "smooth-gaussian"])
def test_smooth_calibration(known, mechanism):
    made = [
        SmoothCalibration(mechanism, 3, smoothness, 0.1, "tight", limit, 2.0, 1e-6, {"n": 2})
        for smoothness, limit in ((0.01, 1.0), (1e-13, 3.0), (0.5, 2.0**32))
    ]
    known(
        [
            [each.norm, each.decay, each.scale_floor, each.grid, each.parameters(), each.charged,
             each.noise_std]
            for each in made
        ]
    )  # fmt: skip


def test_refused_smooth_calibrations(known):
    good = ("arsinh-normal", 1, 0.01, 0.1, "tight", 1.0, 2.0)
    wrong = [
        *((2, bad) for bad in BAD),
        *((3, bad) for bad in (0.0, -1.0, math.nextafter(2.0**-24, 0.0), math.nan)),
        (3, 2.0**-24),
        *((place, bad) for place in (5, 6) for bad in BAD),
        *((6, 2.0**-31), (6, math.nextafter(2.0**-31, 0.0))),
    ]
    changed = [(*good[:place], bad, *good[place + 1 :]) for place, bad in wrong]
    known([outcome(SmoothCalibration, *each) for each in changed])
