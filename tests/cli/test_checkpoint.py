"""``--checkpoint`` and ``--resume``: a command that was stopped goes on."""

import json

import numpy as np
import pytest

from tailguard.cli.app import run

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).standard_normal((1000, 2))
    np.savetxt("claims.csv", x, delimiter=",", header="age,cost", comments="")
    return tmp_path


def fit(*more):
    return run(["fit", "claims.csv", "--target", "cost", *BUDGET, "--out", "model.json", *more])


def test_a_fit_is_resumed_and_says_the_same(folder):
    assert fit("--checkpoint", "fit.checkpoint") == 0
    first = (folder / "model.json").read_text()
    assert fit("--checkpoint", "fit.checkpoint", "--resume") == 0
    assert json.loads((folder / "model.json").read_text()) == json.loads(first)
    assert "checkpoint" not in first
