"""The general form: any loss, any set, and users' own gradients of one record."""

import numba
import numpy as np
import pytest

import tailguard as tg

N_ROWS = 4_000
BALL = tg.sets.L2Ball(2.0)


def regression(n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    return X, X @ np.array([1.0, -0.5, 0.25]) + 0.1 * rng.standard_normal(n_rows)


FEW = 100  # rows for gradients that Python calls record by record


def own_gradient(w, x, y):
    return (x @ w - y) * x


compiled_gradient = numba.njit(own_gradient)


def fit(loss, X, y, **options):
    options = {"guarantee": tg.GDP(50.0), "constraint": BALL, "random_state": 0} | options
    return tg.minimize(loss, X, y, **options)


def test_a_loss_of_a_score_over_a_ball_is_minimised():
    X, y = regression()
    np.testing.assert_allclose(fit(tg.losses.Squared(), X, y).coef, [1.0, -0.5, 0.25], atol=0.15)


@pytest.mark.long
@pytest.mark.parametrize("gradient", [own_gradient, compiled_gradient])
def test_an_own_gradient_is_as_good_as_the_built_in_one(gradient):
    X, y = regression(FEW)
    built_in = fit(tg.losses.Squared(), X, y)
    own = fit(gradient, X, y)
    np.testing.assert_allclose(own.coef, built_in.coef, atol=1e-5)


def test_a_gradient_that_fails_makes_its_record_void():
    X, y = regression(FEW)

    def fails_on_some(w, x, y):
        if x[0] > 1.5:
            raise RuntimeError("not this record")
        return np.zeros(7) if x[0] < -1.5 else (x @ w - y) * x

    void_X = X.copy()
    void_X[np.abs(X[:, 0]) > 1.5] = np.nan
    np.testing.assert_array_equal(fit(fails_on_some, X, y).coef, fit(own_gradient, void_X, y).coef)


def test_a_gradient_cannot_change_the_records_or_the_weights():
    X, y = regression(FEW)

    def vandal(w, x, y):
        gradient = (x @ w - y) * x
        x[:] = 1e9
        w[:] = 1e9
        return gradient

    before = X.copy()
    np.testing.assert_array_equal(fit(vandal, X, y).coef, fit(own_gradient, X, y).coef)
    np.testing.assert_array_equal(X, before)


@pytest.mark.long
def test_multinomial_weights_separate_three_classes():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, N_ROWS)
    X = np.eye(3)[y] + 0.3 * rng.standard_normal((N_ROWS, 3))
    solved = fit(tg.losses.Multinomial(3), X, y, constraint=tg.sets.L2Ball(5.0))
    predicted = (X @ solved.coef.reshape(3, 3).T).argmax(axis=1)
    assert (predicted == y).mean() > 0.9


@pytest.mark.parametrize(
    "constraint",
    [
        tg.sets.L1Ball(1.0),
        tg.sets.Box([-0.5] * 3, [0.5] * 3),
        tg.sets.Simplex(1.0),
        tg.sets.L2Ball(0.5),
    ],
)
def test_the_answer_lies_in_the_set(constraint):
    X, y = regression()
    assert constraint.contains(fit(tg.losses.Squared(), X, y, constraint=constraint).coef)


def test_the_clip_level_is_bought_where_none_is_stated():
    X, y = regression()
    names = [stage.name for stage in fit(tg.losses.Squared(), X, y).plan.stages]
    assert names == ["usable records", "clip level", "descent"]


def test_units_do_not_matter_to_the_bought_clip_level():
    X, y = regression()
    first = fit(tg.losses.Squared(), X, y)
    scaled = fit(tg.losses.Squared(), 2.0**40 * X, y, constraint=tg.sets.L2Ball(2.0**-39))
    np.testing.assert_allclose(scaled.coef * 2.0**40, first.coef, atol=0.05)


def test_there_is_no_default_privacy():
    X, y = regression()
    with pytest.raises(tg.InputError, match="epsilon"):
        tg.minimize(tg.losses.Squared(), X, y)


