"""Processes share a budget: none is granted twice, and none is lost with whoever is killed."""

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import tailguard as tg
from ledger.mutants import LateStore, UnlockedStore
from tailguard.checks import BudgetError
from tailguard.ledger.store import Store
from tailguard.privacy.events import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
FORK = multiprocessing.get_context("fork")
MU = 2.0**-10


def spend(path, store, barrier, tries, granted):
    """Charge until nothing is left, from the moment when all are there."""
    tg.Ledger._store = property(lambda ledger: store(ledger.path))
    ledger, mine = tg.Ledger(path, "claims"), 0
    barrier.wait()
    for number in range(tries):
        try:
            ledger.charge(Gaussian(MU), key=f"{os.getpid()}-{number}")
            mine += 1
        except BudgetError:
            pass
    granted.put(mine)


def granted_to(n_processes, cap, path, store=Store):
    """Let processes race for a cap of so many charges; return how many they were granted."""
    tg.Ledger(path, "claims", guarantee=tg.ZCDP(cap * MU**2 / 2))  # exact: MU is a power of two
    barrier, granted = FORK.Barrier(n_processes), FORK.Queue()
    tries = 2 * cap // n_processes
    racers = [
        FORK.Process(target=spend, args=(path, store, barrier, tries, granted))
        for _ in range(n_processes)
    ]
    for racer in racers:
        racer.start()
    total = sum(granted.get(timeout=600) for _ in racers)
    for racer in racers:
        racer.join()
    return total


@pytest.mark.parametrize(
    ("n_processes", "cap"), [(4, 60), pytest.param(8, 1_000, marks=pytest.mark.audit)]
)
def test_processes_are_granted_the_cap_and_no_more(tmp_path, n_processes, cap):
    path = tmp_path / "budget.sqlite"
    assert granted_to(n_processes, cap, path) == cap
    ledger = tg.Ledger(path, "claims")
    assert len(ledger.reserved.events) == cap
    assert ledger.left is None
    assert ledger.verify() == cap + 1


@pytest.mark.parametrize(
    ("n_processes", "cap"), [(4, 4), pytest.param(8, 1_000, marks=pytest.mark.audit)]
)
def test_without_the_lock_the_race_grants_more(tmp_path, n_processes, cap):
    path = tmp_path / "budget.sqlite"
    assert granted_to(n_processes, cap, path, UnlockedStore) > cap
    with pytest.raises(BudgetError, match="charges more than was left"):
        tg.Ledger(path, "claims").verify()


def test_threads_are_granted_the_cap_and_no_more(tmp_path):
    path = tmp_path / "budget.sqlite"

    def charge(number):
        ledger = tg.Ledger(path, "claims", guarantee=tg.ZCDP(10 * MU**2 / 2))
        try:
            return ledger.charge(Gaussian(MU), key=str(number)).position
        except BudgetError:
            return 0

    with ThreadPoolExecutor(4) as pool:
        positions = list(pool.map(charge, range(20)))
    assert sorted(positions) == [0] * 10 + list(range(2, 12))


def release_until_killed(path, journal, store):
    """Charge, and only then write down that something left, over and over."""
    tg.Ledger._store = property(lambda ledger: store(ledger.path))
    ledger, number = tg.Ledger(path, "claims"), 0
    while True:
        key = f"{os.getpid()}-{number}"
        run = ledger.opened(key)
        run.reserve(Gaussian(MU))
        os.write(journal, f"{key}\n".encode())
        if number % 2:
            run.settle()
        number += 1


def killed(n_times, tmp_path, store=Store):
    """Kill writers at random moments, some before anything left; return the ledger, and what left.

    Moments are counted in what a writer has released: a slow machine releases as much.
    """
    path, journal = tmp_path / "budget.sqlite", tmp_path / "released"
    tg.Ledger(path, "claims", guarantee=tg.GDP(1e3))
    written = os.open(journal, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    chance = random.Random(0)
    for _ in range(n_times):
        writer = FORK.Process(target=release_until_killed, args=(path, written, store))
        wanted = len(journal.read_text().split()) + chance.randint(0, 4)
        writer.start()
        while writer.is_alive() and len(journal.read_text().split()) < wanted:
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 0.05))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
    os.close(written)
    return tg.Ledger(path, "claims"), journal.read_text().split()


def check_after_kills(ledger, released):
    ledger.verify()
    charged = [line.key for line in ledger.lines() if line.kind == "reserved"]
    assert len(set(charged)) == len(charged)
    assert len(released) > 20
    assert set(released) <= set(charged)
    ledger.charge(Gaussian(MU), key="after")


@pytest.mark.parametrize("n_times", [15, pytest.param(500, marks=pytest.mark.audit)])
def test_a_killed_process_leaves_no_release_without_its_charge(tmp_path, n_times):
    check_after_kills(*killed(n_times, tmp_path))


def test_a_store_that_tells_before_it_writes_is_caught(tmp_path):
    ledger, released = killed(2, tmp_path, LateStore)
    charged = [line.key for line in ledger.lines() if line.kind == "reserved"]
    assert not set(released) <= set(charged)


def test_a_killed_fit_counts_as_spent(tmp_path):
    path = tmp_path / "budget.sqlite"
    ledger = tg.Ledger(path, "claims", guarantee=tg.GDP(1.0))

    def stop_inside():
        ledger.opened("3f").reserve(Gaussian(0.75))
        os.kill(os.getpid(), signal.SIGKILL)

    process = FORK.Process(target=stop_inside)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]
    with pytest.raises(BudgetError, match=r"the rest of the budget fits a run of mu = 0\.6614,"):
        ledger.charge(Gaussian(0.662), key="more")


def begin(path, barrier, failed):
    barrier.wait()
    try:
        tg.Ledger(path, "claims", epsilon=1.0, delta=1e-6)
    except (BudgetError, sqlite3.Error) as error:
        failed.put(str(error))


def test_processes_that_begin_a_ledger_at_once_begin_one(tmp_path):
    path, barrier, failed = tmp_path / "budget.sqlite", FORK.Barrier(4), FORK.Queue()
    racers = [FORK.Process(target=begin, args=(path, barrier, failed)) for _ in range(4)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [failed.get() for _ in range(failed.qsize())] == []
    assert tg.Ledger(path, "claims").verify() == 1
    assert [file.name for file in tmp_path.iterdir()] == ["budget.sqlite"]
