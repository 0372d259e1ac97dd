"""No command writes over what it uses, by whatever name, nor reads what never ends."""

import os
import sqlite3
from contextlib import closing

import pytest

import tailguard as tg
from tailguard.checks import BudgetError
from tailguard.ledger.store import SIDE_FILES

PRIVACY = ["--epsilon", "1", "--delta", "1e-6"]
FIT = ["--target", "cost", "--features", "age", *PRIVACY]
MEAN = ["--columns", "cost", *PRIVACY]
DEVICES = ["/dev/zero", "pipe"]


@pytest.fixture
def folder(tmp_path, monkeypatch, csv_file, model_file):
    """A folder with a table, a model, a schema, a ledger and a pipe."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims.csv").write_bytes(csv_file.read_bytes())
    (tmp_path / "model.json").write_bytes(model_file.read_bytes())
    tg.Schema(features=["age"], target="cost").save(tmp_path / "schema.json")
    tg.Ledger("budget.sqlite", "claims", epsilon=4.0, delta=1e-5)
    os.mkfifo("pipe")
    return tmp_path


COMMANDS = {
    "fit": ["fit", "claims.csv", "--schema", "schema.json", *PRIVACY, "--ledger", "budget.sqlite"],
    "mean": ["mean", "claims.csv", *MEAN, "--ledger", "budget.sqlite"],
    "predict": ["predict", "model.json", "claims.csv"],
    "schema": ["schema", "claims.csv", "--drop", "region,ill"],
    "export": ["ledger", "export", "budget.sqlite"],
}
USED = [
    *(("fit", each) for each in ("claims.csv", "schema.json", "budget.sqlite")),
    *(("mean", each) for each in ("claims.csv", "budget.sqlite")),
    *(("predict", each) for each in ("claims.csv", "model.json")),
    ("schema", "claims.csv"),
    ("export", "budget.sqlite"),
]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("link", [os.link, os.symlink], ids=lambda link: link.__name__)
@pytest.mark.parametrize(("command", "used"), USED)
def test_a_link_to_what_is_used_is_not_written_over(folder, call, command, used, link):
    link(used, "answer.json")
    before = contents(folder)
    answer = call(*COMMANDS[command], "--out", "answer.json")
    assert answer.code == 2
    refusal = f"--out must not be a file of {used!r}"
    if link is os.link and used == "budget.sqlite" and command != "mean":
        refusal = "must have one name, and no hard links"
    assert refusal in answer.err
    assert contents(folder) == before


@pytest.mark.parametrize("ending", SIDE_FILES)
@pytest.mark.parametrize("command", ["fit", "mean", "export"])
def test_what_sqlite_keeps_beside_a_ledger_is_not_taken(folder, call, command, ending):
    before = contents(folder)
    os.symlink("budget.sqlite", "linked")
    answer = call(*COMMANDS[command], "--out", f"budget.sqlite{ending}")
    assert answer.code == 2
    assert "SQLite keeps files of its own beside 'budget.sqlite'" in answer.err
    assert contents(folder) == before | {"linked": before["budget.sqlite"]}


def test_a_link_to_the_log_of_a_ledger_is_not_taken(folder, call):
    with closing(sqlite3.connect("budget.sqlite")) as other:  # as long as it reads, there is one
        other.execute("SELECT * FROM lines").fetchall()
        os.link("budget.sqlite-wal", "answer.json")
        answer = call(*COMMANDS["export"], "--out", "answer.json")
    assert answer.code == 2
    assert "--out must not be a file of 'budget.sqlite'" in answer.err


@pytest.mark.parametrize("ending", SIDE_FILES)
def test_neither_a_checkpoint_nor_another_ledger_takes_such_a_name(folder, call, ending):
    name = f"budget.sqlite{ending}"
    answer = call(*COMMANDS["fit"], "--out", "new.json", "--checkpoint", name)
    assert (answer.code, answer.out) == (2, "")
    assert "--checkpoint must have another name" in answer.err
    assert not (folder / name).exists()
    assert len(tg.Ledger("budget.sqlite").lines()) == 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_goes_into_a_regular_file(folder, call, command, device):
    answer = call(*COMMANDS[command], "--out", device)
    assert answer.code == 2
    assert "--out must be the path of a regular file" in answer.err
    assert len(tg.Ledger("budget.sqlite").lines()) == 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "words",
    [
        ["fit", "claims.csv", *FIT, "--out", "new.json", "--checkpoint", "DEVICE"],
        ["fit", "claims.csv", *FIT, "--out", "new.json", "--checkpoint", "DEVICE", "--resume"],
        ["mean", "claims.csv", *MEAN, "--checkpoint", "DEVICE", "--resume"],
        ["fit", "claims.csv", *FIT, "--out", "new.json", "--ledger", "DEVICE"],
        ["fit", "claims.csv", *PRIVACY, "--out", "new.json", "--schema", "DEVICE"],
        ["fit", "DEVICE", *FIT, "--out", "new.json"],
        ["mean", "DEVICE", *MEAN],
        ["predict", "DEVICE", "claims.csv"],
        ["predict", "model.json", "DEVICE"],
        ["certificate", "DEVICE"],
        ["schema", "DEVICE", "--out", "new.json"],
        ["ledger", "create", "DEVICE", "--name", "others", "--rho", "1"],
        ["ledger", "show", "DEVICE"],
        ["ledger", "verify", "DEVICE"],
        ["ledger", "verify", "budget.sqlite", "--against", "DEVICE"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_a_regular_file(folder, call, words, device):
    before = contents(folder)
    answer = call(*(device if word == "DEVICE" else word for word in words))
    assert answer.code == 2
    assert answer.err.startswith("Error: ")
    assert answer.err.count("\n") == 1
    assert contents(folder) == before


def test_a_ledger_that_a_device_replaced_is_not_read(folder):
    ledger = tg.Ledger("budget.sqlite", "claims")
    os.remove("budget.sqlite")
    os.mkfifo("budget.sqlite")
    with pytest.raises(BudgetError, match="must be a file; it is none"):
        ledger.lines()


@pytest.mark.parametrize("command", ["report", "predict"])
def test_a_hyphen_is_no_file_to_write(command, model_file, csv_file, tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [model_file] if command == "report" else [model_file, csv_file]
    answer = call(command, *words, "--out", "-")
    assert (answer.code, answer.out, [*tmp_path.iterdir()]) == (2, "", [])
    assert answer.err.startswith("Error: --out must be the path of a file")
