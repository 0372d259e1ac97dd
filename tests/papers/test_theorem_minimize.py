"""A theorem in one call: sizes from the table, and nothing that is told twice."""

import inspect
import math
import pickle

import numpy as np
import pytest

import tailguard as tg
from papers.support.theorems import (
    CASES,
    DIAMETER,
    GUARANTEE,
    N_FEATURES,
    N_ROWS,
    RAW,
    heavy_records,
)
from tailguard.gate.engine import Solved
from tailguard.papers.common.theorem import Theorem, UnsizedTheorem
from tailguard.privacy.accounting.total_cost import satisfies

CONVEX = CASES["tao2022.convex"]
SQUARED = tg.losses.Squared()


# In a ball, in no set, with a set of its own, and with a stage per phase.
@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["tao2022.convex", "tao2022.sparse", "wang2020.sample_aggregate", "xu2025.accelerated_growth"],
)
def test_one_call_is_the_same_as_all_of_it_told_by_hand(name):
    case, (X, y) = CASES[name], heavy_records()
    theorem = case.theorem()
    by_hand = tg.minimize(
        SQUARED,
        X,
        y,
        guarantee=theorem.guarantee,
        constraint=case.constraint,
        solver=theorem,
        random_state=5,
    )
    for each in (theorem, case.unsized()):
        solved = each.minimize(SQUARED, X, y, random_state=5)
        assert isinstance(solved, Solved)
        np.testing.assert_array_equal(solved.coef, by_hand.coef)
        assert solved.certificate.total == by_hand.certificate.total
        assert solved.plan.settings["theorem"] == theorem.statement


def test_an_intercept_counts_as_a_feature():
    solved = CONVEX.unsized().minimize(SQUARED, *heavy_records(), intercept=True, random_state=5)
    sized = CONVEX.theorem(n_features=N_FEATURES + 1)
    by_hand = sized.minimize(SQUARED, *heavy_records(), intercept=True, random_state=5)
    np.testing.assert_array_equal(solved.coef, by_hand.coef)
    assert solved.intercept == by_hand.intercept != 0.0
    with pytest.raises(tg.InputError, match="n_features must be 4"):
        CONVEX.theorem().minimize(SQUARED, *heavy_records(), intercept=True)


def test_the_set_is_the_stated_one_or_the_ball_of_the_diameter():
    call = tg.papers.tao2022.convex
    box = tg.sets.Box([-0.1] * N_FEATURES, [0.1] * N_FEATURES)
    theorem = call(guarantee=GUARANTEE, moment=RAW, constraint=box)
    assert box.contains(theorem.minimize(SQUARED, *heavy_records(), random_state=5).coef)
    diameter = box.diameter()
    by_hand = call(N_ROWS, N_FEATURES, GUARANTEE, moment=RAW, diameter=diameter)
    assert theorem.sized(N_ROWS, N_FEATURES).solver == by_hand.solver
    assert by_hand.constraint == tg.sets.L2Ball(diameter / 2.0)
    for told in ({}, {"diameter": diameter, "constraint": box}):
        with pytest.raises(tg.InputError, match="diameter must be given, or a constraint in its"):
            call(guarantee=GUARANTEE, moment=RAW, **told)


@pytest.mark.long
def test_a_guarantee_is_told_once_by_the_theorem_or_by_the_call():
    bare = tg.papers.tao2022.convex(moment=RAW, diameter=DIAMETER)
    records, options = heavy_records(), {"random_state": 5}
    stated = CONVEX.unsized().minimize(SQUARED, *records, **options)
    for told in ({"guarantee": GUARANTEE}, {"epsilon": 1.0, "delta": 1e-5}):
        solved = bare.minimize(SQUARED, *records, **told, **options)
        np.testing.assert_array_equal(solved.coef, stated.coef)
        with pytest.raises((TypeError, tg.InputError), match=r"multiple values|not both"):
            CONVEX.theorem().minimize(SQUARED, *records, **told, **options)
    with pytest.raises(tg.InputError, match="there is no default privacy"):
        bare.minimize(SQUARED, *records)
    with pytest.raises(tg.InputError, match="there is no default privacy"):
        tg.papers.tao2022.convex(N_ROWS, N_FEATURES, moment=RAW, diameter=DIAMETER)


