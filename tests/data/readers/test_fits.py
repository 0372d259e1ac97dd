"""Fits and means of tables in batches have the bits of those of the array of the same rows."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import parquet

import tailguard as tg
from support.batched import arrow_table, digest, parquet_sources, small_memory
from support.registered import ESTIMATORS
from support.solvers import FEW_ROUNDS, SOLVERS, brief_solver
from support.targets import FREE, column_for, takes_labels
from tailguard.means.choice import MEANS

__all__ = ["small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}
N_ROWS, N_FEATURES = 6000, 3


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.standard_t(3, (N_ROWS, N_FEATURES)).astype(np.float32)
    X[[5, 4097], [2, 0]] = np.nan, np.inf
    score = np.nan_to_num(X, posinf=0.0) @ [0.5, -0.3, 0.2]
    return X, {
        "cost": score + rng.standard_t(3, N_ROWS),
        "claims": rng.poisson(np.exp(0.3 * np.clip(score, -2, 2))).astype(np.float64),
        "ill": np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-score)), "yes", "no"),
        "years": rng.uniform(0.5, 2.0, N_ROWS),
    }


@pytest.fixture(scope="module")
def sources(data, tmp_path_factory):
    X, others = data
    return parquet_sources(arrow_table(X, **others), tmp_path_factory.mktemp("tables"))


COLUMNS = [f"x{j}" for j in range(N_FEATURES)]


def model_of(name):
    """The sources differ and not the fit: few rounds read them as often as it takes to tell."""
    options = {"solver": FEW_ROUNDS} if name in FREE else {"n_nonzero": 2}
    options |= {"classes": ("no", "yes")} if takes_labels(ESTIMATORS[name]) else {}
    return ESTIMATORS[name](**BUDGET, **options)


KINDS = ("folder", "groups of 5000", "groups of 100")
BY_TURNS = [(name, KINDS[place % 3 :][:1]) for place, name in enumerate(ESTIMATORS)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        *BY_TURNS,
        *(pytest.param(name, KINDS, marks=pytest.mark.audit) for name in ESTIMATORS),
    ],
)
def test_every_estimator_has_the_same_bits_for_arrays_and_files(name, kinds, data, sources):
    X, others = data
    target, exposed = column_for(ESTIMATORS[name]), ESTIMATORS[name].takes_exposure
    observed = {"exposure": others["years"]} if exposed else {}
    named = {"exposure": "years"} if exposed else {}
    expected = digest(model_of(name).fit(X, others[target], **observed))
    for kind in kinds:
        fitted = model_of(name).fit(sources[kind], target=target, columns=COLUMNS, **named)
        assert digest(fitted) == expected, kind
        assert fitted.schema_.coefficient_names == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("name", "target"), [("LinearRegression", "cost"), ("PoissonRegression", "claims")]
)
def test_default_fits_have_the_same_bits_with_their_corrections(name, target, data, sources):
    X, others = data
    expected = ESTIMATORS[name](**BUDGET).fit(X, others[target])
    assert "contribution rounds" in {stage.name for stage in expected.plan_.stages}
    found = ESTIMATORS[name](**BUDGET).fit(sources["folder"], target=target, columns=COLUMNS)
    assert digest(found) == digest(expected)


def linear(**options):
    return tg.LinearRegression(solver=FEW_ROUNDS, **BUDGET, **options)


@pytest.mark.long
def test_every_source_has_the_same_digest(data, sources, tmp_path):
    X, others = data
    table = arrow_table(X, cost=others["cost"])
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path, row_group_size=700)
    chunked = pa.concat_tables([table[:10], table[10:3000], table[3000:]])
    given = {
        "str": str(path),
        "path": path,
        "table": table,
        "pandas": table.to_pandas(),
        "dataset of a file": ds.dataset(path),
        "dataset of a table": ds.dataset(chunked),
        "readers": chunked.to_reader,
        "lazy frame": pl.scan_parquet(path).with_columns(pl.col("x1") * 1.0),
    }
    named = digest(linear().fit(arrow_table(X), others["cost"]))  # a note lists undeclared columns
    for kind, source in given.items():
        assert digest(linear().fit(source, target="cost")) == named, kind
    expected = digest(linear().fit(X, others["cost"]))
    relation = duckdb.sql(f"select * from '{sources['groups of 1024']}'")
    for kind, source in (sources | {"duckdb": relation}).items():
        fitted = linear().fit(source, target="cost", columns=COLUMNS)
        assert digest(fitted) == expected, kind


def test_a_csv_file_is_read_whole_by_the_same_names(data, tmp_path):
    X, others = data
    path = tmp_path / "rows.csv"
    frame = arrow_table(X[:, :2].astype(float), ill=others["ill"]).to_pandas()
    frame.to_csv(path, index=False)
    logistic = tg.LogisticRegression(classes=("no", "yes"), **BUDGET)
    expected = digest(logistic.fit(frame[["x0", "x1"]], frame["ill"]))
    assert digest(logistic.fit(path, target="ill")) == expected
    means = [tg.mean(source, columns=["x1"], **BUDGET).value for source in (path, frame)]
    means.append(tg.mean(frame[["x1"]].to_csv(path, index=False) or path, **BUDGET).value)
    assert means[0] == means[1] == means[2]


def mean_of(X, method, **options):
    options |= {"low": -50.0, "high": 50.0} if method == "trimmed" else {}
    result = tg.mean(X, **BUDGET, method=method, **options)
    return result.value.tobytes(), result.certificate.to_json()


@pytest.mark.parametrize("method", MEANS)
def test_every_mean_has_the_same_bits_for_arrays_and_files(method, data, sources):
    X, _ = data
    assert mean_of(sources["folder"], method, columns=COLUMNS) == mean_of(X, method)
    if method in {"clamped", "iterative"}:
        found = mean_of(sources["folder"], method, columns=COLUMNS, n_groups=7)
        assert found == mean_of(X, method, n_groups=7)


@pytest.mark.long
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_has_the_same_bits_for_arrays_and_files(solver, data, sources):
    X, others = data
    constraints = {"hard-thresholding": tg.sets.SparseBall(1)}
    constraints |= {"whitened-newton": None, "scaled-gradient-descent": None}
    options = BUDGET | {"constraint": constraints.get(solver, tg.sets.L2Ball(2.0))}
    options |= {"solver": brief_solver(solver)}
    expected = tg.minimize(tg.losses.Huber(), X, others["cost"], **options)
    path = sources["folder"]
    found = tg.minimize(tg.losses.Huber(), path, target="cost", columns=COLUMNS, **options)
    assert found.coef.tobytes() == expected.coef.tobytes()
    assert found.certificate.to_json() == expected.certificate.to_json()


@pytest.mark.long
@pytest.mark.parametrize(
    "kinds",
    [
        ("groups of 1024", "folder"),
        pytest.param(("groups of 100", "groups of 5000", "pattern"), marks=pytest.mark.audit),
    ],
    ids=len,
)
def test_levels_constants_and_text_are_read_as_in_memory(tmp_path, kinds):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "moon"], N_ROWS),
            "age": np.where(rng.random(N_ROWS) < 0.1, np.nan, rng.normal(50, 9, N_ROWS)),
            "km": np.where(rng.random(N_ROWS) < 0.01, "many", "7.5"),
            "cost": rng.standard_normal(N_ROWS),
        }
    )
    schema = tg.Schema(
        categorical={"region": ["north", "south"]}, missing={"age": 40.0}, target="cost"
    )
    sources = parquet_sources(pa.Table.from_pandas(frame), tmp_path)
    expected = digest(linear(schema=schema).fit(frame))
    for kind in kinds:
        fitted = linear(schema=schema).fit(sources[kind])
        assert digest(fitted) == expected, kind


def test_kept_tables_have_the_same_digest(data, sources, monkeypatch):
    X, others = data
    monkeypatch.setattr("tailguard.data.rows.streams.NUMBERS_KEPT", 2**24)
    path = sources["folder"]
    fitted = linear().fit(path, target="cost", columns=COLUMNS)
    assert digest(fitted) == digest(linear().fit(X, others["cost"]))


@pytest.mark.long
def test_a_keyed_order_has_the_same_bits_for_arrays_and_files(data, sources, monkeypatch):
    X, others = data
    exact = digest(linear().fit(X, others["cost"]))
    monkeypatch.setattr("tailguard.noise.orders.MOST_KEPT", 100)
    expected = digest(linear().fit(X, others["cost"]))
    assert expected != exact
    assert digest(linear().fit(sources["folder"], target="cost", columns=COLUMNS)) == expected
    found = mean_of(sources["folder"], "iterative", columns=COLUMNS, n_groups=7)
    assert found == mean_of(X, "iterative", n_groups=7)
