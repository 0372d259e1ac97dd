"""Convex losses of a score, with the constants that privacy and step sizes need; one per file.

Private methods only need ``slope``: the gradient of a record is its slope times its features.
``registry`` lists the losses by name; ``base`` defines their interface.
"""

from tailguard.checks import with_named_arguments

from .balanced_logistic import BalancedLogistic
from .base import Loss, RecordLoss
from .gamma import Gamma
from .huber import Huber
from .logistic import Logistic
from .lp_loss import LpLoss
from .multinomial import Multinomial
from .poisson import Poisson
from .pseudo_huber import PseudoHuber
from .quantile import Quantile
from .record_gradient import RecordGradient
from .registry import make_loss
from .squared import Squared
from .tweedie import Tweedie

__all__ = [
    "BalancedLogistic",
    "Gamma",
    "Huber",
    "Logistic",
    "Loss",
    "LpLoss",
    "Multinomial",
    "Poisson",
    "PseudoHuber",
    "Quantile",
    "RecordGradient",
    "RecordLoss",
    "Squared",
    "Tweedie",
    "make_loss",
]
__calls__ = [with_named_arguments(globals()[name], methods=False) for name in __all__]
