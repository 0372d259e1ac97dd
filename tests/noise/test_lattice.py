import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailguard.checks import InputError
from tailguard.noise.discrete_gaussian import coordinate_distance
from tailguard.noise.lattice import LARGEST_PARTIAL, LARGEST_TOTAL, _fits, lattice_calibration
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE
from tailguard.privacy.calibration import (
    LARGEST_RECORDS_SHARE,
    LARGEST_SHARE,
    SMALLEST_SHARE,
    Sensitivity,
)

CHUNK_ROWS = 1024
MECHANISMS = {"l2": "gaussian", "l1": "laplace"}


def clipped_sum(norm="l2", *, ideal=2.0, size=3, n_rows=10_000, slack=1e-9):
    """A sum of vectors clipped at ``ideal / 2``, added in chunks of floats."""
    return Sensitivity(
        norm,
        ideal=ideal,
        computed=ideal * (1 + slack),
        size=size,
        largest_partial=CHUNK_ROWS * ideal / 2,
        largest_total=n_rows * ideal / 2,
    )


def count(norm="l2", *, size=1, n_rows=10_000, ideal=1.0):
    return Sensitivity(norm, ideal, ideal, size, CHUNK_ROWS, n_rows, integer=True)


def squared_scale(calibration):
    """The square of the noise parameter in lattice steps, exactly."""
    if calibration.mechanism == "gaussian":
        return 64**2 * sum(32 ** (2 * level) for level in range(calibration.levels))
    return Fraction(calibration.lattice_scale) ** 2


@st.composite
def requests(draw):
    """A norm, a clipped sum and a share that some lattice can serve."""
    norm = draw(st.sampled_from(["l1", "l2"]))
    share = 10 ** draw(st.floats(-2, 1.5))
    sensitivity = clipped_sum(
        norm,
        ideal=10 ** draw(st.floats(-200, 200)),
        size=draw(st.integers(1, 2000)),
        n_rows=draw(st.integers(1, 10**9)),
        slack=draw(st.floats(0, 1e-3)),
    )
    return sensitivity, share


@given(requests())
def test_share_covers_the_charge_and_stays_within_the_request(request):
    sensitivity, share = request
    calibration = lattice_calibration(MECHANISMS[sensitivity.norm], sensitivity, share)
    grid, size = Fraction(calibration.grid), sensitivity.size
    # The exact charge and shares, squared, so that no root is rounded.
    root = size if sensitivity.norm == "l2" else size**2
    rounding = Fraction(calibration.charged) - Fraction(sensitivity.computed)
    assert rounding**2 >= (grid * (1 + Fraction(1, 256))) ** 2 * root
    spent = Fraction(calibration.charged) ** 2 / (grid**2 * squared_scale(calibration))
    assert (Fraction(share) * (1 - Fraction(1, 10**11))) ** 2 <= spent <= Fraction(share) ** 2
    assert calibration.share <= share
    assert spent <= (Fraction(calibration.share) * (1 + Fraction(1, 2**51))) ** 2
    # And the noise is not larger than the charge calls for.
    assert calibration.charged <= 2 * sensitivity.computed


@given(
    norm=st.sampled_from(["l1", "l2"]),
    size=st.integers(1, 10_000),
    share=st.floats(1e-2, 30),
    n_rows=st.integers(1, 10**9),
)
def test_integer_statistics_are_exact_on_a_whole_multiplier(norm, size, share, n_rows):
    ideal = math.sqrt(size) if norm == "l2" else float(size)
    calibration = lattice_calibration(
        MECHANISMS[norm], count(norm, size=size, n_rows=n_rows, ideal=ideal), share
    )
    multiplier = round(1 / calibration.grid)
    assert calibration.grid == 1 / multiplier
    assert calibration.charged == ideal
    spent = (Fraction(ideal) * multiplier) ** 2 / squared_scale(calibration)
    assert spent <= Fraction(share) ** 2
    one_more = (Fraction(ideal) * (multiplier + 1)) ** 2 / squared_scale(calibration)
    assert one_more > (Fraction(share) * (1 - Fraction(1, 2**39))) ** 2
    assert calibration.share <= share
    # Sums of integers come back exactly from the kernel's rounding.
    sums = np.arange(1025.0)
    assert (np.rint(sums / calibration.grid) == sums * multiplier).all()


