"""Runs that are settled: by gates, failures, copies and forks, and by lines that others wrote."""

import math
import os
from copy import copy, deepcopy

import pytest

import tailguard as tg
from ledger.test_lines import written_anew
from ledger.test_refund import CAP, COUNT, OTHERS, USABLE, X, refuses, run_of
from tailguard.checks import BudgetError, InputError, ReleaseError
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.data.rows.base import RecordBlock
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.ledger.charges import charges_of
from tailguard.ledger.ledger import Ledger
from tailguard.ledger.report import history_text, summary_text
from tailguard.noise.sources import CryptographicSource
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Gaussian, Laplace
from tailguard.queries.usable_records import UsableRecords


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "budget.sqlite", "claims", **CAP)


STAGE = Stage("usable", "how many records can be used", mu=0.0125, times=1, size=1)
REST = Stage("descent", "gradients", mu=0.2, times=1, size=2)


def gate_over(rows, ledger, **more):
    gate = Gate(rows, guarantee=tg.ApproxDP(**CAP), source=CryptographicSource(), ledger=ledger,
                **more)  # fmt: skip
    gate.reserve(Composed((STAGE.event, REST.event)), coordinates=3)
    return gate


def usable(gate, stage=STAGE):
    return gate.ask(UsableRecords(), None, stage)


def test_the_certificate_says_what_was_reserved_released_and_counts(ledger):
    gate = gate_over(make_rows(X), ledger)
    usable(gate)
    assert gate.certificate().charged is None
    gate.settle(stopped_early=True)
    told = gate.certificate()
    assert told.total.mu == pytest.approx(math.hypot(0.2, 0.0125))
    assert told.spent.mu == told.counted.mu == pytest.approx(0.0125)
    assert told.charged == charges_of(ledger.lines())[0].event
    assert told.ledger_entries == (ledger.lines()[1].entry(),)
    for page in (told.to_text(), told.to_html()):
        words = " ".join(page.split())
        assert "the run stopped early, and the ledger counts epsilon = " in words
        assert "all of it counts as spent" not in words
    again = Certificate.from_json(told.to_json())
    assert (again, again.to_json()) == (told, told.to_json())


@pytest.mark.parametrize("mu", [0.0124, 0.3])
def test_a_certificate_that_counts_too_little_or_too_much_is_refused(ledger, mu):
    gate = gate_over(make_rows(X), ledger)
    usable(gate)
    gate.settle(stopped_early=True)
    told = gate.certificate().to_dict()
    with pytest.raises(InputError, match="must state what a ledger counts after"):
        Certificate.from_dict(told | {"charged": Gaussian(mu).to_dict()})


def test_without_a_ledger_all_counts(tmp_path):
    for ledger in (None, tg.privacy.MemoryBooks()):
        gate = gate_over(make_rows(X), ledger)
        usable(gate)
        gate.settle(stopped_early=True)
        assert gate.certificate().charged is None
        with pytest.raises(BudgetError, match="before their run is settled"):
            usable(gate)


class FailingRows(ArrayRows):
    """Rows that fail while they are read, once."""

    def __init__(self, failure):
        super().__init__(RecordBlock(X))
        self.failure = failure

    def reduce(self, kernel, n_threads=None):
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        return super().reduce(kernel, n_threads)


@pytest.mark.parametrize(
    ("failure", "heard"),
    [
        (ValueError("a record"), ReleaseError),
        (MemoryError(), ReleaseError),
        (SystemExit(), ReleaseError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=repr,
)
def test_what_fails_while_records_are_read_forfeits_the_rest(ledger, failure, heard):
    gate = gate_over(FailingRows(failure), ledger)
    with pytest.raises(heard):
        usable(gate)
    gate.settle(stopped_early=True)
    assert ledger.reserved == Composed((Composed((STAGE.event, REST.event)),))
    assert gate.certificate().charged is None
    assert "charged" not in ledger.lines()[-1].data()


def test_a_run_with_a_checkpoint_gets_nothing_back(ledger, tmp_path):
    for _ in range(2):  # and once more from its end
        gate = gate_over(make_rows(X), ledger, checkpoint=tmp_path / "checkpoint")
        usable(gate)
        gate.settle(stopped_early=True)
        gate.close()
        assert ledger.reserved == Composed((Composed((STAGE.event, REST.event)),))
        assert [line.kind for line in ledger.lines()] == ["created", "reserved", "settled"]


def test_a_settlement_that_cannot_be_written_gives_nothing_back(ledger, monkeypatch):
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.2))
    run.record(USABLE)

    def full(*_):
        raise BudgetError("ledger must have room to grow; the disk is full.")

    monkeypatch.setattr(type(ledger._store), "append", full)
    with pytest.warns(tg.BudgetWarning, match="entry 2 .* stays unsettled: .* the disk is full"):
        run.settle(stopped_early=True)
    monkeypatch.undo()
    run.settle(stopped_early=True)  # it was closed then, and is not asked again
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]
    assert run.charged == run.reserved
    assert refuses(ledger, Gaussian(0.13))
    with pytest.raises(BudgetError, match="before their run is settled"):
        run.record(USABLE)


