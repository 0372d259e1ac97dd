"""What a run tells of its progress is public, and nobody is told who does not listen."""

import io

import numpy as np
import pytest
from rich import console
from rich.console import Console
from rich.progress import Progress

import tailguard as tg
from support.batched import arrow_table, small_memory
from support.told import Told
from tailguard.gate import Gate
from tailguard.progress import ProgressBar, listening, progress_bar

__all__ = ["small_memory"]
X = np.random.default_rng(0).standard_normal((3000, 2))
FIT = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}


def fitted(X, **options):
    told = Told()
    with listening(told):
        model = tg.LinearRegression(**FIT | options).fit(X, X[:, 0])
    return model, told


def test_every_answer_is_told_with_its_stage_and_public_number_of_rows():
    model, told = fitted(X)
    releases = [[r.stage, len(X)] for r in model.certificate_.releases for _ in range(r.times)]
    assert told.of("answered") == releases
    assert told.of("planned") == [[sum(stage.times for stage in model.plan_.stages)]]
    assert len(told.of("answered")) <= told.of("planned")[0][0]


def test_one_answer_is_planned_for_each_block():
    told = Told()
    with listening(told):
        model = tg.SparseLinearRegression(n_nonzero=1, **FIT).fit(X, X[:, 0])
    n_steps = sum(stage == "descent" for stage, _ in told.of("answered"))
    others = sum(stage.times for stage in model.plan_.stages if stage.name != "descent")
    assert told.of("planned") == [[others + n_steps]]
    assert n_steps > 1


def test_what_is_told_depends_on_released_numbers_alone(monkeypatch):
    """With equal answers from other records, the same is told."""
    from tailguard.gate import Gate

    _, expected = fitted(X)
    answers = []
    drawn = Gate._noised

    def kept(*given):
        answers.append(drawn(*given))
        return answers[-1]

    monkeypatch.setattr(Gate, "_noised", kept)
    fitted(X)
    monkeypatch.setattr(Gate, "_noised", lambda *_: answers.pop(0))
    _, told = fitted(np.full_like(X, np.nan))
    assert told.of("answered") == expected.of("answered")


def test_a_run_elsewhere_tells_nobody():
    told = Told()
    with listening(told):
        pass
    fitted(X)
    assert told.of("answered") == []


def test_blocks_are_told_one_by_one():
    told = Told()
    gate = Gate.over(X, guarantee=tg.GDP(5.0), random_state=0)
    blocks = gate.partition("halves", 2)
    from support.count_below import CountBelow
    from tailguard.gate.stage import Stage

    stage = Stage("counts", "small values", 1.0, 1, 1, block_map="halves", n_blocks=2)
    gate.reserve(stage.event)
    with listening(told):
        for block in blocks:
            gate.ask(CountBelow(columns=(0,)), np.zeros(1), stage, block=block)
    assert told.of("answered") == [["counts", 1500]] * 2


@pytest.mark.parametrize("command", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_is_shown_on_a_terminal_alone(monkeypatch, terminal, command):
    text = io.StringIO()
    monkeypatch.setattr(
        console, "Console", lambda **_: Console(file=text, force_terminal=terminal, width=120)
    )
    if command:
        with progress_bar():
            model = tg.LinearRegression(**FIT).fit(X, X[:, 0])
    else:
        model = tg.LinearRegression(verbose=True, **FIT).fit(X, X[:, 0])
    assert model.coef_.shape == (2,)
    assert ("passes" in text.getvalue()) == terminal
    assert ("rows/s" in text.getvalue()) == terminal


def test_a_pass_over_a_table_in_batches_tells_how_far_it_is(small_memory):
    values, told = np.random.default_rng(1).standard_normal((9000, 2)), Told()
    with listening(told):
        tg.mean(arrow_table(values).to_reader, method="clipped", **FIT)
    # Runs of six chunks, once for each time that the table is read.
    assert told.of("read") == [[6144, 9000], [9000, 9000]] * (len(told.of("read")) // 2)
    assert len(told.of("read")) >= 2 * len(told.of("answered")) > 0


def test_the_bar_moves_within_a_pass_and_never_back():
    with Progress(console=Console(quiet=True)) as progress:
        bar, shown = ProgressBar(progress), []
        bar.planned(2)
        for move in (
            lambda: bar.read(500, 1000),
            lambda: bar.read(1000, 1000),
            lambda: bar.read(500, 1000),  # a second pass for the same answer
            lambda: bar.answered("scale", 1000),
            lambda: bar.read(250, 1000),
        ):
            move()
            shown += [task.completed for task in progress.tasks]
    assert shown == [0.5, 1.0, 1.0, 1, 1.25]


def test_an_interruption_leaves_books_that_count(tmp_path, monkeypatch):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=2.0, delta=1e-5)

    class Stopping(Told):
        def answered(self, stage, n_rows):
            super().answered(stage, n_rows)
            if len(self.of("answered")) == 5:
                raise KeyboardInterrupt

    model = tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger=ledger)
    with listening(Stopping()), pytest.raises(KeyboardInterrupt):
        model.fit(X, X[:, 0])
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]
    left = ledger.left.epsilon
    assert left < 2.0
    ledger.verify()


def test_nothing_is_shown_unless_asked_for(capsys):
    tg.LinearRegression(**FIT).fit(X, X[:, 0])
    assert capsys.readouterr() == ("", "")
    with pytest.raises(tg.InputError, match="verbose must be True or False; got 2"):
        tg.LinearRegression(verbose=2, **FIT).fit(X, X[:, 0])


def test_a_run_is_logged_under_one_name(caplog):
    with caplog.at_level("DEBUG", logger="tailguard"):
        model = tg.LinearRegression(**FIT).fit(X, X[:, 0])
    assert {record.name for record in caplog.records} == {"tailguard"}
    planned = sum(stage.times for stage in model.plan_.stages)
    begun, *answers = [record.getMessage() for record in caplog.records]
    assert begun == f"a run begins, with at most {planned} answers"
    stages = [r.stage for r in model.certificate_.releases for _ in range(r.times)]
    assert answers == [f"released {name}, for which 3000 records were read" for name in stages]


@pytest.mark.long
def test_the_log_does_not_tell_how_many_tries_a_search_made(caplog):
    """Their number is secret, and so is which settings were tried."""
    logs = set()
    for seed in range(8):
        search = tg.PrivateSearch(
            tg.LinearRegression(), {"alpha": [0.0, 0.1]}, n_tries=3.0,
            epsilon=2.0, delta=1e-6, random_state=seed,
        )  # fmt: skip
        with caplog.at_level("DEBUG", logger="tailguard"):
            search.fit(X, X[:, 0])
        logs.add(tuple(record.getMessage() for record in caplog.records))
        caplog.clear()
    (messages,) = logs
    assert 0 < len(messages) < 10
