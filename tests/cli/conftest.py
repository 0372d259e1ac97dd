"""Small files of simulated records, and a way to call the command line in this process."""

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from tailguard.cli.app import run

PRIVACY = ["--epsilon", "1", "--delta", "1e-6"]
N_ROWS = 600


@dataclass(frozen=True)
class Call:
    code: int
    out: str
    err: str


@pytest.fixture
def call(capsys, monkeypatch):
    """Run a command; give back exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def run_command(*arguments):
        code = run([str(argument) for argument in arguments])
        return Call(code, *capsys.readouterr())

    return run_command


@pytest.fixture(scope="session")
def columns():
    rng = np.random.default_rng(5)
    age, power = rng.gamma(4.0, 12.0, N_ROWS), rng.lognormal(4.0, 0.5, N_ROWS)
    region = rng.choice(["north", "south", "moon"], N_ROWS)
    cost = 20.0 * age + 3.0 * power + 500.0 * (region == "south") + rng.normal(0, 50, N_ROWS)
    return {
        "age": age,
        "power": power,
        "region": region,
        "years": rng.uniform(0.5, 2.0, N_ROWS),
        "claims": rng.poisson(1.5, N_ROWS),
        "ill": np.where(age + rng.normal(0, 10, N_ROWS) > 48, "yes", "no"),
        "cost": cost,
    }


@pytest.fixture(scope="session")
def csv_file(columns, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "claims.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return path


@pytest.fixture(scope="session")
def parquet_file(columns, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "claims.parquet"
    parquet.write_table(pa.table({**columns, "nothing": pa.nulls(N_ROWS)}), path)
    return path


@pytest.fixture(scope="session")
def visits():
    """Visits of 900 patients, each of whom has one to four."""
    rng = np.random.default_rng(0)
    keys = np.repeat(np.arange(900), rng.integers(1, 5, 900))
    age = rng.uniform(20.0, 80.0, 900)[keys].round(3)
    cost = (2.0 * age + rng.standard_normal(len(keys)) * 9.0).round(3)
    return pd.DataFrame({"patient": [f"p{key}" for key in keys], "age": age, "cost": cost})


@pytest.fixture(scope="session")
def model_file(csv_file, tmp_path_factory):
    """A linear model of cost on age and region."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    options = ["--features", "age,region", "--categorical", "region=north,south", "--out", path]
    code = run(["fit", str(csv_file), "--target", "cost", *PRIVACY, *map(str, options)])
    assert code == 0
    return path


@pytest.fixture
def files(written, tmp_path, monkeypatch):
    """A copy of the folder that a module's fixture ``written`` made, and work in it."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(written, tmp_path, dirs_exist_ok=True))
