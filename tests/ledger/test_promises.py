"""What docs/ledger-rules.md promises of backups, clocks and copies."""

import os
import shutil
import signal
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import tailguard as tg
from ledger.test_processes import FORK
from tailguard.checks import BudgetError, InputError
from tailguard.ledger import store
from tailguard.privacy.books import Release
from tailguard.privacy.events import Composed, Gaussian

HALF = Gaussian(0.7)  # two of them fit a cap of mu = 1


@pytest.fixture
def ledger(tmp_path):
    return tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.GDP(1.0))


def test_a_backup_is_a_ledger_of_the_same_lines(ledger, tmp_path):
    ledger.charge(HALF, key="1")
    ledger.backup(tmp_path / "backup.sqlite")
    backup = tg.Ledger(tmp_path / "backup.sqlite", "claims")
    assert backup.lines() == ledger.lines()
    assert backup.verify(ledger.head()) == 2
    with pytest.raises(InputError, match="path must be that of a new file"):
        ledger.backup(tmp_path / "backup.sqlite")


def test_a_backup_is_of_one_moment_while_another_writes(ledger, tmp_path):
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        marks = ", ".join("?" * 8)
        other.execute(f"INSERT INTO lines VALUES ({marks})", ("claims", 2, *["x"] * 6))
        ledger.backup(tmp_path / "backup.sqlite")
        other.execute("ROLLBACK")
    assert tg.Ledger(tmp_path / "backup.sqlite").verify() == 1


def test_a_restored_backup_gives_back_what_was_charged_since_and_an_export_tells(ledger, tmp_path):
    ledger.backup(tmp_path / "backup.sqlite")
    ledger.charge(HALF, key="1")
    known = ledger.export()
    shutil.copy(tmp_path / "backup.sqlite", ledger.path)
    assert ledger.left == tg.GDP(1.0)  # not prevented
    with pytest.raises(BudgetError, match="the export 2: charges are missing, as in an older back"):
        ledger.verify(known)
    ledger.charge(HALF, key="2")
    with pytest.raises(BudgetError, match="line 2 differs"):
        ledger.verify(known)


def test_a_copied_file_grants_its_own_budget_and_an_export_tells(ledger, tmp_path):
    ledger.charge(HALF, key="1")
    copied = tmp_path / "copy.sqlite"
    shutil.copy(ledger.path, copied)
    copy = tg.Ledger(copied, "claims")
    assert ledger.verify(copy.export()) == copy.verify(ledger.export()) == 2
    ledger.charge(HALF, key="here")
    copy.charge(HALF, key="there")  # not prevented: no file knows of its copies
    for one, other in ((ledger, copy), (copy, ledger)):
        assert one.verify() == 3
        with pytest.raises(BudgetError, match="line 3 differs"):
            one.verify(other.export())


def charge_and_die(path):
    """Be killed while another one reads the file, so that its log stays beside it."""
    reader = sqlite3.connect(path)
    reader.execute("SELECT * FROM lines").fetchall()
    tg.Ledger(path).charge(HALF, key="1")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_file_of_two_names_is_refused(ledger, tmp_path):
    """A log lies beside the name that the file was opened by: charges in it would be lost."""
    linked = tmp_path / "linked.sqlite"
    os.link(ledger.path, linked)
    process = FORK.Process(target=charge_and_die, args=(ledger.path,))
    process.start()
    process.join()
    for path in (ledger.path, linked):
        with pytest.raises(BudgetError, match="must have one name, and no hard links"):
            tg.Ledger(path, "claims").charge(HALF, key="2")
    linked.unlink()
    ledger.charge(HALF, key="3")
    assert ledger.verify() == 2


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_symbolic_link_is_a_name_of_the_same_ledger(ledger, tmp_path):
    linked = tmp_path / "linked.sqlite"
    linked.symlink_to(ledger.path)
    process = FORK.Process(target=charge_and_die, args=(ledger.path,))
    process.start()
    process.join()
    assert [line.key for line in tg.Ledger(linked).lines()] == ["", "1"]


@pytest.mark.parametrize("stopped_early", [False, True])
def test_a_run_does_not_settle_in_a_backup_that_does_not_know_its_charge(
    ledger, tmp_path, stopped_early
):
    """A settled line without its charge would break the chain for good."""
    ledger.backup(tmp_path / "backup.sqlite")
    run = ledger.opened("3f")
    run.reserve(HALF)
    os.replace(tmp_path / "backup.sqlite", ledger.path)
    with pytest.warns(tg.BudgetWarning, match="stays unsettled: ledger 'claims' must hold all cha"):
        run.settle(stopped_early=stopped_early)
    ledger.charge(HALF, key="1")
    assert ledger.verify() == 2


