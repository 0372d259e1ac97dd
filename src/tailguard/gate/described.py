"""What a checkpoint tells of a run's facts: public numbers and names, and nothing else.

The text is built from what is known: numbers, words, collections of these, and fields of the
library's own records. No object is asked for a text of its own, and of a function its name alone is
told, so nothing that a user's function or object holds can get into the file. What cannot be told
is refused: without it a checkpoint could not see that it is of another run, and a digest of it
would say whether a guess of its contents is right.
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
CODE = (ModuleType, np.ufunc, type(np.sum))  # np.sum and its like are of a type of their own

# The package whose classes hold public parameters alone.
OWN = f"{__name__.partition('.')[0]}."


def described(fact: object) -> str:
    """Return what can be told of a fact; refuse one that holds anything else."""
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
    named = isinstance(fact, type) or (callable(fact) and not _is_own(fact))
    return _function_name(fact) if named else _object_described(fact)


def _object_described(fact: Any) -> str:
    """Describe an object by its fields: all of the library's own, single values of others."""
    kind = type(fact)
    if not (is_dataclass(fact) or hasattr(fact, "__dict__")):
        raise _untold(f"an object of {kind.__qualname__!r} is part of the run")
    parts = []
    for name, value in _held(fact):
        if not (_is_own(fact) or _is_single(value)):
            raise _untold(f"{kind.__qualname__!r} holds more than a number or a word in {name!r}")
        parts.append(f"{name}={described(value)}")
    return f"{kind.__qualname__}({', '.join(parts)})"


def _held(fact: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of what an object holds; a public name stands for a function."""
    if not is_dataclass(fact):
        yield from sorted(vars(fact).items())
        return
    for each in fields(fact):
        value = getattr(fact, each.name)
        named = callable(value) and getattr(fact, "public_name", None) is not None
        if not (named or each.name.startswith("_")):
            yield each.name, value


def _is_own(fact: object) -> bool:
    """Whether an object is a record of the library's own, by its very class."""
    return is_dataclass(fact) and type(fact).__module__.startswith(OWN)


def _is_single(value: object) -> bool:
    """Whether something is one number or word, a function, or a record of the library's own."""
    return isinstance(value, (*PLAIN, np.generic)) or callable(value) or _is_own(value)


def _untold(what: str) -> InputError:
    return InputError(
        f"checkpoint must be None where {what}: a checkpoint is a public file, and tells what a "
        "run is by numbers and words."
    )


def _function_name(function: Any) -> str:
    """Return module and name of a function, or refuse one that holds values."""
    code = getattr(function, "py_func", function)  # of machine code
    name = getattr(code, "__qualname__", type(code).__qualname__)
    if not _is_code(code, set()):
        raise InputError(
            f"function {name!r} must hold no values of its own beside a checkpoint, which is a "
            "public file: write them into its code, or give a gradient a public name, "
            "RecordGradient(function, name='...')."
        )
    return f"{code.__module__}.{name}"


def _is_code(value: Any, seen: set[int]) -> bool:
    """Whether something is code alone: no value is bound to it, nor to what it is made of."""
    value = getattr(value, "py_func", value)
    if id(value) in seen or isinstance(value, CODE):
        return True
    named = isinstance(value, type) or str(getattr(value, "__module__", "")).startswith(OWN)
    if named and _is_of_module(value):
        return True
    if isinstance(value, BuiltinFunctionType):
        return isinstance(value.__self__, ModuleType | NoneType)
    if isinstance(value, MethodType):
        return isinstance(value.__self__, type) and _is_code(value.__self__, seen)
    if not isinstance(value, FunctionType):
        return False
    seen.add(id(value))
    return all(_is_code(each, seen) for each in _bound_to(value))


def _bound_to(function: FunctionType) -> Iterator[Any]:
    """Yield the values of defaults, closure and attributes."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # of a cell that is still empty
            yield cell.cell_contents


def _is_of_module(code: Any) -> bool:
    """Whether something is found by its name in its module, and so is code that anyone can read."""
    found: Any = sys.modules.get(code.__module__)
    for name in getattr(code, "__qualname__", "?").split("."):
        found = getattr(found, name, None)
    return found is code
