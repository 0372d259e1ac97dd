"""Algorithms on hard instances: the instances are those of the bounds, and verdicts can fail."""

import numpy as np
import pytest

from tailguard.papers.instances.hard_instances import one_column_each
from tailguard.papers.reproduce.experiments.lower_bounds import (
    CASES,
    CENTRE,
    LARGEST,
    LEAST,
    MOST,
    experiments,
)
from tailguard.papers.reproduce.results import Point, Results


@pytest.mark.parametrize("name", CASES)
def test_every_bound_runs_and_its_order_is_right(name):
    case = CASES[name]
    points = {point.curve: point.value for point in case.points(2000, 1)}
    assert set(points) == {*case.curves, LEAST, MOST, LARGEST, CENTRE}
    assert 0.0 < points[LEAST] < points[MOST]
    assert points[LEAST] < points[CENTRE] * (1.0 + 1e-9) or name == "Tao 2"
    assert points[CENTRE] < points[LARGEST]


def test_every_lower_bound_of_the_three_papers_is_run():
    kamath, tao, xu = ("6.1", "6.4", "B.7"), ("2", "8", "9", "11"), ("4", "5")
    named = {"Kamath": kamath, "Tao": tao, "Xu": xu}
    assert [*CASES] == [f"{paper} {each}" for paper, own in named.items() for each in own]


@pytest.mark.parametrize("name", ["Kamath 6.1", "Tao 9", "Xu 4"])
def test_verdicts_can_fail(name):
    (experiment,) = experiments()
    curve = CASES[name].curves[0]

    def outcomes(height):
        heights = {curve: height, LEAST: 1.0, MOST: 10.0, LARGEST: 5.0}
        rows = [
            Point(name, each, "-", 1.0, value * (1.0 + seed / 100), seed)
            for each, value in heights.items()
            for seed in range(4)
        ]
        own = [claim for claim in experiment.claims if claim.name.startswith(f"{name},")]
        found = {claim.name: claim.judge(Results(rows), "tight").outcome for claim in own}
        below, above = (found[f"{name}, {curve}, from {side}"] for side in ("below", "above"))
        return below, above, found[f"{name}, upper bound"]

    assert outcomes(2.0) == ("holds", "holds", "does not hold")
    assert outcomes(0.5)[:2] == ("does not hold", "holds")
    assert outcomes(20.0)[:2] == ("holds", "does not hold")


def test_records_that_show_one_column_have_the_same_mean_loss():
    """The mean of ``(sqrt(d) (w_j - x_j))^2 / 2`` over all columns is ``|w - x|^2 / 2``."""
    point, record = np.random.default_rng(0).standard_normal((2, 7))
    rows, target = one_column_each(np.tile(record, (500, 1)), seed=3)
    losses = (rows @ point - target) ** 2 / 2.0
    column = rows.argmax(axis=1)
    assert {*column} == {*range(7)}
    means = [losses[column == j].mean() for j in range(7)]
    assert np.mean(means) == pytest.approx(np.sum((point - record) ** 2) / 2.0)


def test_laws_are_within_the_moments_that_theorems_are_told():
    assert CASES["Kamath 6.4"].laws(2000)[0].central_moment(2.0) <= 1.0
    assert CASES["Tao 9"].laws(2000)[0].raw_moment(1.5) == pytest.approx(1.0)
    assert CASES["Xu 4"].laws(2000)[0].raw_moment(2.0) * 32 <= 1.0
