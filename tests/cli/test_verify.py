"""``tailguard verify``: what agrees, what does not, and what nobody can prove."""

import json
from pathlib import Path

import pytest

import tailguard as tg
from tailguard.cli.app import run
from tailguard.privacy.events import Gaussian

PRIVACY = ["--epsilon", "1", "--delta", "1e-6"]
FIT = ["--target", "cost", "--features", "age,power", *PRIVACY]


@pytest.fixture(scope="module")
def written(csv_file, tmp_path_factory):
    """A model, a mean and a certificate, of which model and certificate are on a ledger."""
    folder = tmp_path_factory.mktemp("verified")
    ledger, model = folder / "budget.sqlite", folder / "model.json"
    tg.Ledger(ledger, "claims", epsilon=4.0, delta=1e-5)
    mean = ["--columns", "cost", *PRIVACY, "--out", f"{folder / 'mean.json'}"]
    assert run(["fit", str(csv_file), *FIT, "--ledger", f"{ledger}", "--out", f"{model}"]) == 0
    assert run(["mean", str(csv_file), *mean]) == 0
    stored = tg.load(model).certificate_.to_json()
    (folder / "certificate.json").write_text(f"{stored}\n")
    return folder


@pytest.mark.parametrize("file", ["model.json", "mean.json", "certificate.json"])
def test_a_file_that_agrees_says_what_it_cannot_prove(files, call, file):
    answer = call("verify", file)
    assert (answer.code, answer.err) == (0, "")
    agreed, trusted = answer.out.split("Not proven:")
    assert agreed.startswith(f"{file}: all parts of the certificate agree.")
    for words in ("mode: private", "promise: (epsilon, delta)", "reserved: ", "released: "):
        assert words in agreed
    words = " ".join(trusted.split())
    assert "The mode: that noise was drawn in secret" in words
    assert "That the releases are all that left" in words
    assert max(map(len, answer.out.splitlines())) <= 80


def test_a_ledger_adds_the_charge_and_the_releases(files, call):
    answer = call("verify", "model.json", "--ledger", "budget.sqlite")
    assert answer.code == 0
    agreed, trusted = " ".join(answer.out.split()).split("Not proven:")
    assert "The ledger charged this plan, so the run was no simulation, and lists these" in agreed
    for proven in ("The mode", "releases are all", "entry 2", "not signed"):
        assert proven not in trusted
    assert "n = 600" in trusted


def test_a_ledger_that_charged_more_than_was_left_is_refused(files, call, monkeypatch):
    monkeypatch.setattr("tailguard.ledger.cap.Cap.admits", lambda *_: True)
    tg.Ledger("budget.sqlite").charge(Gaussian(50.0), key="much")
    monkeypatch.undo()
    monkeypatch.chdir(files)
    answer = call("verify", "model.json", "--ledger", "budget.sqlite")
    assert answer.code == 2
    assert "charges more than was left" in answer.err


def test_a_simulation_is_called_one(csv_file, tmp_path, call):
    out = tmp_path / "model.json"
    assert call("fit", csv_file, *FIT, "--random-state", "1", "--out", out).code == 0
    answer = call("verify", out)
    assert answer.code == 0
    assert "mode: simulation: NOT PRIVATE" in answer.out
    assert "The mode" not in answer.out.split("Not proven:")[1]


def edited(files, file, edit):
    content = json.loads((files / file).read_text())
    edit(content)
    (files / "forged.json").write_text(json.dumps(content))
    return "forged.json"


PROMISE = {"kind": "approx", "epsilon": 0.001, "delta": 1e-6}


def certificate_in(content):
    return content.get("certificate", content)


EDITS = {
    "promise": lambda c: certificate_in(c).update(guarantee=PROMISE),
    "total": lambda c: certificate_in(c)["total"].update(epsilon=0.001),
    "noise": lambda c: certificate_in(c)["releases"][0].update(noise_std=1e6),
    "text": lambda c: certificate_in(c).update(promise="epsilon = 0.001"),
    "more": lambda c: certificate_in(c).update(approved=True),
}


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        *(("model.json", edit) for edit in EDITS),
        ("mean.json", "total"),
        ("certificate.json", "text"),
    ],
)
def test_an_edited_file_is_refused_in_one_sentence(files, call, file, edit):
    forged = edited(files, file, EDITS[edit])
    commands = [["verify"], ["certificate"], ["predict"]] if file == "model.json" else [["verify"]]
    for command in commands:
        answer = call(*command, forged, *(["model.json"] if command == ["predict"] else []))
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.count("\n") == 1
        assert "certificate must" in answer.err


MODEL_EDITS = {
    "epsilon": (lambda c: c["parameters"].update(epsilon=0.001), "epsilon and delta of its cert"),
    "delta": (lambda c: c["parameters"].update(delta=1e-9), "epsilon and delta of its cert"),
    "seed": (lambda c: c["parameters"].update(random_state=1), "of its certificate's mode"),
    "mode": (
        lambda c: c["certificate"].update(mode="simulation: NOT PRIVATE", ledger_entries=[]),
        "of its certificate's mode",
    ),
}


def test_a_word_that_no_certificate_has_is_refused_by_the_name_of_its_file(files, call):
    answer = call("verify", edited(files, "certificate.json", lambda c: c.update(mode="public")))
    assert answer.code == 2
    assert answer.err.startswith("Error: FILE must be a model file, what 'tailguard mean'")
    assert "mode must be one of 'private'" in answer.err


@pytest.mark.parametrize("edit", MODEL_EDITS)
def test_a_model_file_says_the_same_in_both_places(files, call, edit):
    change, words = MODEL_EDITS[edit]
    answer = call("verify", edited(files, "model.json", change))
    assert answer.code == 2
    assert words in answer.err


def test_a_key_twice_is_refused(files, call):
    text = (files / "model.json").read_text()
    (files / "forged.json").write_text(text.replace("{", '{"certificate": {}, ', 1))
    answer = call("verify", "forged.json")
    assert answer.code == 2
    assert "a key comes twice" in answer.err


def test_a_certificate_that_no_ledger_was_charged_with_is_refused_beside_one(files, call):
    answer = call("verify", "mean.json", "--ledger", "budget.sqlite")
    assert answer.code == 2
    assert (
        "--ledger must be left out unless the certificate names one ledger; it names none"
        in answer.err
    )


def test_a_folder_is_no_ledger(files, call):
    answer = call("verify", "model.json", "--ledger", ".")
    assert answer.err.startswith("Error: --ledger must be the path of a regular file; '.' is a")


def test_another_ledger_is_refused(files, call):
    tg.Ledger("other.sqlite", "claims", epsilon=4.0, delta=1e-5)
    answer = call("verify", "certificate.json", "--ledger", "other.sqlite")
    assert answer.code == 2
    assert "is no charge there" in answer.err
    tg.Ledger("others.sqlite", "patients", epsilon=4.0, delta=1e-5)
    answer = call("verify", "certificate.json", "--ledger", "others.sqlite")
    assert answer.code == 2
    assert "ledger 'claims' must exist" in answer.err


def test_a_model_file_that_was_edited_is_called_as_the_help_calls_it(files, call):
    content = json.loads(Path("model.json").read_text())
    content["coef"] = "none"
    Path("edited.json").write_text(json.dumps(content))
    assert call("verify", "edited.json").err.startswith("Error: FILE must be a file that")


def test_points_of_a_list_are_indented(files, call):
    lines = call("verify", "model.json").out.partition("Not proven:\n")[2].splitlines()
    assert any(line.startswith("  ") for line in lines)
    assert all(line.startswith(("- ", "  ")) for line in lines)
