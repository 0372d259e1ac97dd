"""The event of a search: the best of a random number of tries, of which nothing else is released.

Reference
---------
Liu and Talwar 2019; Papernot and Steinke 2022 (repeated selection).
"""

from dataclasses import dataclass
from typing import ClassVar

from tailguard.checks import check_between, check_choice, check_positive
from tailguard.privacy.events.events import KINDS, Event

LAWS = ("geometric", "logarithmic", "poisson")
"""How the number of tries may be drawn; each law is that of a number of at least 1."""

LARGEST_MEAN = 1e3
"""More tries than anyone runs; sums over the laws stay short up to here."""


@dataclass(frozen=True)
class Selected(Event):
    """The best of a secret, random number of independent tries, all else of which stays secret.

    A try is ``mu``-GDP as a whole: what it finds together with the score by which it is chosen.
    ``mean_tries`` are expected; their number follows a ``law``: ``"geometric"``, ``"logarithmic"``
    or ``"poisson"``, the last given that it is at least 1.

    Examples
    --------
    >>> Selected(mu=0.1, mean_tries=10.0)
    Selected(mu=0.1, mean_tries=10.0, law='geometric')
    """

    mu: float
    mean_tries: float
    law: str = "geometric"
    kind: ClassVar[str] = "selected"

    def __post_init__(self) -> None:
        check_positive("mu", self.mu)
        check_between("mean_tries", self.mean_tries, 1.0, LARGEST_MEAN)
        check_choice("law", self.law, LAWS)


KINDS[Selected.kind] = Selected
