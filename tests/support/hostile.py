"""Adversarial cells: Python objects of every kind, and the number that each must be read as.

The numbers are stated here, not computed by the library, so that both can be compared.
"""

import datetime
import enum
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

NAN = float("nan")
RAISED = (ValueError, TypeError, OverflowError, MemoryError, RecursionError, StopIteration)
RAISED += (KeyboardInterrupt, SystemExit, GeneratorExit, BaseException)
QUESTIONS = (
    *("float", "int", "index", "complex", "bool", "len", "iter", "getitem", "array", "buffer"),
    *("eq", "hash", "lt", "repr", "str", "getattr", "getattribute", "instancecheck"),
)
VICTIMS = []  # overwritten by a "meddler" if any of its methods runs


@dataclass(frozen=True)
class Hostile:
    """A cell, its kind, and the number that it must be read as."""

    kind: str
    cell: Any
    number: float = NAN


def raiser(raised, questions=QUESTIONS):
    """An object whose methods all raise, as do those of its class."""

    def refuse(*_, **__):
        warnings.warn("a record is odd", stacklevel=1)
        raise raised("what the cell holds")

    class Meta(type):
        __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = refuse

    methods = {f"__{question}__": refuse for question in questions}
    return Meta("Raiser", (), methods)()


def object_array(given):
    """An array of these objects; no method of them is called."""
    held = np.empty(len(given), dtype=object)
    for place, cell in enumerate(given):
        held[place] = cell
    return held


def liar(answer):
    """An object that claims to be a float, and converts to ``answer``."""
    says = {"__class__": property(lambda _: float), "__float__": lambda _: answer}
    says |= {"__eq__": lambda *_: True, "__hash__": lambda _: hash("yes")}
    return type("Liar", (), says)()


def meddler():
    """An object that overwrites other records as soon as it is converted or compared."""

    def overwrite(*_):
        for victim in VICTIMS:
            victim[:] = [1e9] * len(victim)
        return 1.0

    names = ("float", "hash", "len", "int", "index", "array", "iter")
    return type("Meddler", (), {f"__{name}__": overwrite for name in names})()


class Level(enum.IntEnum):
    """Whole numbers of a subclass."""

    LOW = 1


class Half(float):
    """A float with a method of its own, which must not be run."""

    def __float__(self):
        raise KeyboardInterrupt


class Word(str):
    """Text with methods of its own."""

    __slots__ = ()

    def lower(self):
        raise SystemExit

    __hash__ = __eq__ = lower


def texts(rng):
    """Text: numbers, near-numbers and arbitrary text."""
    spelled = {
        **{" 5 ": 5.0, "1_000": 1e3, "infinity": np.inf, "-INF": -np.inf, "1e400": np.inf},
        **{"True": 1.0, "false": 0.0, "TRUE": 1.0, "fAlSe": 0.0, "+.5": 0.5, "\uff11\uff12": 12.0},
        **{"9007199254740993": 2.0**53, "1" * 400: np.inf, "0." + "3" * 5000: 1 / 3},
    }
    nothing = ["", "?", "nan", "NA", "0x10", "1,5", "--1", "1e", "\0", "5\0", "\ud800", "tru"]
    nothing += ["2020-01-01", "x" * 100_000, "\u202e7", "1 2"]
    anything = ["".join(map(chr, rng.integers(1, 0x3000, 1 + k % 9))) for k in range(20)]
    yield from ((word, number) for word, number in spelled.items())
    yield from ((word, NAN) for word in [*nothing, *(a for a in anything if not a.isdecimal())])


def numpy_scalars(rng):
    """A scalar of every type that NumPy has."""
    for kind in sorted(set(np.sctypeDict.values()), key=str):
        dtype = np.dtype(kind)
        if dtype.kind == "b":
            yield kind(rng.integers(2)), None
        elif dtype.kind in "iu":
            yield kind(rng.integers(0, 100)), None
        elif dtype.kind == "f":
            yield kind(rng.standard_normal()), None
        elif dtype.kind in "cmM":
            yield (kind(1j) if dtype.kind == "c" else kind(3, "s")), NAN


