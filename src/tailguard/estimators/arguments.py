"""The arguments of estimators: their documentation, their names and their checks."""

import inspect
import re
import warnings
from inspect import cleandoc
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from tailguard.checks import ArgumentError, InputError, check_arguments

SHARED = """{shared_parameters}

Attributes
----------
{shared_attributes}

Notes
-----
*Guarantee.* As for ``LinearRegression``."""
"""The text that replaces ``{shared}`` in a docstring."""


def with_shared(doc: str, base: str) -> str:
    """Fill in the shared parameters and attributes from the docstring of the base class."""
    sections = {
        name.lower(): text.strip()
        for name, text in re.findall(r"(?ms)^(\w+)\n-+\n(.*?)(?=^\w+\n-+$|\Z)", cleandoc(base))
    }
    doc = cleandoc(doc).replace("{shared}", SHARED)
    for name, text in sections.items():
        doc = doc.replace(f"{{shared_{name}}}", text)
    return doc


class NamedArguments:
    """Mixin of estimators; errors for an unknown parameter suggest a known one."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse unknown parameters and positional ones."""
        if args:
            raise ArgumentError(
                f"{cls.__name__} must be given its parameters by name, such as epsilon=1.0."
            )
        known = [*inspect.signature(cls.__init__).parameters][1:]  # the first is self
        check_arguments(cls.__name__, parameters, known)
        return super().__new__(cls)


def check_exposure(model: Any, exposure: Any, declared: str | None = None) -> None:
    """Refuse an exposure, given or declared, for a model without a logarithmic link."""
    if model.takes_exposure or (exposure is None and declared is None):
        return
    whose = f"a {type(model).__name__}, whose link is no logarithm"
    if exposure is not None:
        raise InputError(
            f"exposure must be None for {whose}; what is to be added to scores is given as offset."
        )
    raise InputError(
        f"exposure must be left out of the schema of {whose}: declare what is to be added to "
        f"scores as offset, or the column as a feature or dropped; got {declared!r}."
    )


def check_target(model: BaseEstimator, y: Any) -> None:
    """Refuse a missing target; warn of a target with a second axis, as scikit-learn does."""
    if y is None:
        raise InputError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
            " Pass y, or the name of a column of X as target=."
        )
    if len(getattr(y, "shape", ())) == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected.",
            DataConversionWarning,
            stacklevel=5,
        )
