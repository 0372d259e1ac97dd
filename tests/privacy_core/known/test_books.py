"""Lines in the books: what each costs, what is covered, what is refused; blocks and namespaces."""

from dataclasses import replace

import numpy as np
import pytest

from support.known import outcome
from support.releases import MEAN, RELEASES
from tailguard.privacy.books import MemoryBooks, ReadOnlyBooks, Release, own_copy
from tailguard.privacy.books.blocks import Block, Blocks, block_sizes
from tailguard.privacy.books.composed_releases import (
    ComposedReleases,
    covers,
    pass_event,
    spent_event,
)
from tailguard.privacy.books.entries import LedgerEntry
from tailguard.privacy.books.namespaces import namespaced_event, namespaced_release
from tailguard.privacy.books.read_scope import ReadScope, read_scope
from tailguard.privacy.events import Composed, Gaussian, Laplace, Nothing, Parallel, Repeated


@pytest.mark.parametrize("name", RELEASES)
def test_releases(known, name):
    release = RELEASES[name]
    written = release.to_dict()
    known(
        [
            *(written, release.event(), release.remark(), release.read_scope),
            outcome(lambda: release.ratio),
            namespaced_release(release, "3f"),
            [other for other in RELEASES if release.repeats(RELEASES[other])],
        ]
    )
    assert Release(**written) == release


CHANGES = [
    *({"mechanism": bad} for bad in ("cauchy", None, "laplace")),
    *({"norm": bad} for bad in ("l1", "linf", None)),
    *({name: bad} for name in ("sensitivity", "noise_std") for bad in (0.0, -1.0, None, "1")),
    *({"times": bad} for bad in (0, -1, 1.5)),
    *({"parameters": bad} for bad in (None, [1], {1: 2})),
    *({"block": 1}, {"block_map": "halves"}),
    *({"block_map": "halves", "parameters": {"map_blocks": bad}} for bad in (0, -1, 1.5)),
    {"block_map": "halves", "block": 0, "parameters": {"map_order": "sorted"}},
]
COSTS = [
    ("sampled", {"sample_rows": 3}),
    ("sampled", {"of_rows": 3}),
    *(("sampled", {"sample_rows": n, "of_rows": 12}) for n in (0, 12, 13, None)),
    ("sampled", {"sample_rows": 0, "of_rows": 0}),
    *(("selected", {"law": law, "mean_tries": 5.0}) for law in ("uniform", None)),
    *(("selected", {"law": "poisson", "mean_tries": n}) for n in (0.0, None, 0.5)),
    *(("peeled laplace", {"n_selected": n, "n_free": 0}) for n in (0, -1, None)),
    *(("peeled gaussian", {"n_selected": 1, "n_free": n}) for n in (-1, None)),
    ("arsinh", {}),
    ("smooth gaussian", {}),
]


def test_refused_releases(known):
    known(
        [
            *(outcome(replace, MEAN, **change) for change in CHANGES),
            *(outcome(replace, RELEASES["arsinh"], **{name: 1.0})
              for name in ("sensitivity", "noise_std")),
            *(outcome(replace(RELEASES[name], parameters=given).event) for name, given in COSTS),
        ]
    )  # fmt: skip


PASSES = {
    "all blocks": [0, 1, 2, 3],
    "some": [2, 0],
    "twice": [1, 1],
    "beyond": [0, 4],
}


@pytest.mark.parametrize("name", PASSES)
def test_passes(known, name):
    base = RELEASES["secret"]
    releases = [replace(base, block=block, sensitivity=1.0 + block) for block in PASSES[name]]
    spent = ComposedReleases()
    for release in releases:
        spent = spent.plus(release)
    known([pass_event(releases), spent_event(releases), spent.flat_events,
           covers(Gaussian(1.0), releases)])  # fmt: skip


