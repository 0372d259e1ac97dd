"""What every peeling mechanism keeps: its price, its two distributions, and exact integers."""

import dataclasses
import math

import numpy as np
import pytest

from support.sources import QuietSource
from support.statistics import assert_only_its_own_scale, enough_to_tell, goodness_of_fit
from tailguard.checks import InputError
from tailguard.losses import Squared
from tailguard.noise.mechanisms import PEELING_MECHANISMS
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE
from tailguard.privacy.books.releases import Release
from tailguard.privacy.calibration import Calibration, Sensitivity
from tailguard.privacy.flat_events import flatten
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units

FALSE_ALARM = 1e-6
N_CHOICES = 32_000


@pytest.fixture(params=sorted(PEELING_MECHANISMS))
def mechanism(request):
    return PEELING_MECHANISMS[request.param]


def calibrated(mechanism, *, size=6, share=1.0, n_selected=2, n_free=0, reach=1e6):
    sensitivity = Sensitivity("linf", 1.0, 1.0, size, 1024.0, reach)
    return mechanism.calibrate(sensitivity, share, n_selected=n_selected, n_free=n_free)


def first_is_chosen(name, gap):
    """Chance that the first of two magnitudes is chosen that leads by ``gap`` scales."""
    if name == "peeled-gaussian":
        return 1.0 / (1.0 + math.exp(-gap))
    # The difference of two Laplace variables exceeds gap with half exp(-gap) (1 + gap / 2).
    return 1.0 - math.exp(-gap) * (1.0 + gap / 2.0) / 2.0


def test_one_value_is_chosen_and_no_other_one_noised_unless_more_are_asked_for(mechanism):
    found = mechanism.calibrate(Sensitivity("linf", 1.0, 1.0, 6, 1024.0, 1e6), 1.0)
    assert (found.n_selected, found.n_free) == (1, 0)


@pytest.mark.parametrize("share", [1e-3, 0.7, 30.0])
@pytest.mark.parametrize(("n_selected", "n_free"), [(2, 0), (3, 1), (0, 6)])
def test_the_event_is_what_the_books_recompute_and_costs_the_share(
    mechanism, share, n_selected, n_free
):
    calibration = calibrated(mechanism, share=share, n_selected=n_selected, n_free=n_free)
    assert share * (1.0 - 1e-6) < calibration.share <= share
    line = Release(
        "step",
        "PeeledStep",
        mechanism.name,
        calibration.norm,
        calibration.charged,
        calibration.noise_std,
        parameters=calibration.parameters(),
    )
    booked, stated = flatten(line.event()), flatten(mechanism.event(calibration))
    assert booked.covers(stated)
    assert stated.covers(booked)


@pytest.mark.long
def test_choices_have_their_distribution_and_wrong_scales_are_rejected(mechanism):
    calibration = calibrated(mechanism, size=2, n_selected=1)
    gap = 1.5
    lattice = np.array([0, -round(gap * calibration.lattice_scale)])
    source = SimulationSource(11)
    chosen = [
        int(np.flatnonzero(mechanism.release(lattice, calibration, source))[0])
        for _ in range(N_CHOICES)
    ]
    counts = np.bincount(chosen, minlength=2)
    right = first_is_chosen(mechanism.name, gap)
    for ratio, accepted in ((0.9, False), (1.0, True), (1.1, False)):
        wrong = first_is_chosen(mechanism.name, gap / ratio)
        verdict = goodness_of_fit(
            counts,
            [1.0 - wrong, wrong],
            false_alarm=FALSE_ALARM,
            alternative=[1.0 - right, right],
        )
        assert verdict.accepted is accepted
        assert verdict.power >= 0.999 or ratio == 1.0


