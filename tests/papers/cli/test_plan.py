"""``tailguard plan`` for risks that theorems serve."""

import json

import tailguard as tg
from tailguard.cli.app import run

SIZES = ["--rows", "100000", "--columns", "5", "--epsilon", "1", "--delta", "1e-6"]
FACTS = ["--moment-bound", "5", "--diameter", "2", "--smoothness", "1"]


def test_the_table_is_that_of_the_library(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")  # nothing is folded
    assert run(["plan", "convex", *SIZES, *FACTS]) == 0
    advice = tg.plan(
        "convex",
        n_rows=100_000,
        n_features=5,
        epsilon=1.0,
        delta=1e-6,
        moment=tg.Moment(2.0, 5.0, kind="norm"),
        diameter=2.0,
        smoothness=1.0,
    )
    assert capsys.readouterr().out == str(advice) + "\n"


def test_a_bound_on_the_gradient_can_be_stated(capsys):
    assert run(["plan", "convex", *SIZES, *FACTS, "--gradient-bound", "3", "--json"]) == 0
    stated = json.loads(capsys.readouterr().out)["candidates"]
    assert run(["plan", "convex", *SIZES, *FACTS, "--json"]) == 0
    assert stated != json.loads(capsys.readouterr().out)["candidates"]


def test_json_is_valid_where_a_noise_is_not_known(capsys):
    shape = ["--strong-convexity", "0.5"]
    assert run(["plan", "strongly-convex", *SIZES, *FACTS, *shape, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["guarantee"] == {"kind": "approx", "epsilon": 1.0, "delta": 1e-6}
    assert answer["candidates"][0]["method"] == answer["recommended"]
    assert {"method", "reason"} == set(answer["not_possible"][0])
