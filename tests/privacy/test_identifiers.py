"""Identifiers that are equal, missing or rounded cost no privacy: attacks that would tell.

In the table that is attacked neighbouring rows are alike. Where the identifiers of all rows are
read as one, and rows that tie stay as they came, blocks and samples hold rows that lie together;
one record with another identifier moves them all. An attacker sees which it is at any epsilon.
"""

from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tailguard as tg
from support.stages import once, smooth
from tailguard.data import cells
from tailguard.data.inputs import read_inputs
from tailguard.data.readers.lazy import of_polars
from tailguard.data.rows import unordered
from tailguard.gate import Gate
from tailguard.noise.keyed_hash import KeyedHash
from tailguard.privacy.events import Approximate, Gaussian
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.sample_aggregate import SampleAggregate
from tailguard.queries.units import Units

CLAIM, EVENT = tg.ApproxDP(1.0, 1e-2), Approximate(0.99, 9e-3)
N_BLOCKS = 200
N_ROWS = 2 * N_BLOCKS
MIDDLE = N_ROWS // 2  # where the record is that has another identifier: it takes half of the others
AUDIT = pytest.mark.audit
FAST = 46  # runs a side: if all tell which neighbour it was they prove an epsilon of 1.7 and a mu
# of 2.04; 300 prove an epsilon of 3.6.
UUIDS = [UUID(int=10**30 + k) for k in range(N_ROWS)]
# Less than half of the distance between floats there: pandas makes one number of them all, since
# one is missing.
FAR = [2**63 - 2**10 + k for k in range(N_ROWS)]


def but_one(ids, other):
    return [*ids[:MIDDLE], other, *ids[MIDDLE + 1 :]]


def pairs_of(share, *, alike):
    """Values of which two that follow are equal; of a share in each half all are, or no two."""
    x = np.floor(np.arange(N_ROWS) / 2.0)
    some = np.arange(N_ROWS) % MIDDLE < share * MIDDLE
    x[some] = -1.0 if alike else -np.arange(N_ROWS)[some]
    return x


# Seen as one, most blocks of UUIDs have equal values, and half as many where one record moves half
# of the others. Far whole numbers are told apart, but for the half that stays where one is missing.
PAIRS = {
    "UUIDs, and one text": (0.3, False, UUIDS, but_one(UUIDS, "a")),
    "all missing, and one not": (0.3, False, [None] * N_ROWS, but_one([None] * N_ROWS, "a")),
    "all equal, and one not": (0.3, False, [7] * N_ROWS, but_one([7] * N_ROWS, 8)),
    "far whole numbers, and one missing": (0.3, True, FAR, but_one(FAR, None)),
}


def objects(values):
    held = np.empty(len(values), dtype=object)
    held[:] = values
    return held


def worst_case(name):
    """Neighbours: one record has another identifier."""
    share, alike, *both = PAIRS[name]
    return tuple((pairs_of(share, alike=alike), objects(ids)) for ids in both)


def gate_of(table, seed, guarantee):
    found = read_inputs(table, columns=["x"], row_id="id")
    return Gate.over(found, guarantee=guarantee, random_state=seed)


def alike(features, target):
    return [1.0 if np.ptp(features[:, 0]) == 0.0 else -1.0]


ALIKE = SampleAggregate(alike, (0.0,), 2.0, n_blocks=N_BLOCKS)


def blocks_alike(seed):
    """Whether most blocks of two records have equal ones, as sample-and-aggregate tells."""

    def released(x, ids):
        gate = gate_of(pd.DataFrame({"x": x, "id": list(ids)}), seed, CLAIM)
        gate.reserve(EVENT)
        return gate.ask(ALIKE, None, smooth(EVENT))

    return released


# Alike is alike: all missing and all equal are left to the audit.
EACH_PAIR = [
    *("UUIDs, and one text", "far whole numbers, and one missing"),
    *(pytest.param(f"all {kind}, and one not", marks=AUDIT) for kind in ("missing", "equal")),
]


def audited(name, n_runs):
    return tg.audit(blocks_alike, worst_case(name), claim=CLAIM, n_runs=n_runs)


