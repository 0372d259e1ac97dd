"""Describe the facts of a run for a checkpoint, by public numbers and names only.

The text is built from numbers, words, collections of these, and fields of the library's own
dataclasses. It never uses the ``repr`` of other objects, and describes a function by its name only.
So no value in a user's function or object can get into the file. A fact that cannot be described is
refused. Without the fact, a checkpoint could not detect that it belongs to another run; and with a
digest of the fact, a reader could confirm a guess of its contents.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import numpy as np

from tailguard.checks import InputError

PLAIN = (NoneType, bool, int, float, str)
CODE = (ModuleType, np.ufunc, type(np.sum))  # the last is the type of functions such as np.sum

# The package whose classes hold public parameters only.
OWN = f"{__name__.partition('.')[0]}."


def described(fact: object) -> str:
    """Describe a fact by numbers and names; refuse a fact that holds anything else."""
    if isinstance(fact, np.generic):
        fact = fact.item()
    if type(fact) in PLAIN:
        return repr(fact)
    if isinstance(fact, np.ndarray):
        return f"array({fact.dtype}, {described(fact.tolist())})"
    if isinstance(fact, tuple | list):
        return f"{type(fact).__name__}({', '.join(map(described, fact))})"
    if isinstance(fact, Mapping):
        return f"Mapping({', '.join(map(described, fact.items()))})"
    is_function = isinstance(fact, type) or (callable(fact) and not _is_own(fact))
    return _function_name(fact) if is_function else _object_described(fact)


def _object_described(fact: Any) -> str:
    """Describe an object by its fields, which in a foreign class must be single values."""
    kind = type(fact)
    if not (is_dataclass(fact) or hasattr(fact, "__dict__")):
        raise _refusal(f"an object of {kind.__qualname__!r} is part of the run")
    parts = []
    for name, value in _fields_of(fact):
        if not (_is_own(fact) or _is_single(value)):
            raise _refusal(f"{kind.__qualname__!r} holds more than a number or a word in {name!r}")
        parts.append(f"{name}={described(value)}")
    return f"{kind.__qualname__}({', '.join(parts)})"


def _fields_of(fact: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of fields; omit functions if the object has a public name."""
    if not is_dataclass(fact):
        yield from sorted(vars(fact).items())
        return
    for each_field in fields(fact):
        value = getattr(fact, each_field.name)
        is_replaced = callable(value) and getattr(fact, "public_name", None) is not None
        if not (is_replaced or each_field.name.startswith("_")):
            yield each_field.name, value


def _is_own(fact: object) -> bool:
    """Whether an object's class is a dataclass that this library defines."""
    return is_dataclass(fact) and type(fact).__module__.startswith(OWN)


def _is_single(value: object) -> bool:
    """Whether a value is a number, a word, a function, or a dataclass of this library."""
    return isinstance(value, (*PLAIN, np.generic)) or callable(value) or _is_own(value)


def _refusal(what: str) -> InputError:
    return InputError(
        f"checkpoint must be None where {what}: a checkpoint is a public file, and describes a run "
        "by numbers and words only."
    )


def _function_name(function: Any) -> str:
    """Return module and name of a function; refuse a function that holds values."""
    code = getattr(function, "py_func", function)  # the Python function of a compiled one
    name = getattr(code, "__qualname__", type(code).__qualname__)
    if not _is_code(code, set()):
        raise InputError(
            f"function {name!r} must hold no values of its own if a run has a checkpoint, which is "
            "a public file: write the values into its code, or give a gradient a public name, "
            "RecordGradient(function, name='...')."
        )
    return f"{code.__module__}.{name}"


def _is_code(value: Any, checked: set[int]) -> bool:
    """Whether a value is only code: neither it nor anything bound to it holds other values."""
    value = getattr(value, "py_func", value)
    if id(value) in checked or isinstance(value, CODE):
        return True
    may_be_public = isinstance(value, type) or str(getattr(value, "__module__", "")).startswith(OWN)
    if may_be_public and _is_of_module(value):
        return True
    if isinstance(value, BuiltinFunctionType):
        return isinstance(value.__self__, ModuleType | NoneType)
    if isinstance(value, MethodType):
        return isinstance(value.__self__, type) and _is_code(value.__self__, checked)
    if not isinstance(value, FunctionType):
        return False
    checked.add(id(value))
    return all(_is_code(each, checked) for each in _bound_to(value))


def _bound_to(function: FunctionType) -> Iterator[Any]:
    """Yield the values in a function's defaults, closure and attributes."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # the cell is still empty
            yield cell.cell_contents


def _is_of_module(code: Any) -> bool:
    """Whether the code can be looked up in its module, so that it is public code."""
    known: Any = sys.modules.get(code.__module__)
    for name in getattr(code, "__qualname__", "?").split("."):
        known = getattr(known, name, None)
    return known is code
