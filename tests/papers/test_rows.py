"""The 33 rows of docs/papers.md against the texts: every number typed anew, printed and tight.

Thresholds, clip norms, steps, their sizes, groups, trimming, rounds and noise agree to 1e-9. Noise
is what the books say is added. Printed noise is the printed one, and its cost has the rounding to
the lattice on top; tight noise is larger than the texts' ideal one by that rounding, which is below
0.2 percent. The last test lists which modes of a row are compared, and where.
"""

import math
import re
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tailguard as tg
from papers.support import texts, texts_wang_xu
from papers.support.texts import APPROX, DIAMETER, EPSILON, ZCDP, D, N, checked, sqrt
from tailguard.gate.plan import Problem
from tailguard.queries.base import calibration_for
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.units import Units

PRECISION = 1e-9
MARGIN = 1.0 - 1e-9  # of the budget is what plans spend
ROOM = 1e-6  # plans leave some of the budget for rounding, and for samplers that are not ideal
LATTICE = 1.5e-3
PROBLEM = Problem(tg.losses.Squared(), N, D, constraint=tg.sets.L2Ball(DIAMETER / 2))
UNITS = Units.raw(D, intercept=False)
PURE = tg.PureDP(EPSILON)
WIDE = {"low": -1.0, "high": 1.0}


def moment(kind, order, scale):
    return tg.Moment(order, scale**order, kind=kind)


@dataclass(frozen=True)
class Row:
    """A call of a row, what its text says, and what is told besides with printed noise."""

    number: int
    call: str
    says: object
    moment: object
    told: dict = field(default_factory=dict)
    guarantee: object = APPROX
    beside: dict = field(default_factory=dict)

    def called(self, printed, *sizes, **more):
        how = {**self.beside, "calibration": "printed"} if printed else {}
        paper, name = self.call.split(".")
        known = {} if self.moment is None else {"moment": self.moment}
        call = getattr(getattr(tg.papers, paper), name)
        return call(*sizes, guarantee=self.guarantee, **known, **self.told, **more, **how)


SHAPE = {"strong_convexity": 1.0, "smoothness": 2.0}
RAW5, ALONG3 = moment("raw", 2.0, 5.0**0.5), moment("directional", 3.0, 2.0)
STEEP = {"exponent": 1.5, "lipschitz_bound": 50.0}  # which decides eta
FLAT = {"exponent": 1.5, "lipschitz_bound": 1.0}  # the noise decides it
NORM = tg.Moment(2.0, 3.0, kind="norm")
NORM4 = moment("norm", 4.0, 2.0)
# fmt: off
THEOREMS = (
    Row(5, "wang2020.smoothed_strongly_convex", texts_wang_xu.wang_7, RAW5, SHAPE),
    Row(5, "wang2020.smoothed_convex", texts_wang_xu.wang_8, RAW5, {"smoothness": 1.0}),
    Row(13, "kamath2022.convex", texts.kamath_5_2, tg.Moment(3.0, 8.0),
        {"gradient_bound": 1.5}, ZCDP),
    Row(13, "kamath2022.convex_with_probability", texts.kamath_b_8, tg.Moment(2.0, 1.0),
        {"smoothness": 1.0, "failure_probability": 0.05}, ZCDP),
    Row(14, "kamath2022.soft_convex", texts.kamath_5_5, tg.Moment(2.0, 4.0),
        {"balance": 0.75, "noise_variance": 0.4}, ZCDP),
    Row(15, "kamath2022.strongly_convex", texts.kamath_5_7, tg.Moment(2.0, 4.0),
        {"strong_convexity": 1.0, "smoothness": 3.0}, ZCDP),
    Row(19, "tao2022.convex", texts.tao_6, tg.Moment(1.8, 3.0, kind="raw")),
    Row(19, "tao2022.strongly_convex", texts.tao_7, tg.Moment(2.0, 2.0, kind="raw"), SHAPE),
    Row(23, "zhao2024.convex", texts.zhao_4, ALONG3, {"smoothness": 1.5}),
    Row(25, "zhao2024.iterative_convex", texts.zhao_7, moment("directional", 2.0, 2.0),
        {"smoothness": 1.5, "n_groups": 47}),
)
# fmt: on


