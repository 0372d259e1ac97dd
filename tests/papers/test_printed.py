"""Printed modes against the texts: every formula written down anew, none of ours called.

A row is a theorem: how it is called with ``calibration="paper"``, and what its text says for the
same sizes: thresholds, groups, trimming, steps and the noise of every coordinate.
"""

import math
from dataclasses import dataclass
from typing import Any

import pytest

import tailguard as tg
from tailguard.means.registry import make_method
from tailguard.plans.problem import Problem
from tailguard.queries.units import Units

EPSILON, DELTA, N, D, DIAMETER = 0.8, 1e-6, 50_000, 4, 2.0
RHO = 0.3
APPROX, ZCDP = tg.ApproxDP(EPSILON, DELTA), tg.ZCDP(RHO)
LATTICE = 3e-4  # noise that is sampled on a lattice pays for the rounding
log, sqrt = math.log, math.sqrt


def even(count):
    """The medians here are of evenly many groups: the next even number."""
    return 2 * math.ceil(count / 2.0)


def steps(count):
    """The texts' numbers of steps are not whole: the whole part, at least 1 and at most 1000."""
    return min(1000, max(1, math.floor(count)))


def kamath_5_2(k=3.0, reach=1.5, scale=2.0):
    threshold = scale * (sqrt(RHO) * N / (DIAMETER * D**1.5)) ** (1 / k)
    groups = 8 * D * log(3 * DIAMETER * N**3)  # beta = (alpha / M)^(2 d), alpha = n^-3
    count = steps(reach**2 * RHO * N**2 / (threshold**2 * D**4))
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": DIAMETER / (reach * sqrt(count)),
        "noise": sqrt(72 * threshold**2 * groups**2 * D * count / (RHO * N**2)),
    }


def kamath_b_8(chance=0.05):
    groups = D * log(D * DIAMETER * N / chance)
    threshold = (sqrt(RHO) * N / (DIAMETER * D**1.5)) ** (1 / 2)
    count = steps(RHO * N**2 / (threshold**2 * D**4))
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "noise": sqrt(72 * threshold**2 * groups**2 * D * count / (RHO * N**2)),
    }


def kamath_5_5(q=0.75):
    threshold = sqrt(sqrt(RHO) * N / (DIAMETER * D**q))
    count = steps(RHO * N**2 / (threshold**2 * D**2))
    return {
        "scale": threshold,
        "n_steps": count,
        "step_size": DIAMETER / sqrt(count),
        "noise": sqrt(threshold**2 * D * count / (RHO * N**2)),
    }


def kamath_5_7(a=1.0, b=3.0, k=2.0):
    rate = sqrt(D / N) + sqrt(D) * (sqrt(D) / (sqrt(RHO) * N)) ** ((k - 1) / k)
    shrink = (a**2 + b**2 + a * b) / (a + b) ** 2
    count = steps(log((a + b) * rate / (a * b)) / log(shrink))
    threshold = (sqrt(RHO) * N / (sqrt(D) * count**1.5)) ** (1 / k)
    ratio = sqrt(D) * count**1.5 / (sqrt(RHO) * N)
    chance = count * D / N + D * ratio ** ((2 * k - 2) / k)  # Lemma B.5
    groups = 4 * log(2 * D / chance)
    block = N // count
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": 1 / (a + b),
        "noise": sqrt(72 * threshold**2 * groups**2 * D / ((RHO / count) * block**2)),
    }


def tao_6(v=0.8, u=3.0, reach=1.0, n=N):
    threshold = (EPSILON * n / D**1.5) ** (1 / (1 + v))  # without u
    count = steps(reach**2 * EPSILON**2 * n**2 / (threshold**2 * D**4))
    share, rest = EPSILON / (2 * sqrt(2 * count * log(2 / DELTA))), DELTA / (2 * count)
    groups = 4 * log(2 * D) + 8 * D * log(DIAMETER * n ** (v / (1 + v)))
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": DIAMETER / (reach * sqrt(count)),
        "noise": sqrt(8 * threshold**2 * groups**2 * D * log(1.25 / rest) / (share * n) ** 2),
    }


def tao_7(v=1.0, u=2.0, a=1.0, b=2.0):
    rate = u ** (1 / (1 + v)) * sqrt(D) / N ** (v / (1 + v))
    rate += u ** (1 / (1 + v)) * D ** ((1 + 2 * v) / (2 + 2 * v)) / (EPSILON * N) ** (v / (1 + v))
    shrink = (a**2 + b**2 + a * b) / (a + b) ** 2
    count = steps(log((a + b) * rate / (a * b)) / log(shrink))
    threshold = (u * EPSILON * N / (D**1.5 * sqrt(count))) ** (1 / (1 + v))
    groups, block = 4 * log(2 * D / 0.1), N // count
    variance = 8 * threshold**2 * groups**2 * D * log(1.25 / DELTA) / (EPSILON * block) ** 2
    return {
        "threshold": threshold,
        "n_groups": even(groups),
        "n_steps": count,
        "step_size": 1 / (a + b),
        "noise": sqrt(variance),
    }


