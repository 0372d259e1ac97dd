"""Releases and the books in memory: refusal before spending, merging, immutability."""

import json
import math
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from support.events import books_with
from tailguard.checks import BudgetError, InputError
from tailguard.privacy.books import MemoryBooks
from tailguard.privacy.books.books import LedgerEntry, own_copy
from tailguard.privacy.books.releases import Release
from tailguard.privacy.events import Composed, Gaussian, Laplace, Parallel, Repeated, Selected


def slope(**changes):
    facts = {"sensitivity": 2.0, "noise_std": 8.0, **changes}
    return Release("slope", "Mean", "gaussian", "l2", **facts)


def test_the_event_follows_from_the_numbers():
    assert slope().event() == Gaussian(0.25)
    assert slope(times=3).event() == Repeated(Gaussian(0.25), 3)
    assert slope(block_map="m", block=2).event() == Parallel("m", 2, Gaussian(0.25))
    assert slope(block_map="m", block=0, times=2).event() == Repeated(
        Parallel("m", 0, Gaussian(0.25)), 2
    )
    count = Release("count", "Count", "laplace", "l1", sensitivity=1.0, noise_std=4.0)
    assert count.event() == Laplace(math.sqrt(2) / 4)


@pytest.mark.parametrize(
    "changes",
    [
        {"sensitivity": 0.0},
        {"sensitivity": math.inf},
        {"noise_std": 0.0},
        {"noise_std": math.nan},
        {"times": 0},
        {"block_map": "m"},
        {"block": 1},
    ],
)
def test_bad_numbers_are_refused(changes):
    with pytest.raises(InputError):
        slope(**changes)


@pytest.mark.parametrize(
    ("mechanism", "norm"), [("gaussian", "l1"), ("laplace", "l2"), ("uniform", "l2"), ("", "")]
)
def test_a_norm_that_does_not_fit_the_noise_is_refused(mechanism, norm):
    with pytest.raises(InputError):
        Release("slope", "Mean", mechanism, norm, 1.0, 1.0)


def test_a_release_is_a_plain_value():
    parameters = {"clip_norm": 1.0, "columns": "x"}
    release = slope(parameters=parameters, block_map="m", block=3, times=2)
    parameters["clip_norm"] = 9.0
    assert release.parameters["clip_norm"] == 1.0
    assert Release(**json.loads(json.dumps(release.to_dict()))) == release
    assert pickle.loads(pickle.dumps(release)) == release
    assert list(release.to_dict()) == [
        *("name", "kind", "mechanism", "norm", "sensitivity", "noise_std"),
        *("times", "block_map", "block", "parameters", "stage"),
    ]
    with pytest.raises(AttributeError):
        release.noise_std = 1.0


def test_nothing_is_spent_without_a_reservation():
    books = MemoryBooks()
    with pytest.raises(BudgetError, match="release 'slope'"):
        books.check(slope())
    with pytest.raises(BudgetError, match="nothing was drawn"):
        books.record(slope())
    assert books.releases == ()
    assert books.reserved == Composed(())


def test_no_holder_of_an_event_changes_the_books():
    books, event = MemoryBooks(), Gaussian(0.25)
    books.reserve(event)
    for held in books.reserved.events:
        object.__setattr__(held, "mu", 9.0)
    assert books.reserved == Composed((Gaussian(0.25),))


def test_refusal_comes_before_spending_and_changes_nothing():
    books = books_with(Repeated(Gaussian(0.25), 2))
    for _ in range(2):
        books.check(slope())
        books.record(slope())
    before = books.releases
    for _ in range(3):
        with pytest.raises(BudgetError):
            books.check(slope())
        with pytest.raises(BudgetError):
            books.record(slope(noise_std=1e6))
    assert books.releases == before
    books.reserve(Gaussian(0.25))
    books.record(slope())
    assert [release.times for release in books.releases] == [3]


