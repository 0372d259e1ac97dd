"""What every mechanism makes of a lattice vector under a seed, what it costs, what it refuses."""

import math
from dataclasses import replace

import numpy as np
import pytest

from support.known import outcome
from tailguard.noise.registry import (
    MECHANISMS,
    PEELING_MECHANISMS,
    SMOOTH_MECHANISMS,
    make_mechanism,
)
from tailguard.noise.smooth import SmoothAnswer
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events.calibration import Sensitivity
from tailguard.privacy.events.smooth_calibration import SmoothCalibration

NORMS = {"gaussian": "l2", "laplace": "l1", "peeled-gaussian": "linf", "peeled-laplace": "linf"}
FAR = 2**61
LATTICE = np.array([0, 5 * 10**9, -(10**12), FAR, -FAR, 2**62, -(2**62)])
COUNTS = [(1, 0), (3, 0), (2, 2), (0, 4), (7, 0)]


def moved(name, size=7):
    return Sensitivity(NORMS[name], 1.5, 2.0, size, largest_partial=9.0, largest_total=1e6)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("share", [0.01, 1.0, 30.0])
def test_mechanisms(known, name, share):
    mechanism = make_mechanism(name)
    calibration = mechanism.calibrate(moved(name), share)
    released = mechanism.release(LATTICE, calibration, SimulationSource(3))
    known([mechanism.name, calibration, calibration.norm, calibration.size, calibration.noise_std,
           calibration.parameters(), mechanism.event(calibration),
           mechanism.distance(calibration)])  # fmt: skip
    assert np.abs(released).max() <= FAR
    assert released[[3, 5]].tolist() == [min(FAR, x) for x in released[[3, 5]].tolist()]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_of_mechanisms(known, name, seed):
    mechanism = make_mechanism(name)
    calibration = mechanism.calibrate(moved(name), 1.0)
    known(mechanism.release(LATTICE, calibration, SimulationSource(seed)))


@pytest.mark.parametrize("name", PEELING_MECHANISMS)
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_peelings(known, name, counts):
    mechanism = make_mechanism(name)
    n_selected, n_free = counts
    calibration = mechanism.calibrate(moved(name), 2.0, n_selected=n_selected, n_free=n_free)
    known([calibration, calibration.ratio, calibration.noise_std, calibration.parameters(),
           mechanism.event(calibration), mechanism.distance(calibration),
           [mechanism.release(LATTICE, calibration, SimulationSource(seed))
            for seed in (1, 2, 3)]])  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH_MECHANISMS)
def test_smooth_mechanisms(known, name):
    mechanism = make_mechanism(name)
    calibration = SmoothCalibration(name, 3, 0.01, 0.1, "tight", 4.0, 2.0, delta=1e-6)
    answers = [
        ([0.5, -1.0, 4.0], [0.1, 1e-12, 2.0]),
        ([9.0, -9.0, math.nan], [5.0, -1.0, math.nan]),
        ([math.inf, -math.inf, 0.0], [math.inf, -math.inf, 0.0]),
    ]
    released = [
        mechanism.release(SmoothAnswer(*map(np.array, each)), calibration, SimulationSource(seed))
        for each in answers
        for seed in (1, 2)
    ]
    coarse = replace(calibration, value_limit=2.0**30, scale_ceiling=2.0**30, shift=2.0**-24)
    far = SmoothAnswer(np.full(3, 2.0**30), np.full(3, 2.0**30))
    known([mechanism.name, mechanism.event(calibration), mechanism.distance(calibration), released,
           mechanism.release(far, coarse, SimulationSource(1))])  # fmt: skip


@pytest.mark.parametrize("name", [*MECHANISMS, *PEELING_MECHANISMS])
def test_refusals(known, name):
    mechanism = make_mechanism(name)
    peels = {"n_selected": 2} if name in PEELING_MECHANISMS else {}
    calibration = mechanism.calibrate(moved(name), 1.0, **peels)
    wrong = [LATTICE.astype(float), LATTICE[:6], LATTICE.reshape(7, 1), LATTICE.astype(np.int32)]
    others = [replace(calibration, mechanism=other) for other in (*NORMS, "rdp") if other != name]
    source = SimulationSource(1)
    found = [
        *(outcome(mechanism.release, each, calibration, source) for each in wrong),
        *(outcome(mechanism.release, LATTICE, each, source) for each in others),
        *(outcome(mechanism.event, each) for each in others),
        *(outcome(mechanism.calibrate, moved(name), bad, **peels) for bad in (0.0, -1.0, None)),
        *(outcome(mechanism.calibrate, replace(moved(name), norm=norm), 1.0, **peels)
          for norm in ("l1", "l2", "linf") if norm != NORMS[name]),
    ]  # fmt: skip
    if name in PEELING_MECHANISMS:
        plain = make_mechanism("gaussian").calibrate(moved("gaussian"), 1.0)
        plain = replace(plain, mechanism=name)
        counts = [(-1, 0), (8, 0), (7, 1), (0, 8), (0, -1), (0, 0), (1.5, 0), (1, None)]
        found += [
            *(outcome(call, plain) for call in (mechanism.event, mechanism.distance)),
            *(outcome(mechanism.calibrate, moved(name), 1.0, n_selected=a, n_free=b)
              for a, b in counts),
        ]  # fmt: skip
    known(found)


@pytest.mark.parametrize("name", SMOOTH_MECHANISMS)
def test_smooth_refusals(known, name):
    mechanism = make_mechanism(name)
    calibration = SmoothCalibration(name, 2, 0.01, 0.1, "tight", 4.0, 2.0, delta=1e-6)
    other = replace(calibration, mechanism="gaussian")
    answer = SmoothAnswer(np.zeros(2), np.ones(2))
    wrong = [SmoothAnswer(np.zeros(a), np.ones(b)) for a, b in ((1, 1), (2, 1), (1, 2), (3, 3))]
    source = SimulationSource(1)
    known(
        [
            *(outcome(mechanism.release, each, calibration, source) for each in wrong),
            outcome(mechanism.release, answer, other, source),
            outcome(mechanism.event, other),
            repr(answer),
        ]
    )


def test_names(known):
    known([outcome(make_mechanism, name) for name in ("cauchy", None)])
    known_names = (*MECHANISMS, *PEELING_MECHANISMS, *SMOOTH_MECHANISMS)
    assert [make_mechanism(name).name for name in known_names] == [*known_names]
