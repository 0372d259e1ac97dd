"""``tailguard ledger``, and ``--ledger`` on whatever spends."""

import json

import pytest

import tailguard as tg
from tailguard.privacy.events import Gaussian

FIT = ["--target", "cost", "--features", "age", "--epsilon", "1", "--delta", "1e-6"]
MEAN = ["--columns", "cost", "--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def ledger(tmp_path, call):
    path = tmp_path / "budget.sqlite"
    answer = call("ledger", "create", path, "--name", "claims", "--epsilon", "2", "--delta", "1e-5")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"Began ledger 'claims' in {path}: (epsilon, delta)-differential")
    return path


def test_fits_and_means_are_charged(ledger, csv_file, tmp_path, call):
    model = tmp_path / "model.json"
    assert call("fit", csv_file, *FIT, "--ledger", ledger, "--out", model).code == 0
    answer = call("mean", csv_file, *MEAN, "--ledger", ledger, "--out", tmp_path / "means.json")
    assert answer.code == 0
    lines = tg.Ledger(ledger).lines()
    for file, place in ((model, 2), (tmp_path / "means.json", 4)):
        stored = json.loads(file.read_text())
        assert stored["certificate"]["ledger_entries"] == [lines[place - 1].entry().to_dict()]
    assert "entry 2 of 'claims'" in call("certificate", model).out


def test_a_spend_beyond_the_cap_is_one_sentence_and_writes_nothing(
    ledger, csv_file, tmp_path, call
):
    tg.Ledger(ledger).charge(Gaussian(0.45), key="before")
    out = tmp_path / "model.json"
    answer = call("fit", csv_file, *FIT, "--ledger", ledger, "--out", out)
    assert answer.code == 2
    assert answer.err.startswith("Error: ledger 'claims' must keep (epsilon, delta)-differential")
    assert "the rest of the budget fits a run of epsilon = " in answer.err
    assert answer.err.count("\n") == 1
    assert not out.exists()


def test_a_key_is_charged_once(ledger, csv_file, call):
    keyed = ["--ledger", ledger, "--ledger-name", "claims", "--ledger-key", "march"]
    assert call("mean", csv_file, *MEAN, *keyed).code == 0
    answer = call("mean", csv_file, *MEAN, *keyed)
    assert answer.code == 2
    assert "entry 2 was charged under 'march'" in answer.err


def test_no_command_writes_its_answer_over_the_ledger(ledger, csv_file, call):
    before = ledger.read_bytes()
    for words in (("ledger", "export", ledger), ("mean", csv_file, *MEAN, "--ledger", ledger)):
        refused = call(*words, "--out", ledger)
        assert refused.code == 2
        assert "--out must not be a file of" in refused.err
    assert ledger.read_bytes() == before


def test_the_ledger_is_shown_listed_exported_and_verified(ledger, csv_file, tmp_path, call):
    call("mean", csv_file, *MEAN, "--ledger", ledger)
    assert "charged    1 run, 1 settled" in call("ledger", "show", ledger).out
    tg.Ledger(ledger).charge(Gaussian(0.1), key="report of March")
    shown = call("ledger", "show", ledger)
    assert shown.code == 0
    assert "charged    2 runs, 1 settled; all count as spent" in shown.out
    assert "fits       a run of epsilon = " in shown.out
    listed = call("ledger", "history", ledger, "--name", "claims").out.splitlines()
    assert listed[0] == "Ledger 'claims'"
    assert [line.split()[0] for line in listed[2:] if line[5].isdigit()] == ["2", "4"]
    assert listed[3].startswith("        for ")
    assert listed[-1].endswith("report of March, not settled")
    out = tmp_path / "ledger.json"
    assert call("ledger", "export", ledger, "--out", out).code == 0
    known = json.loads(out.read_text())
    assert known["head"]["position"] == len(known["lines"]) == 4
    verified = call("ledger", "verify", ledger, "--against", out)
    assert (verified.code, verified.err) == (0, "")
    assert "is whole: 4 lines, head" in verified.out
    assert verified.out.endswith("; it goes on from the export\n")
    known["lines"][1]["content"] = known["lines"][1]["content"].replace("1", "2")
    out.write_text(json.dumps(known))
    assert call("ledger", "verify", ledger, "--against", out).code == 2


