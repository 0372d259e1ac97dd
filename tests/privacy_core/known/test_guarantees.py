"""Guarantees in words and numbers, their ranges, and what they refuse."""

import math

import pytest

from support.known import outcome
from tailguard.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    PureDP,
    Unprotected,
    guarantee_from_dict,
    resolve_guarantee,
    weak_promise,
)

GUARANTEES = [
    *(ApproxDP(0.5, 1e-6), PureDP(0.5), ZCDP(0.5), GDP(0.5)),
    *(Unprotected(ZCDP(0.25)), Unprotected(ApproxDP(2.0, 0.001))),
]
ENDS = (1e-15, math.nextafter(1e-15, 0.0), 1e15, math.nextafter(1e15, 1e16))
BAD = (*ENDS, 0.0, -1.0, math.nan, math.inf, None, True, "1")


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_words_and_numbers(known, guarantee):
    written = guarantee.to_dict()
    known([guarantee.describe(), guarantee.delta, written, outcome(guarantee.gaussian_mu)])
    assert guarantee_from_dict(written) == guarantee


@pytest.mark.parametrize("kind", [PureDP, ZCDP, GDP], ids=lambda kind: kind.__name__)
def test_ranges(known, kind):
    known([outcome(kind, each) for each in BAD])


def test_refusals(known):
    known(
        [
            *(outcome(ApproxDP, bad, 0.5) for bad in BAD),
            *(outcome(ApproxDP, 1.0, bad) for bad in (0.0, 1.0, -0.1, None)),
            *(outcome(guarantee_from_dict, {"kind": bad}) for bad in ("rdp", None, 3)),
            outcome(guarantee_from_dict, {"kind": "none", "asked": {"kind": "rdp"}}),
        ]
    )


def test_what_a_user_says(known):
    ways = [
        *({}, {"epsilon": 1.0}, {"delta": 0.1}, {"epsilon": 1.0, "delta": 0.1}),
        *({"guarantee": each} for each in (*GUARANTEES, None, 1.0, "gdp")),
        *({"guarantee": GDP(1.0), "epsilon": 1.0}, {"guarantee": GDP(1.0), "delta": 0.1}),
        *({"epsilon": 0.0, "delta": 0.1}, {"epsilon": 1.0, "delta": 0.0}),
    ]
    known([outcome(resolve_guarantee, **way) for way in ways])


def test_weak_promises(known):
    deltas = (0.0009, 0.00099999, 0.001, 0.01, 0.9)
    known([weak_promise(ApproxDP(1.0, delta), 1000) for delta in deltas])
    assert [weak_promise(each, 10**9) for each in GUARANTEES[1:4]] == [(), (), ()]
