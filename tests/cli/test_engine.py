"""``--engine`` and ``--row-id``: who reads the files, and in which order, changes no bit."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from support.batched import small_memory
from tailguard.cli.app import run

__all__ = ["small_memory"]
pytestmark = pytest.mark.usefixtures("small_memory")

BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--random-state", "0"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((1500, 3)), columns=["age", "power", "cost"])
    table["policy"] = rng.permutation(1500)
    (tmp_path / "claims").mkdir()
    for part, size in ((0, 200), (1, 500)):
        table[750 * part : 750 * (part + 1)].to_parquet(
            f"claims/{part}.parquet", row_group_size=size
        )
    table[::-1].to_parquet("reversed.parquet")
    table.to_csv("claims.csv", index=False)
    return tmp_path


def coefficients(folder, table, *more):
    arguments = ["fit", table, "--target", "cost", "--features", "age,power", *BUDGET]
    assert run([*arguments, "--out", "model.json", *more]) == 0
    return json.loads((folder / "model.json").read_text())["coef"]


@pytest.mark.long
def test_workers_that_read_the_files_change_no_bit(folder, monkeypatch):
    local = coefficients(folder, "claims")
    read = []
    from tailguard.data.readers import dask

    row_group = dask.row_group
    monkeypatch.setattr(dask, "row_group", lambda *given: read.append(given) or row_group(*given))
    assert coefficients(folder, "claims", "--engine", "dask") == local
    assert {number for _, number, _ in read} == {0, 1, 2, 3}


@pytest.mark.long
def test_identifiers_give_rows_one_order(folder):
    told = [
        coefficients(folder, table, "--row-id", "policy", *more)
        for table, more in (
            ("claims", ["--engine", "dask"]),
            ("reversed.parquet", []),
            ("claims.csv", []),
        )
    ]
    assert told.count(told[0]) == 3


@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_an_engine_that_is_not_installed_is_one_sentence(folder, capsys, monkeypatch, engine):
    monkeypatch.setattr("tailguard.data.readers.opening.find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    code = run(["fit", "claims", "--target", "cost", *BUDGET, "--out", "m", "--engine", engine])
    assert code == 2
    assert f"pip install 'tailguard[{engine}]'" in capsys.readouterr().err
