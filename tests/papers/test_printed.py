"""Printed modes against the texts: every formula written down anew, none of ours called.

A row is a theorem: how it is called with ``calibration="printed"``, and what its text says for the
same sizes: thresholds, groups, trimming, steps and the noise of every coordinate.
"""

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import tailguard as tg
from papers.support.printed_formulas import (
    APPROX,
    DELTA,
    DIAMETER,
    EPSILON,
    LATTICE,
    RHO,
    ZCDP,
    D,
    N,
    even,
    kamath_5_2,
    kamath_5_5,
    kamath_5_7,
    kamath_b_8,
    log,
    sqrt,
    tao_6,
    tao_7,
    tao_10,
    textbook_rho,
    wang_2,
    wang_5,
    wang_7,
    wang_8,
    xu_1,
    xu_2,
    xu_3,
    xu_6,
    xu_7,
    zhao_4,
    zhao_7,
)
from tailguard.gate.plan import Problem
from tailguard.papers.kamath2022.means import PrintedClamped
from tailguard.papers.tao2022.means import PrintedTruncated
from tailguard.papers.wang2020.means import PrintedTrimmed
from tailguard.queries.units import Units


@dataclass(frozen=True)
class Row:
    """A theorem, how it is called, and what its text says."""

    name: str
    says: Any
    moment: Any
    arguments: dict
    guarantee: Any = ZCDP
    n_rows: int = N
    unsafe: bool = False

    def theorem(self):
        paper, function = self.name.split(".")
        call = getattr(getattr(tg.papers, paper), function)
        return call(
            self.n_rows,
            D,
            self.guarantee,
            moment=self.moment,
            diameter=DIAMETER,
            calibration="printed",
            **self.arguments,
        )


def raw(order, bound):
    return tg.Moment(order, bound, kind="raw")


def along(order, bound):
    return tg.Moment(order, bound, kind="directional")


def norm(order, bound):
    return tg.Moment(order, bound, kind="norm")


STEEP = {"row_limit": 3.0, "exponent": 1.5, "lipschitz_bound": 50.0}
ROWS = (
    Row("kamath2022.convex", kamath_5_2(), tg.Moment(3.0, 8.0), {"gradient_bound": 1.5}),
    Row(
        "kamath2022.convex_with_probability",
        kamath_b_8(),
        tg.Moment(2.0, 1.0),
        {"smoothness": 1.0, "failure_probability": 0.05},
    ),
    Row(
        "kamath2022.soft_convex",
        kamath_5_5(),
        tg.Moment(2.0, 1.0),
        {"balance": 0.75, "noise_variance": 0.4},
        unsafe=True,
    ),
    Row(
        "kamath2022.strongly_convex",
        kamath_5_7(),
        tg.Moment(2.0, 1.0),
        {"strong_convexity": 1.0, "smoothness": 3.0},
    ),
    Row("tao2022.convex", tao_6(), raw(1.8, 3.0), {}, APPROX),
    Row(  # a single step
        "tao2022.convex",
        tao_6(n=3_000, v=1.0, reach=0.1),
        raw(2.0, 3.0),
        {"gradient_bound": 0.1},
        APPROX,
        3_000,
    ),
    Row(
        "tao2022.strongly_convex",
        tao_7(),
        raw(2.0, 2.0),
        {"strong_convexity": 1.0, "smoothness": 2.0},
        APPROX,
    ),
    Row(
        "wang2020.smoothed_strongly_convex",
        wang_7(),
        raw(2.0, 5.0),
        {"strong_convexity": 1.0, "smoothness": 2.0},
        APPROX,
    ),
    Row("wang2020.smoothed_convex", wang_8(), raw(2.0, 5.0), {"smoothness": 1.0}, APPROX),
    Row(
        "wang2020.trimmed_strongly_convex",
        wang_5(),
        raw(2.0, 1.0),
        {"strong_convexity": 1.0, "smoothness": 2.0},
        APPROX,
        unsafe=True,
    ),
    Row(
        "wang2020.sample_aggregate",
        wang_2(),
        raw(2.0, 1.0),
        {"strong_convexity": 1.0, "smoothness": 1.0, "n_blocks": 400},
        APPROX,
        unsafe=True,
    ),
    Row(
        "tao2022.sparse",
        tao_10(),
        raw(2.0, 1.0),
        {
            "strong_convexity": 1.0,
            "smoothness": 2.0,
            "n_nonzero": 3,
            "n_kept": 3,
            "n_steps": 20,
        },
        APPROX,
    ),
    Row("zhao2024.convex", zhao_4(), along(3.0, 1.0), {"smoothness": 1.0}, APPROX),
    Row(
        "zhao2024.iterative_convex",
        zhao_7(),
        along(2.0, 1.0),
        {"smoothness": 0.01, "n_groups": 50},
        APPROX,
    ),
    Row("xu2025.localised", xu_1(), norm(4.0, 16.0), {"row_limit": 3.0}, APPROX),
    Row("xu2025.tsybakov", xu_2(), norm(4.0, 16.0), STEEP, APPROX),
    Row("xu2025.unknown_growth", xu_3(), norm(4.0, 16.0), STEEP, APPROX),
    Row("xu2025.accelerated", xu_6(), norm(2.0, 3.0), {"smoothness": 2.0}, APPROX, unsafe=True),
    Row(
        "xu2025.accelerated_growth",
        xu_7(),
        norm(2.0, 3.0),
        {"smoothness": 2.0},
        APPROX,
        unsafe=True,
    ),
)