def test_nor_in_one_where_another_run_has_its_key(ledger, tmp_path):
    ledger.backup(tmp_path / "backup.sqlite")
    run = ledger.with_key("report of March").opened("3f")
    run.reserve(HALF)
    os.replace(tmp_path / "backup.sqlite", ledger.path)
    ledger.with_key("report of March").opened("4a").reserve(HALF)
    with pytest.warns(tg.BudgetWarning, match="stays unsettled: ledger 'claims' must hold all cha"):
        run.settle(stopped_early=True)  # nothing of the other one's is given back
    assert ledger.reserved == Composed((HALF,))


def test_a_run_is_not_called_as_other_tools_are(ledger):
    """Else its charge would pass for that of another tool, and be paid once for both."""
    for ask in (ledger.opened, lambda run: ledger.resumed(run, start=None)):
        with pytest.raises(InputError, match="run must have a name of its own; 'others' is"):
            ask("others")
    ledger.charge(HALF, key="others")
    with pytest.raises(BudgetError, match="key must be new"):
        ledger.with_key("others").opened("3f").reserve(HALF)


def test_nothing_follows_from_the_clock(ledger, monkeypatch):
    times = iter(["2026-11-23", "1970-01-01", "2126-01-01"])
    monkeypatch.setattr(store, "_today", lambda: next(times))
    ledger.charge(HALF, key="1")
    with pytest.raises(BudgetError):
        ledger.charge(Gaussian(0.8), key="2")
    ledger.charge(HALF, key="3")
    assert [line.key for line in ledger.lines()] == ["", "1", "3"]
    assert ledger.lines()[2].time < ledger.lines()[1].time
    assert ledger.verify() == 3
    with pytest.raises(BudgetError):
        ledger.charge(HALF, key="4")


def test_a_ledger_that_is_gone_is_not_begun_again_without_its_cap(ledger, tmp_path):
    (tmp_path / "budget.sqlite").unlink()
    for act in (
        lambda: ledger.charge(HALF, key="1"),
        lambda: tg.Ledger(ledger.path),
        lambda: tg.Ledger(ledger.path, "claims"),
    ):
        with pytest.raises((BudgetError, InputError), match=r"must be a file|must exist in"):
            act()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("run", ["", "x" * 201, 7, 0.5, None, [1], np.zeros(2), "\ud800"])
def test_a_run_is_a_text_of_some_length(ledger, run):
    """A number would be written down as text, by which the file would fail its own check."""
    for ask in (ledger.opened, lambda run: ledger.resumed(run, start=None)):
        with pytest.raises(InputError, match="run must be a text of 1 to 200 characters"):
            ask(run)


@pytest.mark.parametrize("start", ["1", -1, 0.5, True, [1], 10**400])
def test_how_often_a_run_went_on_is_a_number(ledger, start):
    ledger.opened("3f").reserve(HALF)
    assert ledger.lines()[1].data()["coordinates"] == 0
    with pytest.raises(InputError, match="start must be a whole number from 0 to 1000000000; got"):
        ledger.resumed("3f", start=start)
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]


@pytest.mark.parametrize("key", ["", "x" * 201, 7, 0.5, None, np.zeros(2), "\ud800"])
def test_a_key_is_a_text_of_some_length(ledger, key):
    with pytest.raises(InputError, match="key must be a text of 1 to 200 characters"):
        ledger.with_key(key)
    with pytest.raises(InputError, match="key must be a text of 1 to 200 characters"):
        ledger.charge(HALF, key=key)
    assert ledger.verify() == 1  # a number in the file would break the chain


@pytest.mark.parametrize("name", ["", " ", "\t\n", "x" * 201, 7])
def test_a_data_set_has_a_name_that_can_be_seen(tmp_path, name):
    with pytest.raises(InputError, match="name must be a text of 1 to 200 characters; got"):
        tg.Ledger(tmp_path / "other.sqlite", name, guarantee=tg.GDP(1.0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, 7, b"copy", "", "a\0b"])
def test_a_copy_goes_to_a_path(ledger, path):
    for act in (ledger.backup, tg.Ledger.names):
        with pytest.raises(InputError, match="path must be that of a file; got"):
            act(path)


def test_a_charge_has_no_more_numbers_than_totals_can_tell_of(ledger):
    with pytest.raises(InputError, match="coordinates must be at most 100000000000"):
        ledger.charge(HALF, key="many", coordinates=10**12)
    ledger.charge(HALF, key="many", coordinates=10**11)
    assert ledger.total(1e-6).epsilon > 0.5


def test_a_run_that_goes_on_from_its_end_may_say_nothing_else(ledger):
    told = Release("slope", "Mean", "gaussian", "l2", sensitivity=2.0, noise_std=8.0)
    for releases in ((told,), (told,), ()):
        run = ledger.resumed("3f", start=None)
        run.reserve(Gaussian(0.25))
        for release in releases:
            run.record(release)
        if releases:
            run.settle()
        else:
            with pytest.warns(tg.BudgetWarning, match="record the releases .* entry 3 has other"):
                run.settle()
        assert len(ledger.lines()) == 3