def test_values_have_their_noise_and_wrong_scales_are_rejected(mechanism):
    law = mechanism.name.removeprefix("peeled-")
    size = enough_to_tell(law, FALSE_ALARM)
    # Three of the first twenty entries stand out and are chosen; the others are free.
    calibration = calibrated(mechanism, size=size + 20, share=100.0, n_selected=3, n_free=size)
    lattice = np.zeros(size + 20, dtype=np.int64)
    lattice[[2, 7, 11]] = 10**4 * round(calibration.lattice_scale)
    released = mechanism.release(lattice, calibration, SimulationSource(41))
    places = np.r_[2, 7, 11, 20 : size + 20]
    np.testing.assert_array_equal(np.flatnonzero(released), places)
    noise = (released - lattice)[places]
    assert_only_its_own_scale(law, noise, calibration.lattice_scale, FALSE_ALARM)


def test_choices_and_values_have_noise_of_their_own(mechanism):
    calibration = calibrated(mechanism, size=2, n_selected=1)
    source = SimulationSource(12)
    draws = [
        mechanism.release(np.zeros(2, dtype=np.int64), calibration, source) for _ in range(4_000)
    ]
    values = np.array([draw[np.flatnonzero(draw)[0]] for draw in draws])
    # The noise that won the choice would be large and positive.
    assert abs(np.mean(values > 0) - 0.5) < 5 * 0.5 / math.sqrt(values.size)


def test_a_quiet_source_keeps_the_largest_and_the_free_as_they_are(mechanism):
    lattice = np.array([5, -(2**40), 7, 2**50, -9, 3])
    before = lattice.copy()
    released = mechanism.release(lattice, calibrated(mechanism, n_free=1), QuietSource())
    assert released.dtype == np.int64
    assert released.tolist() == [0, -(2**40), 0, 2**50, 0, 3]
    assert calibrated(mechanism, n_free=1).size == 6
    assert (lattice == before).all()


def test_the_distance_from_what_is_accounted_for_is_negligible(mechanism):
    distance = mechanism.distance(calibrated(mechanism, size=10**4, n_selected=10))
    assert distance.within(COORDINATE_DISTANCE.times(10))


def test_other_norms_and_more_values_than_there_are_are_refused(mechanism):
    sensitivity = calibrated(mechanism).sensitivity
    with pytest.raises(InputError, match="norm"):
        mechanism.calibrate(dataclasses.replace(sensitivity, norm="l2"), 1.0)
    with pytest.raises(InputError, match="n_selected"):
        mechanism.calibrate(sensitivity, 1.0, n_selected=6, n_free=1)


def test_a_calibration_of_another_kind_is_refused(mechanism):
    """One of noise alone, under the name of a peeling."""
    known = calibrated(mechanism)
    plain = Calibration(
        **{field.name: getattr(known, field.name) for field in dataclasses.fields(Calibration)}
    )
    with pytest.raises(InputError, match="calibration must be a PeelingCalibration"):
        mechanism.release(np.zeros(6, dtype=np.int64), plain, QuietSource())


def test_where_nothing_is_chosen_the_free_entries_are_released(mechanism):
    known = calibrated(mechanism, n_selected=0, n_free=2)
    lattice = np.array([900, -800, 700, 600, -50, 40])
    assert mechanism.release(lattice, known, QuietSource()).tolist() == [0, 0, 0, 0, -50, 40]


def test_each_entry_is_charged_the_rounding_of_one_number(mechanism):
    """Half a step of the lattice on either side, and what divisions round."""
    known = calibrated(mechanism)
    rounding = (known.charged - known.sensitivity.computed) / known.grid
    assert rounding == pytest.approx(1.0 + 2.0**-8, rel=1e-6)


def test_a_step_that_keeps_all_entries_chooses_none():
    for n_nonzero, counts in ((2, (2, 0)), (3, (0, 3)), (4, (0, 3))):
        units = Units.raw(3, intercept=False)
        step = PeeledStep(Squared(), units, threshold=4.0, step_size=0.5, n_nonzero=n_nonzero)
        assert (step.n_selected, step.n_free) == counts
