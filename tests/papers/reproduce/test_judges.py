"""Decisions from made-up rows: each judge can say every outcome."""

import pytest

from tailguard.papers.reproduce.judges import (
    above,
    below,
    falls,
    falls_faster,
    saves,
    spreads_more,
)
from tailguard.papers.reproduce.results import Point, Results, Summary, compare, student_interval


def results(heights, spread=0.01, n_seeds=5, noise="tight"):
    """One curve a name; heights by place; every seed a little off, curves in different ways."""
    return Results(
        Point("panel", name, noise, float(x), height + spread * ((seed * (k + 2)) % 5 - 2), seed)
        for k, (name, places) in enumerate(heights.items())
        for x, height in enumerate(places, 1)
        for seed in range(n_seeds)
    )


@pytest.mark.parametrize(
    ("own", "outcome"),
    [
        ((1.0, 1.0), "holds"),
        ((3.0, 3.0), "does not hold"),
        ((1.0, 3.0), "does not hold"),
        ((2.0, 1.0), "not reached at this size"),
    ],
)
def test_below_looks_at_every_place(own, outcome):
    found = results({"new": own, "old": (2.0, 2.0)})
    assert below("new", "old")(found, "tight").outcome == outcome
    assert above("old", "new")(found, "tight").outcome == outcome


def test_a_factor_and_one_end():
    found = results({"new": (1.0, 3.0), "old": (2.0, 2.0)})
    assert below("new", "old", factor=2.0)(found, "tight").outcome == "holds"
    assert below("new", "old", at="last")(found, "tight").outcome == "does not hold"


@pytest.mark.parametrize(
    ("own", "outcome"),
    [((4.6, 4.8), "holds"), ((8.0, 4.8), "does not hold"), ((12.0, 12.0), "does not hold")],
)
def test_where_no_loss_is_near_zero_gains_over_an_answer_without_records_are_compared(own, outcome):
    """The old one gains 6 and 8 of 10, and half of it is enough."""
    found = results({"new": own, "old": (4.0, 2.0), "zero": (10.0, 10.0)})
    assert below("new", "old", factor=2.0, zero="zero")(found, "tight").outcome == outcome


@pytest.mark.parametrize(
    ("ratio", "factor", "shown"), [(1.3, 1.0, "1.3"), (1.002, 1.0, "1.002"), (1.12, 1.1, "1.12")]
)
def test_figures_have_digits_that_tell_them_from_the_factor(ratio, factor, shown):
    found = results({"new": (ratio,), "old": (1.0,)}, spread=0.0)
    assert below("new", "old", factor=factor)(found, "tight").figure.startswith(f"{shown} times")


def test_what_was_not_measured_is_not_run():
    found = results({"new": (1.0,), "old": (2.0,)}, noise="tight")
    assert below("new", "old")(found, "printed").outcome == "not run"


def test_a_curve_without_noises_is_compared_with_either():
    rows = [Point("panel", "old", "-", 1.0, 2.0 + seed, seed) for seed in range(3)]
    rows += [Point("panel", "new", "printed", 1.0, 1.0 + seed / 2, seed) for seed in range(3)]
    assert below("new", "old")(Results(rows), "printed").outcome == "holds"
    assert below("new", "old")(Results(rows), "tight").outcome == "not run"


@pytest.mark.parametrize(("rises", "outcome"), [(False, "holds"), (True, "does not hold")])
def test_falling_and_rising(rises, outcome):
    found = results({"new": (3.0, 5.0, 1.0)})
    assert falls("new", rises=rises)(found, "tight").outcome == outcome


@pytest.mark.parametrize(
    ("own", "bar", "outcome"),
    [
        ((1.0, 1.0), (1.5, 1.5), "not decidable"),  # the rival, at 2, loses everywhere
        ((3.0, 3.0), (1.5, 1.5), "not decidable"),
        ((1.0, 1.0), (1.5, 2.5), "holds"),
        ((1.0, 3.0), (1.5, 2.5), "does not hold"),
        ((1.0, 1.0), (2.5, 2.5), "holds"),
    ],
)
def test_a_rival_that_loses_to_what_needs_no_record_decides_nothing(own, bar, outcome):
    found = results({"new": own, "old": (2.0, 2.0), "zero": bar})
    decision = below("new", "old", bar="zero")(found, "tight")
    assert decision.outcome == outcome
    lost = sum(height < 2.0 for height in bar)
    assert decision.figure.endswith(f"; zero beat the rival at {lost} of 2") == (lost > 0)