def steps(partial, grid):
    """What a kernel does with a chunk's sum."""
    return int(np.rint(np.float64(partial) / grid))


@given(
    steps_first=st.integers(-(2**44) + 2, 2**44 - 2),
    move=st.integers(-(2**20), 2**20),
    halves=st.tuples(st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.5])),
    nudges=st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
    grid=st.floats(1e-9, 1e3),
)
def test_rounding_moves_a_coordinate_by_at_most_its_charge(steps_first, move, halves, nudges, grid):
    sums = []
    for start, half, nudge in zip((steps_first, steps_first + move), halves, nudges, strict=True):
        value = min(max(start, -(2**44) + 2), 2**44 - 2) + half
        partial = value * grid
        sums.append(partial + nudge * math.ulp(partial))
    first, second = sums
    moved = abs(steps(first, grid) - steps(second, grid))
    distance = abs(Fraction(first) - Fraction(second)) / Fraction(grid)
    assert moved <= distance + 1 + Fraction(1, 256)


def test_the_rounding_charge_is_nearly_attained():
    grid = 0.1
    above, below = 0.5000001 * grid, -0.5000001 * grid
    assert steps(above, grid) - steps(below, grid) == 2
    assert (above - below) / grid < 1.000001


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_adversarial_chunk_sums_stay_within_the_charge(norm):
    generator = np.random.default_rng(3)
    order = {"l1": 1, "l2": 2}[norm]
    calibration = lattice_calibration(MECHANISMS[norm], clipped_sum(norm, size=50), 0.5)
    grid = calibration.grid
    largest = 0.0
    for _ in range(300):
        direction = generator.choice([-1.0, 1.0], size=50)
        # Each chunk sum lies just beyond a tie, on the side that rounds away from the other one.
        ties = (generator.integers(-(2**30), 2**30, size=50) + 0.5) * grid
        first = ties + direction * 1e-4 * grid
        step = direction * np.floor(2.0 / (50 if norm == "l1" else math.sqrt(50)) / grid - 1) * grid
        second = ties - step - direction * 1e-4 * grid
        assert np.linalg.norm(first - second, order) <= 2.0
        moved = np.linalg.norm(np.rint(first / grid) - np.rint(second / grid), order)
        largest = max(largest, moved * grid)
        assert moved <= calibration.charged / grid
    # Without the charge for rounding the pair would be a breach.
    ideal_direction = np.full(50, 2.0 / (50 if norm == "l1" else math.sqrt(50)))
    steps_apart = np.floor(ideal_direction / grid)
    tie = (0.5 - (ideal_direction / grid - steps_apart) / 2) * grid
    first, second = tie + ideal_direction, tie
    moved = np.linalg.norm(np.rint(first / grid) - np.rint(second / grid), order)
    assert largest <= calibration.charged
    assert calibration.sensitivity.computed < moved * grid <= calibration.charged


@pytest.mark.parametrize(("n_rows", "levels"), [(10**10, 5), (10**11, 4), (10**12, 4)])
def test_levels_drop_for_statistics_too_large(n_rows, levels):
    calibration = lattice_calibration("gaussian", clipped_sum(n_rows=n_rows), 1.0)
    assert calibration.levels == levels
    assert calibration.sensitivity.largest_total <= LARGEST_TOTAL * calibration.grid
    assert calibration.share == pytest.approx(1.0)


@pytest.mark.parametrize(("mu", "levels"), [(500.0, 5), (600.0, 4), (1.6e4, 4)])
def test_levels_drop_for_partial_sums_too_large(mu, levels):
    calibration = lattice_calibration("gaussian", clipped_sum(n_rows=2000), mu)
    assert calibration.levels == levels
    assert calibration.sensitivity.largest_partial <= LARGEST_PARTIAL * calibration.grid


