"""A run that is stopped goes on, pays once, and ends as it would have without the stop."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tailguard as tg
from support.problems import problem_for
from support.solvers import SOLVERS, few_rounds, make_solver
from support.targets import FREE, takes_labels, target_for
from tailguard.checks import BudgetError, InputError
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.gate import Gate
from tailguard.gate.engine import run
from tailguard.means.choice import MEANS
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.books import MemoryBooks

N_ROWS = 3_000
PROMISE = tg.ApproxDP(8.0, 1e-3)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 3))
Y = X @ [0.5, -0.25, 0.1] + 0.3 * RNG.standard_normal(N_ROWS)
FIT = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch):
    """Leave it to the system when the disk is written: no power fails in a test."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def stop_after(monkeypatch, n_reads):
    """Let so many sums of records be taken, and stop at the next one."""
    reads = [0]
    reduce = ArrayRows.reduce

    def counted(self, kernel, n_threads=None):
        reads[0] += 1
        if reads[0] > n_reads:
            raise KeyboardInterrupt
        return reduce(self, kernel, n_threads)

    monkeypatch.setattr(ArrayRows, "reduce", counted)
    return reads


def told(solved):
    numbers = [solved.coef, solved.intercept, solved.solution.coef_noise_std]
    return [np.asarray(number).tobytes() for number in numbers] + [solved.certificate.to_json()]


def solve(name, checkpoint, seed=1):
    problem, solver = problem_for(name, n_rows=N_ROWS), make_solver(name)
    gate = Gate(
        make_rows(X, Y, loss=problem.loss),
        guarantee=PROMISE,
        source=SimulationSource(seed),
        checkpoint=checkpoint,
    )
    return run(solver, solver.plan(problem, PROMISE), gate)


@pytest.mark.long
@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_goes_on_as_if_it_had_not_been_stopped_or_refuses_before_it_spends(
    name, tmp_path, monkeypatch
):
    path = tmp_path / "run.checkpoint"
    whole = solve(name, None)
    if whole.plan.cuts_blocks:
        monkeypatch.setattr(ArrayRows, "reduce", lambda *_: pytest.fail("records were read"))
        with pytest.raises(InputError, match="checkpoint must be None"):
            solve(name, path)
        assert not path.exists()
        return
    with monkeypatch.context() as patched:
        n_reads = stop_after(patched, 10**9)
        solve(name, tmp_path / "counted.checkpoint")
    for place in (0.0, 0.4):
        with monkeypatch.context() as patched:
            stop_after(patched, int(place * n_reads[0]))
            with pytest.raises(KeyboardInterrupt):
                solve(name, path)
    with monkeypatch.context() as patched:
        later = stop_after(patched, 10**9)
        assert told(solve(name, path)) == told(whole)
        assert later[0] < n_reads[0] or n_reads[0] == 1
    with monkeypatch.context() as patched:
        none = stop_after(patched, 10**9)
        assert told(solve(name, path)) == told(whole)
        assert none[0] == 0


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_goes_on_or_refuses_before_it_spends(name, tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    options = {"method": name, "random_state": 3, "guarantee": PROMISE}
    if name == "trimmed":
        options |= {"low": -9.0, "high": 9.0}
    whole = tg.mean(X, **options)
    refused = whole.choice.plan.cuts_blocks
    expected = InputError if refused else KeyboardInterrupt
    with monkeypatch.context() as patched:
        stop_after(patched, 0)
        with pytest.raises(expected, match="checkpoint must be None" if refused else None):
            tg.mean(X, checkpoint=path, **options)
    assert path.exists() != refused
    if refused:
        return
    again = tg.mean(X, checkpoint=path, **options)
    assert again.certificate == whole.certificate
    np.testing.assert_array_equal(again.value, whole.value)


@pytest.mark.parametrize("name", FREE)
def test_an_estimator_takes_a_checkpoint(name, tmp_path):
    options = {"classes": (0, 1)} if takes_labels(FREE[name]) else {}
    y = target_for(FREE[name], Y, np.random.default_rng(0))
    fits = [
        few_rounds(FREE[name], **FIT, **options, random_state=0, checkpoint=checkpoint).fit(X, y)
        for checkpoint in (None, *2 * [tmp_path / "fit.checkpoint"])
    ]
    for fit in fits[1:]:
        assert fit.certificate_ == fits[0].certificate_
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)