def added(theorem, plan):
    """The noise of a step's gradient as the gate calibrates it, and what rounding adds to moves."""
    (stage,), oracle = plan.stages, theorem.solver.oracle
    n_rows = N // stage.n_blocks
    calibration = calibration_for(oracle.query(None, UNITS), n_rows, D, stage.asked)
    groups = oracle.parameters.get("n_groups", 1)
    per = {"clipped": 1 / n_rows, "iterative": sqrt(math.pi / 2 / groups) / (n_rows // groups)}
    noise = calibration.noise_std * per.get(oracle.name, 1.0)
    return noise, calibration.charged / calibration.sensitivity.ideal


@pytest.mark.parametrize("printed", [True, False], ids=["printed", "tight"])
@pytest.mark.parametrize("row", THEOREMS, ids=lambda row: f"{row.number}-{row.call}")
def test_descent_is_that_of_the_text(row, printed):
    theorem = row.called(printed, N, D, diameter=DIAMETER)
    plan = theorem.plan(PROBLEM, row.guarantee)
    says = dict(row.says(printed))
    ideal, mu = says.pop("noise"), says.pop("mu")
    checked({**vars(theorem.solver), **theorem.solver.oracle.parameters}, says)
    noise, rounding = added(theorem, plan)
    assert theorem.noise_std == pytest.approx(noise, rel=1e-12)
    assert plan.total_mu == pytest.approx(theorem.spent.gaussian_mu(), rel=ROOM)
    # What is charged is what the added noise costs, rounding included.
    assert noise * plan.total_mu == pytest.approx(ideal * mu * rounding, rel=PRECISION)
    if printed:
        assert noise == pytest.approx(ideal, rel=PRECISION)
    else:
        assert theorem.spent.gaussian_mu() == pytest.approx(mu, rel=PRECISION)
        assert ideal < noise < ideal * (1.0 + LATTICE)


# fmt: off
MEANS = (
    Row(4, "wang2020.soft_mean", texts_wang_xu.wang_mean, RAW5, {"failure_probability": 0.01}),
    Row(10, "kamath2022.clamped_mean", texts.kamath_mean, tg.Moment(2.0, 4.0), {}, ZCDP),
    Row(11, "kamath2022.clamped_mean", partial(texts.kamath_mean, pure=True),
        tg.Moment(2.0, 4.0), {}, PURE),
    Row(12, "kamath2022.soft_mean", texts.kamath_soft, None,
        {"threshold": 5.0, "smoothing": 1.0}, ZCDP),
    Row(17, "tao2022.truncated_mean", texts.tao_scalar, tg.Moment(1.5, 2.0, kind="raw")),
    Row(18, "tao2022.truncated_mean", texts.tao_mean, tg.Moment(1.5, 2.0, kind="raw")),
    Row(23, "zhao2024.clipped_mean", texts.zhao_clipped, ALONG3),
    Row(24, "zhao2024.iterative_mean", texts.zhao_iterative, ALONG3, {"n_groups": 500}),
)
# fmt: on


BALANCED = (texts.tao_scalar, texts.tao_mean)
OPTIONS = {"threshold": "threshold", "clip norm": "clip_norm", "groups": "n_groups"}  # of oracles


def ideal_noise(row, settings, X, spent):
    """Noise of a mean at a cost of 1 without rounding: of one coordinate."""
    X = X.reshape(N, -1)
    d = X.shape[1]
    told = {to: settings[by] for by, to in OPTIONS.items() if by in settings}
    if row.call.endswith("soft_mean"):
        smoothing = row.told.get("smoothing", -math.log(row.told.get("failure_probability", 1.0)))
        told = {"scale": told["threshold"], "smoothing": smoothing}
    name = row.call.split(".")[1].removesuffix("_mean")
    query = tg.solvers.make_oracle(name, **told).query(None, Units.raw(d, intercept=False))
    move = query.sensitivity(N, d).ideal
    if name == "clipped":  # a sum
        move /= N
    if name == "iterative":  # sums of groups; noise of the centre of all
        move *= math.sqrt(math.pi / 2 / told["n_groups"]) / (N // told["n_groups"])
    return move if spent == "mu" else math.sqrt(2.0 * d) * move  # in l1, of Laplace noise


def per_noise(row, settings):
    """Noise of a coordinate of a mean over that of its release."""
    name = row.call.split(".")[1]
    if name == "clipped_mean":  # a sum, in units of the root of the clip norm
        return sqrt(settings["clip norm"]) / N
    if name == "iterative_mean":  # sums of groups; noise of the centre of all
        return sqrt(math.pi / 2 / settings["groups"]) / (N // settings["groups"])
    return 1.0


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).standard_t(3, (N, D))


@pytest.mark.parametrize("printed", [True, False], ids=["printed", "tight"])
@pytest.mark.parametrize("row", MEANS, ids=lambda row: f"{row.number}-{row.call}")
def test_a_mean_is_that_of_the_text(row, printed, table):
    X = table[:, 0] if row.number == 17 else table
    if row.guarantee == APPROX and not printed:  # nothing is left for samplers, nor shuffled
        row = replace(row, guarantee=tg.GDP(texts.MU))
    result = row.called(printed, X, random_state=0, check_records=False)
    plan, says = result.choice.plan, dict(row.says(printed))
    noise, (spent,) = says.pop("noise"), says.keys() & {"mu", "epsilon"}
    cost, least = getattr(plan.stages[-1].asked, spent), says.pop(spent)
    release, found = result.certificate.releases[-1], np.max(result.noise_std)
    assert found == pytest.approx(release.noise_std * per_noise(row, plan.settings), rel=PRECISION)
    scale = release.noise_std / (1.0 if spent == "mu" else sqrt(2))
    assert release.sensitivity / scale == pytest.approx(cost, rel=PRECISION)
    ideal = ideal_noise(row, plan.settings, X, spent)
    if printed:
        assert found == pytest.approx(noise, rel=PRECISION)
        assert ideal == pytest.approx(noise * least, rel=PRECISION)
        assert least < cost < least * (1.0 + LATTICE)
        checked({each: plan.settings[each] for each in says}, says)
        return
    assert cost == pytest.approx(least * MARGIN, rel=PRECISION)
    ideal *= MARGIN / cost
    loose = row.says in BALANCED  # whose threshold follows what is added
    assert ideal == pytest.approx(noise, rel=LATTICE if loose else PRECISION)
    assert ideal < found < ideal * (1.0 + LATTICE)
    if loose:
        per_unit = ideal / plan.settings["threshold"]
        assert per_unit == pytest.approx(noise / says["threshold"], rel=PRECISION)
        assert plan.settings["threshold"] == pytest.approx(says.pop("threshold"), rel=LATTICE)
    checked({each: plan.settings[each] for each in says}, says)


PHASED = (
    Row(26, "xu2025.localised", texts_wang_xu.xu_1, NORM4, {"row_limit": 3.0}),
    Row(27, "xu2025.tsybakov", texts_wang_xu.xu_2, NORM4, {"row_limit": 3.0}, beside=STEEP),
    Row(28, "xu2025.unknown_growth", texts_wang_xu.xu_3, NORM4, {"row_limit": 3.0}, beside=FLAT),
)


class Listener:
    """A gate that answers zeros, and keeps what each phase adds and spends."""

    def __init__(self):
        self.noises, self.spent = [], []

    def partition(self, name, sizes):
        return sizes

    def ask(self, query, state, stage, *, block):
        self.noises.append(calibration_for(query, block, D, stage.asked).noise_std)
        self.spent.append(stage.mu)
        return np.zeros(D)


@pytest.mark.parametrize("printed", [True, False], ids=["printed", "tight"])
@pytest.mark.parametrize("row", PHASED, ids=lambda row: f"{row.number}-{row.call}")
def test_phases_are_those_of_the_text(row, printed):
    theorem = row.called(printed, N, D, diameter=DIAMETER)
    phases, says = theorem.solver.phases(PROBLEM, texts.MU, APPROX), row.says(printed)["phases"]
    ratio = 4 * math.sqrt(math.log(1e6)) / EPSILON
    found = [
        (each.n_rows, each.clip_norm, each.strength)
        + ((ratio * each.move, each.n_steps, each.step_size, each.travel) if printed else ())
        for each in phases
    ]
    np.testing.assert_allclose(found, says, rtol=PRECISION)
    plan, gate = theorem.plan(PROBLEM, APPROX), Listener()
    theorem.run(plan, gate)
    noises, spent = np.array(gate.noises), np.array(gate.spent)
    assert theorem.noise_std == pytest.approx(noises[0], rel=1e-12)
    if printed:
        np.testing.assert_allclose(noises, [each[3] for each in says], rtol=PRECISION)
        # At most what all records of a phase may do: float errors beyond that are drawn back.
        assert (spent <= np.array([each[0] for each in says]) / ratio * (1 + LATTICE)).all()
        assert "MORE than promised" in theorem.explain()  # at this n and epsilon
    else:
        ideal = np.array([2 * clip / (size * pull) / texts.MU for size, clip, pull in says])
        assert noises[0] == pytest.approx(ideal[0] * 1.002, rel=LATTICE)
        assert (noises > ideal).all()
        for size, clip_norm, strength in says:  # what one record moves: 2 C / (n lambda)
            query = ClippedMinimiser(PROBLEM.loss, UNITS, strength, clip_norm, 3.0)
            move = 2 * clip_norm / (size * strength)
            assert query.sensitivity(size, D).ideal == pytest.approx(move, rel=PRECISION)
    assert plan.total_mu == pytest.approx(theorem.spent.gaussian_mu(), rel=ROOM)
    assert plan.total_mu == max(spent)


@pytest.mark.parametrize("printed", [True, False], ids=["printed", "tight"])
@pytest.mark.parametrize("says", [texts_wang_xu.xu_6, texts_wang_xu.xu_7], ids=["29", "30"])
def test_accelerated_descent_is_that_of_the_text(says, printed):
    grows = says is texts_wang_xu.xu_7
    name = "xu2025.accelerated_growth" if grows else "xu2025.accelerated"
    row = Row(30 if grows else 29, name, says, NORM, {"smoothness": 2.0})
    theorem = row.called(printed, N, D, diameter=DIAMETER)
    solver, told = theorem.solver, dict(says(printed))
    noise = told.pop("noise")
    checked({**vars(solver), "lag": solver.lag, "sizes": solver.pass_sizes(PROBLEM)}, told)
    if printed:
        assert theorem.noise_std == pytest.approx(noise, rel=PRECISION)
    else:
        assert noise < theorem.noise_std < noise * (1.0 + 1e-5)


# Row -> the modes that are compared. Where the paper prints no noise there is one.
MODES = {
    **dict.fromkeys((1, 2, 3, 20, 21), ("test_smooth_rows.py", "printed tight")),
    **dict.fromkeys((4, 5, *range(10, 16), *range(17, 20)), (None, "printed tight")),
    **dict.fromkeys((*range(23, 31),), (None, "printed tight")),
    **dict.fromkeys((6, 7, 8, 9, 16, 31, 32, 33), ("test_other_rows.py", "tight")),
    22: ("test_bounds_of_the_texts.py", "tight"),
}


def test_every_row_is_compared_in_all_of_its_modes():
    here = {row.number for row in (*THEOREMS, *MEANS, *PHASED)} | {29, 30}  # all of them in both
    assert sorted(MODES) == [*range(1, 34)]
    assert here == {row for row, (file, _) in MODES.items() if file is None}
    for file in ("test_smooth_rows.py", "test_other_rows.py", "test_bounds_of_the_texts.py"):
        text = Path(__file__).with_name(file).read_text()
        found = re.findall(r"(@MODES\n)?def test_row_(\d+)_", text)
        both = {int(number) for marked, number in found if marked}
        assert both == {row for row, told in MODES.items() if told == (file, "printed tight")}
        alone = {int(number) for _, number in found} - both
        assert alone == {row for row, told in MODES.items() if told == (file, "tight")}
    page = (Path(__file__).parents[2] / "docs" / "papers.md").read_text()
    table = re.findall(r"^\| (\d+) \| .* \| .* \| (.*) \| [^|]* \| .* \|$", page, re.MULTILINE)
    assert len(table) == 33
    for number, printed in table:  # row 20 has printed noise by way of row 21
        assert "printed" in MODES[int(number)][1] or printed == "-"
