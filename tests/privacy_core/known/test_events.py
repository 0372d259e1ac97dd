"""Events written down, read again, laid out flat and compared; and what they refuse."""

import math
from fractions import Fraction

import pytest

from support.known import outcome
from tailguard.privacy import events as rooms
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    Sampled,
    Selected,
    Shuffled,
    ShuffledPure,
    Unbounded,
    ZeroConcentrated,
    event_from_dict,
)
from tailguard.privacy.events.flat_events import FlatEvents, flatten

KINDS = [
    *(Nothing(), Unbounded(), Gaussian(0.5), Laplace(0.5), Pure(0.5), BoundedRange(0.5)),
    *(ZeroConcentrated(0.5), Approximate(0.5, 0.25), Sampled(0.5, 1.0), Sampled(1.0, 0.5)),
    *(Sampled(0.5, 0.5, "poisson"), Shuffled(0.5, 1), ShuffledPure(0.5, 1), Selected(0.5, 1.0)),
    *(Selected(0.5, 1e3, "poisson"), Repeated(Gaussian(0.5), 1), Composed(())),
    *(Composed((Nothing(), Pure(1.0))), Parallel("map", 0, Repeated(Laplace(0.25), 3))),
]
ONE_NUMBER = (Gaussian, Laplace, Pure, BoundedRange, ZeroConcentrated)
BAD = (0.0, -1.0, math.inf, math.nan, None, True, "1")


@pytest.mark.parametrize("event", KINDS, ids=str)
def test_written_and_read(known, event):
    written = event.to_dict()
    known(written)
    assert event_from_dict(written) == event


@pytest.mark.parametrize("kind", ONE_NUMBER, ids=lambda kind: kind.__name__)
def test_one_number(known, kind):
    known([outcome(kind, bad) for bad in BAD])


def test_more_numbers(known):
    known(
        [
            *(outcome(Approximate, bad, 0.5) for bad in BAD),
            *(outcome(Approximate, 0.5, bad) for bad in (0.0, 1.0, None)),
            *(outcome(Sampled, bad, 0.5) for bad in BAD),
            *(outcome(Sampled, 0.5, bad) for bad in (*BAD, math.nextafter(1.0, 2.0))),
            outcome(Sampled, 0.5, 0.5, "other"),
            *(outcome(kind, bad, 1) for kind in (Shuffled, ShuffledPure) for bad in BAD),
            *(outcome(kind, 1.0, bad) for kind in (Shuffled, ShuffledPure) for bad in (0, 1.5)),
            *(outcome(Repeated, Nothing(), bad) for bad in (0, -1, 1.5, True)),
            *(outcome(Repeated, bad, 2) for bad in (None, 1.0, "gaussian")),
            *(outcome(Composed, (bad,)) for bad in (None, 1.0)),
            *(outcome(Parallel, "map", bad, Nothing()) for bad in (-1, 1.5, None)),
            *(outcome(Parallel, bad, 0, Nothing()) for bad in ("", None, 3)),
            outcome(Parallel, "map", 0, "gaussian"),
        ]
    )


def test_what_is_not_read(known):
    wrong = [
        *(None, 3, [], {}, {"kind": "rdp"}, {"kind": None}, {"kind": "gaussian"}),
        *({"kind": "gaussian", "mu": -1.0}, {"kind": "gaussian", "mu": 1.0, "delta": 0.1}),
        *({"kind": "repeated", "event": 3, "times": 2}, {"kind": "composed", "events": [1]}),
        {"kind": "composed", "events": [{"kind": "nothing"}, {"kind": "rdp"}]},
    ]
    known([outcome(event_from_dict, each) for each in wrong])


def test_names(known):
    known([sorted(rooms.__all__), sorted(rooms.events.KINDS)])


TREE = Composed(
    (
        Repeated(Composed((Gaussian(0.5), Laplace(0.25), Nothing())), 3),
        Parallel("halves", 0, Composed((Gaussian(1.0), Pure(0.125)))),
        Parallel("halves", 1, Repeated(Gaussian(2.0), 2)),
        Parallel("halves", 0, Gaussian(1.5)),
        Parallel("thirds", 2, Parallel("inner", 1, Laplace(0.5))),
        Repeated(Parallel("thirds", 1, Gaussian(0.75)), 2),
        Gaussian(0.5),
    )
)


def test_flat(known):
    flat = flatten(TREE)
    known([flat, flat.times(2), sorted(kind.__name__ for kind in flat.kinds)])
    assert flat.add_up(lambda leaf: Fraction(1)) == 12
    assert flatten(Repeated(TREE, 2)) == flat.times(2) == FlatEvents.total([flat, flat])
    assert FlatEvents.total([]) == flatten(Nothing()) == FlatEvents()


def up(x, share=4e-13):
    return x * (1.0 + share)


PLANNED = {
    "gaussian": Gaussian(1.0),
    "laplace": Repeated(Laplace(0.5), 2),
    "two sizes": Composed((Laplace(0.5), Laplace(0.25))),
    "halves": Composed((Parallel("halves", 0, Gaussian(0.6)), Parallel("halves", 1, Pure(0.1)))),
    "plain halves": Composed((Parallel("halves", 0, Gaussian(0.6)), Gaussian(0.8))),
    "approximate": Approximate(0.5, 1e-6),
    "nothing": Nothing(),
}
SPENT = {
    "nothing": Nothing(),
    "gaussian": Gaussian(1.0),
    "gaussian, a hair more": Gaussian(up(1.0)),
    "gaussian, more": Gaussian(up(1.0, 6e-13)),
    "four gaussians": Repeated(Gaussian(0.5), 4),
    "five gaussians": Repeated(Gaussian(0.5), 5),
    "laplace": Laplace(0.5),
    "laplace, a hair more": Laplace(up(0.5)),
    "laplace, more": Laplace(up(0.5, 2e-12)),
    "small laplace twice": Repeated(Laplace(0.25), 2),
    "small laplace thrice": Repeated(Laplace(0.25), 3),
    "large and small": Composed((Laplace(0.5), Laplace(0.1))),
    "large twice": Repeated(Laplace(0.5), 2),
    "pure": Pure(0.1),
    "a half": Parallel("halves", 0, Pure(0.1)),
    "another half": Parallel("halves", 5, Pure(0.1)),
    "gaussian half": Parallel("halves", 1, Gaussian(0.6)),
    "larger gaussian half": Parallel("halves", 1, Gaussian(1.0)),
    "thirds": Parallel("thirds", 1, Pure(0.1)),
    "approximate": Approximate(0.5, 1e-6),
    "another delta": Approximate(0.5, 1e-7),
}


@pytest.mark.parametrize("planned", PLANNED)
def test_what_covers_what(known, planned):
    plan = flatten(PLANNED[planned])
    known({name: plan.covers(flatten(SPENT[name])) for name in SPENT})