def test_sparse_fits_refuse_a_checkpoint_before_they_spend(tmp_path):
    path = tmp_path / "fit.checkpoint"
    model = tg.SparseLinearRegression(**FIT, n_nonzero=2, checkpoint=path)
    with pytest.raises(InputError, match="checkpoint must be None for 'hard-thresholding'"):
        model.fit(X, Y)
    assert not path.exists()


def test_a_private_fit_comes_back_as_it_was(tmp_path):
    path = tmp_path / "fit.checkpoint"
    first = tg.LinearRegression(**FIT, checkpoint=path).fit(X, Y)
    again = tg.LinearRegression(**FIT, checkpoint=path).fit(0.0 * X, Y)  # nothing is read
    np.testing.assert_array_equal(first.coef_, again.coef_)
    assert first.certificate_ == again.certificate_
    another = tg.LinearRegression(**FIT, checkpoint=tmp_path / "other").fit(X, Y)
    assert (another.coef_ != first.coef_).any()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.5},
        {"fit_intercept": False},
        {"random_state": 0},
        {"missing": {0: 1.0}},
        {"solver": tg.solvers.NoisyGradientDescent(step_size=0.1)},
    ],
)
def test_another_fit_is_refused_in_one_sentence(tmp_path, change):
    path = tmp_path / "fit.checkpoint"
    model = tg.LinearRegression(**FIT, checkpoint=path).fit(X, Y)
    before = path.read_bytes()
    with pytest.raises(InputError, match="checkpoint must be of the same run"):
        model.set_params(**change).fit(X, Y)
    with pytest.raises(InputError, match="of the same run"):
        tg.LinearRegression(**FIT, checkpoint=path).fit(X[:-1], Y[:-1])
    assert path.read_bytes() == before


def test_a_refused_fit_leaves_no_file(tmp_path):
    path = tmp_path / "fit.checkpoint"
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=0.5, delta=1e-5)
    with pytest.raises(BudgetError, match="ledger 'claims' must keep"):
        tg.LinearRegression(**FIT, checkpoint=path, ledger=ledger).fit(X, Y)
    assert not path.exists()


def kinds(ledger):
    return [line.kind for line in ledger.lines()]


def test_a_ledger_is_charged_once_and_the_same_entry_is_settled(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=2.0, delta=1e-5)
    model = tg.LinearRegression(**FIT, checkpoint=path, ledger=ledger.with_key("March"))
    for n_reads in (5, 3):
        with monkeypatch.context() as patched:
            stop_after(patched, n_reads)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, Y)
    certificate = model.fit(X, Y).certificate_
    assert kinds(ledger) == ["created", "reserved", "resumed", "resumed", "settled"]
    (entry,) = certificate.ledger_entries
    assert (entry.position, entry.key) == (2, "March")
    again = model.fit(X, Y).certificate_  # all was released before
    assert again == certificate
    assert kinds(ledger) == ["created", "reserved", "resumed", "resumed", "settled"]
    assert ledger.verify() == 5


def test_a_ledger_refuses_an_older_copy(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=2.0, delta=1e-5)
    model = tg.LinearRegression(**FIT, checkpoint=path, ledger=ledger)
    with monkeypatch.context() as patched:
        stop_after(patched, 5)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    older = path.read_bytes()
    with monkeypatch.context() as patched:
        stop_after(patched, 2)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    newer = path.read_bytes()
    for copy in (older, None):
        path.write_bytes(newer if copy is None else copy)
        if copy is None:
            model.fit(X, Y)
            path.write_bytes(older)
        with pytest.raises(BudgetError, match="latest of its run"):
            model.fit(X, Y)


