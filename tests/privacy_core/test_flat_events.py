"""Flat tallies: composition, block maps, and what covers what."""

from fractions import Fraction

import pytest
from hypothesis import given

from support.events import GAUSSIAN_TREES, TREES
from tailguard.checks import InputError
from tailguard.privacy.accounting.total_cost import ACCOUNTANTS
from tailguard.privacy.events import (
    Approximate,
    Composed,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Repeated,
)
from tailguard.privacy.flat_events import FlatEvents, flatten

A, B = Gaussian(0.5), Laplace(0.25)


def test_order_and_nesting_do_not_matter():
    one = Composed((A, Repeated(Composed((B, A)), 2), Nothing()))
    other = Composed((Repeated(B, 2), Composed((Repeated(A, 2), A))))
    assert flatten(one) == flatten(other)
    assert flatten(one).leaves == {A: 3, B: 2}
    assert flatten(one).kinds == {Gaussian, Laplace}


def test_what_is_no_event_is_refused():
    with pytest.raises(InputError, match="privacy events"):
        flatten("gaussian")


def mu_squared(event):
    return flatten(event).add_up(lambda leaf: Fraction(leaf.mu) ** 2)


def test_blocks_of_one_map_take_the_maximum_and_maps_add():
    first = [Parallel("a", block, Gaussian(mu)) for block, mu in enumerate((1.0, 2.0, 0.5))]
    assert mu_squared(Composed((*first,))) == 4
    assert mu_squared(Repeated(Composed((*first,)), 3)) == 12
    assert mu_squared(Composed((*first, Parallel("a", 0, Gaussian(3.0))))) == 10
    assert mu_squared(Composed((*first, Parallel("b", 0, Gaussian(3.0))))) == 13
    assert mu_squared(Composed((*first, Gaussian(3.0)))) == 13


def test_a_map_inside_a_map_is_not_confused_with_its_namesake():
    inside = Parallel("a", 0, Parallel("b", 1, Gaussian(1.0)))
    beside = Parallel("a", 1, Parallel("b", 2, Gaussian(1.0)))
    outer = Parallel("b", 2, Gaussian(2.0))
    assert mu_squared(Composed((inside, beside, outer))) == 5


@given(TREES)
def test_everything_covers_itself_and_less(tree):
    flat_events = flatten(tree)
    assert flat_events.covers(flat_events)
    assert flat_events.covers(FlatEvents())
    assert flatten(Composed((tree, Gaussian(0.1)))).covers(flat_events)
    assert not flat_events.covers(flatten(Composed((tree, Gaussian(0.1)))))


@given(TREES, TREES)
def test_what_is_covered_costs_no_more(tree, other):
    planned, spent = Composed((tree, other)), tree
    if not flatten(planned).covers(flatten(spent)):
        raise AssertionError("more covers less")
    for name in ACCOUNTANTS:
        accountant = ACCOUNTANTS[name]()
        if name != "pld" and accountant.supports(planned):
            costs = [accountant.compose(event).delta(0.5) for event in (spent, planned)]
            assert costs[0] <= costs[1] * (1 + 1e-9)


@given(GAUSSIAN_TREES, GAUSSIAN_TREES)
def test_covering_is_sound_for_gaussian_trees(planned, spent):
    if flatten(planned).covers(flatten(spent)):
        assert mu_squared(spent) <= mu_squared(planned) * (1 + Fraction(2, 10**12))


@pytest.mark.parametrize(
    ("planned", "spent", "covered"),
    [
        (Repeated(Gaussian(0.1), 100), Gaussian(1.0), True),
        (Repeated(Gaussian(0.1), 100), Gaussian(1.0001), False),
        (Repeated(Laplace(0.1), 10), Laplace(1.0), False),  # adds up, yet costs more at delta > 0
        (Repeated(Laplace(0.1), 10), Repeated(Laplace(0.1), 10), True),
        (Repeated(Laplace(0.1), 10), Repeated(Laplace(0.1), 11), False),
        (Composed((Laplace(0.3), Laplace(0.1))), Composed((Laplace(0.2), Laplace(0.1))), True),
        (Composed((Laplace(0.3), Laplace(0.1))), Repeated(Laplace(0.2), 2), False),
        (Laplace(0.3), Gaussian(0.1), False),
        (Approximate(0.2, 1e-6), Approximate(0.1, 1e-6), True),
        (Approximate(0.2, 1e-6), Approximate(0.1, 1e-7), False),
        (Parallel("a", 0, A), Parallel("a", 7, A), True),
        (Parallel("a", 0, A), Parallel("b", 0, A), True),  # whatever reads a block may read all
        (Parallel("a", 0, A), A, True),
        (A, Parallel("a", 0, A), True),
        (A, Composed((Parallel("a", 0, A), Parallel("b", 0, Gaussian(0.1)))), False),
        (Composed([Parallel("a", b, A) for b in range(9)]), A, True),
        (Composed([Parallel("a", b, A) for b in range(9)]), Repeated(A, 2), False),
        (Parallel("a", 0, B), Parallel("b", 0, B), False),
        (Parallel("a", 0, B), B, False),
        # Of a map that holds more than Gaussians only the costliest block counts, so nothing moves.
        (Composed((Parallel("a", 0, A), Parallel("a", 1, B))), Parallel("a", 0, A), True),
        (
            Composed((Parallel("a", 0, A), Parallel("a", 1, B))),
            Parallel("a", 0, Composed((A, B))),
            False,
        ),
        (Composed((Parallel("a", 0, A), Parallel("a", 1, B))), A, False),
        (Parallel("a", 0, A), Composed([Parallel("a", b, A) for b in range(9)]), True),
        (Parallel("a", 0, A), Repeated(Parallel("a", 0, A), 2), False),
    ],
)
def test_covering_by_example(planned, spent, covered):
    assert flatten(planned).covers(flatten(spent)) is covered
