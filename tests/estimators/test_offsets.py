"""Offsets and exposures: the same fit by both, of every link, and read again in predictions."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support import hostile
from support.solvers import FEW_ROUNDS
from tailguard.data.inputs import read_inputs
from tailguard.data.rows.arrays import make_rows

N_ROWS = 8_000
BUDGET = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 2))
EXPOSURE = RNG.uniform(0.1, 2.0, N_ROWS)
OFFSET = RNG.normal(0.0, 2.0, N_ROWS)
COUNTS = RNG.poisson(EXPOSURE * np.exp(0.3 + X @ [0.5, -0.3])).astype(float)
COSTS = X @ [1.0, 2.0] + OFFSET + RNG.standard_normal(N_ROWS)
ILL = (RNG.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(1.0 - X @ [1.0, -0.5] - OFFSET))).astype(int)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "cost": COSTS, "off": OFFSET})


def weights_of(model):
    return [*model.coef_, model.intercept_]


def logistic_optimum(offset):
    """Newton's method without noise, with an offset in the score."""
    rows, weights = np.column_stack([X, np.ones(N_ROWS)]), np.zeros(3)
    for _ in range(25):
        chance = 1.0 / (1.0 + np.exp(-(rows @ weights + offset)))
        curvature = (rows * (chance * (1.0 - chance))[:, None]).T @ rows
        weights = weights - np.linalg.solve(curvature, rows.T @ (chance - ILL))
    return weights


def test_an_offset_is_the_logarithm_of_an_exposure_to_the_bit():
    exposed = tg.PoissonRegression(**BUDGET).fit(X, COUNTS, exposure=EXPOSURE)
    offset = tg.PoissonRegression(**BUDGET).fit(X, COUNTS, offset=np.log(EXPOSURE))
    assert weights_of(exposed) == weights_of(offset)
    counts = exposed.predict(X, exposure=EXPOSURE)
    np.testing.assert_array_equal(counts, offset.predict(X, offset=np.log(EXPOSURE)))
    np.testing.assert_allclose(counts, exposed.predict(X) * EXPOSURE, rtol=1e-12)
    assert exposed.score(X, COUNTS, exposure=EXPOSURE) > exposed.score(X, COUNTS)


@pytest.mark.parametrize(
    "model",
    [tg.LinearRegression, tg.HuberRegression, tg.QuantileRegression, tg.LpRegression],
)
def test_a_loss_of_residuals_takes_the_offset_off_the_target(model):
    by_offset = model(**BUDGET).fit(X, COSTS, offset=OFFSET)
    by_hand = model(**BUDGET).fit(X, COSTS - OFFSET)
    assert weights_of(by_offset) == weights_of(by_hand)
    np.testing.assert_array_equal(by_offset.predict(X, offset=OFFSET), by_hand.predict(X) + OFFSET)


def test_a_sparse_fit_takes_an_offset_too():
    options = {"n_nonzero": 1, **BUDGET}
    found = tg.SparseLinearRegression(**options).fit(X, COSTS, offset=OFFSET)
    by_hand = tg.SparseLinearRegression(**options).fit(X, COSTS - OFFSET)
    assert weights_of(found) == weights_of(by_hand)
    with pytest.raises(tg.InputError, match="and no offset; got an offset"):
        tg.SparseLogisticRegression(**options).fit(X, ILL, offset=OFFSET)


def test_log_odds_are_fitted_beside_an_offset():
    model = tg.LogisticRegression(**BUDGET).fit(X, ILL, offset=OFFSET)
    best = logistic_optimum(OFFSET)
    std = np.array([*model.coef_std_, model.intercept_std_])
    assert (np.abs(weights_of(model) - best) < 4.0 * std).all()
    assert (np.abs(logistic_optimum(0.0 * OFFSET) - best) > 4.0 * std).any()
    score = model.decision_function(X, offset=OFFSET)
    np.testing.assert_array_equal(score, model.decision_function(X) + OFFSET)
    assert model.score(X, ILL, offset=OFFSET) > model.score(X, ILL)
    chances = model.predict_proba(X, offset=OFFSET)[:, 1]
    np.testing.assert_array_equal(chances > 0.5, model.predict(X, offset=OFFSET) == 1)


def test_tables_files_and_schemas_name_the_offset(tmp_path):
    expected = tg.LinearRegression(**BUDGET).fit(X, COSTS, offset=OFFSET)
    path = tmp_path / "rows.parquet"
    TABLE.to_parquet(path)
    schema = {"target": "cost", "offset": "off"}
    for source in (TABLE, path):
        named = tg.LinearRegression(**BUDGET).fit(source, target="cost", offset="off")
        declared = tg.LinearRegression(schema=schema, **BUDGET).fit(source)
        assert weights_of(named) == weights_of(declared) == weights_of(expected)
    predicted = declared.predict(TABLE, offset="off")
    np.testing.assert_array_equal(predicted, expected.predict(X, offset=OFFSET))
    np.testing.assert_array_equal(declared.predict(TABLE), expected.predict(X))