@pytest.mark.long
@pytest.mark.parametrize("name", EACH_PAIR)
def test_sample_and_aggregate_shows_no_more_than_it_claims_whatever_identifiers_are(name):
    assert audited(name, FAST).accepted


@pytest.mark.audit
@pytest.mark.parametrize("name", PAIRS)
def test_sample_and_aggregate_is_within_its_claim_at_300_runs_a_side(name):
    found = audited(name, 300)
    assert found.accepted
    assert found.shown <= CLAIM.epsilon


def let_ties_stay(monkeypatch):
    """Let rows that tie stay as they came, and UUIDs be read as missing, as they once were."""
    monkeypatch.setattr(unordered, "all_differ", lambda values: True)
    monkeypatch.setattr(KeyedHash, "order", lambda _, values: np.argsort(values, kind="stable"))
    monkeypatch.delitem(cells.IDENTIFIERS, id(UUID))


@pytest.mark.long
@pytest.mark.parametrize("name", EACH_PAIR)
def test_blocks_by_identifiers_are_caught(name, monkeypatch):
    let_ties_stay(monkeypatch)
    monkeypatch.setattr(SampleAggregate, "places", "any")
    caught = audited(name, FAST)
    assert not caught.accepted
    assert caught.shown > 1.5 * CLAIM.epsilon


def sorted_before(seed):
    """Sample-and-aggregate of a table that somebody sorted, so that a record moves many others."""

    def released(x):
        gate = Gate.over(np.sort(x)[:, None], guarantee=CLAIM, random_state=seed)
        gate.reserve(EVENT)
        return gate.ask(ALIKE, None, smooth(EVENT))

    return released


@pytest.mark.long
def test_blocks_do_not_hang_on_where_records_lie(monkeypatch):
    x = np.floor(np.arange(N_ROWS) / 2.0)
    pair = x, np.append(1e3, x[1:])  # the first record becomes the last one
    assert tg.audit(sorted_before, pair, claim=CLAIM, n_runs=FAST).accepted
    monkeypatch.setattr(SampleAggregate, "places", "any")
    assert tg.audit(sorted_before, pair, claim=CLAIM, n_runs=FAST).shown > 1.5


MU, SAMPLED = 1.0, 60
MEAN = MeanClippedGradient(None, Units.raw(1, intercept=False), row_limit=1.0, slope_limit=1.0)


def sample_mean(batches):
    """The mean of a sample of a fifth, of a table of which the first half is 1 and the rest 0."""

    def factory(seed):
        def released(x, ids):
            table = {"x": x, "id": ids}
            given = of_batches(table) if batches else pd.DataFrame({"x": x, "id": list(ids)})
            gate = gate_of(given, seed, tg.GDP(MU))
            gate.reserve(Gaussian(MU))
            (block,) = gate.partition("sample", sizes=(SAMPLED,))
            return gate.ask(MEAN, np.zeros(1), once(MU), block=block)

        return released

    return factory


def of_batches(table):
    """A table in batches, with identifiers as they were in a data frame of pandas."""
    ids = pd.Series(list(table["id"]))
    ids = ids.map(str, na_action="ignore") if ids.dtype == object else ids
    return of_polars(pl.DataFrame({"x": table["x"], "id": pl.from_pandas(ids)}).lazy())


def sample_audit(name, batches):
    pair = tuple(((np.arange(len(x)) < len(x) / 2) * 1.0, ids) for x, ids in worst_case(name))
    return tg.audit(sample_mean(batches), pair, claim=tg.GDP(MU), n_runs=FAST)


@pytest.mark.long
@pytest.mark.parametrize("batches", [False, True], ids=["in memory", "in batches"])
@pytest.mark.parametrize("name", EACH_PAIR)
def test_samples_show_no_more_than_they_claim_whatever_identifiers_are(name, batches):
    assert sample_audit(name, batches).accepted


@pytest.mark.long
@pytest.mark.parametrize("batches", [False, True], ids=["in memory", "in batches"])
def test_samples_by_identifiers_are_caught(batches, monkeypatch):
    """The sample of rows that tie was the beginning of the table."""
    let_ties_stay(monkeypatch)
    caught = sample_audit("far whole numbers, and one missing", batches)
    assert not caught.accepted
    assert caught.shown > 2.0 * MU
