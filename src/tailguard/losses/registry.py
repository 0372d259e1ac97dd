"""The losses by name. A new loss is one file and one line here, and runs in the contract tests."""

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
FUNCTION = "function"  # the field of a user's own gradient, which is called with one record
ALLOWED = {"public_name": (NoneType, str)}  # stands for that function in a checkpoint


def is_registered(value: object, registry: Mapping[str, str]) -> bool:
    """Whether ``value`` is of the very class that a line of ``registry`` names, no subclass."""
    kind = type(value)
    named = f"{kind.__module__}:{kind.__qualname__}" in registry.values()
    return named and getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind


def check_known(loss: object) -> None:
    """Refuse a loss that is not of the registry, or was changed: its slopes could mix records.

    A loss object sees many scores at once. Ours are tested to treat each score alone. Others are
    unknown, so they enter as a gradient of ONE record.
    """
    if not is_known(loss):
        raise InputError(
            f"loss must be one of tg.losses as it was made; got {shown(loss)}. A loss "
            "of your own is given by the gradient of ONE record, (weights, features, target) -> "
            "gradient."
        )


def is_known(loss: object) -> bool:
    """Whether the exact class of a loss is registered, and it holds nothing but its parameters."""
    if not is_registered(loss, LOSSES | RECORD_LOSSES):
        return False
    names = {field.name for field in fields(loss)}  # type: ignore[arg-type]
    for name, value in vars(loss).items():
        plain = name == FUNCTION or type(value) in ALLOWED.get(name, NUMBERS)
        if name not in names or not plain:
            return False
    return True


def make_loss(name: str, **parameters: Any) -> Loss | RecordLoss:
    """Make the loss called ``name``.

    Examples
    --------
    >>> make_loss("huber", threshold=2.0)
    Huber(threshold=2.0)
    """
    loss: Loss | RecordLoss = class_called(name, LOSSES | RECORD_LOSSES)(**parameters)
    return loss