def test_sizes_come_together():
    for sizes in ({"n_rows": N_ROWS}, {"n_features": N_FEATURES}):
        with pytest.raises(tg.InputError, match="n_rows and n_features must be given together"):
            tg.papers.tao2022.convex(**sizes, moment=RAW, diameter=DIAMETER)


def test_what_is_reserved_is_charged_to_the_ledger_and_within_the_guarantee(tmp_path):
    """A fit that asks for a ledger's whole cap plans within its filter; a theorem has its own."""
    ledger = tg.Ledger(tmp_path / "budget.sqlite", name="a", guarantee=GUARANTEE)
    found = CONVEX.unsized().minimize(SQUARED, *heavy_records(), ledger=ledger).certificate
    assert found.mode == "private"
    assert found.guarantee == GUARANTEE
    assert satisfies(ledger.reserved, GUARANTEE)
    assert found.ledger_entries == (ledger.lines()[1].entry(),)
    assert found.releases


def test_an_estimator_takes_a_theorem_of_any_size():
    X, y = heavy_records()
    model = tg.LinearRegression(guarantee=GUARANTEE, solver=CONVEX.unsized(), random_state=0)
    assert model.fit(X, y).plan_.settings["theorem"] == CONVEX.theorem().statement
    with pytest.raises(tg.InputError, match="guarantee must be"):
        model.set_params(guarantee=tg.GDP(0.5)).fit(X, y)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.unsafe])
def test_what_breaks_its_promise_is_a_simulation_that_says_so(name):
    theorem = CASES[name].unsized(calibration="printed")
    with pytest.raises(tg.BudgetError, match="random_state must be given"):
        theorem.minimize(SQUARED, *heavy_records())
    found = theorem.minimize(SQUARED, *heavy_records(), random_state=5).certificate
    assert max(found.total.epsilon or 0.0, found.total.rho or 0.0) > 1.5 * GUARANTEE.epsilon
    assert found.mode == "reproduction: NOT PRIVATE"
    assert found.guarantee == CASES[name].guarantee


@pytest.mark.parametrize("name", ["localised", "tsybakov", "unknown_growth"])
def test_printed_noise_below_the_errors_of_floats_is_added_and_not_private(name):
    """Penalties that grow like the square of the records leave less than that in late phases."""
    printed = CASES[f"xu2025.{name}"].theorem(calibration="printed", exponent=2.0)
    assert "MORE than promised" in printed.explain()
    with pytest.raises(tg.BudgetError, match="random_state must be given"):
        printed.minimize(SQUARED, *heavy_records())
    solved = printed.minimize(SQUARED, *heavy_records(), random_state=5)
    found, least = solved.certificate, 8.0 * math.sqrt(-math.log(GUARANTEE.delta))
    assert found.mode == "reproduction: NOT PRIVATE"
    assert found.total.epsilon > 1.3 * GUARANTEE.epsilon
    phases = printed.solver.phases(CASES[f"xu2025.{name}"].problem(), 1.0, GUARANTEE)
    for phase, release in zip(phases, found.releases, strict=True):
        noise = least * phase.clip_norm / (phase.n_rows * phase.strength * GUARANTEE.epsilon)
        assert release.noise_std == pytest.approx(noise, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_call_says_what_it_takes(name):
    paper, function = name.split(".")
    call = getattr(getattr(tg.papers, paper), function)
    takes = inspect.signature(call).parameters
    assert [*takes][:4] == ["n_rows", "n_features", "guarantee", "moment"]
    assert {*CASES[name].arguments, "constraint", "calibration", "n_steps"} <= {*takes}
    with pytest.raises(TypeError, match=rf"{function}\(\) got an unexpected .* 'colour'"):
        CASES[name].theorem(colour=1)
    with pytest.raises(TypeError, match=rf"{function}\(\) missing .* 'moment'"):
        call(diameter=DIAMETER)


@pytest.mark.parametrize("name", CASES)
def test_theorems_survive_pickling(name):
    sized, unsized = CASES[name].theorem(), CASES[name].unsized()
    assert isinstance(sized, Theorem)
    assert isinstance(unsized, UnsizedTheorem)
    read, later = (pickle.loads(pickle.dumps(each)) for each in (sized, unsized))
    for again in (read, later.sized(N_ROWS, N_FEATURES)):
        assert again.solver == sized.solver
        assert again.predicted_excess(0.5) == sized.predicted_excess(0.5)