def wrapped(rng):
    """Sequences: one number is read as that number, anything else is missing."""
    one = float(rng.standard_normal())
    yield from ((cell, one) for cell in ([one], (one,), np.array(one), np.array([one])))
    yield from ((cell, 1.0) for cell in (["1"], np.array([True]), np.array(["1.0"])))
    missing = [[], (), [one, one], [[one]], ([one],), np.zeros(2), np.zeros((0, 3)), range(1)]
    missing += [{}, {"a": 1}, {1}, frozenset(), bytearray(b"1"), memoryview(b"1"), [None]]
    missing += [np.array([None]), np.array(["2020"], "M8[Y]"), np.zeros(1, "i4,i4")]
    missing += [np.ones(1).view(np.matrix), np.ma.MaskedArray([1.0])]
    yield from ((cell, NAN) for cell in missing)


def plain(rng):
    """Numbers of the standard library, including wide ones and types that the library rejects."""
    whole = int(rng.integers(2**60)) * 2**10
    yield from ((cell, float(cell)) for cell in (True, 2**63, -(2**64), whole, 10**30, 0.1))
    yield from ((10**400, np.inf), (-(10**400), -np.inf), (np.inf, np.inf))
    yield from ((Decimal("0.1"), 0.1), (Decimal("1e400"), np.inf), (Decimal("-Infinity"), -np.inf))
    yield from ((Fraction(1, 3), 1 / 3), (Fraction(1, 10**400), 0.0), (1 + 0j, 1.0))
    missing = [Decimal("sNaN"), Decimal("NaN"), Fraction(10**400), Level.LOW, 1j]
    missing += [b"\xff", b"?", None, NAN]
    yield from ((cell, NAN) for cell in missing)
    yield from ((b"2.5", 2.5), (b" 5 ", 5.0), (b"True", 1.0))


def dates(_):
    """Dates, times and pandas' missing values."""
    day = datetime.date(2020, 1, 1)
    missing = [day, datetime.datetime.max, datetime.time(), datetime.timedelta.max, pd.NA, pd.NaT]
    missing += [pd.Timestamp(day), pd.Timedelta(1), pd.Period("2020"), pd.Interval(0, 1)]
    missing += [np.ma.masked, pd.Series([1.0]), pd.Index([1]), pd.Categorical([1])]
    yield from ((cell, NAN) for cell in missing)


def objects(_):
    """Objects that are not data, and objects with harmful methods."""
    forged = Fraction(1, 2)
    forged._numerator = raiser(KeyboardInterrupt)
    missing = [object(), int, len, ..., NotImplemented, ValueError("1"), np, lambda: 1.0, type]
    missing += [iter([1.0]), (i for i in range(1)), type("float", (), {})(), property()]
    missing += [raiser(raised) for raised in RAISED]
    missing += [raiser(KeyboardInterrupt, (question,)) for question in QUESTIONS]
    missing += [liar(answer) for answer in (1.0, "1", None, NAN, 10**400, Half(1.0))]
    missing += [object_array([raiser(ValueError)]), [raiser(KeyboardInterrupt)], [meddler()]]
    missing += [forged, object.__new__(Fraction), Half(0.5), Word("1"), meddler()]
    yield from ((cell, NAN) for cell in missing)


KINDS = {
    "text": texts,
    "numpy": numpy_scalars,
    "wrapped": wrapped,
    "plain": plain,
    "date": dates,
    "object": objects,
}


def data(seed=0):
    """One cell of every kind that is data: other objects may crash third-party libraries."""
    rng = np.random.default_rng(seed)
    return [cell for kind, draws in KINDS.items() if kind != "object" for cell, _ in draws(rng)]


def cells(count, seed=0):
    """``count`` hostile cells: all kinds in turn, repeatedly, with new draws."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        for kind, draws in KINDS.items():
            for cell, number in draws(rng):
                counts_as = float(cell) if number is None else number
                found.append(Hostile(kind, cell, counts_as))
    order = np.random.default_rng(seed + 1).permutation(len(found))
    return [found[place] for place in order[:count]]
