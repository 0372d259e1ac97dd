"""Processes and threads share a budget: nothing is granted twice, and all releases are charged."""

import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import pytest

import tailguard as tg
from ledger.mutants import LateStore, OpenRun, UnlockedStore
from tailguard.checks import BudgetError
from tailguard.ledger import ledger as module
from tailguard.ledger.cap import price
from tailguard.ledger.charges import replayed, standing
from tailguard.ledger.store import Store
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.books import Release
from tailguard.privacy.events import Gaussian, Repeated

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
FORK = multiprocessing.get_context("fork")
MU = 2.0**-10
RHO = MU**2 / 2  # exact: MU is a power of two
SMALL = Release("usable", "Count", "gaussian", "l2", sensitivity=MU, noise_std=1.0)


def use(store):
    tg.Ledger._store = property(lambda ledger: store(ledger.path))


def spend(path, store, tries, barrier, granted):
    """Charge until nothing is left, from the moment when all are there."""
    use(store)
    ledger, mine = tg.Ledger(path, "claims"), 0
    barrier.wait()
    for number in range(tries):
        try:
            ledger.charge(Gaussian(MU), key=f"{os.getpid()}-{number}")
            mine += 1
        except BudgetError:
            pass
    granted.put(mine)


def stop_early_and_late(path, barrier, granted):
    """Reserve until all is refused; of every two runs the first stops early."""
    ledger, mine = tg.Ledger(path, "claims"), 0
    barrier.wait()
    for number in range(20):
        run = ledger.opened(f"{os.getpid()}-{number}")
        try:
            run.reserve(Repeated(Gaussian(MU), 4))
        except BudgetError:
            continue
        run.record(SMALL)
        run.settle(stopped_early=number % 2 == 0)
        mine += 1 if number % 2 == 0 else 4
    granted.put(mine)


def granted_to(n_processes, cap, path, work):
    """Let processes race for a cap of so many charges; return the ledger and what was granted."""
    ledger = tg.Ledger(path, "claims", guarantee=tg.ZCDP(cap * RHO))
    barrier, granted = FORK.Barrier(n_processes), FORK.Queue()
    racers = [
        FORK.Process(target=work, args=(path,), kwargs={"barrier": barrier, "granted": granted})
        for _ in range(n_processes)
    ]
    for racer in racers:
        racer.start()
    total = sum(granted.get(timeout=600) for _ in racers)
    for racer in racers:
        racer.join()
    return ledger, total