def test_what_others_release_is_never_given_back(ledger):
    ledger.charge(Gaussian(0.2), key="another tool")
    run = ledger.with_key("another tool").opened("3f")
    with pytest.raises(BudgetError, match="key must be new"):
        run.reserve(Gaussian(0.2))
    run.settle(stopped_early=True)
    assert ledger.reserved == Composed((Gaussian(0.2),))
    assert len(ledger.lines()) == 2


def test_the_copy_of_a_fork_settles_nothing(ledger, monkeypatch):
    """It would give back what the run itself goes on to release."""
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.2))
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(BudgetError, match="by the process that opened them"):
        run.settle(stopped_early=True)
    monkeypatch.undo()
    assert len(ledger.lines()) == 2
    run.record(USABLE)


@pytest.mark.parametrize("events", [[Gaussian(0.2)], [Gaussian(0.1), Gaussian(0.1)]], ids=len)
def test_nobody_goes_on_with_a_run_that_was_given_back_what_it_left(ledger, events):
    run_of(ledger, *events)
    again = ledger.resumed("3f", start=None)
    with pytest.raises(BudgetError, match="key must be new"):
        again.reserve(events[0], coordinates=7)
    with pytest.raises(BudgetError, match="must be covered by the reserved budget"):
        again.record(USABLE)
    with pytest.raises(BudgetError, match="must be the latest of its run"):
        ledger.resumed("3f", start=1)


def test_a_copy_of_a_run_is_the_run_itself(ledger):
    """A copy that settles would leave the run open, to release what was given back."""
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.2))
    copy(run).settle(stopped_early=True)
    with pytest.raises(BudgetError, match="before their run is settled"):
        run.record(USABLE)
    with pytest.raises(TypeError, match="cannot pickle"):
        deepcopy(run)


def test_settlements_count_from_their_own_line_on(ledger):
    """What was charged after a line was settled may be more than before it was."""
    first = ledger.opened("first")
    first.reserve(Gaussian(0.2))
    first.record(USABLE)
    assert refuses(ledger, Gaussian(0.2))
    first.settle(stopped_early=True)
    ledger.charge(Gaussian(0.2), key="second")
    assert ledger.verify() == 4
    lines = ledger.lines()
    again = [lines[0], lines[1], lines[3], lines[2]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "lines", lambda _: tuple(again))
        written_anew(ledger, lambda old: old)
    with pytest.raises(BudgetError, match="line 3 charges more than was left"):
        ledger.verify()


CHARGED = Composed((COUNT,)).to_dict()
FORGED = {
    "less": {"charged": Composed((Gaussian(1e-4),)).to_dict()},
    "nothing": {"charged": Composed(()).to_dict()},
    "fewer releases": {"releases": []},
    "a release beside": {"releases": [USABLE.to_dict(), OTHERS["laplace"].to_dict()]},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_settlement_that_gives_back_more_is_found(ledger, name):
    run_of(ledger, Gaussian(0.2))
    written_anew(ledger, lambda old: old | (FORGED[name] if "releases" in old else {}))
    with pytest.raises(BudgetError, match="line 3 gives back more than was left"):
        ledger.verify()


def test_a_refund_of_a_first_charge_without_a_filter_is_found(ledger):
    first = Composed((Gaussian(0.1), Laplace(0.61)))
    run_of(ledger, first)
    written_anew(ledger, lambda old: old | ({"charged": CHARGED} if "releases" in old else {}))
    with pytest.raises(BudgetError, match="line 3 gives back more than was left"):
        ledger.verify()


@pytest.mark.parametrize(
    "told",
    [
        {"keys": []},
        {"keys": ["other"]},
        {"keys": ["3f", "other"]},
        {"keys": ["3f (2)", "3f"]},
        {"keys": None},
        {"charged": None},
        {"charged": {"kind": "gaussian", "mu": -1.0}},
        {"releases": None},
        {"releases": [{}]},
    ],
    ids=str,
)
def test_a_settlement_that_no_run_writes_is_one_sentence(ledger, told):
    run_of(ledger, Gaussian(0.1), Gaussian(0.1))
    written_anew(ledger, lambda old: {k: told.get(k, v) for k, v in old.items()})
    with pytest.raises(BudgetError, match="line 4 was changed"):
        ledger.verify()


def test_history_and_summary_tell_an_early_stop(ledger):
    run_of(ledger, Gaussian(0.1), Gaussian(0.1))
    run_of(ledger, COUNT, stopped_early=False, key="whole")
    ledger.charge(COUNT, key="others")
    listed = history_text(ledger).splitlines()[2:]
    listed = [line for line in listed if not line.strip().startswith("for ")]
    assert [line.split("  ")[-1].strip() for line in listed] == [
        "3f, stopped early",
        "3f (2), stopped early",
        "whole",
        "others, not settled",
    ]
    assert " nothing " in listed[1]
    summary = summary_text(ledger)
    assert "4 runs, 3 settled; 2 stopped early, all others count as reserved" in summary
