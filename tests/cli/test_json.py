"""``--json`` prints what ``--out`` writes, and nothing else, on the standard output."""

import json

import pytest

import tailguard as tg

PRIVACY = ("--epsilon", "5", "--delta", "1e-5")
FIT = ("--target", "cost", "--features", "age", *PRIVACY)
COMMANDS = {
    "fit": ("fit", "FILE", *FIT),
    "search": ("search", "FILE", *FIT, "--try", "alpha=0,0.1", "--tries", "2"),
    "mean": ("mean", "FILE", "--columns", "age,cost", *PRIVACY),
    "describe": ("describe", "FILE", "--columns", "age,cost", *PRIVACY),
    "score": ("score", "MODEL", "FILE", *PRIVACY),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_it_prints_what_is_written(call, csv_file, model_file, tmp_path, name):
    words = [{"FILE": csv_file, "MODEL": model_file}.get(word, word) for word in COMMANDS[name]]
    out = tmp_path / "out.json"
    answer = call(*words, "--out", out, "--json")
    assert answer.code == 0
    assert answer.out == out.read_text()
    assert "certificate" in json.loads(answer.out)


def test_a_fit_has_a_table_of_its_coefficients(call, csv_file, tmp_path):
    answer = call("fit", csv_file, *FIT, "--out", tmp_path / "out.json", "--json")
    rows = json.loads(answer.out)["coefficients"]
    frame = tg.load(tmp_path / "out.json").coef_frame()
    assert [row.pop("name") for row in rows] == [*frame.index] == ["age", "(intercept)"]
    assert [*rows[0]] == [*frame.columns]
    assert rows == frame.astype(object).where(frame.notna(), None).to_dict("records")


@pytest.mark.parametrize("name", ["mean", "describe"])
def test_sentences_about_the_header_go_to_stderr(call, csv_file, name):
    answer = call(name, csv_file, "--drop", "region,ill", *PRIVACY, "--json")
    assert answer.code == 0
    assert json.loads(answer.out)["notes"]
    assert answer.err.startswith("Nothing is declared of age, ")
