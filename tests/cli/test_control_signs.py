"""Whatever names of columns hold, a terminal is told nothing but words."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.cli.app import _print_error, _print_warning
from tailguard.printable import printable, printable_lines
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.books.releases import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Gaussian

PRIVACY = ["--epsilon", "1", "--delta", "1e-6"]
SIGNS = {
    "colour": "\x1b[31m",
    "clear": "\x1b[2J",
    "title": "\x1b]0;owned\x07",
    "c1": "\x9b2J",
    "return": "\r",
    "back": "\b\b\b",
    "delete": "\x7f",
    "right to left": "\u202e",
    "isolate": "\u2066",
    "line separator": "\u2028",
    "tabulator": "\v",
}
NAMES = [f"x{number}{sign}y" for number, sign in enumerate(SIGNS.values())]
N_ROWS = 400
Z = np.random.default_rng(0).standard_normal((N_ROWS, len(NAMES)))


def assert_plain(text):
    held = {sign for sign in text if not (sign.isprintable() or sign == "\n")}
    assert held == set()


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("claims.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "cost"])
        writer.writerows([*row, row[0]] for row in Z.tolist())
    tg.Ledger("budget.sqlite", NAMES[0], epsilon=9.0, delta=1e-5)
    return "claims.csv"


SHOWS = [
    ["fit", "claims.csv", "--target", "cost", *PRIVACY, "--out", f"{NAMES[1]}.json"],
    ["mean", "claims.csv", *PRIVACY, "--explain"],
    ["describe", "claims.csv", *PRIVACY, "--explain"],
    ["mean", "claims.csv", *PRIVACY, "--ledger", "budget.sqlite", "--ledger-key", NAMES[2]],
    ["schema", "claims.csv", "--out", f"{NAMES[1]}.json"],
    ["ledger", "create", "budget.sqlite", "--name", NAMES[3], "--rho", "1"],
    ["ledger", "show", "budget.sqlite"],
    ["ledger", "history", "budget.sqlite"],
    ["ledger", "verify", "budget.sqlite"],
    ["ledger", "export", "budget.sqlite", "--out", f"{NAMES[1]}.json"],
]


@pytest.mark.parametrize("words", SHOWS, ids=lambda words: " ".join(words[:2]))
def test_no_command_shows_them(table, call, words):
    answer = call(*words)
    assert answer.code == 0
    assert_plain(answer.out)
    assert_plain(answer.err)
    if words[0] in ("fit", "mean", "schema"):
        assert "x0\\x1b[31my" in answer.out


def test_a_model_file_shows_none(table, call):
    assert call(*SHOWS[0], "--ledger", "budget.sqlite", "--ledger-key", NAMES[2]).code == 0
    for words in (["certificate"], ["certificate", "--json"], ["predict"]):
        more = ["claims.csv", "--out", f"{NAMES[4]}.csv"] if words == ["predict"] else []
        answer = call(words[0], f"{NAMES[1]}.json", *words[1:], *more)
        assert answer.code == 0
        assert_plain(answer.out + answer.err)
    stored = json.loads(Path(f"{NAMES[1]}.json").read_text())
    assert stored["feature_names"] == NAMES  # as they are, where programs read them


REFUSED = [
    ["fit", "claims.csv", "--target", NAMES[0], "--drop", NAMES[1], *PRIVACY, "--out", "none/m"],
    ["fit", "claims.csv", "--target", "height", *PRIVACY, "--out", "m.json"],
    ["fit", "claims.csv", "--target", "\x1b[2J", *PRIVACY, "--out", "m.json"],
    ["fit", "claims.csv", "--target", "cost", "--features", "\x9b2J", *PRIVACY, "--out", "m.json"],
    ["fit", "\x1b[2J.csv", "--target", "cost", *PRIVACY, "--out", "m.json"],
    ["fit", "claims.csv", "--target", "cost", *PRIVACY, "--out", "no\x1b[2J/m.json"],
    ["fit", "claims.csv", "--target", "cost", "--epsilon", "\x1b[2J", "--out", "m.json"],
    ["fit", "claims.csv", "--\x1b[2J"],
    ["\x1b[2J"],
    ["predict", "\x1b[2J.json", "claims.csv"],
    ["ledger", "show", "budget.sqlite", "--name", "\x1b[2J"],
    ["mean", "claims.csv", *PRIVACY, "--option", "\x1b[2J=3"],
    ["mean", "claims.csv", *PRIVACY, "--checkpoint", "no\u202e/c"],
]


@pytest.mark.parametrize("words", REFUSED, ids=repr)
def test_no_refusal_shows_them(table, call, words):
    answer = call(*words)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert_plain(answer.out + answer.err)


def test_python_shows_none_either():
    frame = pd.DataFrame({**dict(zip(NAMES, Z.T, strict=True)), "line\nbreak": Z[:, 0]})
    fitted = tg.LinearRegression(
        epsilon=1.0, delta=1e-6, missing={NAMES[0]: 1.0, "line\nbreak": 2.0}, random_state=0
    ).fit(frame, Z[:, 0])
    lines = fitted.summary().split("\n")
    assert any(line.startswith("line\\nbreak") for line in lines)
    result = tg.mean(frame, epsilon=1.0, delta=1e-6, random_state=0)
    for text in (fitted.summary(), repr(result), result.explain(), *fitted.notes_):
        assert_plain(text)
    with pytest.raises(tg.InputError) as caught:
        tg.LinearRegression(epsilon=1.0, delta=1e-6).fit(frame, target="height")
    assert_plain(str(caught.value))
    assert "\n" not in str(caught.value)
    for refuse in (tg.BudgetError, tg.InputError):
        assert str(refuse("a\x1b[2Jb\nc")) == "a\\x1b[2Jb\\nc"


def test_a_warning_shows_none(capsys):
    from tailguard.checks import warn_before_spending

    with warnings.catch_warnings(record=True, action="always") as caught:
        warn_before_spending(f"of {NAMES[0]} little is known.")
    assert_plain(str(caught[0].message))
    _print_warning(f"of another library: {NAMES[0]}\n{NAMES[1]}")
    _print_error(f"of another library: {NAMES[0]}\n{NAMES[1]}", code=2)
    assert_plain(capsys.readouterr().err)


def test_a_certificates_page_shows_none_and_no_line_that_is_not_its_own():
    forged = "mean\nmode         private\x1b[2J"
    entry = LedgerEntry(forged, 2, forged, "9b1d" * 16)
    release = Release(forged, forged, "gaussian", "l2", 1.0, 2.0, stage=forged)
    certificate = Certificate(
        tg.ApproxDP(5.0, 1e-6),
        1000,
        Gaussian(1.0),
        (release,),
        assumptions_for_accuracy=(forged,),
        unused_stages=(forged,),
        mode="simulation: NOT PRIVATE",
        ledger_entries=(entry,),
        version=forged,
    )
    lines = certificate.to_text().split("\n")
    assert_plain("".join(lines))
    assert [line for line in lines if line.startswith("mode")] == [
        "mode         simulation: NOT PRIVATE"
    ]


def test_a_ledgers_key_makes_no_line_of_its_own(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    ledger = tg.Ledger("budget.sqlite", "claims", epsilon=9.0, delta=1e-5)
    ledger.charge(Gaussian(0.5), key="march\n     9  never")
    answer = call("ledger", "history", "budget.sqlite")
    assert len(answer.out.splitlines()) == 3
    assert "march\\n" in answer.out


def test_words_stay_as_they_are():
    for text in ("größe", "年齢", "a b", "", 'it\'s "so" \\x1b'):
        assert printable(text) == text
    assert printable("\xa0\ud800") == "\\xa0\\ud800"
    assert printable_lines("a\nb\r") == "a\nb\\r"
