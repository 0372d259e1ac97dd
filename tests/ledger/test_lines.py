"""The chain of digests shows every edit, and an export shows what the chain alone cannot."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest

import tailguard as tg
from tailguard.checks import BudgetError, InputError
from tailguard.ledger.lines import (
    CREATED,
    FIELDS,
    RESERVED,
    SETTLED,
    Draft,
    Line,
    check_chain,
)
from tailguard.privacy.events import Gaussian, ZeroConcentrated

KINDS = (CREATED, RESERVED, SETTLED)
CAP = {"epsilon": 4.0, "delta": 1e-5}


@pytest.fixture
def ledger(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", **CAP)
    for number in range(4):
        run = ledger.opened(f"run {number}")
        run.reserve(Gaussian(0.1 + number / 100), coordinates=number)
        run.settle()
    return ledger


def edit(ledger, *statements):
    """Change the file as somebody would who is allowed to write it."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    for trigger in ("no_change", "no_removal"):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


FORGED = json.dumps({"cap": tg.ApproxDP(9.0, 1e-5).to_dict(), "software": "0"})
EDITS = {
    "cheaper": "UPDATE lines SET content = replace(content, '0.1', '0.01') WHERE position = 2",
    "cap": f"UPDATE lines SET content = '{FORGED}' WHERE position = 1",
    "time": "UPDATE lines SET time = '2001-01-01T00:00:00+00:00' WHERE position = 3",
    "key": "UPDATE lines SET key = 'another' WHERE position = 4",
    "kind": "UPDATE lines SET kind = 'settled', key = 'another' WHERE position = 2",
    "unknown kind": "UPDATE lines SET kind = 'refunded' WHERE position = 4",
    "digest": "UPDATE lines SET digest = upper(digest) WHERE position = 5",
    "previous": "UPDATE lines SET previous = '' WHERE position = 5",
    "bytes": "UPDATE lines SET content = x'00ff' WHERE position = 2",
    "number": "UPDATE lines SET digest = 9e999 WHERE position = 2",
    "no more": "DELETE FROM lines WHERE position = 4",
    "no cap": "DELETE FROM lines WHERE position = 1",
    "moved": "UPDATE lines SET position = 1000 WHERE position = 2",
    "added": "INSERT INTO lines SELECT ledger, 10, kind, 'new', time, content, previous, digest "
    "FROM lines WHERE position = 9",
    "said twice": "INSERT INTO lines SELECT ledger, 10, 'refunded', key, time, content, digest, "
    "digest FROM lines WHERE position = 9",
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_seen_and_nothing_more_is_charged(ledger, name):
    edit(ledger, EDITS[name])
    whole = ledger._store.lines("claims")
    for act in (
        ledger.lines,
        ledger.verify,
        ledger.total,
        ledger.export,
        lambda: ledger.charge(Gaussian(1e-3), key="more"),
        lambda: ledger.resumed("0" * 32, start=0),
        lambda: tg.mean(np.ones(5_000), ledger=ledger, epsilon=0.1, delta=1e-6),
    ):
        with pytest.raises(BudgetError, match="ledger 'claims' must be"):
            act()
    assert ledger._store.lines("claims") == whole


def test_all_rows_are_read_each_time_and_the_digest_of_one_that_stayed_is_not_worked_out_again(
    ledger, monkeypatch
):
    worked_out, true_digest = [], Line.true_digest
    monkeypatch.setattr(
        Line, "true_digest", lambda line: worked_out.append(line.position) or true_digest(line)
    )
    for key in ("one", "two"):
        ledger.charge(Gaussian(1e-3), key=key)
    # The cap, which is read by itself; the line that was written last; the one that is new.
    assert worked_out == [1, 9, 10, 1, 10, 11]
    edit(ledger, EDITS["time"])
    with pytest.raises(BudgetError, match="line 3 was changed"):
        ledger.charge(Gaussian(1e-3), key="three")


@pytest.mark.parametrize(
    "cut",
    [
        "DELETE FROM lines WHERE position > 5",
        "UPDATE lines SET ledger = 'claims ' WHERE position > 5",
    ],
)
def test_lines_that_are_taken_off_the_end_are_seen_by_an_export(ledger, cut):
    known, head = ledger.export(), ledger.head()
    edit(ledger, cut)
    ledger.verify()
    for kept in (known, head, json.loads(json.dumps(known))):
        with pytest.raises(BudgetError, match="and the export 9: charges are missing"):
            ledger.verify(kept)


def test_a_ledger_that_is_written_anew_is_seen_by_an_export(ledger):
    head = ledger.head()
    cheap = {"event": Gaussian(1e-4).to_dict()}
    written_anew(ledger, lambda old: old | (cheap if "event" in old else {}))
    assert ledger.verify() == 9  # whoever may write the file may do that
    with pytest.raises(BudgetError, match="line 9 differs"):
        ledger.verify(head)


def written_anew(ledger, change):
    """Write a ledger again with digests that fit, each content changed."""
    again = []
    for line in ledger.lines():
        draft = Draft(line.kind, line.key, change(line.data()))
        again.append(Line.after(again, "claims", draft, time=line.time))
    edit(ledger, "DELETE FROM lines")
    with closing(sqlite3.connect(ledger.path)) as connection:
        rows = [[getattr(line, name) for name in FIELDS] for line in again]
        connection.executemany(f"INSERT INTO lines VALUES ({', '.join('?' * 8)})", rows)
        connection.commit()


@pytest.mark.parametrize(
    "told",
    [
        {"event": None},
        {"event": {"kind": "gaussian"}},
        {"event": {"kind": "gaussian", "mu": -1.0}},
        {"event": {"kind": "gaussian", "mu": 10**400}},
        {"cover": 3},
        {"cover": [0.0, 0.0]},
        {"cover": [0.5, 2.0]},
        {"coordinates": -1},
        {"coordinates": "1"},
        {"cap": {"kind": "none"}},
        {"cap": []},
    ],
    ids=str,
)
def test_contents_that_no_ledger_writes_are_one_sentence(ledger, told):
    written_anew(ledger, lambda old: {k: told.get(k, v) for k, v in old.items()})
    for act in (ledger.verify, ledger.total, lambda: ledger.charge(Gaussian(1e-3), key="more")):
        with pytest.raises(BudgetError, match=r"line \d was changed"):
            act()


def test_a_cover_that_was_made_smaller_is_found(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", **CAP)
    ledger.charge(ZeroConcentrated(0.02), key="1")
    told = ledger.lines()[1].data()["cover"]
    assert told[0] == pytest.approx(0.304, abs=1e-3)
    assert ledger.verify() == 2
    for cover in ([0.5 * told[0], told[1]], [told[0], 0.0], None):
        written_anew(ledger, lambda old, c=cover: old | ({"cover": c} if "cover" in old else {}))
        with pytest.raises(BudgetError, match="line 2 charges more than was left"):
            ledger.verify()


def test_the_line_whose_cover_is_too_small_is_named(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", **CAP)
    for number in range(1, 4):
        ledger.charge(ZeroConcentrated(0.02 * number), key=f"{number}")

    def smaller(old):
        if old.get("event") != ZeroConcentrated(0.04).to_dict():
            return old
        return old | {"cover": [0.5 * old["cover"][0], old["cover"][1]]}

    written_anew(ledger, smaller)
    with pytest.raises(BudgetError, match="line 3 charges more than was left"):
        ledger.verify()


def test_charges_beyond_the_cap_are_found_even_if_the_chain_is_whole(ledger, monkeypatch):
    monkeypatch.setattr("tailguard.ledger.cap.Cap.admits", lambda *_: True)
    ledger.charge(Gaussian(50.0), key="much")
    monkeypatch.undo()
    with pytest.raises(BudgetError, match="line 10 charges more than was left"):
        ledger.verify()


def test_a_ledger_goes_on_from_its_exports(ledger):
    known, head = json.loads(json.dumps(ledger.export())), ledger.head()
    assert ledger.verify(known) == ledger.verify(head) == 9
    ledger.charge(Gaussian(0.1), key="more")
    assert ledger.verify(known) == ledger.verify(head) == 10
    assert [line["position"] for line in known["lines"]] == list(range(1, 10))


@pytest.mark.parametrize(
    "change",
    [
        {"head": None},
        {"head": {}},
        {"lines": 3},
        {"lines": [{}]},
        {"lines": []},
        {"tailguard_ledger": None},
        {"tailguard_ledger": 2},
        {"head": {"ledger": "claims", "position": 0, "digest": ""}},
        {"head": {"ledger": "claims", "position": "9", "digest": ""}},
        {"head": {"ledger": "patients", "position": 9, "digest": ""}},
    ],
    ids=str,
)
def test_what_is_no_export_is_one_sentence(ledger, change):
    with pytest.raises((InputError, BudgetError)):
        ledger.verify(ledger.export() | change)
    with pytest.raises(InputError, match="export must be what a ledger exported"):
        ledger.verify([])


def test_an_export_of_another_ledger_is_told_from_an_edited_one(ledger, tmp_path):
    other = tg.Ledger(tmp_path / "other.sqlite", "patients", **CAP)
    with pytest.raises(InputError, match="export must be of ledger 'claims'; it is of 'patients'"):
        ledger.verify(other.head())
    known = ledger.export()
    known["lines"][3]["time"] = "2001-01-01T00:00:00+00:00"
    with pytest.raises(BudgetError, match="line 4 was changed"):
        ledger.verify(known)


def chain(*drafts, start=()):
    lines = list(start)
    for draft in drafts:
        lines.append(Line.after(lines, "claims", draft, time="2026-01-01T00:00:00+00:00"))
    return lines


BEGUN, CHARGED, ENDED = (Draft(kind, "a" * (kind != CREATED), {}) for kind in KINDS)


@pytest.mark.parametrize(
    ("lines", "broken"),
    [
        (chain(BEGUN, CHARGED, CHARGED), 3),
        (chain(BEGUN, CHARGED, ENDED, ENDED), 4),
        (chain(BEGUN, ENDED), 2),
        (chain(BEGUN, BEGUN), 2),
        ([chain(BEGUN)[0], chain(Draft(CREATED, "", {"cap": 2}), CHARGED)[1]], 2),
    ],
)
def test_lines_whose_digests_fit_must_fit_together(lines, broken):
    assert all(line.digest == line.true_digest() for line in lines)
    with pytest.raises(BudgetError, match=f"line {broken} was changed"):
        check_chain("claims", lines)


def test_every_line_holds_the_digest_of_the_one_before(ledger):
    lines = ledger.lines()
    assert all(after.previous == before.digest for before, after in pairwise(lines))
    assert len({line.digest for line in lines}) == len(lines)


def test_lines_cannot_be_changed_by_accident(ledger):
    connection = sqlite3.connect(ledger.path)
    for statement in ("DELETE FROM lines", "UPDATE lines SET content = '{}'"):
        with pytest.raises(sqlite3.IntegrityError, match="append only"):
            connection.execute(statement)
    connection.close()
