"""The losses by name. A new loss needs one file and one line here, and has the contract tests."""

import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import Any

from tailguard.checks import InputError, class_called, shown

from .base import Loss, RecordLoss

LOSSES = {
    "balanced_logistic": "tailguard.losses.balanced_logistic:BalancedLogistic",
    "gamma": "tailguard.losses.gamma:Gamma",
    "huber": "tailguard.losses.huber:Huber",
    "logistic": "tailguard.losses.logistic:Logistic",
    "lp": "tailguard.losses.lp_loss:LpLoss",
    "poisson": "tailguard.losses.poisson:Poisson",
    "pseudo_huber": "tailguard.losses.pseudo_huber:PseudoHuber",
    "quantile": "tailguard.losses.quantile:Quantile",
    "squared": "tailguard.losses.squared:Squared",
    "tweedie": "tailguard.losses.tweedie:Tweedie",
}
"""Losses of one score."""

RECORD_LOSSES = {
    "multinomial": "tailguard.losses.multinomial:Multinomial",
    "record_gradient": "tailguard.losses.record_gradient:RecordGradient",
}
"""Losses that are defined by the gradient of one record."""

NUMBERS = (NoneType, bool, int, float)
FUNCTION = "function"  # the field of a user's gradient, which gets one record at a time
ALLOWED = {"public_name": (NoneType, str)}  # identifies that function in a checkpoint


def is_registered(value: object, registry: Mapping[str, str]) -> bool:
    """Whether the exact class of ``value``, not a base class, is in ``registry``."""
    exact_class = type(value)
    is_listed = f"{exact_class.__module__}:{exact_class.__qualname__}" in registry.values()
    return (
        is_listed
        and getattr(sys.modules.get(exact_class.__module__), exact_class.__qualname__, None)
        is exact_class
    )


def check_known(loss: object) -> None:
    """Refuse an unregistered or modified loss, since its slopes could depend on several records.

    A loss object receives many scores at once. Tests check that our losses treat each score
    separately. This is unknown of other losses, so users give the gradient of ONE record.
    """
    if not is_known(loss):
        raise InputError(
            f"loss must be one of tg.losses as it was made; got {shown(loss)}. A loss "
            "of your own is given by the gradient of ONE record, (weights, features, target) -> "
            "gradient."
        )


def is_known(loss: object) -> bool:
    """Whether the exact class of a loss is registered, and all its attributes are parameters."""
    if not is_registered(loss, LOSSES | RECORD_LOSSES):
        return False
    kind: Any = type(loss)
    names, held = field_names(kind), attributes_of(loss)
    if held is None:
        return False
    for name, value in held.items():
        is_parameter = name == FUNCTION or type(value) in ALLOWED.get(name, NUMBERS)
        if name not in names or not is_parameter:
            return False
    return True


@cache
def field_names(kind: Any) -> frozenset[str]:
    """Return the names of the fields of a dataclass."""
    return frozenset(field.name for field in fields(kind))


def attributes_of(value: object) -> dict[str, Any] | None:
    """Return the attributes of an object; None if it may show others than its methods would see.

    A dictionary or a name of a user's own class could show anything.
    """
    held = vars(value)
    return held if type(held) is dict and {*map(type, held)} <= {str} else None


def make_loss(name: str, **parameters: Any) -> Loss | RecordLoss:
    """Make the loss called ``name``.

    Examples
    --------
    >>> make_loss("huber", threshold=2.0)
    Huber(threshold=2.0)
    """
    loss: Loss | RecordLoss = class_called(name, LOSSES | RECORD_LOSSES)(**parameters)
    return loss