def test_a_fall_between_answers_that_lose_to_what_needs_no_record_decides_nothing():
    for bar, outcome in ((9.0, "holds"), (0.5, "not decidable")):
        found = results({"new": (3.0, 1.0), "zero": (bar, bar)})
        assert falls("new", bar="zero")(found, "tight").outcome == outcome


@pytest.mark.parametrize(
    ("others", "outcome"),
    [
        ({"old": (4.0, 3.0), "older": (9.0, 8.0)}, "holds"),
        ({"old": (4.0, 3.0), "older": (9.0, 3.0)}, "does not hold"),
        ({"old": (4.0, 2.0)}, "not reached at this size"),
        ({"old": (4.0,)}, "not run"),
    ],
)
def test_falling_faster_is_by_the_factor_from_end_to_end(others, outcome):
    found = results({"new": (2.0, 1.0), **others})
    assert falls_faster("new", *others)(found, "tight").outcome == outcome


def test_one_seed_decides_nothing():
    found = results({"new": (1.0,), "old": (2.0,)}, n_seeds=1)
    assert below("new", "old")(found, "tight").outcome == "not reached at this size"


def test_to_be_above_at_one_of_many_places_takes_more():
    gaps = {seed: 1.0 + 0.3 * seed for seed in range(4)}
    found = compare(gaps, dict.fromkeys(gaps, 0.5))
    assert found.verdict() == "more"
    assert found.verdict(n_places=100) == "tied"
    assert compare({seed: -gap for seed, gap in gaps.items()}, gaps).verdict(100) == "less"


def test_factors_are_compared_where_numbers_allow_it():
    other = {seed: 10.0**seed for seed in range(4)}
    own = {seed: 2.0 * value for seed, value in other.items()}
    assert compare(own, other).verdict() == "more"  # the differences are 1 to 1000
    assert compare({**own, 0: -1.0}, other).verdict() == "tied"


@pytest.mark.parametrize(("at", "outcome"), [("first", "holds"), ("last", "does not hold")])
def test_ends_of_what_both_have(at, outcome):
    found = results({"new": (1.0, 3.0, 1.0), "old": (2.0, 2.0)})
    assert below("new", "old", at=at)(found, "tight").outcome == outcome
    assert below("new", "old", at="end")(found, "tight").outcome == "holds"


@pytest.mark.parametrize(
    ("wild", "calm", "outcome"),
    [(1.0, 0.1, "holds"), (0.1, 1.0, "does not hold"), (1.0, 1.0, "not reached at this size")],
)
def test_spread(wild, calm, outcome):
    rows = [
        Point("panel", name, "tight", 1.0, 5.0 + scale * (-1) ** seed, seed)
        for name, scale in (("new", wild), ("old", calm))
        for seed in range(10)
    ]
    assert spreads_more("new", "old")(Results(rows), "tight").outcome == outcome
    assert spreads_more("new", "old")(Results(rows), "printed").outcome == "not run"


@pytest.mark.parametrize(
    ("tight", "outcome"),
    [(1.0, "holds"), (3.0, "does not hold"), (2.0, "not reached at this size")],
)
def test_what_less_noise_saves(tight, outcome):
    rows = [
        Point("panel", name, noise, 1.0, height + 0.1 * (-1) ** (seed + (noise == "tight")), seed)
        for name, noise, height in (
            ("new", "tight", tight),
            ("new", "printed", 2.0),
            ("unprinted", "tight", 9.0),
        )
        for seed in range(4)
    ]
    found = saves("new", "unprinted")(Results(rows), "tight")
    assert found.outcome == outcome
    assert found.figure.endswith((" of 1", "above at 1"))
    assert saves("new")(Results(rows), "printed").outcome == "not run"


def test_only_shared_seeds_are_compared():
    assert compare({0: 1.0, 1: 1.0, 7: 99.0}, {0: 2.0, 1: 3.0}).verdict() == "tied"  # two seeds
    assert compare({0: 1.0, 1: 1.0, 7: 99.0}, {0: 2.0, 1: 2.01}).verdict() == "less"


@pytest.mark.parametrize(("n_seeds", "k"), [(5, 1), (6, 1), (9, 2), (10, 2), (20, 6)])
def test_the_interval_of_the_median_is_that_of_the_sign_test(n_seeds, k):
    found = Summary.of(1.0, range(1, n_seeds + 1))
    assert (found.low, found.high) == (k, n_seeds + 1 - k)


def test_student_covers():
    assert student_interval([1.0])[0] == float("-inf")
    low, high = student_interval([1.0, 1.0, 1.0])
    assert low == high == 1.0
