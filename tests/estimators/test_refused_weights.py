"""Weights of rows: every public method takes them as the default method does, or refuses them."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.registered import ESTIMATORS
from support.targets import takes_labels, target_for
from tailguard.solvers.registry import SOLVERS

RNG = np.random.default_rng(0)
X, WEIGHTS = RNG.standard_normal((300, 2)), np.ones(300)
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
WEIGHED = {"weight_bound": 1.0, **BUDGET}
BALL = tg.sets.L2Ball(1.0)
STATED = {
    "hard-thresholding": tg.solvers.HardThresholding(n_nonzero=1),
    "noisy-gradient-descent": tg.solvers.NoisyGradientDescent(step_size=0.1),
    "sample-and-aggregate": tg.solvers.SampleAndAggregate(diameter=2.0),
}


def test_every_solver_beside_the_default_one_is_tried():
    assert {*STATED} == {*SOLVERS} - {"whitened-newton"}


@pytest.mark.parametrize("solver", STATED)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_by_other_solvers_refuse_weights(name, solver):
    kind = ESTIMATORS[name]
    options = {"classes": (0, 1)} if takes_labels(kind) else {}
    model = kind(solver=STATED[solver], **options, **WEIGHED)
    with pytest.raises(tg.InputError):
        model.fit(X, target_for(kind, X[:, 0], RNG), sample_weight=WEIGHTS)


@pytest.mark.parametrize("solver", STATED)
def test_minimize_by_other_solvers_refuses_weights(solver):
    told = {"sample_weight": WEIGHTS, "solver": STATED[solver], **WEIGHED}
    constraint = None if solver == "hard-thresholding" else BALL
    with pytest.raises(tg.InputError, match="sample_weight must be None unless"):
        tg.minimize(tg.losses.Squared(), X, X[:, 0], constraint=constraint, **told)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::tailguard.BudgetWarning")
def test_a_bound_without_weights_is_noted(name):
    kind, promise = ESTIMATORS[name], {"guarantee": tg.GDP(20.0), "random_state": 0}
    options = promise | ({"classes": (0, 1)} if takes_labels(kind) else {})
    target = target_for(kind, X[:, 0], RNG)
    note = "no weights were used: weight_bound= is given, but no sample_weight="
    model = kind(weight_bound=1.0, **options).fit(X, target)
    assert note in model.notes_
    assert note not in kind(**options).fit(X, target).notes_


def test_a_bound_without_weights_is_refused_by_minimize():
    with pytest.raises(tg.InputError, match=r"^weight_bound must be left out without"):
        tg.minimize(tg.losses.Squared(), X, X[:, 0], constraint=BALL, **WEIGHED)


def test_a_bound_beside_that_of_the_schema_is_refused():
    table = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "w": WEIGHTS})
    schema = tg.Schema(target="y", weight="w", weight_bound=2.0)
    with pytest.raises(tg.InputError, match=r"^weight_bound must be None where the schema"):
        tg.LinearRegression(schema=schema, **WEIGHED).fit(table)
