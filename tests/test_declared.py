"""What the modules of the trusted rooms declare: constants, defaults, frozen records, caches.

So do kernels and losses, whose numbers enter what is summed over records.

A number that a module names, and what a parameter is where nobody says it, change on purpose only.
"""

import inspect
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import tailguard

SOURCE = Path(tailguard.__file__).parents[1]
ROOMS = ("privacy", "noise", "queries", "gate", "ledger", "kernels", "losses")
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for room in ROOMS
    for path in (SOURCE / "tailguard" / room).rglob("*.py")
    if path.stem != "__init__"
)
NUMBERS = (int, float, str, bytes, Decimal, Fraction, np.ndarray, np.generic, range)
FOUND = {"BUILDERS", "KNOWN", "MACHINE"}
"""What a process remembers, and the machine that it runs on, which no module declares."""
HOLDERS = (tuple, list, dict, set, frozenset)


def declared(module):
    """Everything of a module that is no code."""
    found = {"constants": {}, "defaults": {}, "records": {}, "caches": {}}
    for name, value in sorted(vars(module).items()):
        if name.isupper() and name not in FOUND and isinstance(value, NUMBERS + HOLDERS):
            found["constants"][name] = told(value)
        elif getattr(value, "__module__", None) == module.__name__:
            describe(name, value, found)
    return {kind: parts for kind, parts in found.items() if parts}


def describe(name, value, found):
    """Add what a function or a class declares."""
    if hasattr(value, "cache_parameters"):
        found["caches"][name] = value.cache_parameters()
    if inspect.isclass(value):
        if is_dataclass(value):
            own, shown = value.__dataclass_params__, [each.repr for each in fields(value)]
            found["records"][name] = [own.frozen, own.eq, own.order, *shown]
        for part, inner in sorted(vars(value).items()):
            # Of enumerations Python has names of its own, such as ``_use_args_``.
            if isinstance(inner, NUMBERS) and not part.startswith("__") and part[-1] != "_":
                found["constants"][f"{name}.{part}"] = told(inner)
            function = getattr(inner, "__func__", inner)
            if inspect.isfunction(function) and (part == "__init__" or not part.startswith("__")):
                describe(f"{name}.{part}", function, found)
    elif inspect.isfunction(value):
        given = inspect.signature(value).parameters.values()
        defaults = {
            each.name: told(each.default) for each in given if each.default is not each.empty
        }
        if defaults:
            found["defaults"][name] = defaults


def told(value):
    """A constant in numbers and words; of objects and functions, their kind alone."""
    if isinstance(value, dict):
        return {str(key): told(value[key]) for key in value}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple | list | range):
        return [told(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if value is None or isinstance(value, NUMBERS):
        return "the version" if value == tailguard.__version__ else value
    return getattr(value, "__qualname__", type(value).__qualname__)


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_declares_is_what_it_was(known, name):
    known(declared(import_module(name)))


def test_there_are_modules():
    assert len(MODULES) > 140
