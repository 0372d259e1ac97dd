"""The replacement contract at the public names: whatever a cell is, it concerns its record alone.

Hostile objects take the place of one cell. Nothing raises, nothing warns, every other record keeps
its bits, and a whole fit is the fit with the number that the cell counts as, mostly none.
"""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tailguard as tg
from support import hostile
from support.hostile import object_array
from support.problems import example_of
from support.registered import ESTIMATORS
from support.solvers import FEW_ROUNDS, SOLVERS, make_solver
from support.targets import FREE, takes_labels, target_for
from tailguard.data.labels import encode_labels
from tailguard.data.matrices import to_matrix, to_matrix_or_vector, to_vector
from tailguard.data.rows.arrays import make_rows
from tailguard.means.choice import MEANS

CELLS = hostile.cells(500)
NUMBERS = [0.1, -1e300, 2.0**53 + 2, 5e-324, 1 / 3, 0.0, 41.0]
PLACE = 3


def same(found, expected):
    """Whether two arrays agree in every bit, all NaN being alike."""
    found, expected = (np.where(np.isnan(a), np.nan, a) for a in map(np.asarray, (found, expected)))
    return found.tobytes() == expected.tobytes()


def replaced(values, cell):
    return [*values[:PLACE], cell, *values[PLACE + 1 :]]


def matrix_of(cell):
    """An object matrix of three columns with the cell in the middle one."""
    columns = [object_array(values) for values in (NUMBERS, replaced(NUMBERS, cell), NUMBERS[::-1])]
    held = np.empty((len(NUMBERS), 3), dtype=object)
    for place, column in enumerate(columns):
        held[:, place] = column
    return held


HOLDERS = {
    "list": list,
    "tuple": tuple,
    "object array": object_array,
    "pandas objects": lambda values: pd.Series(object_array(values), dtype=object),
    "polars objects": lambda values: pl.Series(values, dtype=pl.Object),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_500_hostile_cells_of_a_vector_concern_themselves_only(holder):
    read = 0
    for found in CELLS:
        values = replaced(NUMBERS, found.cell)
        try:
            held = HOLDERS[holder](values)
        except (TypeError, ValueError):  # polars holds no object without a plain hash
            continue
        hostile.VICTIMS[:] = [values]
        assert same(to_vector(held), replaced(NUMBERS, found.number)), found.kind
        read += 1
    assert read > 480


def test_500_hostile_cells_of_a_matrix_concern_themselves_only():
    for found in CELLS:
        held = matrix_of(found.cell)
        expected = matrix_of(found.number).astype(float)
        hostile.VICTIMS[:] = [held[:, 0], held[:, 2]]
        for matrix in (
            to_matrix(held),
            to_matrix(pd.DataFrame(held)),
            to_matrix_or_vector(held)[0],
        ):
            assert same(matrix, expected), found.kind


@pytest.mark.parametrize("holder", [list, object_array])
def test_500_hostile_labels_concern_themselves_only(holder):
    for found in CELLS:
        place = {0.0: 0.0, 1.0: 1.0}.get(found.number, np.nan)
        for labels, classes, expected in (
            ([0, 1, True, 0, "1", 1], (0, 1), replaced([0, 1, 1, 0, 1, 1], place)),
            (["no", "yes", b"no", "no", ["yes"]], ("no", "yes"), replaced([0, 1, 0, 0, 1], np.nan)),
        ):
            values = replaced(labels, found.cell)
            hostile.VICTIMS[:] = [values]
            assert same(encode_labels(holder(values), classes), np.array(expected, float))


def test_500_hostile_cells_of_rows_concern_themselves_only():
    positive = np.abs(NUMBERS)
    for found, missing in zip(CELLS, itertools.cycle([None, {1: 7.0}]), strict=False):
        rows = make_rows(
            matrix_of(found.cell),
            replaced(NUMBERS, found.cell),
            exposure=object_array(replaced(list(positive), found.cell)),
            missing=missing,
        )
        records = rows.piece(0, len(NUMBERS))
        number = 7.0 if missing and np.isnan(found.number) else found.number
        with np.errstate(all="ignore"):
            exposure = np.log(replaced(list(positive), found.number))
        assert same(records.features, matrix_of(number).astype(float))
        assert same(records.target, replaced(NUMBERS, found.number))
        assert same(records.offset, exposure)


BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}
N_ROWS = 120
SQUARE = np.tile(np.eye(9), (10, 1))