@pytest.mark.parametrize(
    ("n_processes", "cap"), [(4, 60), pytest.param(8, 1_000, marks=pytest.mark.audit)]
)
def test_processes_are_granted_the_cap_and_no_more(tmp_path, n_processes, cap):
    work = partial(spend, store=Store, tries=2 * cap // n_processes)
    ledger, granted = granted_to(n_processes, cap, tmp_path / "budget.sqlite", work)
    assert granted == cap == len(ledger.reserved.events)
    assert ledger.left is None
    assert ledger.verify() == cap + 1


@pytest.mark.parametrize(
    ("n_processes", "cap"), [(4, 4), pytest.param(8, 1_000, marks=pytest.mark.audit)]
)
def test_without_the_lock_the_race_grants_more(tmp_path, n_processes, cap):
    work = partial(spend, store=UnlockedStore, tries=2 * cap // n_processes)
    ledger, granted = granted_to(n_processes, cap, tmp_path / "budget.sqlite", work)
    assert granted > cap
    with pytest.raises(BudgetError, match="charges more than was left"):
        ledger.verify()


def test_processes_that_stop_early_are_granted_the_cap_and_no_more(tmp_path):
    ledger, granted = granted_to(4, 60, tmp_path / "budget.sqlite", stop_early_and_late)
    assert 57 <= granted <= 60  # less than the 4 of a reservation is left
    ledger.verify()
    totals = [
        sum(price(ZcdpAccountant, each)[0] for each in charges.values()) / RHO
        for _, charges in replayed(ledger.lines())
    ]
    assert max(totals) <= 60
    assert any(after < before for before, after in pairwise(totals))


def test_threads_are_granted_the_cap_and_no_more(tmp_path):
    path = tmp_path / "budget.sqlite"

    def charge(number):
        ledger = tg.Ledger(path, "claims", guarantee=tg.ZCDP(10 * RHO))
        try:
            return ledger.charge(Gaussian(MU), key=str(number)).position
        except BudgetError:
            return 0

    with ThreadPoolExecutor(4) as pool:
        positions = list(pool.map(charge, range(20)))
    assert sorted(positions) == [0] * 10 + list(range(2, 12))


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def stop_at(path, place):
    """One run that stops early, in a process that is killed at a place of it."""
    run = tg.Ledger(path, "claims").opened("3f")
    run.reserve(Gaussian(0.75))
    if place == "reserved":
        die()
    run.record(SMALL)
    if place == "released":
        die()
    if place == "closed":
        Store.append = die
    if place == "written, not committed":
        write = Store._write
        Store._write = lambda *given: (write(*given), die())
    run.settle(stopped_early=True)
    die()


@pytest.mark.parametrize(
    ("place", "charged"),
    [
        ("reserved", 0.75),
        ("released", 0.75),
        ("closed", 0.75),
        ("written, not committed", 0.75),
        ("settled", MU),
    ],
)
def test_a_process_that_is_killed_gets_nothing_back_before_its_line_is_written(
    tmp_path, place, charged
):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.GDP(1.0))
    process = FORK.Process(target=stop_at, args=(ledger.path, place))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert ledger.verify() == (3 if place == "settled" else 2)
    left = (1.0 - charged**2) ** 0.5
    with pytest.raises(BudgetError, match="nothing is charged or released"):
        ledger.charge(Gaussian(left * (1 + 1e-9)), key="too much")
    ledger.charge(Gaussian(left * (1 - 1e-9)), key="the rest")


def release_until_killed(path, store, journal):
    """Reserve, release and stop early, over and over; write down what left, release by release."""
    use(store)
    ledger, number, chance = tg.Ledger(path, "claims"), 0, random.Random(os.getpid())
    while True:
        key = f"{os.getpid()}-{number}"
        run = ledger.opened(key)
        run.reserve(Repeated(Gaussian(MU), 4))
        for _ in range(chance.randint(0, 4)):
            run.record(SMALL)
            os.write(journal, f"{key}\n".encode())
        run.settle(stopped_early=chance.random() < 0.7)
        number += 1


def killed(n_times, tmp_path, store=Store):
    """Kill writers after some of their releases; return the ledger, and releases by their key."""
    path, released = tmp_path / "budget.sqlite", tmp_path / "released"
    ledger = tg.Ledger(path, "claims", guarantee=tg.ZCDP(1.0))
    journal = os.open(released, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    chance = random.Random(0)
    for _ in range(n_times):
        writer = FORK.Process(target=release_until_killed, args=(path, store, journal))
        wanted = released.stat().st_size + chance.randint(1, 200)
        writer.start()
        while writer.is_alive() and released.stat().st_size < wanted:
            time.sleep(0.001)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
    os.close(journal)
    return ledger, Counter(released.read_text().split())


@pytest.mark.long
@pytest.mark.parametrize("n_times", [12, pytest.param(500, marks=pytest.mark.audit)])
def test_after_kills_every_release_is_counted(tmp_path, n_times):
    ledger, released = killed(n_times, tmp_path)
    ledger.verify()
    charges = standing(ledger.lines())
    counted = {key: price(ZcdpAccountant, each)[0] / RHO for key, each in charges.items()}
    assert len(released) > n_times
    assert all(counted[key] >= times for key, times in released.items())
    assert any(counted[key] == times < 4 for key, times in released.items())  # given back
    ledger.charge(Gaussian(MU), key="after")


def test_a_store_that_tells_before_it_writes_is_caught(tmp_path):
    ledger, released = killed(3, tmp_path, LateStore)
    assert not set(released) <= set(standing(ledger.lines()))


def released_and_charged(ledger, settle_after):
    """Threads release until they are refused, while another one settles."""
    run, counts = ledger.opened("3f"), []
    run.reserve(Repeated(Gaussian(MU), 4000))

    def release():
        count = 0
        try:
            while count < 1000:
                run.record(SMALL)
                count += 1
        except BudgetError:
            pass
        counts.append(count)

    threads = [threading.Thread(target=release) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(run.releases) == 0 or run.releases[0].times < settle_after:
        pass
    run.settle(stopped_early=True)
    for thread in threads:
        thread.join()
    ((_, charge),) = standing(ledger.lines()).items()
    return sum(counts), price(ZcdpAccountant, charge)[0] / RHO


def test_what_threads_release_while_a_run_settles_is_charged_or_refused(tmp_path):
    for number in range(10):
        ledger = tg.Ledger(tmp_path / f"{number}.sqlite", "claims", guarantee=tg.ZCDP(1.0))
        released, charged = released_and_charged(ledger, settle_after=10 * number)
        assert 10 * number <= released == charged <= 4000


def test_books_that_close_after_they_are_settled_are_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LedgerRun", OpenRun)
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.ZCDP(1.0))
    released, charged = released_and_charged(ledger, settle_after=10)
    assert released > charged


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
