"""The price of releases together: shuffles where every block was asked once, and nowhere else."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.events import books_with
from tailguard.checks import BudgetError
from tailguard.privacy.accounting.total_cost import smallest_epsilon, total_mu
from tailguard.privacy.books.releases import ComposedReleases, Release, pass_event, spent_event
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Laplace, Parallel, Repeated, Shuffled
from tailguard.privacy.flat_events import flatten
from tailguard.privacy.guarantees import ApproxDP

K = 400
MU = 0.25


def asked(block, *, mu=MU, block_map="secret", n_blocks=K, order="shuffled", **facts):
    parameters = {"map_blocks": n_blocks, "map_order": order, **facts}
    return Release(
        *("mean", "Mean", "gaussian", "l2"),
        sensitivity=mu,
        noise_std=1.0,
        block_map=block_map,
        block=block,
        parameters=parameters,
    )


def test_one_pass_costs_one_shuffle_at_its_largest_mu():
    releases = [asked(7), asked(3, mu=0.5), asked(9)]
    assert spent_event(releases) == Composed((Shuffled(0.5, K),))
    assert spent_event([asked(None)]) == Composed((Shuffled(MU, K),))


def test_a_shuffle_is_never_dearer_than_its_releases_by_themselves():
    releases = [asked(block) for block in range(5)]
    alone = Composed(tuple(release.event() for release in releases))
    assert total_mu(alone) == MU
    hidden = smallest_epsilon(spent_event(releases), 1e-6).epsilon
    assert hidden < 0.6 * smallest_epsilon(alone, 1e-6).epsilon


@pytest.mark.parametrize(
    "releases",
    [
        [asked(3), asked(4), asked(3)],
        [asked(3), asked(None)],
        [replace(asked(3), times=2)],
        [asked(3), asked(4, n_blocks=K + 1)],
        [asked(K)],
        [asked(3), asked(4, outer_map="m", outer_block=0)],
        [asked(3), replace(asked(4), mechanism="laplace", norm="l1")],
    ],
)
def test_what_is_no_pass_is_priced_without_the_shuffle(releases):
    event = spent_event(releases)
    together = Composed(tuple(release.event() for release in releases))
    assert event == Composed((together,))
    assert flatten(event) == flatten(together)


def test_a_pass_within_a_block_happens_to_that_block():
    inner = asked(0, outer_map="phases", outer_block=2)
    assert pass_event((inner,)) == Parallel("phases", 2, Shuffled(MU, K))


@pytest.mark.long
@given(st.lists(st.sampled_from([0, 1, 2, None, "alone", "other"]), max_size=8))
def test_books_and_certificate_price_alike(kinds):
    releases = []
    for kind in kinds:
        if kind == "alone":
            releases.append(replace(asked(0), block_map=None, block=None, parameters={}))
        elif kind == "other":
            releases.append(asked(0, block_map="halves", order="disjoint", n_blocks=2))
        else:
            releases.append(asked(kind))
    spending = ComposedReleases()
    for release in releases:
        spending = spending.plus(release)
    assert spending.flat_events == flatten(spent_event(releases))


def test_a_pass_is_covered_by_its_shuffle_and_a_second_ask_is_not():
    books = books_with(Shuffled(MU, K))
    for block in range(K):
        books.record(asked(block))
    with pytest.raises(BudgetError):
        books.record(asked(7))
    assert len(books.releases) == K


@pytest.mark.parametrize(
    "release",
    [
        asked(1, mu=MU * 1.001),
        asked(1, n_blocks=K + 1),
        asked(1, block_map="another"),
        asked(1, order="disjoint"),
        asked(1, outer_map="m", outer_block=0),
        asked(0),
        asked(None),
    ],
)
def test_what_the_shuffle_does_not_cover(release):
    books = books_with(Shuffled(MU, K))
    books.record(asked(0))
    with pytest.raises(BudgetError):
        books.record(release)


def test_fresh_partitions_are_covered_one_by_one():
    books = books_with(Repeated(Shuffled(MU, K), 3))
    for name in ("a", "b", "c"):
        books.record(asked(None, block_map=name))
    with pytest.raises(BudgetError):
        books.record(asked(0, block_map="d"))


def test_nested_passes_are_covered_phase_by_phase():
    phases = [Parallel("phases", phase, Shuffled(MU, K + phase)) for phase in (0, 1)]
    books = books_with(Composed(tuple(phases)))
    for phase in (0, 1):
        facts = {"n_blocks": K + phase, "outer_map": "phases", "outer_block": phase}
        books.record(asked(None, block_map=f"batches {phase}", **facts))
    with pytest.raises(BudgetError):
        books.record(asked(None, block_map="more", outer_map="phases", outer_block=1))


def test_anyone_can_recompute_the_total_from_the_list():
    books = books_with(Composed((Shuffled(MU, K), Laplace(0.01))))
    for block in range(0, K, 3):
        books.record(asked(block))
    facts = {"planned": books.reserved, "releases": books.releases}
    certificate = Certificate(ApproxDP(1.0, 1e-6), 10 * K, **facts)
    read = Certificate.from_dict(json.loads(certificate.to_json()))
    assert read == certificate
    spent = smallest_epsilon(Shuffled(MU, K), 1e-6).epsilon
    assert read.spent.epsilon == pytest.approx(spent, rel=1e-9)
    assert "secret partition counts as a shuffle" in " ".join(certificate.to_text().split())