@pytest.mark.parametrize("width", [60, 80])
def test_the_names_of_releases_fit_into_the_terminal(ledger, csv_file, call, monkeypatch, width):
    several = ["--columns", "cost,age,power"]
    call("mean", csv_file, *MEAN, *several, "--ledger", ledger)
    monkeypatch.setenv("COLUMNS", str(width))
    lines = call("ledger", "history", ledger).out.splitlines()
    named = [line for line in lines if line.startswith("        ")]
    assert named[0].startswith("        for ")
    assert max(map(len, named)) <= width
    assert len(named) > 1


def test_the_budget_and_its_history_are_told_as_json(ledger, csv_file, call):
    call("mean", csv_file, *MEAN, "--ledger", ledger)
    tg.Ledger(ledger).charge(Gaussian(0.1), key="report of März")
    (told,) = json.loads(call("ledger", "show", ledger, "--json").out)["ledgers"]
    assert told["cap"] == {"kind": "approx", "epsilon": 2.0, "delta": 1e-5}
    assert (told["ledger"], told["unit"], told["runs"], told["settled"]) == ("claims", "rows", 2, 1)
    assert told["fits"] == tg.Ledger(ledger).left.to_dict()
    assert told["head"]["digest"] == tg.Ledger(ledger).head()["digest"]
    assert 0.5 < told["total"]["epsilon"] < 1.0
    history = json.loads(call("ledger", "history", ledger, "--json").out)
    first, second = history["charges"]
    assert history["ledger"] == "claims"
    assert first["released"][0] == "histograms of values"
    assert (first["position"], first["end"]) == (2, "settled")
    assert (second["key"], second["end"]) == ("report of März", "not settled")
    assert second["cost"]["mu"] == pytest.approx(0.1)
    assert second["released"] == []


@pytest.mark.parametrize(
    ("cap", "shown"),
    [
        (["--rho", "0.5"], "rho = 0.5"),
        (["--mu", "1"], "mu = 1"),
        (["--epsilon", "1", "--pure"], "pure differential privacy with epsilon = 1"),
    ],
)
def test_caps_of_every_kind(tmp_path, call, cap, shown):
    path = tmp_path / "budget.sqlite"
    assert call("ledger", "create", path, "--name", "claims", *cap).code == 0
    assert call("ledger", "create", path, "--name", "patients", *cap).code == 0
    answer = call("ledger", "show", path)
    assert answer.out.count(shown) >= 2
    assert "Ledger 'patients'" in answer.out
    assert "total      nothing" in answer.out


def test_a_ledger_of_persons_is_charged_by_runs_that_protect_them(tmp_path, csv_file, call):
    path, of_rows, out = (tmp_path / name for name in ("b.sqlite", "rows.sqlite", "m.json"))
    cap = ["--name", "claims", "--epsilon", "9", "--delta", "1e-5"]
    begun = call("ledger", "create", path, *cap, "--person", "age")
    assert begun.out.endswith("delta = 1e-05, for persons by 'age'\n")
    assert call("ledger", "create", of_rows, *cap).code == 0
    persons = ["--person", "age", "--max-rows", "5"]
    mean = ["mean", csv_file, *MEAN, *persons]
    assert call(*mean, "--ledger", path, "--out", out).code == 0
    assert "protects   persons by 'age', in every run" in call("ledger", "show", path).out
    assert "protects   rows, in every run" in call("ledger", "show", of_rows).out
    assert "it counts rows" in call(*mean, "--ledger", of_rows).err
