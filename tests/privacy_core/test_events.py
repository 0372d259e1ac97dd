"""The event tree: validation, equality, and the canonical dictionary."""

import json
import math
import pickle

import pytest
from hypothesis import given

from support.events import TREES
from tailguard.checks import InputError
from tailguard.privacy.events import (
    KINDS,
    LARGEST_MEAN,
    Approximate,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Nothing,
    Parallel,
    Repeated,
    Sampled,
    Selected,
    Shuffled,
    ShuffledPure,
    event_from_dict,
)

# The constitution: these dictionaries are in people's books, so they must read the same for ever.
WRITTEN = [
    ({"kind": "nothing"}, "Nothing()"),
    ({"kind": "gaussian", "mu": 0.5}, "Gaussian(mu=0.5)"),
    ({"kind": "laplace", "epsilon": 0.5}, "Laplace(epsilon=0.5)"),
    ({"kind": "pure", "epsilon": 0.5}, "Pure(epsilon=0.5)"),
    ({"kind": "bounded_range", "eta": 0.5}, "BoundedRange(eta=0.5)"),
    ({"kind": "zcdp", "rho": 0.5}, "ZeroConcentrated(rho=0.5)"),
    ({"kind": "approx", "epsilon": 0.5, "delta": 1e-6}, "Approximate(epsilon=0.5, delta=1e-06)"),
    ({"kind": "unbounded"}, "Unbounded()"),
    (
        {"kind": "sampled", "mu": 0.5, "rate": 0.1, "scheme": "fixed-size"},
        "Sampled(mu=0.5, rate=0.1, scheme='fixed-size')",
    ),
    ({"kind": "shuffled", "mu": 0.5, "n_units": 9}, "Shuffled(mu=0.5, n_units=9)"),
    (
        {"kind": "shuffled_pure", "epsilon": 0.5, "n_units": 9},
        "ShuffledPure(epsilon=0.5, n_units=9)",
    ),
    (
        {"kind": "selected", "mu": 0.5, "mean_tries": 9.0, "law": "geometric"},
        "Selected(mu=0.5, mean_tries=9.0, law='geometric')",
    ),
    (
        {"kind": "repeated", "event": {"kind": "gaussian", "mu": 0.5}, "times": 3},
        "Repeated(event=Gaussian(mu=0.5), times=3)",
    ),
    (
        {"kind": "composed", "events": [{"kind": "nothing"}, {"kind": "gaussian", "mu": 0.5}]},
        "Composed(events=(Nothing(), Gaussian(mu=0.5)))",
    ),
    (
        {"kind": "parallel", "block_map": "m", "block": 1, "event": {"kind": "nothing"}},
        "Parallel(block_map='m', block=1, event=Nothing())",
    ),
]


@pytest.mark.parametrize(("written", "meaning"), WRITTEN)
def test_what_books_write_is_read_as_it_was_meant(written, meaning):
    assert repr(event_from_dict(written)) == meaning
    assert event_from_dict(written).to_dict() == written


def test_the_constitution_covers_every_kind():
    assert {written["kind"] for written, _ in WRITTEN} == set(KINDS)


@given(TREES)
def test_round_trip_through_json_and_pickle(tree):
    text = json.dumps(tree.to_dict(), allow_nan=False)
    assert event_from_dict(json.loads(text)) == tree
    assert json.dumps(event_from_dict(json.loads(text)).to_dict()) == text
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert hash(event_from_dict(json.loads(text))) == hash(tree)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "gauss", "mu": 1.0},
        {"mu": 1.0},
        {"kind": "gaussian"},
        {"kind": "gaussian", "mu": 1.0, "sigma": 2.0},
        {"kind": "gaussian", "mu": "1"},
        {"kind": "gaussian", "mu": -1.0},
        {"kind": "sampled", "mu": 1.0, "rate": 0.1, "scheme": "poisson-pair"},
        {"kind": "composed", "events": [{"kind": "new"}]},
        {"kind": "repeated", "event": 3, "times": 2},
        {"kind": "composed", "events": [3]},
        [],
        None,
    ],
)
def test_what_is_not_an_event_is_refused(data):
    with pytest.raises(InputError):
        event_from_dict(data)


ONE = Gaussian(1.0)
BAD_FIELDS = {
    Gaussian: [(0.0,), (math.nan,), (math.inf,)],
    Laplace: [(-1.0,)],
    Approximate: [(1.0, 0.0), (1.0, 1.0)],
    Sampled: [(0.0, 0.1), (1.0, 0.0), (1.0, 1.5), (1.0, 0.1, "bernoulli")],
    Shuffled: [(1.0, 0), (-1.0, 5)],
    ShuffledPure: [(1.0, 2.5)],
    Repeated: [(ONE, 0), (ONE, 1.5), ("Gaussian", 2)],
    Composed: [((ONE, 1.0),)],
    Parallel: [("", 0, ONE), ("m", -1, ONE), ("m", 0, None)],
    Selected: [(0.0, 10.0), (0.1, 0.5), (0.1, 2.0 * LARGEST_MEAN), (0.1, 10.0, "uniform")],
}


@pytest.mark.parametrize(
    ("kind", "fields"), [(kind, fields) for kind, bad in BAD_FIELDS.items() for fields in bad]
)
def test_bad_fields_are_refused(kind, fields):
    with pytest.raises(InputError):
        kind(*fields)


def test_events_are_frozen_values():
    assert Composed([Nothing()]) == Composed((Nothing(),))
    assert Gaussian(1.0) != Laplace(1.0)
    with pytest.raises(AttributeError):
        Gaussian(1.0).mu = 0.5
    assert issubclass(Gaussian, Event)