PROBLEM = Problem(tg.losses.Squared(), N, D, constraint=tg.sets.L2Ball(DIAMETER / 2))


facts = attrgetter("n_rows", "clip_norm", "strength")


def public_numbers(theorem):
    """What the noise of a theorem is made of, as its plan has it."""
    solver = theorem.solver
    found = {
        "noise": theorem.noise_std,
        **vars(solver),
    }
    if hasattr(solver, "phases"):
        phases = solver.phases(PROBLEM, math.nan, theorem.guarantee)
        ratio = 4 * sqrt(log(1 / DELTA)) / EPSILON
        found["phases"] = [
            (*facts(each), ratio * each.move, each.n_steps, each.step_size, each.travel)
            for each in phases
        ]
        assert theorem.noise_std == pytest.approx(ratio * phases[0].move, rel=LATTICE)
    if getattr(solver, "oracle", None):
        found |= solver.oracle.parameters
    if math.isnan(theorem.noise_std):  # it follows the records
        share = theorem.plan(PROBLEM, theorem.guarantee).stages[0].asked
        units = Units.raw(D, intercept=False)
        trims = getattr(solver, "oracle", None)
        query = solver.oracle.query(None, units) if trims else solver.query(D)
        found |= query.calibrate_event(N, D, share).parameters()
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.n_rows}")
def test_the_printed_mode_is_the_text(row):
    says = dict(row.says)
    found = public_numbers(row.theorem())
    noise, coarse = says.pop("noise", None), says.pop("coarse", 1.0)
    if noise is not None:
        assert noise * (1.0 - 1e-6) < found["noise"] < noise * (1.0 + LATTICE * coarse)
    for fact, value in says.items():
        if isinstance(value, str):
            assert found[fact] == value, fact
        else:
            np.testing.assert_allclose(found[fact], value, rtol=1e-8, err_msg=fact)


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


def test_the_net_of_theorem_b_8_needs_10_to_20_times_the_printed_groups():
    ratios = [
        8 * d * log(3 * diameter * n**3) / (d * log(d * diameter * n / chance))
        for n in (10**3, 10**4, 10**5, 10**6)
        for d in (2, 10, 100)
        for diameter in (1.0, 10.0)
        for chance in (0.01, 0.1)
    ]
    assert 10.0 < min(ratios) < max(ratios) < 20.3


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


MEANS = {
    "clamped": (
        PrintedClamped,
        tg.Moment(2.0, 4.0),
        ZCDP,
        {"threshold": (sqrt(RHO) * N / sqrt(D)) ** 0.5, "groups": 4 * log(2 * D / 0.1)},
    ),
    "truncated": (
        PrintedTruncated,
        raw(1.5, 2.0),
        APPROX,
        {
            "threshold": (2.0 * EPSILON * N / sqrt(D)) ** (1 / 1.5),
            "groups": 4 * log(2 * D / 0.1),
        },
    ),
}


@pytest.mark.parametrize("name", MEANS)
def test_a_printed_mean_is_its_corollary(name):
    method, moment, guarantee, says = MEANS[name]
    problem = Problem(None, N, D, moment=moment)
    plan = method().plan(problem, guarantee)
    assert plan.settings["threshold"] == pytest.approx(says["threshold"])
    assert plan.settings["groups"] == even(says["groups"])
    tau, m = says["threshold"], says["groups"]
    if name == "clamped":
        noise = sqrt(72 * tau**2 * m**2 * D / (RHO * N**2))  # Theorem 4.1
    else:
        noise = sqrt(8 * tau**2 * m**2 * D * log(1.25 / DELTA) / (EPSILON * N) ** 2)
    assert noise < plan.expected.noise / sqrt(D) < noise * (1.0 + LATTICE)


def test_the_printed_scalar_mean_is_algorithm_1():
    problem = Problem(None, N, 1, moment=raw(1.5, 2.0))
    plan = PrintedTruncated().plan(problem, APPROX)
    nats = log(1 / 0.1) * sqrt(log(1.25 / DELTA))
    threshold = (2.0 * N * EPSILON / nats) ** (1 / 1.5)
    assert plan.settings["threshold"] == pytest.approx(threshold)
    noise = sqrt(8 * threshold**2 * log(1.25 / DELTA)) / (N * EPSILON)
    assert noise < plan.expected.noise < noise * (1.0 + LATTICE)
