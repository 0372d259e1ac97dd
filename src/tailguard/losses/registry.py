"""The losses by name. A new loss needs one file and one line here, and has the contract tests."""

from typing import Any

from tailguard.checks import class_called

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


def make_loss(name: str, **parameters: Any) -> Loss | RecordLoss:
    """Make the loss called ``name``.

    Examples
    --------
    >>> make_loss("huber", threshold=2.0)
    Huber(threshold=2.0)
    """
    return class_called(name, LOSSES | RECORD_LOSSES)(**parameters)