def test_what_is_no_pass(known):
    base, whole = RELEASES["secret"], RELEASES["whole pass"]
    other = replace(base, parameters=base.parameters | {"map_blocks": 5}, block=1)
    laplace = replace(RELEASES["laplace"], block_map="secret", block=1, parameters=base.parameters)
    lists = [
        *((base, replace(base, times=2, block=1)), (base, other), (base, laplace), (whole,)),
        *((whole, replace(whole, sensitivity=2.0)), (base, replace(whole, block_map="secret"))),
        *((base, replace(base, block_map="other", block=2)), (RELEASES["inner block"],) * 2),
    ]
    spent = []
    for each in lists:
        composed = ComposedReleases()
        for release in each:
            composed = composed.plus(release)
        spent.append([composed.flat_events, spent_event(each)])
    known(spent)


def test_books(known):
    books = MemoryBooks()
    books.reserve(Composed((Repeated(Gaussian(0.25), 2), Laplace(0.5))))
    found = [outcome(books.record, each) for each in (MEAN, RELEASES["laplace"], MEAN, MEAN)]
    found += [outcome(books.check, MEAN), outcome(books.check, RELEASES["block"])]
    books.reserve(Parallel("halves", 1, Gaussian(0.25)))
    found += [outcome(books.record, RELEASES["block"]), outcome(books.record, RELEASES["block"])]
    shown = ReadOnlyBooks(books)
    known([found, shown.reserved, [*shown.releases], [*books.entries]])
    wrong = (None, 1.0, "gaussian")
    assert [type(outcome(books.reserve, each)).__name__ for each in wrong] == ["InputError"] * 3


def test_copies(known):
    given = Composed((Gaussian(np.float64(0.5)), Repeated(Laplace(np.float32(0.25)), np.int64(3))))
    copied = own_copy(given)
    known([copied, type(copied.events[1].times).__name__, type(copied.events[0].mu).__name__])
    assert copied == given
    tree = Composed((Repeated(Parallel("a", 0, Parallel("b", 1, Gaussian(1.0))), 2), Nothing()))
    known_names = namespaced_event(tree, "3f").to_dict()
    assert known_names["events"][0]["event"]["block_map"] == "3f/a"
    assert known_names["events"][0]["event"]["event"]["block_map"] == "3f/b"


def test_blocks(known):
    outer = Blocks("thirds", (5, 4, 4))
    inner = Blocks("halves", (2, 2), amplified=True, within=outer[1])
    sizes = [
        *((11, 3, None), (11, None, (5, 2)), (11, None, (6, 5)), (11, 11, None), (11, 1, None)),
        *((11, 12, None), (11, 0, None), (11, None, ()), (11, None, (6, 6)), (11, None, (3, 0))),
        *((11, None, None), (11, 2, (5, 5)), (11, None, (4, 4)), (11, None, (5, 4))),
        *((11, 1.5, None), (11, None, (1.5,))),
    ]
    known(
        [
            *(outer.facts(), inner.facts(), len(outer), outer[-1], outer[0:2], inner[1].n_rows),
            *(outer[1].block_map, outer[2].index, outcome(lambda: outer[3])),
            [outcome(block_sizes, *each, equal=equal) for each in sizes for equal in (False, True)],
            Block(outer, 1),
        ]
    )


def test_places(known):
    event = Gaussian(1.0)
    scopes = [ReadScope("a", (1,)), ReadScope("a", (0, 2)), ReadScope("a", (1,), outer=("b", 3))]
    known(
        [
            *([each.around(event), each.within(event)] for each in scopes),
            *(outcome(read_scope, *each, {}) for each in ((None, None), (None, 0), ("a", None))),
            read_scope("a", 3, {}),
            read_scope("a", 3, {"outer_map": "b", "outer_block": 1}),
            read_scope("a", None, {"map_blocks": 1, "map_order": "disjoint"}),
        ]
    )


def test_entries(known):
    entry = LedgerEntry("claims", 1, "3f", "9b1d" * 16)
    wrong = [("claims", 0, "k", "d"), ("claims", -1, "k", "d"), ("claims", 1.5, "k", "d"),
             (None, 1, "k", "d"), ("c", 1, 3, "d"), ("c", 1, "k", None)]  # fmt: skip
    known([entry.describe(), entry.to_dict(), *(outcome(LedgerEntry, *each) for each in wrong)])