@pytest.mark.parametrize(("n_rows", "scale"), [(10**10, 2**26), (10**11, 2**21), (10**13, 2**16)])
def test_the_laplace_lattice_coarsens_alike(n_rows, scale):
    calibration = lattice_calibration("laplace", clipped_sum("l1", n_rows=n_rows), 1.0)
    assert calibration.lattice_scale == scale
    assert calibration.levels == 0


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("statistic", [clipped_sum, count])
def test_statistics_beyond_every_lattice_name_n_rows(norm, statistic):
    with pytest.raises(InputError, match="n_rows"):
        lattice_calibration(MECHANISMS[norm], statistic(norm, n_rows=10**15), 1.0)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("statistic", [clipped_sum, count])
def test_shares_below_the_lattice_are_refused(norm, statistic):
    with pytest.raises(InputError, match="share"):
        lattice_calibration(MECHANISMS[norm], statistic(norm, size=100), 1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"norm": "l1"},
        {"ideal": 0.0},
        {"ideal": math.nan},
        {"computed": math.inf},
        {"computed": 1.9},
        {"largest_total": math.nan},
        {"largest_partial": math.inf},
    ],
)
def test_meaningless_sensitivities_are_refused(change):
    with pytest.raises(InputError):
        lattice_calibration("gaussian", dataclasses.replace(clipped_sum(), **change), 1.0)


@pytest.mark.parametrize("share", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_meaningless_shares_are_refused(share):
    with pytest.raises(InputError, match="mu"):
        lattice_calibration("gaussian", clipped_sum(), share)
    with pytest.raises(InputError, match="epsilon"):
        lattice_calibration("laplace", clipped_sum("l1"), share)


@pytest.mark.parametrize("levels", [4, 5])
def test_plans_charge_at_least_the_samplers_distance_per_coordinate(levels):
    assert coordinate_distance(levels).within(COORDINATE_DISTANCE)


@pytest.mark.parametrize("size", [1, 7, 861, 13_120, 10**6])
@pytest.mark.parametrize("integer", [False, True])
def test_the_smallest_planned_share_has_a_lattice(size, integer):
    """Plans refuse less; what they let through must never be refused at the gate."""
    moved = math.sqrt(2.0 * size) if integer else 1.0
    statistic = Sensitivity("l2", moved, moved, size, moved, moved, integer)
    assert lattice_calibration("gaussian", statistic, SMALLEST_SHARE * math.sqrt(size)).share > 0


@pytest.mark.parametrize("n_rows", [1, 10**6, 2**27, 10**12])
def test_the_largest_planned_share_has_a_lattice_and_a_hundredfold_one_has_none(n_rows):
    """Chunks of no more records than there are; slack of their sums as tests of queries have it."""
    largest = min(LARGEST_SHARE, LARGEST_RECORDS_SHARE / n_rows)
    chunk = min(n_rows, CHUNK_ROWS)
    statistic = Sensitivity("l2", 2.0, 2.0 * (1.0 + 1e-9), 1, float(chunk), float(n_rows))
    assert lattice_calibration("gaussian", statistic, largest).share <= largest
    with pytest.raises(InputError):
        lattice_calibration("gaussian", statistic, 1e4 * largest)


@pytest.mark.parametrize("grid", [1.0, 2.0**-40, 3.0])
@pytest.mark.parametrize(
    ("name", "largest"), [("largest_partial", LARGEST_PARTIAL), ("largest_total", LARGEST_TOTAL)]
)
def test_a_statistic_fits_up_to_the_largest_integer_and_no_farther(name, largest, grid):
    small = Sensitivity("l2", 2.0, 2.5, 1, largest_partial=grid, largest_total=grid)
    for size in (math.nextafter(largest * grid, 0.0), largest * grid):
        assert _fits(dataclasses.replace(small, **{name: size}), grid)
    beyond = math.nextafter(largest * grid, math.inf)
    assert not _fits(dataclasses.replace(small, **{name: beyond}), grid)


def test_whoever_changes_a_calibration_changes_no_other():
    stated = Sensitivity("l2", 2.0, 2.0, size=3, largest_partial=1e3, largest_total=1e6)
    first = lattice_calibration("gaussian", stated, 1.0)
    grid = first.grid
    vars(first)["grid"] = 0.0
    assert lattice_calibration("gaussian", stated, 1.0).grid == grid
