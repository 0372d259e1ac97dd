"""Where a ledger cannot be kept or read, one sentence says so, and nothing is charged."""

import os
import re
import sqlite3
import weakref
from contextlib import closing
from threading import get_ident

import numpy as np
import pytest

import tailguard as tg
from ledger.test_lines import edit
from tailguard.checks import BudgetError, InputError, TailguardError
from tailguard.gate import Gate
from tailguard.ledger import store as storage
from tailguard.ledger.lines import Draft
from tailguard.ledger.store import KNOWN, MOST_KNOWN, Store, mount_of
from tailguard.privacy.events import Gaussian

CAP = {"epsilon": 4.0, "delta": 1e-5}
X = np.random.default_rng(0).standard_normal((2_000, 2))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.sqlite"


@pytest.fixture
def ledger(path):
    ledger = tg.Ledger(path, "claims", **CAP)
    ledger.charge(Gaussian(0.1), key="first")
    return ledger


def fit(ledger):
    tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger=ledger).fit(X, X[:, 0])


def charge_often(ledger):
    for number in range(1_000):
        ledger.charge(Gaussian(1e-9), key=f"{number}")


def read_only(path):
    address = f"file:{path}?mode=ro"
    return lambda _: sqlite3.connect(address, uri=True, isolation_level=None)


def on_a_full_disk(path):
    def connect(_):
        connection = sqlite3.connect(path, isolation_level=None)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    return connect


