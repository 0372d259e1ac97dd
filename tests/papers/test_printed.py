"""Printed modes against the texts: every formula written down anew, none of ours called.

A row is a theorem: how it is called with ``calibration="paper"``, and what its text says for the
same sizes: thresholds, groups, trimming, steps and the noise of every coordinate.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tailguard as tg
from tailguard.means.registry import make_method
from tailguard.plans.problem import Problem
from tailguard.queries.units import Units

EPSILON, DELTA, N, D, DIAMETER = 0.8, 1e-6, 50_000, 4, 2.0
RHO = 0.3
APPROX, ZCDP = tg.ApproxDP(EPSILON, DELTA), tg.ZCDP(RHO)
LATTICE = 1.5e-3  # noise that is sampled on a lattice pays for the rounding
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


def tao_10(kept=3, count=20, v=1.0, u=1.0, b=2.0):
    """Algorithm 5 on blocks, and the peeling of Algorithm 4."""
    nats = count * log(D * count / 0.1) * sqrt(kept * log(1 / DELTA))
    threshold = (b * u * N * EPSILON / nats) ** (1 / (1 + v))
    move = 2 * threshold / (N // count)  # of the mean gradient; times the size of the step
    scale = 4 * move * sqrt(2 * kept * log(1 / DELTA)) / EPSILON
    return {
        "threshold": threshold,
        "n_steps": count,
        "step_size": 2 / (3 * b),
        "noise": sqrt(2) * scale,  # of Laplace
    }


def zhao_4(q=3.0, moment=1.0, b=1.0):
    rho = (EPSILON / (1 + 2 * sqrt(log(1 / DELTA)))) ** 2
    clip = sqrt(D) * min((N * sqrt(rho) / sqrt(D)) ** (1 / q), (N / D) ** (1 / q))
    count = steps(rho * N**2 / (D * clip**2) * (b * DIAMETER) ** 2)
    return {
        "clip_norm": clip,
        "n_steps": count,
        "step_size": 1 / sqrt(2 * count * b**2),
        "noise": sqrt(2 * clip**2 * count / (rho * N**2)),
    }


def zhao_7(groups=50, q=2.0, b=0.01):
    clip = sqrt(D) * (N * EPSILON / sqrt(D)) ** (1 / q)
    count = steps(N**2 * EPSILON**2 / (D * clip**2) * (b * DIAMETER) ** 2)
    share, rest = EPSILON / (2 * sqrt(2 * count * log(2 / DELTA))), DELTA / (2 * count)
    spread = (1 + 2 * sqrt(log(12 * groups / rest))) ** 2
    rho = share**2 * groups / (64 * math.e**4 * log(8 / rest) * spread)
    one = sqrt(2 * clip**2 / (rho * (N / groups) ** 2))
    return {
        "clip_norm": clip,
        "n_groups": groups,
        "start": "origin",
        "level": 0.9,
        "n_steps": count,
        "step_size": 1 / sqrt(2 * count * b**2),
        "noise": one * sqrt(math.pi / 2 / groups),  # of the centre of so many
    }


def xu_reach(n, n_all):
    return EPSILON * n / sqrt(D * log(1 / DELTA) * log(n_all))


def xu_phases(n, n_all, eta, p, k, r):
    """Clip norm, penalty and noise of every phase of Algorithm 3."""
    sizes = [n // 2**i for i in range(1, math.floor(math.log2(n)) + 1)]
    powers = [2 * p] + [p] * (len(sizes) - 1)
    phases = []
    for i, (size, power) in enumerate(zip(sizes, powers, strict=True), start=1):
        clip = r * xu_reach(size, n_all) ** (1 / k)
        penalty = 4**i / (eta * size**power)
        noise = 8 * clip * sqrt(log(1 / DELTA)) / (size * penalty * EPSILON)
        phases.append((size, clip, penalty, noise))
    return phases


def xu_steepest(n, n_all, p, k, r):
    return n ** (p / 2) * r * (1 / sqrt(n) + xu_reach(n, n_all) ** (-(k - 1) / k))


def xu_1(p=1.0, k=2.0, r=2.0):
    steep = xu_steepest(N, N, p, k, r)
    eta = (
        DIAMETER
        / sqrt(N)
        * min(
            1 / steep,
            xu_reach(N, N) ** ((k - 1) / k) / (r * N ** ((p + 1) / 2)),
            1 / (N ** ((p - 1) / 2) * steep**2 * sqrt(log(N) * log(1 / DELTA))),
        )
    )
    return {"phases": xu_phases(N, N, eta, p, k, r)}


def xu_rounds(sizes, radii, power, p=1.5, k=2.0, r=2.0, steep=50.0):
    phases = []
    for n, radius in zip(sizes, radii, strict=True):
        eta = (
            radius
            / n**power
            * min(
                1 / steep,
                xu_reach(n, N) ** ((k - 1) / k) / (r * n ** ((p + 1) / 2)),
                1 / (n ** ((p - 1) / 2) * steep**2 * sqrt(log(n) * log(n))),
            )
        )
        phases += xu_phases(n, N, eta, p, k, r)
    return {"phases": phases}


def xu_2(p=1.5):
    m = math.floor(0.5 * math.log2(2 * N / math.log2(N))) - 1
    sizes = [N // m] * (m - 1) + [N - (m - 1) * (N // m)]
    return xu_rounds(sizes, [DIAMETER / 2**i for i in range(m)], p / 2)


def xu_3(p=1.5):
    """All records are used, in rounds that double."""
    count = math.floor(math.log2(math.log2(N)))
    sizes = [2**i * N // (2**count - 1) for i in range(count - 1)]
    sizes.append(N - sum(sizes))
    return xu_rounds(sizes, [DIAMETER / 2**i for i in range(count)], (p - 1) / 2)


def xu_steps(n, b=2.0, k=2.0, r=3.0**0.5):
    reach = EPSILON * n / sqrt(D * log(1 / DELTA))
    return steps(sqrt(b * DIAMETER / r) * min(reach ** ((k - 1) / (2 * k)), n**0.25))


def xu_6(k=2.0, r=3.0**0.5):
    count = xu_steps(N)
    clip = r * (EPSILON * N / sqrt(D * log(1 / DELTA))) ** (1 / k)
    return {
        "n_steps": count,
        "clip_norm": clip,
        "noise": clip * sqrt(count * log(1 / DELTA)) / (N * EPSILON),
    }


def xu_7(k=2.0, r=3.0**0.5):
    count = math.floor(math.log2(math.log2(N)))
    sizes = [2**i * N // (2**count - 1) for i in range(count - 1)]
    sizes.append(N - sum(sizes))
    clips = [r * (EPSILON * n / sqrt(D * log(1 / DELTA))) ** (1 / k) for n in sizes]
    count = xu_steps(sizes[0])
    used = sizes[0] // count * count  # by whole batches
    first = clips[0] * sqrt(count * log(1 / DELTA)) / (used * EPSILON)
    return {
        "phase_steps": tuple(map(xu_steps, sizes)),
        "phase_clip_norms": tuple(clips),
        "noise": first,
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


def public_numbers(theorem):
    """What the noise of a theorem is made of, as its plan has it."""
    solver = theorem.solver
    found = {
        "noise": theorem.noise_std,
        **vars(solver),
    }
    if hasattr(solver, "phases"):
        mu = theorem.spent.mu
        found["phases"] = [
            (
                each.n_rows,
                each.clip_norm,
                each.strength,
                2 * each.clip_norm / (each.n_rows * each.strength * mu),
            )
            for each in solver.phases(PROBLEM, mu, theorem.spent)
        ]
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
    noise = says.pop("noise", None)
    if noise is not None:
        assert noise * (1.0 - 1e-6) < found["noise"] < noise * (1.0 + LATTICE)
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


MEANS = {
    "clamped": (
        tg.Moment(2.0, 4.0),
        ZCDP,
        {"threshold": 2.0 * (sqrt(RHO) * N / sqrt(D)) ** 0.5, "groups": 4 * log(2 * D / 0.1)},
    ),
    "truncated": (
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
    moment, guarantee, says = MEANS[name]
    problem = Problem(None, N, D, moment=moment)
    plan = make_method(name, calibration="paper").plan(problem, guarantee)
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
    plan = make_method("truncated", calibration="paper").plan(problem, APPROX)
    nats = log(1 / 0.1) * sqrt(log(1.25 / DELTA))
    threshold = (2.0 * N * EPSILON / nats) ** (1 / 1.5)
    assert plan.settings["threshold"] == pytest.approx(threshold)
    noise = sqrt(8 * threshold**2 * log(1.25 / DELTA)) / (N * EPSILON)
    assert noise < plan.expected.noise < noise * (1.0 + LATTICE)
