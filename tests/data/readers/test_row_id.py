"""With identifiers, a fit has the same bits under any order and any cut of the rows."""

import hashlib

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg
from support.batched import small_memory
from support.registered import ESTIMATORS
from support.solvers import SOLVERS, make_solver
from support.targets import FREE, takes_labels
from tailguard.checks import InputError
from tailguard.data.rows import streams, unordered

__all__ = ["small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

N_ROWS, N_FEATURES = 6000, 3
COLUMNS = [f"x{j}" for j in range(N_FEATURES)]
BUDGET = {"guarantee": tg.ApproxDP(8.0, 1e-6), "random_state": 0}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    X = rng.standard_t(3, (N_ROWS, N_FEATURES)).astype(np.float32)
    X[[5, 4097], [2, 0]] = np.nan, np.inf
    score = np.nan_to_num(X, posinf=0.0) @ [0.5, -0.3, 0.2]
    ill = np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-score)), 1.0, 0.0)
    others = {"cost": np.abs(np.rint(score + rng.standard_t(3, N_ROWS))), "ill": ill}
    return pd.DataFrame(X, columns=COLUMNS).assign(**others, policy=rng.permutation(N_ROWS) + 10**6)


@pytest.fixture(scope="module")
def cuts(frame, tmp_path_factory):
    """The same rows in other orders, and cut in other ways."""
    folder = tmp_path_factory.mktemp("tables")
    found = {"pandas": frame, "arrow": pa.Table.from_pandas(frame[::-1], preserve_index=False)}
    for seed, size in enumerate((100, 1024, 5000)):
        table = pa.Table.from_pandas(frame.sample(frac=1, random_state=seed), preserve_index=False)
        found[f"row groups of {size}"] = folder / f"{size}.parquet"
        parquet.write_table(table, found[f"row groups of {size}"], row_group_size=size)
    wide = frame.astype(dict.fromkeys(COLUMNS, np.float64))  # all digits of a float32
    wide.sample(frac=1, random_state=9).to_csv(folder / "rows.csv", index=False)
    found["csv"] = folder / "rows.csv"
    for n in (1, 2, 7):
        shuffled = frame.sample(frac=1, random_state=n).reset_index(drop=True)
        found[f"{n} partitions"] = dd.from_pandas(shuffled, npartitions=n, sort=False)
    return found


@pytest.fixture(params=["memory", "file"])
def place(request, monkeypatch):
    if request.param == "file":
        monkeypatch.setattr(unordered, "NUMBERS_GATHERED", 0)
        monkeypatch.setattr(streams, "NUMBERS_AT_ONCE", 4 * 2**11)
    return request.param


def digest(model):
    numbers = [model.coef_, model.intercept_, model.coef_noise_std_]
    text = b"".join(np.asarray(number).tobytes() for number in numbers)
    return hashlib.sha256(text + model.certificate_.to_json().encode()).hexdigest()


def fitted(source, name="LinearRegression", **options):
    options |= {"classes": (0.0, 1.0)} if takes_labels(ESTIMATORS[name]) else {}
    target = "ill" if takes_labels(ESTIMATORS[name]) else "cost"
    model = ESTIMATORS[name](**BUDGET, **options)
    return model.fit(source, target=target, columns=COLUMNS, row_id="policy")


def test_a_fit_has_one_digest_under_every_order_and_cut(cuts, place):
    some = cuts if place == "memory" else ("pandas", "row groups of 1024", "csv", "7 partitions")
    digests = {name: digest(fitted(cuts[name])) for name in some}
    assert len(set(digests.values())) == 1, digests


OTHERS = [name for name in FREE if name != "LinearRegression"]


@pytest.mark.parametrize("name", OTHERS)
def test_every_estimator_has_one_digest(cuts, name):
    some = ("pandas", "row groups of 1024", "7 partitions")
    assert len({digest(fitted(cuts[cut], name)) for cut in some}) == 1


OTHER_CUTS = ("row groups of 100", "2 partitions")
BY_TURNS = [("pandas", OTHER_CUTS[place % 2]) for place in range(len(SOLVERS))]


@pytest.mark.parametrize(
    ("solver", "some"),
    [
        *zip(SOLVERS, BY_TURNS, strict=True),
        *(pytest.param(s, ("pandas", *OTHER_CUTS), marks=pytest.mark.audit) for s in SOLVERS),
    ],
)
def test_every_solver_has_one_digest(cuts, solver, some):
    found = set()
    for cut in some:
        solved = tg.minimize(
            tg.losses.Huber(1.0), cuts[cut], target="cost", columns=COLUMNS, row_id="policy",
            constraint=tg.sets.SparseBall(2, 2.0) if solver == "hard-thresholding"
            else None if solver == "whitened-newton" else tg.sets.L2Ball(2.0),
            solver=make_solver(solver), **BUDGET,
        )  # fmt: skip
        found.add(solved.coef.tobytes() + solved.certificate.to_json().encode())
    assert len(found) == 1


def test_means_have_one_digest(cuts):
    for method in ("clipped", "clamped", "iterative", "trimmed"):
        options = {"low": -9.0, "high": 9.0} if method == "trimmed" else {}
        found = {
            tg.mean(
                cuts[cut], columns=COLUMNS, row_id="policy", method=method, **BUDGET, **options
            ).value.tobytes()
            for cut in ("pandas", "row groups of 5000", "7 partitions", "csv")
        }
        assert len(found) == 1


def test_without_identifiers_the_order_matters(cuts):
    fits = [
        tg.LinearRegression(**BUDGET).fit(cuts[cut], target="cost", columns=COLUMNS)
        for cut in ("pandas", "row groups of 1024")
    ]
    assert digest(fits[0]) != digest(fits[1])


def test_identifiers_are_no_feature_and_a_schema_may_name_them(cuts):
    schema = tg.Schema(target="cost", drop=["ill"], row_id="policy")
    model = tg.LinearRegression(**BUDGET, schema=schema).fit(cuts["pandas"])
    assert model.schema_.coefficient_names == tuple(COLUMNS)
    assert model.coef_.tobytes() == fitted(cuts["7 partitions"]).coef_.tobytes()
    assert tg.Schema.from_json(schema.to_json()) == schema
    assert model.predict(cuts["pandas"][COLUMNS]).shape == (N_ROWS,)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"row_id": "number"}, "must have a column 'number'"),
        ({"row_id": "x0"}, "row_id must not be a column of features"),
        ({"row_id": "cost"}, "row_id must not be a column of target"),
        ({"row_id": 3}, "row_id must be the name of a column"),
    ],
)
def test_what_names_no_identifier_is_one_sentence(cuts, options, sentence):
    for cut in ("pandas", "2 partitions"):
        with pytest.raises(InputError, match=sentence):
            tg.LinearRegression(**BUDGET).fit(cuts[cut], target="cost", columns=COLUMNS, **options)


def test_a_stopped_fit_goes_on_with_identifiers(cuts, tmp_path):
    path = tmp_path / "fit.checkpoint"
    first, again = (fitted(cuts["row groups of 100"], checkpoint=path) for _ in range(2))
    assert digest(first) == digest(again) == digest(fitted(cuts["pandas"]))
