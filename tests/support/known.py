"""Values that a test keeps in a file, and compares with at every later run.

``known(value)`` in a test compares ``value`` with what ``tests/data/known/`` holds under the test's
name: words, whole numbers and structure exactly, floats to ``rel`` or ``absolute``. A value may be
anything that plain numbers and words can tell: arrays, mappings, dataclasses, errors. After a
change that is meant to change values,

    pytest tests/... --keep-known

writes those of the named tests anew; the difference in the files is then what to review.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "data/known"
CLOSE = 4e-13
"""Relative: what is rounded to the safe side moves by 1e-12, what special functions differ in by
some 1e-15."""


class Known:
    """Compares values with those kept under the name of one test."""

    def __init__(self, path, name, *, keep):
        self.path, self.name, self.keep = path, name, keep
        tests = self.path.relative_to(FOLDER).with_suffix(".py")
        # What a test fails with, where a value is new or another.
        self.advice = (
            "if that is meant, keep it with "
            f"`python -m pytest 'tests/{tests}::{name}' --keep-known` and review the difference"
        )

    def __call__(self, value, *, rel=CLOSE, absolute=0.0):
        found = plain(value)
        if self.keep:
            self._keep(found)
        all_kept = self._all_kept()
        assert self.name in all_kept, f"nothing is kept of {self.name}: {self.advice}"
        differences = "\n".join(compared(found, all_kept[self.name], (rel, absolute), ""))
        assert not differences, f"{differences}\n{self.advice}"

    def _all_kept(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def _keep(self, found):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        all_kept = self._all_kept() | {self.name: found}
        lines = (f"{json.dumps(name)}: {json.dumps(all_kept[name])}" for name in sorted(all_kept))
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def known_of(node, *, keep):
    """What a test compares with."""
    place = node.path.relative_to(FOLDER.parents[1]).with_suffix(".json")
    return Known(FOLDER / place, node.name, keep=keep)


def outcome(function, *given, **named):
    """What a call returns, or what it raises, in words."""
    try:
        return function(*given, **named)
    except (ValueError, TypeError, LookupError, OSError) as error:
        return error


def plain(value):
    """A value in numbers, words, lists and mappings."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"": type(value).__name__} | plain(parts)
    if value is None or isinstance(value, str | int | float):
        return float(f"{value:.16g}") if isinstance(value, float) else value
    return f"{type(value).__name__}: {value}"


def compared(found, kept, room, place):
    """Say in what two plain values differ."""
    if type(found) is not type(kept) and not {type(found), type(kept)} <= {int, float}:
        yield f"{place}: {found!r} and not {kept!r}"
    elif isinstance(found, dict):
        if list(found) != list(kept):
            yield f"{place}: {[*found]} and not {[*kept]}"
        for name in found.keys() & kept.keys():
            yield from compared(found[name], kept[name], room, f"{place}.{name}")
    elif isinstance(found, list):
        if len(found) != len(kept):
            yield f"{place}: {len(found)} and not {len(kept)} parts"
        for number, pair in enumerate(zip(found, kept, strict=False)):
            yield from compared(*pair, room, f"{place}[{number}]")
    elif isinstance(found, float):
        alike = found == kept or (math.isnan(found) and math.isnan(kept))
        if not alike and not math.isclose(found, kept, rel_tol=room[0], abs_tol=room[1]):
            yield f"{place}: {found!r} and not {kept!r}"
    elif found != kept:
        yield f"{place}: {found!r} and not {kept!r}"