def test_a_copy_of_an_unfinished_run_is_refused(tmp_path, monkeypatch):
    path, copy = tmp_path / "fit.checkpoint", tmp_path / "copy.checkpoint"
    with monkeypatch.context() as patched:
        stop_after(patched, 5)
        with pytest.raises(KeyboardInterrupt):
            tg.LinearRegression(**FIT, checkpoint=path).fit(X, Y)
    shutil.copy2(path, copy)
    content = copy.read_bytes()
    with pytest.raises(InputError, match="is a copy, or was moved to another disk, and two files"):
        tg.LinearRegression(**FIT, checkpoint=copy).fit(X, Y)
    with pytest.raises(InputError, match="is of one with another"):  # whatever file it is
        tg.LinearRegression(**FIT, checkpoint=copy).fit(X[:, :1], Y)
    assert copy.read_bytes() == content
    moved = path.rename(tmp_path / "moved.checkpoint")
    model = tg.LinearRegression(**FIT, checkpoint=moved).fit(X, Y)
    shutil.copy2(moved, copy)  # nothing is left to draw
    again = tg.LinearRegression(**FIT, checkpoint=copy).fit(X, Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_a_ledger_that_ends_with_the_process_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"ledger must be a tg\.Ledger"):
        tg.LinearRegression(**FIT, checkpoint=tmp_path / "fit", ledger=MemoryBooks()).fit(X, Y)


def test_a_gate_cuts_no_blocks_beside_a_checkpoint(tmp_path):
    gate = Gate.over(X, guarantee=tg.GDP(1.0), checkpoint=tmp_path / "run")
    assert len(gate.partition("one", sizes=(5,))) == 1
    with pytest.raises(InputError, match="checkpoint must be None"):
        gate.partition("two", sizes=(5, 6))


def test_a_clone_is_refused(tmp_path):
    from sklearn.base import clone

    with pytest.raises(InputError, match="checkpoint must be None where an estimator is cloned"):
        clone(tg.LinearRegression(**FIT, checkpoint=tmp_path / "fit"))


SCRIPT = """
import sys
import numpy as np
import tailguard as tg

path, checkpoint, ledger, seed = sys.argv[1:]
options = {"random_state": int(seed)} if seed else {"ledger": tg.Ledger(ledger, "claims")}
model = tg.LinearRegression(epsilon=1.0, delta=1e-6, checkpoint=checkpoint, **options)
model.fit(path, target="cost")
"""


def killed(arguments, path, n_lines):
    """Start a fit in a process of its own, and kill it when its file has so many lines."""
    source = str(Path(tg.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments], env=environment)
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= n_lines:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.0005)
    return process.wait() == -signal.SIGKILL


def check_kills(folder, n_kills, seed):
    table = pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "cost": Y})
    parquet.write_table(table, folder / "claims.parquet", row_group_size=700)
    rng = np.random.default_rng(seed)
    ledger = tg.Ledger(folder / "budget.sqlite", "claims", epsilon=50.0, delta=1e-4)
    file = str(folder / "claims.parquet")
    whole = tg.LinearRegression(**FIT, random_state=4).fit(file, target="cost")
    n_killed = 0
    for number in range(n_kills):
        path = folder / f"{number}.checkpoint"
        seeded = number % 2 == 0
        arguments = [file, str(path), ledger.path, "4" if seeded else ""]
        n_killed += killed(arguments, path, int(rng.integers(1, 170)))
        options = {"random_state": 4} if seeded else {"ledger": ledger}
        model = tg.LinearRegression(**FIT, checkpoint=path, **options).fit(file, target="cost")
        certificate = model.certificate_
        if seeded:
            np.testing.assert_array_equal(model.coef_, whole.coef_)
            assert certificate == whole.certificate_
        else:
            (entry,) = certificate.ledger_entries
            settled = [line for line in ledger.lines() if line.key == entry.key]
            assert [line.kind for line in settled if line.kind != "resumed"] == [
                "reserved",
                "settled",
            ]
            assert settled[-1].data()["releases"] == [
                release.to_dict() for release in certificate.releases
            ]
            # What is asked may follow from answers, but all of it is of one plan.
            assert certificate.planned == whole.certificate_.planned
            assert certificate.total.mu <= whole.certificate_.total.mu * (1 + 1e-9)
    assert n_killed >= n_kills // 2
    assert kinds(ledger).count("reserved") == n_kills // 2


@pytest.mark.long
def test_a_killed_process_goes_on(tmp_path):
    check_kills(tmp_path, n_kills=2, seed=0)


@pytest.mark.audit
def test_processes_killed_anywhere_go_on(tmp_path):
    check_kills(tmp_path, n_kills=20, seed=1)
