"""Ledger files with bytes or lines exchanged: refused in one sentence, and never more granted."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from hypothesis import strategies as st

import tailguard as tg
from support.fuzzing import SCALARS, attempt, how_often, often
from tailguard.ledger import store
from tailguard.privacy.events import Gaussian

COLUMNS = st.integers(0, 7)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "original.sqlite"
    ledger = tg.Ledger(path, "claims", guarantee=tg.GDP(1.0))
    for number in range(3):
        ledger.charge(Gaussian(0.5), key=f"{number}")
    return path


@pytest.fixture(autouse=True)
def no_flushing(monkeypatch):
    """Have nobody wait for the disk, on which nothing that is granted depends; all else stays."""
    kept = [pragma for pragma in store.DURABLE if "sync" not in pragma]
    assert kept
    monkeypatch.setattr(store, "DURABLE", ("PRAGMA synchronous = OFF", *kept))


def granted(path):
    """How many charges of mu = 1/2 a file grants: one is left of the cap, and no more."""
    charges = [
        lambda key=f"again {number}": tg.Ledger(path, "claims").charge(Gaussian(0.5), key=key)
        for number in range(3)
    ]
    return sum(attempt(charge)[0] is not None for charge in charges)


@how_often
def test_changed_bytes_grant_no_more(original, tmp_path, count):
    path, whole = tmp_path / "budget.sqlite", original.read_bytes()

    def check(place, word, end):
        content = bytearray(whole)
        content[place % len(whole) : place % len(whole) + len(word)] = word
        path.write_bytes(content[: len(content) - end % len(whole)])
        for beside in tmp_path.glob("budget.sqlite-*"):
            beside.unlink()
        assert granted(path) <= 1

    ends = st.one_of(st.just(0), st.integers(0, 10**6))
    often(
        count, check, place=st.integers(0, 10**6), word=st.binary(min_size=1, max_size=9), end=ends
    )


@how_often
def test_changed_lines_grant_no_more(original, tmp_path, count):
    path = tmp_path / "budget.sqlite"

    def check(line, column, value):
        shutil.copy(original, path)
        with closing(sqlite3.connect(path)) as connection, connection:
            names = [row[1] for row in connection.execute("PRAGMA table_info(lines)")]
            name = names[column % len(names)]
            before = connection.execute("SELECT * FROM lines ORDER BY position").fetchall()
            try:
                connection.execute(f"UPDATE lines SET {name} = ? WHERE position = ?", (value, line))
            except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                return  # no such value fits into a file
            same = connection.execute("SELECT * FROM lines ORDER BY position").fetchall() == before
        _, refused = attempt(lambda: tg.Ledger(path, "claims").verify())
        assert refused or same
        assert granted(path) <= 1

    often(count, check, line=st.integers(1, 4), column=COLUMNS, value=SCALARS)
