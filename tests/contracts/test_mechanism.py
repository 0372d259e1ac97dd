"""What every mechanism of the registry keeps, whatever its distribution."""

import dataclasses
import math

import numpy as np
import pytest

from support.sources import QuietSource
from support.statistics import assert_only_its_own_scale, enough_to_tell
from tailguard.checks import InputError
from tailguard.noise.mechanisms import MECHANISMS, PEELING_MECHANISMS
from tailguard.noise.sources import SimulationSource, make_source
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE, Distance
from tailguard.privacy.calibration import PEELINGS, Sensitivity
from tailguard.privacy.events import Event

FALSE_ALARM = 1e-6
ALL_MECHANISMS = MECHANISMS | PEELING_MECHANISMS
NORMS = {"gaussian": "l2", "laplace": "l1"}


@pytest.fixture(params=sorted(MECHANISMS))
def mechanism(request):
    return MECHANISMS[request.param]


@pytest.fixture(params=sorted(ALL_MECHANISMS))
def any_mechanism(request):
    """A mechanism that peels chooses two values."""
    return ALL_MECHANISMS[request.param]


def calibrated(mechanism, *, size=3, share=0.7, integer=False):
    chosen = {"n_selected": 2} if mechanism.name in PEELING_MECHANISMS else {}
    norm = NORMS.get(mechanism.name, "linf")
    sensitivity = Sensitivity(norm, 1.0, 1.0, size, 1024.0, 1e6, integer)
    return mechanism.calibrate(sensitivity, share, **chosen)


def test_names_agree(any_mechanism):
    assert ALL_MECHANISMS[any_mechanism.name] is any_mechanism
    assert calibrated(any_mechanism).mechanism == any_mechanism.name
    assert set(PEELING_MECHANISMS) == set(PEELINGS)


@pytest.mark.parametrize("integer", [False, True])
def test_the_event_holds_the_share(mechanism, integer):
    calibration = calibrated(mechanism, integer=integer)
    event = mechanism.event(calibration)
    assert isinstance(event, Event)
    assert event.to_dict()["kind"] == mechanism.name
    assert calibration.share in dataclasses.astuple(event)
    assert 0.7 * (1 - 1e-6) < calibration.share <= 0.7


def test_scale_is_right_and_wrong_scales_are_rejected(mechanism):
    size = enough_to_tell(mechanism.name, FALSE_ALARM)
    calibration = calibrated(mechanism, size=size, share=50.0)
    lattice = np.arange(size) * 10**9
    noise = mechanism.release(lattice, calibration, SimulationSource(41)) - lattice
    assert_only_its_own_scale(mechanism.name, noise, calibration.lattice_scale, FALSE_ALARM)


def test_coordinates_are_independent_of_each_other_and_of_the_answer(mechanism):
    calibration = calibrated(mechanism, size=2000, share=5.0)
    lattice = np.zeros(2000, dtype=np.int64)
    noise = mechanism.release(lattice, calibration, SimulationSource(42))
    shifted = mechanism.release(lattice + 12345, calibration, SimulationSource(42))
    assert (shifted - noise == 12345).all()
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 5 / math.sqrt(2000)
    assert np.unique(noise).size > 1990


def test_releases_are_fresh_and_simulations_repeat(any_mechanism):
    calibration = calibrated(any_mechanism)
    lattice = np.zeros(3, dtype=np.int64)
    source = make_source(None)
    draws = [any_mechanism.release(lattice, calibration, source) for _ in range(20)]
    assert len({draw.tobytes() for draw in draws}) == 20
    first, second = (
        [any_mechanism.release(lattice, calibration, seeded).tolist() for _ in range(2)]
        for seeded in (SimulationSource(1), SimulationSource(1))
    )
    assert first == second
    assert first[0] != first[1]


def test_a_quiet_source_returns_the_lattice_and_leaves_it_alone(any_mechanism):
    lattice = np.array([-(2**60), 0, 2**60])
    released = any_mechanism.release(lattice, calibrated(any_mechanism), QuietSource())
    assert released.dtype == np.int64
    assert released.tolist() == lattice.tolist()
    released[:] = 0
    assert lattice[0] == -(2**60)


def test_extreme_lattices_saturate_without_wrapping(any_mechanism):
    extremes = np.iinfo(np.int64)
    lattice = np.array([extremes.min, 5, extremes.max])
    released = any_mechanism.release(lattice, calibrated(any_mechanism), make_source(None))
    assert released[0] < -(2**60)
    assert released[2] > 2**60
    assert abs(released[1]) < 2**40


def test_the_distance_from_what_is_accounted_for_is_negligible(any_mechanism):
    distance = any_mechanism.distance(calibrated(any_mechanism, size=10**4))
    assert distance.within(COORDINATE_DISTANCE.times(10**4))
    assert distance.within(Distance(1e-7, 1e-21))


def test_foreign_calibrations_and_shapes_are_refused(any_mechanism):
    calibration = calibrated(any_mechanism)
    lattice = np.zeros(3, dtype=np.int64)
    other = next(name for name in ALL_MECHANISMS if name != any_mechanism.name)
    foreign = dataclasses.replace(calibration, mechanism=other)
    with pytest.raises(InputError, match="mechanism"):
        any_mechanism.release(lattice, foreign, QuietSource())
    with pytest.raises(InputError, match="mechanism"):
        any_mechanism.event(foreign)
    for wrong in (lattice[:2], lattice.astype(np.float64), lattice.reshape(1, 3)):
        with pytest.raises(InputError, match="lattice"):
            any_mechanism.release(wrong, calibration, QuietSource())
