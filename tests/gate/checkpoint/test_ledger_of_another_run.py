"""A charge is of the run that made it: no other checkpoint goes on under its key."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

STAGE = Stage("sums", "a clipped sum", mu=0.5, times=2, size=1)
QUERY = MeanClippedGradient(None, Units.raw(1, intercept=False), clip_norm=1.0)


def gate_of(path, ledger):
    gate = Gate.over(np.zeros((50, 1)), guarantee=tg.GDP(1.0), checkpoint=path, ledger=ledger)
    try:
        gate.reserve(STAGE.event, coordinates=4, run="counts")
    except BaseException:
        gate.close()
        raise
    return gate


def asked(gate):
    return gate.ask(QUERY, np.ones(1), STAGE)


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.sqlite"
    return tg.Ledger(str(path), "claims", guarantee=tg.GDP(5.0)).with_key("march")


def test_a_second_checkpoint_under_the_key_of_another_is_refused_however_often_it_is_tried(
    tmp_path, ledger
):
    first = gate_of(tmp_path / "first", ledger)
    asked(first)
    first.close()
    for _ in range(3):
        with pytest.raises(tg.BudgetError, match="key must be new"):
            gate_of(tmp_path / "second", ledger)
    again = gate_of(tmp_path / "first", ledger)  # the run itself goes on
    asked(again)
    asked(again)
    again.settle()
    again.close()
    assert sum(line.kind == "reserved" for line in ledger.lines()) == 1


def test_one_that_was_begun_without_a_ledger_is_refused_too(tmp_path, ledger):
    alone = gate_of(tmp_path / "second", None)
    asked(alone)
    alone.close()
    first = gate_of(tmp_path / "first", ledger)
    asked(first)
    first.close()
    before = ledger.lines()
    with pytest.raises(tg.BudgetError, match="key must be new"):
        gate_of(tmp_path / "second", ledger)
    assert ledger.lines() == before  # another start would keep the run itself from going on


def test_another_question_is_not_answered_from_the_file(tmp_path):
    gate = gate_of(tmp_path / "first", None)
    asked(gate)
    gate.close()
    gate = gate_of(tmp_path / "first", None)
    with pytest.raises(tg.ReleaseError, match="asks for something else"):
        gate.ask(QUERY, np.full(1, -5.0), STAGE)
    gate.close()
