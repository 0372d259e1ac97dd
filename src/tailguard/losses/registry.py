"""The losses by name. A new loss needs one file and one line here; contract tests then run it."""

import sys
from collections.abc import Mapping
from dataclasses import fields
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
"""Losses known by the gradient of one record."""

NUMBERS = (NoneType, bool, int, float)
FUNCTION = "function"  # the field of a user's own gradient, which sees one record at a time
ALLOWED = {"public_name": (NoneType, str)}  # identifies that function in a checkpoint


def is_registered(value: object, registry: Mapping[str, str]) -> bool:
    """Whether the exact class of ``value``, not a base class, is in ``registry``."""
    kind = type(value)
    named = f"{kind.__module__}:{kind.__qualname__}" in registry.values()
    return named and getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind


def check_known(loss: object) -> None:
    """Refuse a loss that is not in the registry, or was changed: its slopes could mix records.

    A loss object receives many scores at once. Tests check that our losses treat each score
    separately. For other losses that is unknown, so users give the gradient of ONE record.
    """
    if not is_known(loss):
        raise InputError(
            f"loss must be one of tg.losses as it was made; got {shown(loss)}. A loss "
            "of your own is given by the gradient of ONE record, (weights, features, target) -> "
            "gradient."
        )


def is_known(loss: object) -> bool:
    """Whether the exact class of a loss is registered, and its attributes are only parameters."""
    if not is_registered(loss, LOSSES | RECORD_LOSSES):
        return False
    names = {field.name for field in fields(loss)}  # type: ignore[arg-type]
    held = attributes_of(loss)
    if held is None:
        return False
    for name, value in held.items():
        plain = name == FUNCTION or type(value) in ALLOWED.get(name, NUMBERS)
        if name not in names or not plain:
            return False
    return True


def attributes_of(value: object) -> dict[str, Any] | None:
    """Return the attributes of an object; None if it may show others than its methods would see.

    A dictionary of a class of somebody's own, or a name of one, could show what it likes.
    """
    held = vars(value)
    return held if type(held) is dict and all(type(name) is str for name in held) else None


def make_loss(name: str, **parameters: Any) -> Loss | RecordLoss:
    """Make the loss called ``name``.

    Examples
    --------
    >>> make_loss("huber", threshold=2.0)
    Huber(threshold=2.0)
    """
    loss: Loss | RecordLoss = class_called(name, LOSSES | RECORD_LOSSES)(**parameters)
    return loss