@pytest.mark.long
def test_several_classes_are_told_which_solver_takes_them():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 2))
    y = (X @ [[2.0, -2.0, 0.0], [0.0, 0.0, 2.0]]).argmax(axis=1).astype(float)
    task, promise = (tg.losses.Multinomial(3), X, y), {"guarantee": tg.GDP(1.0), "random_state": 0}
    for solver in ("auto", "whitened-newton"):
        with pytest.raises(tg.InputError, match="solver='noisy-gradient-descent'") as refused:
            tg.minimize(*task, **promise, solver=solver)
        assert "constraint" in str(refused.value)
    named = {"solver": "noisy-gradient-descent", "constraint": tg.sets.L2Ball(10.0)}
    solved = tg.minimize(*task, **promise, **named)
    assert np.mean((X @ solved.coef.reshape(3, 2).T).argmax(axis=1) == y) > 0.8


def no_rows_are_read(*_):
    raise AssertionError("the budget was reserved before the arguments were checked")


class HalfASet:
    """A set that does not say whether it is convex."""

    def project(self, point):
        return np.zeros_like(point)

    def diameter(self):
        return 1.0


class OneWeight(HalfASet):
    """A set whose projections have another size."""

    convex = True

    def project(self, point):
        return np.zeros(1)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((tg.losses.Squared(), None), {}, "y must be given"),
        ((tg.losses.Multinomial(3), None), {}, "y must be given"),
        (("squared",), {}, "as it was made; got 'squared'"),
        ((tg.losses.Squared,), {}, "loss must be a loss of tg.losses"),
        ((lambda w, x: x,), {}, r"got one with the arguments \(w, x\)"),
        ((own_gradient,), {"intercept": True}, "intercept must be False"),
        ((own_gradient,), {"intercept": "no"}, "intercept must be True or False"),
        ((own_gradient,), {"constraint": "ball"}, "constraint must be a set"),
        ((own_gradient,), {"constraint": HalfASet()}, "that has project, diameter and convex; got"),
        ((own_gradient,), {"constraint": OneWeight()}, "constraint must be a set of vectors of 3"),
        ((own_gradient,), {"constraint": tg.sets.L2Ball}, "constraint must be a set"),
        ((own_gradient,), {"constraint": tg.sets.Box(-1, 1)}, "low and high as vectors"),
        ((own_gradient,), {"constraint": None}, "constraint must be given"),
        (
            (own_gradient,),
            {"constraint": tg.sets.L2Ball(1.0, center=[0.0, 0.0])},
            "vectors of 3 weights",
        ),
        ((own_gradient,), {"solver": 3}, "solver must be 'auto'"),
        ((own_gradient,), {"ledger": "x", "random_state": None}, "ledger must be a tg.Ledger"),
        ((tg.losses.Squared(),), {"exposure": [1.0]}, "exposure must have one entry per row"),
        ((own_gradient,), {"exposure": np.ones(2)}, "exposure must be None for a loss known one"),
        ((tg.losses.Logistic(),), {"classes": (0, 1, 2)}, "classes must be at most 2 labels"),
        ((tg.losses.Logistic(),), {"classes": 2}, "classes must be a sequence of labels or None"),
    ],
)
def test_wrong_arguments_are_refused_before_the_budget_is_reserved(
    arguments, options, sentence, monkeypatch
):
    monkeypatch.setattr("tailguard.gate.Gate.reserve", no_rows_are_read)
    X, y = regression()
    loss, *target = arguments
    with pytest.raises(tg.InputError, match=sentence):
        fit(loss, X, *(target or [y]), **options)


def test_a_result_says_within_which_bounds_features_were_read():
    X = np.random.default_rng(0).standard_normal((2_000, 2))
    told = tg.minimize(tg.losses.Squared(), X, X[:, 0], guarantee=tg.GDP(1.0), random_state=0)
    low, high = np.array(told.feature_bounds).T
    assert (low < 0.0).all()
    assert (high > 0.0).all()
    assert np.mean((low <= X) & (high >= X)) > 0.99
