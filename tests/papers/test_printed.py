"""What printed modes take of groups and trimming, and how far printed numbers are from enough."""

import math

import pytest

import tailguard as tg
from papers.support.texts import APPROX, ZCDP, D, N
from papers.support.texts_wang_xu import textbook_rho
from tailguard.gate.plan import Problem
from tailguard.papers.wang2020.means import PrintedTrimmed


def raw(order, bound):
    return tg.Moment(order, bound, kind="raw")


@pytest.mark.parametrize(
    ("name", "moment", "uniform"),
    [("kamath2022.convex", tg.Moment(2.0, 1.0), 2908), ("tao2022.convex", raw(2.0, 1.0), 528)],
)
def test_groups_are_as_many_as_one_point_or_all_points_need(name, moment, uniform):
    paper, _ = name.split(".")
    call = getattr(tg.papers, paper).convex
    known = {"moment": moment, "diameter": 2.0}
    found = {
        (groups, mode): call(10**5, 10, APPROX, **known, groups=groups, calibration=mode)
        for groups in (None, "pointwise", "uniform")
        for mode in ("tight", "printed")
    }
    counts = {key: each.solver.oracle.parameters["n_groups"] for key, each in found.items()}
    assert {counts["pointwise", mode] for mode in ("tight", "printed")} == {22}
    assert {counts["uniform", mode] for mode in ("tight", "printed")} == {uniform}
    assert (counts[None, "tight"], counts[None, "printed"]) == (22, uniform)
    for (groups, mode), theorem in found.items():
        everywhere = "holds at all points of the set at once" in theorem.explain()
        assert everywhere == (counts[groups, mode] == uniform)
        assert everywhere != any("(E55)" in line for line in theorem.deviations)
    alike = {"n_steps": 100, **known}
    one, every = (
        call(10**5, 10, APPROX, **alike, groups=groups) for groups in ("pointwise", "uniform")
    )
    assert 0.9 * uniform / 22 < every.noise_std / one.noise_std < 1.1 * uniform / 22
    assert every.bound > one.bound
    with pytest.raises(tg.InputError, match="groups must be"):
        call(10**5, 10, APPROX, **known, groups="all")


def test_a_bound_is_not_said_to_hold_everywhere_with_fewer_groups_than_that_needs():
    """60 columns: 8 d log(3 D n^3) is more than half of 10,000 records."""
    theorem = tg.papers.kamath2022.convex(
        10_000, 60, ZCDP, moment=tg.Moment(2.0, 1.0), diameter=2.0, groups="uniform"
    )
    assert theorem.solver.oracle.parameters["n_groups"] == 5_000
    assert "holds at all points" not in theorem.explain()


def test_algorithm_3_takes_a_number_of_trimmed_records_and_runs_as_printed():
    known = {"moment": raw(2.0, 1.0), "diameter": 2.0, "strong_convexity": 1.0, "smoothness": 1.0}
    printed = {"calibration": "printed", "n_steps": 3}
    call = tg.papers.wang2020.trimmed_strongly_convex
    theorem = call(2_000, D, APPROX, **known, **printed, n_trimmed=70)
    assert theorem.solver.oracle.parameters["n_trimmed"] == 70
    data = tg.datasets.heavy_tailed_linear(n_rows=2_000, n_features=D, seed=1)
    for n_trimmed in (None, 70):
        found = call(2_000, D, APPROX, **known, **printed, n_trimmed=n_trimmed)
        solved = found.minimize(tg.losses.Huber(1.0), data.features, data.target, random_state=0)
        assert math.isinf(solved.certificate.total.epsilon)
    smooth = call(2_000, D, tg.ZCDP(2.0), **known, n_steps=3, n_trimmed=200, proof="numerical")
    assert "n_trimmed = 200" in smooth.solver.oracle.describe()
    for bad, words in ((0, "n_trimmed must be"), (1_000, "n_trimmed must be below half of n_rows")):
        with pytest.raises(tg.InputError, match=words):
            call(2_000, D, APPROX, **known, **printed, n_trimmed=bad)


def test_the_printed_trimmed_mean_takes_the_textbooks_conversion():
    plan = PrintedTrimmed(low=-2.0, high=2.0).plan(Problem(None, N, 1), APPROX)
    assert plan.stage("mean").asked.rho == pytest.approx(textbook_rho())
    assert plan.settings["trimmed at either end"] == N // 20
