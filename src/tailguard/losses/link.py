"""How scores tell expected targets, and what that lets a method do to targets.

Reference
---------
McCullagh and Nelder 1989, Section 2.2 (links), Section 6.2 (a log link turns a scale of the target
into a shift of the score).
"""

from enum import Enum


class Link(Enum):
    """The function of the expected target that a score is.

    A loss of the residual ``score - target`` (``IDENTITY``) keeps its form when targets are shifted
    and scaled. Where scores are logarithms (``LOG``) a scale of the targets shifts the scores.
    Where they are log-odds (``LOGIT``) targets are outcomes, and left alone.
    """

    IDENTITY = "identity"
    LOG = "log"
    LOGIT = "logit"

    @property
    def residual(self) -> bool:
        """Whether a loss is one of the residual, so that targets may be shifted and scaled."""
        return self is Link.IDENTITY

    @property
    def log(self) -> bool:
        """Whether expected targets are exponentials of scores."""
        return self is Link.LOG

    @property
    def scaled(self) -> bool:
        """Whether targets may be divided by a scale."""
        return self.residual or self.log

    @property
    def curved(self) -> bool:
        """Whether curvature varies with the score, whatever the residual."""
        return not self.residual
