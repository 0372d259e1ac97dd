"""Tables without a usable record stop every fit early, and the ledger shows what little it cost.

Ten tables, each spoiled in four ways that read as void records: words, dates, decimal commas, and
labels outside the declared classes. They come as all kinds of sources.
"""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg
from tailguard.privacy.accounting.total_cost import total_mu

# Records, features, and mu: n mu from 350 to 5000, and at least 68 times the root of the columns.
TABLES = [
    *((700, 1, 0.5), (1_000, 3, 0.5), (1_500, 9, 0.4), (2_000, 20, 0.3), (3_000, 2, 0.2)),
    *((4_000, 40, 0.2), (5_000, 5, 0.1), (6_000, 12, 1.0), (8_000, 60, 0.1), (9_000, 7, 0.05)),
]
SOURCES = ("pandas", "polars", "pyarrow", "csv", "parquet")
SPOILED = ("words", "dates", "decimal commas", "labels")


def spoiled(how, n_rows, n_features, seed):
    """Columns by name, the name of the one that is to blame, and the schema of all."""
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.standard_t(3, n_rows) for j in range(n_features)}
    blamed = f"x{rng.integers(n_features)}"
    held = columns[blamed]
    columns["y"] = np.where(rng.random(n_rows) < 0.4, "ja", "nein")
    if how == "labels":
        return columns, "y", tg.Schema(target="y", classes=("no", "yes"))
    day = datetime.date(2020, 1, 1)
    columns[blamed] = {
        "words": [("gas", "diesel", "SECRET")[n] for n in rng.integers(3, size=n_rows)],
        "dates": [str(day + datetime.timedelta(days=int(abs(x) * 99))) for x in held],
        "decimal commas": [f"{x:.3f}".replace(".", ",") for x in held],
    }[how]
    return columns, blamed, tg.Schema(target="y", classes=("nein", "ja"))


def source_of(kind, columns, folder):
    table = {name: list(held) for name, held in columns.items()}
    if kind == "pandas":
        return pd.DataFrame(table)
    if kind == "polars":
        return pl.DataFrame(table)
    if kind == "pyarrow":
        return pa.table(table)
    path = folder / f"table.{kind}"
    if kind == "csv":
        pd.DataFrame(table).to_csv(path, index=False)
    else:
        parquet.write_table(pa.table(table), path, row_group_size=1000)
    return str(path)


@pytest.mark.long
@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.parametrize("number", range(len(TABLES)))
def test_a_burn_stops_early_names_its_column_and_costs_little(number, how, tmp_path):
    n_rows, n_features, mu = TABLES[number]
    assert n_rows * mu >= max(350.0, 68.0 * math.sqrt(n_features + 1))
    columns, blamed, schema = spoiled(how, n_rows, n_features, seed=number)
    source = source_of(SOURCES[(number + SPOILED.index(how)) % len(SOURCES)], columns, tmp_path)
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.GDP(2.0 * mu))
    model = tg.LogisticRegression(schema=schema, guarantee=tg.GDP(mu), ledger=ledger)
    with pytest.raises(tg.UnusableTableError) as stopped:
        model.fit(source)
    error = stopped.value
    assert error.columns[0].column.name == blamed
    assert (blamed == "y") == (error.columns[0].column.role in ("target", "labels"))
    assert not error.columns[0].empty
    assert f"{blamed!r} holds about " in str(error)
    assert "SECRET" not in str(error)
    assert "gas" not in str(error)
    assert error.spent.mu**2 <= 0.021 * mu**2
    assert total_mu(ledger.reserved) ** 2 <= 0.021 * mu**2


@pytest.mark.parametrize("number", range(0, len(TABLES), 3))
def test_the_same_tables_are_fitted_where_they_are_declared(number, tmp_path):
    n_rows, n_features, mu = TABLES[number]
    columns, blamed, schema = spoiled("words", n_rows, n_features, seed=number)
    declared = schema.to_dict() | {"categorical": {blamed: ["gas", "diesel"]}}
    model = tg.LogisticRegression(schema=tg.Schema.from_dict(declared), guarantee=tg.GDP(mu))
    fitted = model.fit(source_of(SOURCES[number % len(SOURCES)], columns, tmp_path))
    assert fitted.notes_[0].startswith("the result rests on about ")