def model_of(name, **options):
    """Few rounds are enough, but for one estimator, which has all of its solver's own choices."""
    if name in FREE and name != "LinearRegression":
        options = {"solver": FEW_ROUNDS} | options
    if takes_labels(ESTIMATORS[name]):
        options = {"classes": (0, 1)} | options
    return ESTIMATORS[name](**BUDGET, **options)


def takes_exposure(name):
    """Whether a run is the fit of an estimator that takes exposures."""
    return name in ESTIMATORS and ESTIMATORS[name].takes_exposure


def records(name):
    """Features, a target that the estimator takes, and exposures."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, (N_ROWS, 2))
    y = target_for(ESTIMATORS.get(name, tg.LinearRegression), X[:, 0], rng).astype(float)
    return X, y, rng.uniform(0.5, 2.0, N_ROWS)


def spoiled(name, places):
    """The records in object arrays, with a cell at each of the places, (part, row) -> cell."""
    features, target, exposure = (part.astype(object) for part in records(name))
    columns = {"features": features[:, 1], "target": target, "exposure": exposure}
    for (part, row), cell in places.items():
        columns[part][row] = cell
    return features, target, exposure


def fit_with(name, places):
    X, y, exposure = spoiled(name, places)
    observed = {"exposure": exposure.tolist()} if takes_exposure(name) else {}
    table = pd.DataFrame(X, columns=["a", "b"], dtype=object)
    return outputs_of(model_of(name).fit(table, y.tolist(), **observed))


def outputs_of(model):
    """Everything that a fit lets out, as bytes."""
    numbers = [model.coef_, model.intercept_, model.coef_noise_std_, model.intercept_noise_std_]
    numbers += [] if model.coef_std_ is None else [model.coef_std_, model.intercept_std_]
    words = [model.summary(), model.explain(), model.certificate_.to_json(), repr(model.notes_)]
    return [np.asarray(number).tobytes() for number in numbers] + words


def mean_with(method, places):
    result = tg.mean(spoiled("mean", places)[0], **BUDGET, method=method)
    return [result.value.tobytes(), result.explain(), result.certificate.to_json()]


def described_with(name, places):
    X, _, weight = spoiled("mean", places)
    weighed = {"sample_weight": weight.tolist(), "weight_bound": 1.0} if name == "weighed" else {}
    found = tg.describe(X, **weighed, **BUDGET)
    return [repr(found), found.explain(), found.certificate.to_json()]


def solved_with(solver, places):
    X, y, _ = spoiled("minimize", places)
    ball = example_of(solver).constraint
    told = {**BUDGET, "constraint": ball, "solver": make_solver(solver)}
    solved = tg.minimize(tg.losses.Huber(), X, y.tolist(), **told)
    return [solved.coef.tobytes(), solved.certificate.to_json()]


UNTYPED = ([[1.0], [2.0]], [[1.0], None], [[1.0], [1.0, 2.0]], [1.0, 2.0], [], ((1.0,),), range(3))
CALLS = {
    **{
        f"{name}.fit": lambda X, name=name: model_of(name).fit(X, [0.0, 1.0]) for name in ESTIMATORS
    },
    "predict": lambda X: tg.LinearRegression(**BUDGET).fit(SQUARE, np.ones(90)).predict(X),
    "tg.mean": lambda X: tg.mean(X, **BUDGET),
    "tg.minimize": lambda X: tg.minimize(tg.losses.Huber(), X, [0.0, 1.0], **BUDGET),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_has_no_type_is_no_matrix_whatever_it_holds(call):
    for given in UNTYPED:
        with pytest.raises(tg.InputError) as refused:
            CALLS[call](given)
        assert str(refused.value) == (
            "X must be an array or a table: whatever it holds, a "
            f"{type(given).__name__} has no declared width, so pass a table with named columns or, "
            "for numbers only, np.asarray(X)."
        )


RUNS = [(fit_with, name) for name in ESTIMATORS]
RUNS += [(mean_with, method) for method in ("auto", *MEANS)]
RUNS += [(described_with, name) for name in ("describe", "weighed")]
RUNS += [(solved_with, solver) for solver in SOLVERS]
every_run = pytest.mark.parametrize(
    ("run", "name"), RUNS, ids=lambda part: getattr(part, "__name__", part)
)


def parts_of(run, name):
    """What a run reads, and a cell can be in."""
    parts = ["features"] if run in (mean_with, described_with) else ["features", "target"]
    return [*parts, "exposure"] if takes_exposure(name) or name == "weighed" else parts


def compare(run, name, found):
    """A run with these cells, each in a row of its own, is the run with their numbers."""
    places = list(zip(itertools.cycle(parts_of(run, name)), range(len(found))))
    cells, numbers = (
        {place: getattr(each, held) for place, each in zip(places, found, strict=True)}
        for held in ("cell", "number")
    )
    assert run(name, cells) == run(name, numbers)


@every_run
def test_a_run_with_90_hostile_cells_is_the_run_with_their_numbers(run, name):
    compare(run, name, CELLS[:90])


@pytest.mark.audit
@every_run
def test_a_run_with_any_20_of_500_hostile_cells_is_the_run_with_their_numbers(run, name):
    for first in range(0, len(CELLS), 20):
        compare(run, name, CELLS[first : first + 20])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_predictions_of_other_rows_keep_their_bits_and_rows_far_out_do_not_warn(name):
    X, y, _ = records(name)
    model = model_of(name).fit(X, y)
    for far in (1e308, -1e308, np.inf, -np.inf, np.nan):
        rows = np.full((2, 2), far)
        assert len(model.predict(rows)) == 2
        if takes_labels(type(model)):
            assert model.predict_proba(rows).shape == (2, 2)
        if takes_exposure(name):
            assert len(model.predict(rows, exposure=[np.inf, 0.0])) == 2
    methods = {"predict", "predict_proba", "decision_function"} & set(dir(model))
    plain = {method: getattr(model, method)(X) for method in methods}
    others = np.arange(N_ROWS) != PLACE
    for found in CELLS[:100]:
        held, _, _ = spoiled(name, {("features", PLACE): found.cell})
        for method, expected in plain.items():
            predicted = getattr(model, method)(held)
            assert same(predicted[others], expected[others])


TABLES = {
    "pandas": lambda cells: pd.DataFrame({"a": cells}),
    "polars": lambda cells: pl.DataFrame({"a": pl.Series(cells, strict=False)}),
    "pyarrow": lambda cells: pa.table({"a": [None if c is None else str(c) for c in cells]}),
}


@pytest.mark.parametrize("cell", ["?", None, "2.5", "1e400"])
@pytest.mark.parametrize("table", TABLES)
def test_a_column_that_one_cell_turned_into_text_is_fitted_as_before(table, cell):
    number = {"2.5": 2.5, "1e400": np.inf}.get(cell, np.nan)
    features, held = (
        spoiled("LinearRegression", {("features", PLACE): put})[0][:, 1] for put in (number, cell)
    )
    y = records("LinearRegression")[1]
    expected = model_of("LinearRegression").fit(features[:, None].astype(float), y)
    fitted = model_of("LinearRegression").fit(TABLES[table](held.tolist()), y)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_neither_the_width_of_floats_nor_the_sign_of_a_zero_is_seen(name):
    """One cell can widen a column, and turn a written -0 from a whole number into a float."""
    X, y, _ = records(name)
    single, y = np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32), np.round(y)
    negative = np.where(single == 0.0, np.float32(-0.0), single)
    fits = [
        outputs_of(model_of(name, missing={0: 0.1}).fit(features, target))
        for features, target in (
            (single, y),
            (negative.astype(float), np.where(y == 0.0, -0.0, y)),
        )
    ]
    assert fits[0] == fits[1]


def test_exposures_of_another_length_are_refused_in_fits_and_predictions():
    X, y, exposure = records("PoissonRegression")
    model = model_of("PoissonRegression").fit(X, y, exposure=exposure)
    for call in (model.predict, lambda X, exposure: model.fit(X, y, exposure=exposure)):
        with pytest.raises(tg.InputError, match="exposure must have one entry per row of X; got 1"):
            call(X, exposure=[1.0])
