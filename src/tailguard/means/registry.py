"""Every method for a private mean, by name. One line here buys the contract tests.

Reference
---------
The methods cite their own papers.
"""

from dataclasses import fields
from importlib import import_module
from typing import Any

from tailguard.checks import InputError, check_choice
from tailguard.means.base import MeanMethod

__all__ = ["MEANS", "make_method"]

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
    """Build a method by its name, with options of its own.

    Examples
    --------
    >>> make_method("truncated", n_groups=1).n_groups
    1
    >>> make_method("clipped", n_groups=1)
    Traceback (most recent call last):
        ...
    tailguard.checks.InputError: n_groups must not be given with method 'clipped'; it takes \
clip_norm.
    """
    module, _, attribute = MEANS[check_choice("method", name, (*MEANS,))].partition(":")
    method = getattr(import_module(module), attribute)
    known = [field.name for field in fields(method)]
    for option in options:
        if option not in known:
            raise InputError(
                f"{option} must not be given with method {name!r}; it takes {', '.join(known)}."
            )
    made: MeanMethod = method(**options)
    return made
