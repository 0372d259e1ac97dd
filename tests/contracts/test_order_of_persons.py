"""Whoever is read together is so by a secret random order, and not by keys or by the table.

That a new key numbers other persons anew costs nothing only under uniform orders. Then the faults
that this has to see: each is put in, and seen.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.person_orders import STRANGE, first_seen, strangeness
from support.person_tables import on_disk, scattered
from tailguard.data.rows import partitions
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import PersonKeys, Persons
from tailguard.data.rows.persons import PersonRows, UsedRows
from tailguard.gate import Gate
from tailguard.gate import gate as gate_module
from tailguard.gate.stage import Stage
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.unit import Unit

__all__ = ["on_disk"]
pytestmark = pytest.mark.usefixtures("on_disk")

N_PERSONS, UNIT = 600, Unit(person="key", max_rows=2)
ROWS = np.random.default_rng(0).permutation(np.repeat(np.arange(N_PERSONS), 2))
"""The person of each row; the table tells nothing of the order of their keys."""
IN_TABLE = first_seen(ROWS)
STAGE = Stage("test", "a query", 1.0, 1, 1)
THIRD = Stage("test", "a query", 1.0, 1, 1, sampled=1.0 / 3.0)


def held(rows, keys, unit):
    return PersonRows(make_rows(rows), Persons.of(keys, unit), SimulationSource(3))


ENGINES = {"memory": held, "file": scattered}


def persons_of(engine, keys):
    """The persons in memory or in a file; the first cell of a row says whose it is."""
    rows = np.column_stack([ROWS, ROWS]).astype(float)
    return ENGINES[engine](rows, keys[ROWS], UNIT)


def blocks_of(gate, place):
    """The blocks of each partition, or none where an answer reads all persons."""
    if place in ("pairs", "groups", "a sample for an answer"):
        return [None]
    if place == "blocks of a block":
        return gate.partition("inner", 2, within=gate.partition("outer", 2)[0])
    asked = {
        "a sample": {"sizes": (N_PERSONS // 3,)},
        "more than half": {"sizes": (N_PERSONS // 3 * 2,)},
        "blocks of a shuffle": {"n_blocks": 3, "amplified": True},
    }
    return gate.partition("blocks", **asked.get(place, {"n_blocks": 3}))


TOGETHER = {
    "pairs": "some", "groups": "groups", "blocks": "none", "blocks of a shuffle": "none",
    "blocks of a block": "none", "a sample": "none", "more than half": "none",
    "a sample for an answer": "none", "pairs of blocks": "some", "groups of blocks": "groups",
}  # fmt: skip
SAMPLED = "a sample", "a sample for an answer"
every_place = pytest.mark.parametrize("place", TOGETHER)
every_engine = pytest.mark.parametrize("engine", ENGINES)


def reads_of(engine, place, *, seed=0, keys=None):
    """The persons of each read of a gate, in their order."""
    keys = np.arange(N_PERSONS) if keys is None else keys
    gate = Gate(persons_of(engine, keys), guarantee=tg.GDP(1.0), source=SimulationSource(seed))
    asked = SimpleNamespace(by_place=True, places="none" if TOGETHER[place] == "none" else "random")
    stage, found = THIRD if place == "a sample for an answer" else STAGE, []
    kernel = SimpleNamespace(
        size=1, together=TOGETHER[place], reads_cells=False,
        sum_block=lambda block: found.append(block) or np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    for block in blocks_of(gate, place):
        for read in gate._reads(asked, stage, block, None)[1]:
            read().reduce(kernel)
    return [np.array(first_seen(block.features[:, 0]), dtype=int) for block in found]


def strangest(engine, place, **told):
    """How strange the strangest read is, by the order of keys or by that of the table."""
    keys = told.get("keys", np.arange(N_PERSONS))
    orders = np.argsort(np.argsort(keys)), np.argsort(IN_TABLE)
    reads = reads_of(engine, place, **told)
    assert {len(read) for read in reads} <= {N_PERSONS // part for part in (1, 3, 4)} | {400}
    return max(strangeness(order[read], N_PERSONS) for read in reads for order in orders)


@every_engine
@every_place
def test_neither_keys_nor_the_table_decide_who_is_read_with_whom(engine, place):
    assert strangest(engine, place) < STRANGE
    keys = np.random.default_rng(1).choice(10**6, N_PERSONS, replace=False)
    assert strangest(engine, place, keys=keys) < STRANGE


@every_engine
@every_place
def test_persons_under_other_keys_or_another_seed_are_read_in_another_order(engine, place):
    renamed = np.random.default_rng(1).permutation(N_PERSONS)
    asked = {}, {"keys": renamed}, {"seed": 1}
    first, *others = (np.concatenate(reads_of(engine, place, **told)) for told in asked)
    assert (np.concatenate(reads_of(engine, place)) == first).all()
    for other in others:
        assert (other == first).mean() < 0.05


# Faults -----------------------------------------------------------------------------------------


def as_they_are(n_places, *_, **__):
    return np.arange(n_places)


def turned(n_places, source):
    """Each neighbour stays beside the others."""
    return np.roll(np.arange(n_places), int(source.words(1)[0] % np.uint64(n_places)))


def dealt(n_places, source):
    """Neighbours never come together: first each third person, beginning with a random one."""
    return np.argsort((np.arange(n_places) + turned(n_places, source)[0]) % 3, kind="stable")


def nearly(n_places, source):
    """Only neighbours change places."""
    return np.argsort(np.arange(n_places) + 50.0 * SimulationSource(0).words(n_places) / 2.0**64)


PERMUTED = [place for place in TOGETHER if place not in SAMPLED]
IN_BLOCKS = [place for place in PERMUTED if place not in ("pairs", "groups")]


@every_engine
@pytest.mark.parametrize("fault", [as_they_are, turned, nearly, dealt])
def test_an_order_by_keys_is_seen_everywhere(monkeypatch, engine, fault):
    monkeypatch.setattr(partitions, "random_permutation", fault)
    for module in (partitions, gate_module):
        monkeypatch.setattr(module, "random_sample", lambda n, size, told: fault(n, told)[:size])
    for place in TOGETHER:
        assert strangest(engine, place) > STRANGE, place


@every_engine
def test_an_order_by_the_table_is_seen_everywhere(monkeypatch, engine):
    """Persons are numbered as they come, and read in the order of their numbers."""
    test_an_order_by_keys_is_seen_everywhere(monkeypatch, engine, as_they_are)
    numbers = PersonKeys.numbers
    place_of = np.argsort(IN_TABLE)
    monkeypatch.setattr(PersonKeys, "numbers", lambda keys, told: place_of[numbers(keys, told)])
    for place in TOGETHER:
        assert strangest(engine, place) > STRANGE, place


@pytest.mark.long
@every_engine
def test_an_order_that_is_not_secret_is_seen(monkeypatch, engine):
    drawn = partitions.random_permutation
    monkeypatch.setattr(
        partitions, "random_permutation", lambda n, source: drawn(n, SimulationSource(7))
    )
    for place in PERMUTED:
        with pytest.raises(AssertionError):
            test_persons_under_other_keys_or_another_seed_are_read_in_another_order(engine, place)


@every_engine
def test_an_order_that_is_drawn_and_not_used_is_seen(monkeypatch, engine):
    def sorted_first(method):
        return lambda used, places: method(used, np.sort(places))

    for name, places in (("in_pairs", ["pairs"]), ("of_persons", [*IN_BLOCKS, *SAMPLED, "groups"])):
        with monkeypatch.context() as patch:
            patch.setattr(UsedRows, name, sorted_first(getattr(UsedRows, name)))
            for place in places:
                assert strangest(engine, place) > STRANGE, place
    monkeypatch.setattr(PersonRows, "in_order", lambda rows, order: rows)
    for place in ("pairs", "groups"):
        assert strangest(engine, place) > STRANGE
