"""Access to :mod:`tailguard.papers`, the wing for researchers; no other core file imports it.

The wing is loaded on first use. If its folder is not installed, the core works without it.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def wing(module: str) -> ModuleType | None:
    """Return a module of the wing by its name there; None if the wing is not installed.

    Examples
    --------
    >>> rates = wing("rates")
    >>> rates is None or rates.__name__ == "tailguard.papers.rates"
    True
    """
    papers = "tailguard.papers"
    return import_module(f"{papers}.{module}") if find_spec(papers) else None