def textbook_rho(epsilon=EPSILON, delta=DELTA):
    """The zCDP whose conversion by Bun and Steinke is the promise."""
    return (sqrt(log(1 / delta) + epsilon) - sqrt(log(1 / delta))) ** 2


def wang_smoothed(n_steps, moment=5.0, chance=0.01):
    scale = sqrt(N * moment / (2 * log(1 / chance)))
    variance = 8 * moment * D * n_steps / (9 * log(1 / chance) * N * textbook_rho())
    return {
        "scale": scale,
        "smoothing": log(1 / chance),
        "n_steps": n_steps,
        "noise": sqrt(variance),
    }


def wang_7(a=1.0, b=2.0):
    return {**wang_smoothed(math.ceil(b / a * log(N))), "step_size": 1 / b}


def wang_8(b=1.0):
    count = round((DIAMETER * sqrt(N) * sqrt(textbook_rho()) / D) ** (2 / 3))
    return {**wang_smoothed(count), "step_size": 1 / b}


def wang_5(a=1.0, b=2.0):
    """Algorithm 3: the constants of every coordinate of every step, and 5 percent trimmed."""
    count = math.ceil(b / a * log(N))
    whole = sqrt(2 * log(1 / DELTA) + 2 * EPSILON) - sqrt(2 * log(1 / DELTA))
    each = whole / sqrt(D * count)
    return {
        "n_steps": count,
        "step_size": 1 / b,
        "low": -1.0,
        "high": 1.0,
        "smoothness": each**2 / 16,
        "shift": each / 4,
        "n_trimmed": N // 20,
    }


def wang_2(m=400):
    """Algorithm 1: overlapping subsets, and the constants of Nissim and others."""
    return {
        "smoothness": EPSILON / (4 * (D + log(2 / DELTA))),
        "shift": EPSILON / (5 * sqrt(2 * log(2 / DELTA))),
        "n_blocks": m,
        "overlap": sqrt(m),
        "layout": "overlapping",
    }


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
            calibration="paper",
            unsafe_reproduction=self.unsafe,
            **self.arguments,
        )


def raw(order, bound):
    return tg.Moment(order, bound, kind="raw")


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
)


def public_numbers(theorem):
    """What the noise of a theorem is made of, as its plan has it."""
    solver = theorem.solver
    found = {
        "noise": theorem.noise_std,
        **{name: getattr(solver, name, None) for name in ("n_steps", "step_size")},
    }
    if getattr(solver, "oracle", None):
        found |= solver.oracle.parameters
    if math.isnan(theorem.noise_std):  # it follows the records
        problem = Problem(tg.losses.Squared(), N, D, constraint=tg.sets.L2Ball(DIAMETER / 2))
        share = theorem.plan(problem, theorem.guarantee).stages[0].asked
        units = Units.raw(D, intercept=False)
        trims = getattr(solver, "oracle", None)
        query = solver.oracle.query(None, units) if trims else solver.query(D)
        found |= query.calibrate_event(N, D, share).parameters()
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.n_rows}")
def test_the_printed_mode_is_the_text(row):
    says = dict(row.says)
    found = public_numbers(row.theorem())
    noise = says.pop("noise", None)
    if noise is not None:
        assert noise * (1.0 - 1e-6) < found["noise"] < noise * (1.0 + LATTICE)
    for fact, value in says.items():
        exact = isinstance(value, str)
        assert found[fact] == (value if exact else pytest.approx(value, rel=1e-8)), fact


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
        for mode in ("tight", "paper")
    }
    counts = {key: each.solver.oracle.parameters["n_groups"] for key, each in found.items()}
    assert {counts["pointwise", mode] for mode in ("tight", "paper")} == {22}
    assert {counts["uniform", mode] for mode in ("tight", "paper")} == {uniform}
    assert (counts[None, "tight"], counts[None, "paper"]) == (22, uniform)
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
    printed = {"calibration": "paper", "unsafe_reproduction": True, "n_steps": 3}
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
    method = make_method(
        "trimmed", calibration="paper", unsafe_reproduction=True, low=-2.0, high=2.0
    )
    plan = method.plan(Problem(None, N, 1), APPROX)
    assert plan.stage("mean").asked.rho == pytest.approx(textbook_rho())
    assert plan.settings["trimmed at either end"] == N // 20
