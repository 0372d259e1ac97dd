"""How many steps theorems for convex losses take: as printed, or what tight noise is worth."""

import math

import pytest

import tailguard as tg
from papers.support.theorems import CASES
from tailguard.noise.discrete_gaussian import lattice_std
from tailguard.papers.common.descent import MORE_STEPS

CONVEX = (
    "kamath2022.convex",
    "kamath2022.convex_with_probability",
    "kamath2022.soft_convex",
    "tao2022.convex",
    "wang2020.smoothed_convex",
    "zhao2024.convex",
    "zhao2024.iterative_convex",
)
# Binary rows of 14 attributes out of 123, fourth powers: the printed rules say few steps there.
WIDE = {"n_rows": 32_561, "n_features": 123, "guarantee": tg.ApproxDP(4.0, 1.1e-5)}
REACH = {"gradient_bound": 4.0 * math.sqrt(14.0)}
every_convex = pytest.mark.parametrize("name", CONVEX)


def theorem(name, **options):
    """The theorem with its own number of steps, and the same groups for either noise.

    Moments are 1, and so is smoothness times diameter, which printed formulas set to 1.
    """
    if name in ("kamath2022.convex", "tao2022.convex"):
        options = {"groups": "pointwise"} | options
    if name.startswith("zhao"):
        options = {"smoothness": 0.5} | options
    return CASES[name].theorem(**({"n_steps": None} | options))


def wide(name, **options):
    # The printed threshold of Tao and others has the units of gradients of moment 1.
    moment = tg.Moment(2.0, 1.0 if name.startswith("tao") else 16.0, kind="raw")
    known = {} if name.startswith("zhao") else REACH
    if name.startswith("zhao"):
        moment = tg.Moment(2.0, 224.0, kind="directional")
    return theorem(name, **(WIDE | known | {"moment": moment} | options))


@pytest.mark.parametrize(
    ("name", "build"),
    [*((name, theorem) for name in CONVEX), *((name, wide) for name in ("tao2022.convex",))],
)
def test_tight_noise_never_takes_fewer_steps_nor_predicts_more(name, build):
    # In zCDP, as its rules are stated: of another promise it has the printed conversion.
    stated = {"guarantee": tg.ZCDP(0.1)} if name.startswith("kamath") else {}
    tight, paper = build(name, **stated), build(name, **stated, calibration="printed")
    assert tight.solver.n_steps >= paper.solver.n_steps
    alike = build(name, **stated, n_steps=paper.solver.n_steps)
    assert tight.bound <= alike.bound * (1.0 + 1e-12)
    if name not in ("wang2020.smoothed_convex", "zhao2024.convex"):  # whose answer to steps is rho
        assert tight.bound <= paper.bound


@every_convex
def test_steps_that_are_told_are_taken_and_nothing_is_said_of_them(name):
    told = wide(name, n_steps=3)
    assert told.solver.n_steps == 3
    assert MORE_STEPS not in told.deviations


@every_convex
def test_the_rule_is_said_where_it_is_followed(name):
    printed = wide(name, calibration="printed")
    assert MORE_STEPS not in printed.deviations
    follows = name not in ("wang2020.smoothed_convex", "zhao2024.convex")
    assert (MORE_STEPS in wide(name).explain()) == follows


@every_convex
def test_the_range_ends_where_the_noise_of_a_step_is_the_printed_one(name, monkeypatch):
    """Were the bound always less with more steps, the last of them would have the printed noise."""
    monkeypatch.setattr(
        "tailguard.papers.common.descent._bound", lambda facts, step, steps, *rest: -steps
    )
    few = {"guarantee": tg.ApproxDP(0.5, 1e-5), "n_rows": 20_000, "n_features": 10}
    tight, paper = theorem(name, **few), theorem(name, **few, calibration="printed")
    printed = paper.solver.n_steps
    assert tight.noise_std <= paper.noise_std * math.sqrt(1.0 + 1.0 / printed)
    if printed > 1 and tight.solver.n_steps < 1000 and MORE_STEPS in tight.deviations:
        more = theorem(name, **few, n_steps=tight.solver.n_steps + 1)
        assert more.noise_std > paper.noise_std


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_groups"), [(200, 100, 100), (1000, 100, 500), (10_000, 10, 146)]
)
def test_printed_noise_counts_the_printed_groups(n_rows, n_features, n_groups):
    """The rule of Theorem B.8 asks for more groups than there are records of the first two."""
    sizes = {"n_rows": n_rows, "n_features": n_features, "guarantee": tg.GDP(1.0)}
    paper = theorem("kamath2022.convex_with_probability", **sizes, calibration="printed")
    assert paper.solver.oracle.parameters["n_groups"] == n_groups
    printed = n_features * math.log(n_features * 2.0 * n_rows / 0.1)
    least = n_rows // n_groups  # records of a group
    rounded = (1.0 + 2.0**-8) * math.sqrt(n_features * paper.solver.n_steps) / lattice_std(5)
    assert paper.spent.mu == pytest.approx(n_rows / least / (4.0 * printed) + rounded, rel=2e-9)