def held_by_another(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def connect(_):
        return sqlite3.connect(path, timeout=0.05, isolation_level=None)

    weakref.finalize(connect, other.close)
    return connect


@pytest.mark.parametrize(
    ("connecting", "words"),
    [
        (read_only, "must be writable, and its folder too; it is read-only"),
        (on_a_full_disk, "must have room to grow; the disk is full"),
        (held_by_another, "must be free within 60 seconds; another process holds it"),
    ],
)
def test_a_file_that_cannot_be_written_stops_the_fit(ledger, path, monkeypatch, connecting, words):
    before = ledger.lines()
    with monkeypatch.context() as patched:
        patched.setattr(Store, "_open", connecting(path))
        patched.setattr(Gate, "ask", lambda *_: pytest.fail("a query was asked"))
        with pytest.raises(BudgetError, match=words):
            charge_often(ledger)  # until the last page is full
        with pytest.raises(BudgetError, match=words) as caught:
            fit(ledger)
        assert str(caught.value).endswith(", and nothing is charged or released.")
        assert caught.value.__cause__ is None
        added = ledger.lines()[len(before) :]
    assert all(line.kind == "reserved" for line in added)
    assert connecting is on_a_full_disk or not added
    ledger.verify()


def test_a_ledger_in_a_folder_that_cannot_be_written_is_read(ledger, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert tg.Ledger(ledger.path).verify(ledger.head()) == 2
    with pytest.raises(BudgetError, match="must be writable, and its folder too"):
        ledger.charge(Gaussian(0.1), key="more")


def spoiled(path, how):
    whole = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "text": b"not a ledger\n" * 1_000,
            "cut": whole[: len(whole) // 2],
            "zeros": whole[:4096] + b"\0" * (len(whole) - 4096),
            "noise": whole[:4096] + bytes(range(256)) * ((len(whole) - 4096) // 256),
        }[how]
    )


@pytest.mark.parametrize("how", ["empty", "text", "cut", "zeros", "noise"])
def test_a_damaged_file_stops_the_fit_and_is_left_alone(ledger, path, monkeypatch, how):
    for number in range(40):
        ledger.charge(Gaussian(1e-3), key=f"{number}")
    spoiled(path, how)
    before = path.read_bytes()
    monkeypatch.setattr(Gate, "ask", lambda *_: pytest.fail("a query was asked"))
    for act in (lambda: fit(ledger), ledger.verify):
        with pytest.raises(TailguardError, match=r"^ledger .* must "):
            act()
    if how in {"empty", "text"}:
        with pytest.raises(TailguardError, match=r"^ledger .* must "):
            tg.Ledger(path, "claims", **CAP)
    assert path.read_bytes() == before


def test_a_damaged_byte_anywhere_a_key_stands_is_found(ledger, path):
    ledger.charge(Gaussian(0.1), key="unmistakable")
    whole = path.read_bytes()
    places = [match.start() for match in re.finditer(b"unmistakable", whole)]
    assert len(places) > 1  # the line, and an index
    for place in places:
        path.write_bytes(whole[:place] + b"U" + whole[place + 1 :])
        with pytest.raises(BudgetError, match=r"^ledger .* must "):
            ledger.verify()
    path.write_bytes(whole)
    assert ledger.verify() == 3


def test_any_other_database_is_left_alone(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE lines (ledger TEXT)")
    before = path.read_bytes()
    with pytest.raises(BudgetError, match="must be a file that a ledger wrote; it is something"):
        tg.Ledger(path, "claims", **CAP)
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(ledger, path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
        connection.commit()
    with pytest.raises(BudgetError, match="has version 2, which a newer tailguard wrote"):
        fit(ledger)


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(BudgetError, match="must be in a folder that exists"):
        tg.Ledger(tmp_path / "nowhere" / "budget.sqlite", "claims", **CAP)


TABLE = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
28 27 0:25 / /data rw - ext4 /dev/vdb rw
29 28 0:26 / /data/shared\\040files rw,relatime shared:3 - nfs4 server:/export rw
30 28 0:26 / /data/again rw - nfs4 server:/export rw
31 28 0:26 / /data/again rw - xfs /dev/vdc rw
32 28 0:26 / /data/windows rw - cifs //server/share rw
"""


@pytest.mark.parametrize(
    ("place", "mount"),
    [
        ("/budget.sqlite", ("/", "ext4")),
        ("/data/budget.sqlite", ("/data", "ext4")),
        ("/data/shared files/a/budget.sqlite", ("/data/shared files", "nfs4")),
        ("/data/shared files too/budget.sqlite", ("/data", "ext4")),
        ("/data/again/budget.sqlite", ("/data/again", "xfs")),
        ("/data/windows/budget.sqlite", ("/data/windows", "cifs")),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_innermost_mount(tmp_path, place, mount):
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    assert mount_of(place, str(table)) == mount


def test_a_network_file_system_is_refused(ledger, path, tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(f"27 1 0:26 / / rw - ext4 a rw\n28 27 0:26 / {tmp_path} rw - nfs4 b:/c rw\n")
    before = ledger.lines()
    with monkeypatch.context() as patched:
        patched.setattr(storage.mount_of, "__defaults__", (str(table),))
        for act in (lambda: fit(ledger), lambda: tg.Ledger(tmp_path / "new", "claims", **CAP)):
            with pytest.raises(BudgetError, match="on a disk of this machine; its file system is"):
                act()
    assert ledger.lines() == before
    assert not (tmp_path / "new").exists()


def test_a_file_that_is_mounted_by_itself_is_refused(ledger, path, tmp_path, monkeypatch):
    """Two processes, in and outside a container, were granted the whole cap at the same time."""
    table, link = tmp_path / "mountinfo", tmp_path / "link.sqlite"
    table.write_text(f"27 1 254:0 / / rw - ext4 a rw\n28 27 254:0 /b {path} rw - ext4 a rw\n")
    link.symlink_to(path)
    before = ledger.lines()
    with monkeypatch.context() as patched:
        patched.setattr(storage.mount_of, "__defaults__", (str(table),))
        for act in (lambda: fit(ledger), ledger.lines, lambda: tg.Ledger(link, "claims")):
            with pytest.raises(BudgetError, match="must not be mounted as a single file"):
                act()
    assert ledger.lines() == before


def test_charges_in_the_log_are_read_through_a_link_in_a_folder_that_is_read_only(
    ledger, path, tmp_path, monkeypatch
):
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "budget.sqlite"
    link.symlink_to(path)
    monkeypatch.setattr(storage.os, "access", lambda each, _: str(each) != str(link.parent))
    with closing(sqlite3.connect(path)) as reader:  # while it is open, charges stay in the log
        reader.execute("SELECT count(*) FROM lines").fetchone()
        ledger.charge(Gaussian(0.1), key="in the log")
        assert tg.Ledger(link, "claims").lines() == ledger.lines()


def test_commits_are_fully_synchronous(ledger):
    with ledger._store._connected() as connection:
        wanted = {"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1, "trusted_schema": 0}
        for pragma, value in {**wanted, "journal_mode": "wal"}.items():
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)


def test_what_fails_inside_the_lock_writes_nothing(ledger):
    def fails(lines):
        raise ZeroDivisionError

    before = ledger.lines()
    with pytest.raises(ZeroDivisionError):
        ledger._store.append("claims", fails)
    with pytest.raises(BudgetError, match="must be a file that SQLite can use"):
        ledger._store.append("claims", lambda _: Draft("reserved", "first", {}))
    assert ledger.lines() == before
    ledger.charge(Gaussian(0.1), key="after")


def test_a_file_whose_layout_is_no_text_is_one_sentence(path, ledger):
    content = path.read_bytes()
    place = content.index(b"CREATE TABLE") + 8
    path.write_bytes(content[:place] + b"\x80" + content[place + 1 :])
    for act in (ledger.lines, lambda: ledger.charge(Gaussian(0.1), key="more")):
        with pytest.raises(BudgetError, match="must be a file that SQLite can use"):
            act()


# Without a type a column keeps a real number as it is written; with one SQLite makes it whole.
UNTYPED = (
    "PRAGMA writable_schema = ON",
    "UPDATE sqlite_schema SET sql = replace(sql, 'position INTEGER', 'position')",
)
EDITS = {
    "another number": "UPDATE lines SET position = 1.0 WHERE position = 1",
    "bytes for text": "UPDATE lines SET content = CAST(content AS BLOB) WHERE position = 2",
    "another key": "UPDATE lines SET key = 'other' WHERE position = 2",
    "another time": "UPDATE lines SET time = '' WHERE position = 2",
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("fresh", [False, True], ids=["read before", "read first"])
def test_an_edit_is_seen_by_whoever_read_the_lines_before_and_by_others(ledger, path, name, fresh):
    assert ledger.verify() == 2
    edit(ledger, *UNTYPED)
    assert ledger.verify() == 2
    edit(ledger, EDITS[name])
    if fresh:
        KNOWN.clear()
    with pytest.raises(BudgetError, match=r"line [12] was changed"):
        ledger.verify()
    with pytest.raises(BudgetError, match=r"line [12] was changed"):
        ledger.charge(Gaussian(0.1), key="more")


def test_lines_that_are_as_they_were_are_the_same_objects_and_an_undone_edit_is_read_anew(
    ledger, path
):
    before = ledger.lines()
    ledger.charge(Gaussian(0.1), key="more")
    after = ledger.lines()
    assert [one is other for one, other in zip(before, after, strict=False)] == [True] * 2
    edit(ledger, "UPDATE lines SET time = 'never ' || time WHERE position = 2")
    with pytest.raises(BudgetError, match="line 2 was changed"):
        ledger.lines()
    edit(ledger, "UPDATE lines SET time = substr(time, 7) WHERE position = 2")
    assert ledger.lines() == after


def test_few_data_sets_are_known_at_once(path):
    for number in range(2 * MOST_KNOWN):
        tg.Ledger(path, f"claims {number}", **CAP).charge(Gaussian(0.1), key="first")
    assert len(KNOWN) <= MOST_KNOWN
    assert (os.fspath(path), f"claims {2 * MOST_KNOWN - 1}") in KNOWN
    assert tg.Ledger(path, "claims 0").verify() == 2


def test_the_folder_of_a_new_file_is_closed_again(tmp_path):
    n_open = len(os.listdir("/dev/fd"))
    storage.flush_folder(str(tmp_path / "budget.sqlite"))
    assert len(os.listdir("/dev/fd")) == n_open


def test_what_a_killed_process_of_that_number_left_behind_does_no_harm(path):
    path.with_name(f"{path.name}.{os.getpid()}-{get_ident()}.new").write_text("half a file")
    ledger = tg.Ledger(path, "claims", **CAP)
    assert ledger.verify() == 1
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_another_process_made_meanwhile_is_kept(ledger, path):
    before = path.read_bytes()
    Store(str(path)).create()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_where_no_table_of_mounts_is_kept_no_file_system_is_known():
    assert mount_of("/nowhere/budget.sqlite", mounts="/no/such/table") == ("", "")


def test_devices_folders_and_names_that_sqlite_uses_are_refused(ledger, path):
    for place in ("/dev/null", path.parent):
        with pytest.raises(InputError, match="path must be the path of a regular file"):
            tg.Ledger(place, "claims", guarantee=tg.GDP(1.0))
    with pytest.raises(InputError, match="path must have another name; SQLite keeps files"):
        tg.Ledger(f"{path}-wal", "claims", guarantee=tg.GDP(1.0))


def test_another_draft_beside_a_file_of_two_names_is_left_alone(ledger, path):
    draft = path.with_name(f"{path.name}.1-1.new")
    draft.write_text("another file")
    os.link(path, path.with_name("other.sqlite"))
    with pytest.raises(BudgetError, match="must have one name, and no hard links"):
        ledger.lines()
    assert draft.exists()


def test_drafts_that_processes_left_or_just_took_away_are_no_second_name(ledger, path, monkeypatch):
    """One was killed while it made the file; others, which came second, come and go meanwhile."""
    gone, left = (path.with_name(f"{path.name}.{number}-1.new") for number in (1, 2))
    os.link(path, left)
    listed = storage.glob
    monkeypatch.setattr(storage, "glob", lambda pattern: [str(gone), *listed(pattern)])
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]
    assert os.listdir(path.parent) == [path.name]
