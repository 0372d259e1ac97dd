"""Structured fuzzing: invalid values of every kind, and documents with exchanged parts."""

import copy
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailguard.checks import TailguardError

FEW, MANY = 15, 20_000  # by default, and with the audit marker

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(width=64),
    st.sampled_from([0, -0.0, 1e308, 5e-324, float("inf"), float("nan"), 10**400]),
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", " ", "nan", "1e999", "0x1p3", "\u0661", "\x00", "\u2028", "[", "a=b,c", "--"]
    ),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
ANYTHING = st.recursive(
    SCALARS,
    lambda part: st.one_of(
        st.lists(part, max_size=3), st.dictionaries(st.text(max_size=4), part, max_size=3)
    ),
    max_leaves=6,
)


def places(document, path=()):
    """The paths of all parts of a document of dictionaries and lists."""
    yield path
    parts = ()
    if isinstance(document, dict):
        parts = document.items()
    elif isinstance(document, list):
        parts = enumerate(document)
    for key, part in parts:
        yield from places(part, (*path, key))


@st.composite
def changed(draw, document):
    """A document with up to three parts exchanged, removed or duplicated."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in places(document) if path] or [()]))
        if not path:
            return draw(ANYTHING)
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        kind = draw(st.sampled_from(["exchange", "leave out", "double"]))
        if kind == "exchange":
            holder[path[-1]] = draw(ANYTHING)
        elif kind == "leave out":
            del holder[path[-1]]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[f"{path[-1]}'"] = copy.deepcopy(holder[path[-1]])
    return document


SECOND = 1_000  # milliseconds
LONGEST = 5.0  # seconds of CPU time; the wall-clock limit is six times this, for a busy machine
how_often = pytest.mark.parametrize(
    "count", [FEW, pytest.param(MANY, marks=pytest.mark.audit)], ids=["few", "many"]
)


def often(count, check, **strategies):
    """Run a check on many examples, each within a time limit, so that nothing hangs."""

    def timed(**example):
        begin = process_time()
        check(**example)
        assert process_time() - begin < LONGEST

    settings(max_examples=count, deadline=6 * LONGEST * SECOND)(given(**strategies)(timed))()


def attempt(act):
    """Return the result, and the message of a refusal, which must be one sentence."""
    result, words = None, ""
    try:
        result = act()
    except TailguardError as refused:
        words = str(refused) or "nothing"
    assert "\n" not in words
    assert "Traceback" not in words
    return result, words
