"""What a solver does to the objects that it holds changes nothing of what the gate charges."""

from dataclasses import fields

import numpy as np
import pytest

import tailguard as tg
from support.count_below import CountBelow
from support.stages import once
from tailguard.checks import BudgetError, InputError
from tailguard.gate import Gate
from tailguard.privacy.books.blocks import Block, Blocks
from tailguard.privacy.events import Composed, Gaussian, Parallel, Repeated, Shuffled

N_ROWS, PROMISE = 1_000, tg.GDP(5.0)
COUNT, ZERO = CountBelow(columns=(0,)), np.zeros(1)


class LyingBlocks(Blocks):
    """Blocks that are equal to any others, and say of themselves what is cheap."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = Blocks.__hash__

    def facts(self):
        return {"map_blocks": N_ROWS, "map_order": "shuffled"}


class LyingBlock(Block):
    """A block that says it is another one."""


def gate_with(*events, guarantee=PROMISE):
    gate = Gate.over(np.zeros((N_ROWS, 1)), guarantee=guarantee, random_state=0)
    gate.reserve(Composed(events), coordinates=50)
    return gate


def changed(holder, **values):
    for name, value in values.items():
        object.__setattr__(holder, name, value)
    return holder


def lying(blocks):
    return LyingBlocks(**{field.name: getattr(blocks, field.name) for field in fields(Blocks)})


def test_blocks_of_somebodys_own_class_are_refused():
    shuffle = Shuffled(mu=1.0, n_units=N_ROWS)
    gate = gate_with(shuffle, guarantee=tg.ApproxDP(10.0, 1e-6))
    forged = lying(gate.partition("p", 1))
    for ask in (
        lambda: gate.ask(COUNT, ZERO, once(1.0), block=Block(forged, 0)),
        lambda: gate.ask(COUNT, ZERO, once(1.0), block=LyingBlock(forged, 0)),
        lambda: gate.ask(COUNT, ZERO, once(1.0), blocks=forged),
        lambda: gate.partition("q", 1, within=Block(forged, 0)),
    ):
        with pytest.raises(InputError, match="block must come from a partition of this gate"):
            ask()
    assert gate.books.releases == ()


def test_blocks_that_hand_out_one_block_for_all_are_asked_as_what_they_are_of():
    """Its records would meet noise of every block, and be charged for one."""

    class Echo(LyingBlocks):
        def __iter__(self):
            return iter([genuine[0]] * len(genuine))

    gate = gate_with(Parallel("p", 0, Gaussian(1.0)))
    genuine = gate.partition("p", 4)
    echo = Echo(**{field.name: getattr(genuine, field.name) for field in fields(Blocks)})
    with pytest.raises(InputError, match="block must come from a partition of this gate"):
        gate.ask(COUNT, ZERO, once(1.0), blocks=echo)
    assert gate.books.releases == ()


def test_blocks_that_were_changed_are_refused_and_change_no_price():
    gate = gate_with(Shuffled(mu=1.0, n_units=N_ROWS), guarantee=tg.ApproxDP(10.0, 1e-6))
    blocks = gate.partition("p", 1)
    changed(blocks, amplified=True)
    with pytest.raises(InputError, match="block must come from a partition of this gate"):
        gate.ask(COUNT, ZERO, once(1.0), block=blocks[0])
    changed(blocks, amplified=False)
    with pytest.raises(BudgetError, match="must be covered by the reserved budget"):
        gate.ask(COUNT, ZERO, once(1.0), block=blocks[0])


def test_a_block_asked_for_by_another_number_of_it_is_refused():
    gate = gate_with(Parallel("p", 0, Repeated(Gaussian(1.0), 3)))
    blocks = gate.partition("p", 4)
    for index in (1.0, True, "1", -1, 4):
        with pytest.raises(InputError, match="block must come from a partition of this gate"):
            gate.ask(COUNT, ZERO, once(1.0), block=Block(blocks, index))
    gate.ask(COUNT, ZERO, once(1.0), block=Block(blocks, 1))
    assert gate.books.releases[0].block == 1


def test_an_event_that_was_changed_after_it_was_reserved_allows_no_more():
    event = Gaussian(mu=0.5)
    gate = gate_with(event, guarantee=tg.GDP(0.5))
    changed(event, mu=4.0)
    changed(gate.books.reserved.events[0].events[0], mu=4.0)
    with pytest.raises(BudgetError, match="must be covered by the reserved budget"):
        gate.ask(COUNT, ZERO, once(4.0))


def test_what_a_gate_shows_of_its_books_is_read_only():
    gate = gate_with(Gaussian(mu=0.5))
    assert gate.books.reserved == Composed((Composed((Gaussian(mu=0.5),)),))
    assert gate.books.releases == ()
    for name in ("reserve", "check", "record"):
        assert not hasattr(gate.books, name)


@pytest.mark.parametrize("coordinates", [-5, 1.5, "x", None, True, float("nan")])
def test_how_many_numbers_may_be_released_is_a_whole_number(coordinates):
    gate = gate_with(Gaussian(mu=0.5))
    with pytest.raises(InputError, match="coordinates must be a whole number of at least 0"):
        gate.reserve(Gaussian(mu=0.5), coordinates=coordinates)
    with pytest.raises(InputError, match="event must hold privacy events"):
        gate.reserve("x")
