"""What is said of persons where it cannot be meant, and what a person's rows weigh."""

import re

import numpy as np
import pyarrow as pa
import pytest

import tailguard as tg

BUDGET = {"guarantee": tg.GDP(2.0), "random_state": 0}


def visits(n_persons=3_000, most=2, seed=0):
    rng = np.random.default_rng(seed)
    keys = np.repeat(np.arange(n_persons), rng.integers(1, most + 1, n_persons))
    X = rng.standard_normal((len(keys), 2))
    return X, X[:, 0] + rng.standard_normal(len(keys)), keys


def test_rows_of_one_feature_are_a_matrix():
    X, y, keys = visits()
    model = tg.LinearRegression(max_rows=5, **BUDGET).fit(X[:, :1], y, person=keys)
    assert model.coef_.shape == (1,)
    with pytest.raises(tg.InputError, match="X must be a matrix of rows by features, with at"):
        tg.LinearRegression(max_rows=5, **BUDGET).fit(X[:, :0], y, person=keys)


def test_too_few_persons_are_counted_as_persons():
    X, y, keys = visits(3)
    few = {"person": keys, "random_state": 0, "epsilon": 1.0, "delta": 1e-6}
    said = r"all that 3 persons tell, .* about [\d,]+ persons"
    with pytest.raises(tg.InputError, match=said):
        tg.mean(X, max_rows=2, **few)
    model = tg.LinearRegression(max_rows=2, epsilon=1.0, delta=1e-6, random_state=0)
    with pytest.raises(tg.InputError, match=said):
        model.fit(X, y, person=keys)


def test_weights_of_another_shape_tell_no_number_of_rows():
    X, y, keys = visits(200)
    model = tg.LinearRegression(max_rows=5, weight_bound=1.0, **BUDGET)
    with pytest.raises(tg.InputError, match=r"^sample_weight must be a vector, one entry per row"):
        model.fit(X, y, person=keys, sample_weight=np.ones((len(y), 2)))


class Holder:
    """An array behind the array protocol alone, without a shape of its own."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize("make", [pa.array, lambda x: pa.chunked_array([x]), Holder])
def test_what_has_no_shape_of_its_own_tells_no_number_of_rows(make):
    X, y, keys = visits(200)
    model = tg.LinearRegression(max_rows=5, **BUDGET)
    with pytest.raises(tg.InputError, match=r"^X must be a matrix of rows by features, with at"):
        model.fit(make(X[:, 0]), y, person=keys)
    with pytest.raises(tg.InputError, match=r"^y must be a vector, one entry per row of X; it is"):
        model.fit(X, Holder(X), person=keys)


@pytest.mark.parametrize(
    ("name", "bound"), [("sample_weight", 1.0), ("exposure", None), ("offset", None)]
)
def test_another_length_is_told_of_the_argument_by_its_name_without_a_number(name, bound):
    X, y, keys = visits(200)
    model = tg.PoissonRegression(max_rows=5, weight_bound=bound, **BUDGET)
    with pytest.raises(tg.InputError, match=f"^{name} must have one entry per row of X; it has"):
        model.fit(X, np.abs(y), person=keys, **{name: np.ones(len(y) - 1)})


@pytest.mark.parametrize("max_rows", [5, 1_000])
def test_persons_of_fewer_rows_than_are_used_at_most_are_whole_records_where_rows_count(max_rows):
    X, y, keys = visits()
    model = tg.LinearRegression(max_rows=max_rows, weight="row", check_records=True, **BUDGET)
    said = str(model.fit(X, y, person=keys).summary())
    assert re.search(r"rests on about (2,9\d\d|3,000) of 3,000 persons", said)


def test_keys_are_given_beside_the_table():
    X, y, keys = visits(200)
    with pytest.raises(tg.InputError, match=r"person must be the name of a column; .* person=keys"):
        tg.LinearRegression(person=keys, max_rows=3, **BUDGET).fit(X, y)


@pytest.mark.parametrize("n_rows", [1, 50])
def test_keys_beside_a_schema_that_names_persons_are_one_sentence(n_rows):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"p": np.arange(n_rows), "x": np.ones(n_rows), "y": np.ones(n_rows)})
    schema = tg.Schema(target="y", person="p", max_rows=2)
    with pytest.raises(tg.InputError, match="person and max_rows must be declared once"):
        tg.LinearRegression(schema=schema, **BUDGET).fit(table, person=np.arange(n_rows))
