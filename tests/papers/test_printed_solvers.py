"""Printed noise that keeps no promise: it runs through the door of the gate, and nowhere else."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.papers.printed.solvers import (
    PrintedHardThresholding,
    PrintedSampleAndAggregate,
)
from tailguard.privacy.accounting.total_cost import spent_share
from tailguard.privacy.events import Unbounded
from tailguard.solvers.hard_thresholding import HardThresholding

N_ROWS = 3_000
PROMISE = tg.ApproxDP(4.0, 1e-6)
CASES = [("sample_aggregate", {"n_blocks": 100}), ("trimmed_strongly_convex", {"n_steps": 1})]


def regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 3))
    return X, X @ np.array([0.5, -0.25, 0.1]) + 0.1 * rng.standard_normal(N_ROWS)


def printed_theorem(name, **options):
    return getattr(tg.papers.wang2020, name)(
        N_ROWS, 3, PROMISE, moment=tg.Moment(2.0, 1.0, kind="raw"), diameter=4.0,
        strong_convexity=1.0, smoothness=1.0, gradient_bound=4.0, calibration="printed", **options,
    )  # fmt: skip


def fit(solver, **options):
    told = {"constraint": tg.sets.L2Ball(2.0), "solver": solver, "guarantee": PROMISE} | options
    return tg.minimize(tg.losses.Squared(), *regression(), **told)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_it_runs_neither_in_secret_nor_on_a_budget(name, options, tmp_path):
    theorem = printed_theorem(name, **options)
    ledger = tg.Ledger(tmp_path / "budget.sqlite", name="a", epsilon=400.0, delta=1e-3)
    for told in ({}, {"ledger": ledger}):
        with pytest.raises(tg.BudgetError, match="random_state must be given, and no ledger"):
            fit(theorem, **told)
        with pytest.raises(tg.BudgetError, match="random_state must be given, and no ledger"):
            tg.LinearRegression(guarantee=PROMISE, solver=theorem, fit_intercept=False, **told).fit(
                *regression()
            )
    assert ledger.total(1e-3).epsilon == 0.0


def test_an_oracle_of_printed_noise_opens_no_door_by_itself():
    theorem = printed_theorem("trimmed_strongly_convex", n_steps=1)
    with pytest.raises(tg.BudgetError, match="the plan must cost at most"):
        fit(theorem.solver, guarantee=tg.ZCDP(0.5), random_state=0)


def test_a_search_takes_no_printed_noise():
    theorem = printed_theorem("sample_aggregate", n_blocks=100)
    model = tg.LinearRegression(solver=theorem, fit_intercept=False)
    search = tg.PrivateSearch(
        model, [{"solver": theorem}, {"solver": theorem}], guarantee=PROMISE, random_state=0
    )
    with pytest.raises(tg.TailguardError):
        search.fit(*regression())


def test_numbers_beyond_floats_are_told_by_their_names():
    told = {"constraint": tg.sets.L2Ball(1.0), "random_state": 0}
    with pytest.raises(tg.InputError, match=r"gradient_scale = 1e\+308, n_rows = 3000"):
        fit(tg.papers.solvers.Localised(gradient_scale=1e308), **told)
    told |= {"constraint": tg.sets.L2Ball(1e-320), "guarantee": tg.GDP(1e-15)}
    with pytest.raises(tg.InputError, match=r"constraint\.diameter\(\) = 2e-320, mu = 1e-15\."):
        fit(tg.papers.solvers.Localised(), **told)


def test_printed_blocks_overlap_where_they_can():
    for n_blocks, layout in ((16, "disjoint"), (100, "overlapping")):
        solver = PrintedSampleAndAggregate(n_blocks=n_blocks)
        plan = fit(solver, random_state=0).plan
        assert (plan.settings["layout"], plan.settings["calibration"]) == (layout, "printed")
        assert plan.stages[0].event.event == Unbounded()
    assert PrintedSampleAndAggregate(layout="disjoint").layout == "disjoint"


def test_printed_peeling_is_valid_and_spends_less():
    problem = Problem(tg.losses.Squared(), n_rows=20_000, n_features=1000)
    guarantee = tg.ApproxDP(1.0, 1e-5)
    units = {"feature_scale": 1.0, "target_scale": 1.0}
    shares = [
        spent_share(guarantee, kind(5, **units).plan(problem, guarantee).event)
        for kind in (HardThresholding, PrintedHardThresholding)
    ]
    assert shares[0] > 0.999
    assert shares[1] == pytest.approx(0.34, abs=0.02)
    with pytest.raises(tg.InputError, match="calibration must be 'tight'"):
        PrintedHardThresholding(5, **units).plan(problem, tg.ZCDP(0.1))
