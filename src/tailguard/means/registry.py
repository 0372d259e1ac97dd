"""Every method for a private mean, by name. One line here buys the contract tests.

Reference
---------
The methods cite their own papers.
"""

from collections.abc import Iterable
from dataclasses import fields
from inspect import cleandoc
from typing import Any

from tailguard.checks import InputError, class_called
from tailguard.means.base import MeanMethod

MEANS = {
    "clipped": "tailguard.means.clipped:Clipped",
    "clamped": "tailguard.means.clamped:Clamped",
    "truncated": "tailguard.means.truncated:Truncated",
    "soft": "tailguard.means.soft:Soft",
    "trimmed": "tailguard.means.trimmed:Trimmed",
    "iterative": "tailguard.means.iterative:Iterative",
}
"""Name -> ``"module:Class"``."""


def make_method(name: str, **options: Any) -> MeanMethod:
    """Build a method by its name, with options of its own."""
    check_options(name, options)
    method: MeanMethod = _class_of(name)(**options)
    return method


def check_options(name: str, options: Iterable[str]) -> None:
    """Refuse options that a method does not have, by their names."""
    known = own_options(name)
    for option in options:
        if option not in known:
            raise InputError(
                f"{option} must not be given with method {name!r}; it takes {', '.join(known)}."
            )


def own_options(name: str) -> tuple[str, ...]:
    """Return the options of a method."""
    return tuple(field.name for field in fields(_class_of(name)))


def described() -> str:
    """Say what every method is, a line each: what its docstring begins with."""
    firsts = {name: cleandoc(_class_of(name).__doc__).partition("\n\n")[0] for name in MEANS}
    told = {name: " ".join(first.split()).rstrip(".") for name, first in firsts.items()}
    return "\n".join(f'``"{name}"``: {each[0].lower()}{each[1:]}' for name, each in told.items())


def _class_of(name: str) -> Any:
    return class_called(name, MEANS, "method")