def test_only_equal_releases_in_a_row_share_a_line():
    books = books_with(Repeated(Gaussian(0.25), 9))
    other = slope(parameters={"step": 2})
    for release in (slope(), slope(), slope(times=3), other, other, slope()):
        books.record(release)
    assert [(r.parameters, r.times) for r in books.releases] == [({}, 5), ({"step": 2}, 2), ({}, 1)]


def test_each_block_may_spend_what_one_block_was_given():
    books = books_with(Parallel("batches", 0, Repeated(Gaussian(0.25), 2)))
    for block in range(4):
        books.record(slope(block_map="batches", block=block, times=2))
    for extra in ({"block_map": "batches", "block": 0}, {"block_map": "other", "block": 0}, {}):
        with pytest.raises(BudgetError):
            books.record(slope(**extra))


def test_the_copy_of_a_fork_is_no_books(monkeypatch):
    books = books_with(Gaussian(0.25))
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    for write in (lambda: books.reserve(Gaussian(0.25)), lambda: books.record(slope())):
        with pytest.raises(BudgetError, match="by the process that opened them"):
            write()
    monkeypatch.undo()
    assert books.releases == ()
    assert books.reserved == Composed((Gaussian(0.25),))


def test_a_cloned_model_is_charged_to_the_same_books():
    books = MemoryBooks()
    assert clone(books) is books


def test_numbers_of_numpy_are_copied_as_plain_ones():
    mu, times = np.float32(0.25), np.int64(3)
    copied = own_copy(Repeated(Gaussian(mu), times))
    assert copied == Repeated(Gaussian(0.25), 3)
    assert (type(copied.event.mu), type(copied.times)) == (float, int)


def test_the_best_of_many_tries_is_priced_by_what_the_books_tell_of_them():
    told = {"mean_tries": 10.0, "law": "poisson"}
    best = Release("best", "Search", "selected-gaussian", "l2", 2.0, 8.0, parameters=told)
    assert best.event() == Selected(0.25, 10.0, "poisson")
    assert "of other tries nothing was released" in best.remark()
    for missing in told:
        kept = {name: value for name, value in told.items() if name != missing}
        with pytest.raises(InputError):
            replace(best, parameters=kept).event()


@pytest.mark.parametrize(
    "changes", [{"ledger": 3}, {"key": None}, {"digest": b"9b"}, {"position": 0}]
)
def test_an_entry_that_names_no_place_is_refused(changes):
    (name,) = changes
    with pytest.raises(InputError, match=f"^{name} must be"):
        LedgerEntry(**{"ledger": "claims", "position": 7, "key": "3f", "digest": "9b", **changes})


@pytest.mark.parametrize("parameters", [[[None, None]], [("bins", 3)], {3: 1.0}, {None: 1.0}, "x"])
def test_parameters_have_names(parameters):
    """Other keys would be read back from JSON as other ones."""
    with pytest.raises(InputError, match="parameters must map names to numbers and words"):
        slope(parameters=parameters)


@pytest.mark.parametrize("stopped_early", [False, True])
def test_settled_books_are_closed(stopped_early):
    books = books_with(Repeated(Gaussian(0.25), 2))
    books.record(slope())
    for _ in range(2):
        books.settle(stopped_early=stopped_early)
        for write in (lambda: books.reserve(Gaussian(0.25)), lambda: books.record(slope())):
            with pytest.raises(BudgetError, match="before their run is settled; this run is"):
                write()
    assert [release.times for release in books.releases] == [1]
    assert books.reserved == Composed((Repeated(Gaussian(0.25), 2),))


def test_runs_that_share_books_end_one_by_one():
    books = MemoryBooks()
    first, second = books.opened("1"), books.opened("2")
    for run in (first, second):
        run.reserve(Gaussian(0.25))
    first.record(slope())
    first.settle()
    with pytest.raises(BudgetError, match="before their run is settled"):
        first.record(slope())
    second.record(slope())
    assert [release.times for release in books.releases] == [2]
    assert books.reserved == Composed((Gaussian(0.25),) * 2)