def test_the_general_form_and_a_search_take_an_offset():
    found = tg.minimize(tg.losses.Squared(), X, COSTS, offset=OFFSET, intercept=True, **BUDGET)
    expected = tg.LinearRegression(**BUDGET).fit(X, COSTS, offset=OFFSET)
    assert [*found.coef, found.intercept] == weights_of(expected)
    search = tg.PrivateSearch(tg.LinearRegression(solver=FEW_ROUNDS), [{}], n_tries=2, **BUDGET)
    best = search.fit(X, COSTS, offset=OFFSET)
    assert best.score(X, COSTS, offset=OFFSET) > 0.9 > best.score(X, COSTS)


def test_a_cell_of_an_offset_concerns_its_record_alone():
    for found in hostile.cells(100):
        cells = OFFSET[:9].astype(object)
        cells[4] = found.cell
        for loss in (tg.losses.Squared(), tg.losses.Poisson()):
            records = make_rows(X[:9], COSTS[:9] ** 2, offset=cells, loss=loss).block()
            others = np.arange(9) != 4
            expected = make_rows(X[:9], COSTS[:9] ** 2, offset=OFFSET[:9], loss=loss).block()
            for name in ("target", "offset"):
                np.testing.assert_array_equal(
                    records.vector(name)[others], expected.vector(name)[others]
                )
            assert records.void()[4] == (not np.isfinite(found.number))


def test_an_offset_that_carries_a_target_beyond_the_floats_makes_it_void():
    rows = make_rows(X[:2], [1e308, 1.0], offset=[-1e308, 0.5], loss=tg.losses.Squared())
    assert rows.block().void().tolist() == [True, False]
    assert not rows.has_offset


def test_offsets_that_are_no_numbers_are_counted_by_column():
    cells = ["1.5", None, "far", "inf"]
    marks = [piece[2] for piece in read_inputs(X[:4], COSTS[:4], offset=cells).marks()]
    np.testing.assert_array_equal(np.concatenate(marks), [0.0, np.nan, np.inf, np.inf])


def test_predictions_without_exposure_are_zero_and_with_an_infinite_one_missing():
    exposure = np.array([0.0, -1.0, np.nan, np.inf, 2.0])
    rates = tg.PoissonRegression(solver=FEW_ROUNDS, **BUDGET).fit(X, COSTS**2, exposure=EXPOSURE)
    found = rates.predict(X[:5], exposure=exposure)
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, True, False])
    assert found[0] == 0.0 < found[4]
    line = tg.LinearRegression(solver=FEW_ROUNDS, **BUDGET).fit(X, COSTS, offset=OFFSET)
    assert np.isnan(line.predict(X[:2], offset=[np.inf, -np.inf])).all()


REFUSED = [
    (tg.LinearRegression, {"exposure": EXPOSURE}, "exposure must be None for a LinearRegression"),
    (tg.PoissonRegression, {"exposure": EXPOSURE, "offset": OFFSET}, "offset must be None if"),
    (tg.LinearRegression, {"offset": OFFSET[:5]}, "offset must have one entry per row of X; got 5"),
    (tg.LinearRegression, {"offset": "off"}, "to be read by name"),
]


@pytest.mark.parametrize(("model", "given", "message"), REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(model, given, message):
    with pytest.raises(tg.InputError, match=message):
        model(**BUDGET).fit(X, COUNTS, **given)


def test_predictions_refuse_the_same():
    model = tg.LinearRegression(**BUDGET).fit(X, COSTS, offset=OFFSET)
    with pytest.raises(tg.InputError, match="exposure must be None for a LinearRegression"):
        model.predict(X, exposure=EXPOSURE)
    named = tg.LinearRegression(**BUDGET).fit(TABLE, target="cost", offset="off")
    with pytest.raises(tg.InputError, match="must have a column 'off'"):
        named.predict(TABLE[["a", "b"]], offset="off")


@pytest.mark.parametrize(("given", "declared"), [("offset", "exposure"), ("exposure", "offset")])
def test_an_offset_beside_a_declared_exposure_is_refused(given, declared):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=50), "years": np.ones(50), "y": np.ones(50)})
    schema = {"target": "y", "features": ["x"], declared: "years"}
    model = tg.PoissonRegression(schema=schema, epsilon=1.0, delta=1e-6)
    with pytest.raises(tg.InputError, match=f"{given} must be None, .* {declared}, 'years'"):
        model.fit(table, **{given: np.ones(50)})
