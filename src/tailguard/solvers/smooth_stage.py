"""The planned cost of releases whose noise follows the records: a concentrated or approximate one.

Reference
---------
Bun and Steinke 2016, Lemma 2.3 (zCDP adds up); McSherry 2009, Theorem 4 (disjoint blocks).
"""

import math
from dataclasses import dataclass

from tailguard.checks import InputError
from tailguard.privacy.accounting.concentrated import rho_of
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.events import Approximate, Event, Parallel, Repeated, ZeroConcentrated
from tailguard.privacy.guarantees import ZCDP, ApproxDP, Guarantee, Unprotected
from tailguard.queries.base import SmoothQuery
from tailguard.solvers.base import BUDGET_MARGIN, Stage

__all__ = ["SmoothStage", "concentrated_budget"]


def concentrated_budget(guarantee: Guarantee) -> float:
    """Return the rho that zCDP releases may spend together.

    *Edge cases.* GDP and pure DP are refused: no amount of zCDP implies them.

    Examples
    --------
    >>> from tailguard.privacy.guarantees import GDP
    >>> round(concentrated_budget(ApproxDP(1.0, 1e-5)), 6)
    0.030557
    >>> concentrated_budget(GDP(1.0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tailguard.checks.InputError: guarantee must be ApproxDP or ZCDP for noise that follows ...
    """
    if isinstance(guarantee, Unprotected):
        return concentrated_budget(guarantee.asked)
    if isinstance(guarantee, ZCDP):
        return guarantee.rho * (1.0 - BUDGET_MARGIN)
    if isinstance(guarantee, ApproxDP):
        return rho_of(guarantee.epsilon, guarantee.delta) * (1.0 - BUDGET_MARGIN)
    raise InputError(
        "guarantee must be ApproxDP or ZCDP for noise that follows the records: its cost is "
        f"concentrated, neither Gaussian nor pure; got {guarantee!r}."
    )


@dataclass(frozen=True)
class SmoothStage(Stage):
    """Releases that are asked for by their cost; ``mu`` is what Gaussian ones of it would spend.

    Attributes
    ----------
    share
        What each release may cost.
    cost
        What it does cost, with the constants of its mechanism.

    Examples
    --------
    >>> from tailguard.queries.means.trimmed import TrimmedMean
    >>> from tailguard.queries.units import Units
    >>> query = TrimmedMean(None, Units.raw(1, intercept=False), low=-5.0, high=5.0)
    >>> stage = SmoothStage.of(query, ZeroConcentrated(0.5), n_rows=5000, n_features=1, times=4)
    >>> stage.releases
    '4 releases at rho = 0.5'
    """

    share: Event
    cost: Event

    @classmethod
    def of(
        cls,
        query: SmoothQuery,
        share: Event,
        *,
        n_rows: int,
        n_features: int,
        times: int = 1,
        block_map: str | None = None,
        n_blocks: int = 1,
    ) -> "SmoothStage":
        """Plan releases on ``n_rows`` records each; what calibration refuses, it refuses here."""
        public = query.calibrate_event(n_rows, n_features, share)
        return cls(
            name="descent",
            purpose=f"{query.name}, with noise that follows the records",
            mu=_mu(share),
            times=times,
            size=public.size,
            block_map=block_map,
            n_blocks=n_blocks,
            share=share,
            cost=public.event,
        )

    @property
    def asked(self) -> Event:
        """What the gate is asked to spend on a release."""
        return self.share

    @property
    def price(self) -> str:
        """Concentrated costs add up in rho; an approximate one is told as it is."""
        return "rho" if isinstance(self.share, ZeroConcentrated) else _words(self.share)

    @property
    def event(self) -> Event:
        """The stage as a privacy event."""
        event = Repeated(self.cost, self.times)
        return event if self.block_map is None else Parallel(self.block_map, 0, event)

    @property
    def releases(self) -> str:
        """How many releases there are, in words."""
        of_blocks = "" if self.n_blocks == 1 else f" of each of {self.n_blocks} blocks"
        return f"{self.times} releases{of_blocks} at {_words(self.share)}"


def _mu(share: Event) -> float:
    """Return the mu of a Gaussian release of the same cost."""
    if isinstance(share, ZeroConcentrated):
        return math.sqrt(2.0 * share.rho)
    assert isinstance(share, Approximate)  # queries on a smooth scale take no other
    return mu_of(share.epsilon, share.delta)


def _words(share: Event) -> str:
    numbers = {name: value for name, value in share.to_dict().items() if name != "kind"}
    return ", ".join(f"{name} = {value:.4g}" for name, value in numbers.items())
