"""Stages of a plan: releases of one kind and purpose, with what each spends and what it reads.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16; Bun and Steinke 2016,
Lemma 2.3 (Gaussian, pure and concentrated costs add up); McSherry 2009, Theorem 4 (blocks).
"""

import math
from dataclasses import dataclass, field

from tailguard.checks import require
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.events import (
    Approximate,
    Event,
    Gaussian,
    Laplace,
    Parallel,
    Repeated,
    Sampled,
    Shuffled,
    ZeroConcentrated,
)
from tailguard.privacy.events.calibration import (
    LARGEST_RECORDS_SHARE,
    LARGEST_SHARE,
    SMALLEST_SHARE,
)
from tailguard.privacy.events.smooth_calibration import SmoothCalibration
from tailguard.privacy.guarantees import Guarantee

SAMPLE = "sample"  # the partition whose only block, at most half of the records, is the sample


@dataclass(frozen=True)
class Stage:
    """``times`` releases of ``size`` numbers that spend ``mu`` each, and their purpose in words.

    Attributes
    ----------
    name, purpose
        What it is called, in the books too, and what it is for.
    mu
        What a release spends.
    times
        How many releases there are, one after the other.
    size
        How many numbers a release has, at most.
    block_map
        With a name, each of the releases is made of every block of a partition, one by one: of the
        partition of this name. The costliest block counts.
    n_blocks
        How many blocks there are.
    shuffled
        Whether every one of the ``times`` passes over the blocks has a secret partition of its own,
        of blocks of equal size. The shuffle makes it cheaper than ``total_mu``.
    sampled
        With a number, each release reads a secret sample of its own, of that share of the records.
        The samples make it cheaper than ``total_mu``.
    within
        Map and block of another partition that all of this happens in. Of stages in different
        blocks of a map the costliest counts.
    by_place
        Whether records are paired, grouped or sorted, so that they need places.
    takes_rest
        Whether it may spend what earlier stages leave, too.
    phase
        Of the run: which one it belongs to, counted from 0; None for no phase alone.

    Examples
    --------
    >>> Stage("descent", "gradients", mu=0.1, times=4, size=3).total_mu
    0.2
    >>> Stage("pass", "means", mu=0.1, times=1, size=3, block_map="batches", n_blocks=50).event
    Parallel(block_map='batches', block=0, event=Repeated(event=Gaussian(mu=0.1), times=1))
    """

    name: str
    purpose: str
    mu: float
    times: int
    size: int
    block_map: str | None = field(default=None, kw_only=True)
    n_blocks: int = field(default=1, kw_only=True)
    shuffled: bool = field(default=False, kw_only=True)
    sampled: float | None = field(default=None, kw_only=True)
    within: tuple[str, int] | None = field(default=None, kw_only=True)
    by_place: bool = field(default=False, kw_only=True)
    takes_rest: bool = field(default=False, kw_only=True)
    phase: int | None = field(default=None, kw_only=True)

    @property
    def needs_places(self) -> bool:
        """Whether it reads records by their places: in pairs, groups, blocks or samples."""
        return self.by_place or self.block_map is not None or self.sampled is not None

    @property
    def reads_sample(self) -> bool:
        """Whether it reads the sample, and no other records."""
        return self.block_map == SAMPLE and self.within is None

    @property
    def asked(self) -> Event:
        """What the gate is asked to spend on a release: of Gaussian noise here."""
        return Gaussian(self.mu)

    @property
    def total_mu(self) -> float:
        """What the stage spends as a whole, where no shuffle and no sample makes it less."""
        return self.mu * math.sqrt(self.times)

    @property
    def additive(self) -> float:
        """What adds up over releases and stages: here ``mu**2``."""
        return self.total_mu**2

    @property
    def cost(self) -> Event:
        """What one release costs, or one of every block of a secret partition."""
        one: Event = Shuffled(self.mu, self.n_blocks) if self.shuffled else self.asked
        return one if self.sampled is None else Sampled(self.mu, self.sampled)

    @property
    def event(self) -> Event:
        """The stage as a privacy event."""
        event: Event = Repeated(self.cost, self.times)
        if self.block_map is not None and not self.shuffled:
            event = Parallel(self.block_map, 0, event)  # of blocks that cost the same, one counts
        return event if self.within is None else Parallel(*self.within, event)

    @property
    def currency(self) -> str:
        """In what its costs add up: ``"mu"``, ``"rho"`` or ``"epsilon"``; else the cost itself."""
        return "mu"

    @property
    def coordinates(self) -> int:
        """How many numbers the stage releases."""
        return self.times * self.n_blocks * self.size

    @property
    def spends(self) -> str:
        """What a release spends, in words."""
        return f"mu = {self.mu:.4g}"

    @property
    def releases(self) -> str:
        """How many releases there are, in words."""
        read = "" if self.n_blocks == 1 else f" of each of {self.n_blocks} blocks"
        read = read if self.sampled is None else f" of fresh samples of {self.sampled:.3g} of all"
        releases = "1 release" if self.times == 1 else f"{self.times} releases"
        return f"{releases}{read} at {self.spends}"

    def check(self, n_rows: int, guarantee: Guarantee) -> None:
        """Refuse a share that no lattice carries, before any budget is reserved."""
        largest = min(LARGEST_SHARE, LARGEST_RECORDS_SHARE / n_rows)
        require(
            self.mu <= largest,
            f"epsilon must be smaller: stage {self.name!r} would release numbers at "
            f"mu = {self.mu:.3g}, and {largest:.3g} is the most for {n_rows} "
            f"records; got {guarantee.describe()}.",
        )
        smallest = SMALLEST_SHARE * math.sqrt(self.size)
        require(
            self.mu >= smallest,
            f"epsilon must be larger: stage {self.name!r} would release {self.size} numbers "
            f"at mu = {self.mu:.3g}, and {smallest:.3g} is the least; "
            f"got {guarantee.describe()}.",
        )


@dataclass(frozen=True)
class PureStage(Stage):
    """Releases with Laplace noise, which spend ``mu`` of pure epsilon each.

    Examples
    --------
    >>> stage = PureStage("mean", "the clamped mean", 0.5, times=4, size=3)
    >>> stage.event, stage.additive
    (Repeated(event=Laplace(epsilon=0.5), times=4), 2.0)
    """

    @property
    def asked(self) -> Event:
        """What the gate is asked to spend on a release: of Laplace noise."""
        return Laplace(self.mu)

    @property
    def additive(self) -> float:
        """What adds up over releases and stages: epsilon itself."""
        return self.times * self.mu

    @property
    def currency(self) -> str:
        """Pure costs add up in epsilon."""
        return "epsilon"

    @property
    def spends(self) -> str:
        """What a release spends, in words."""
        return f"epsilon = {self.mu:.4g}"

    def check(self, n_rows: int, guarantee: Guarantee) -> None:
        """Leave it to calibration, which refuses for Laplace noise what lattices do not carry."""


@dataclass(frozen=True)
class SmoothStage(Stage):
    """Releases whose noise follows the records, asked for by their cost.

    ``mu`` is what Gaussian ones of that cost would spend.

    Attributes
    ----------
    share
        What each release may cost.
    kept
        What it does cost, with the constants of its mechanism.

    Examples
    --------
    >>> from tailguard.queries.means.trimmed import TrimmedMean
    >>> from tailguard.queries.units import Units
    >>> query = TrimmedMean(None, Units.raw(1, intercept=False), low=-5.0, high=5.0)
    >>> public = query.calibrate_event(5000, 1, ZeroConcentrated(0.5))
    >>> SmoothStage.of(public, ZeroConcentrated(0.5), "mean", query.name, times=4).releases
    '4 releases at rho = 0.5'
    """

    share: Event
    kept: Event

    @classmethod
    def of(
        cls,
        public: SmoothCalibration,
        share: Event,
        name: str,
        purpose: str,
        *,
        times: int = 1,
        block_map: str | None = None,
        n_blocks: int = 1,
    ) -> "SmoothStage":
        """Plan releases of a calibrated query."""
        return cls(
            name=name,
            purpose=purpose,
            mu=_gaussian_mu(share),
            times=times,
            size=public.size,
            block_map=block_map,
            n_blocks=n_blocks,
            by_place=True,  # such queries sort records, or cut them into blocks
            share=share,
            kept=public.event,
        )

    @property
    def asked(self) -> Event:
        """What the gate is asked to spend on a release."""
        return self.share

    @property
    def cost(self) -> Event:
        """What one release costs."""
        return self.kept

    @property
    def currency(self) -> str:
        """Concentrated costs add up in rho; an approximate one is told as it is."""
        return "rho" if isinstance(self.share, ZeroConcentrated) else self.spends

    @property
    def spends(self) -> str:
        """What a release spends, in words."""
        numbers = {name: value for name, value in self.share.to_dict().items() if name != "kind"}
        return ", ".join(f"{name} = {value:.4g}" for name, value in numbers.items())

    def check(self, n_rows: int, guarantee: Guarantee) -> None:
        """Leave it to calibration, which went before."""


def _gaussian_mu(share: Event) -> float:
    """Return the mu of a Gaussian release of the same cost."""
    if isinstance(share, ZeroConcentrated):
        return math.sqrt(2.0 * share.rho)
    assert isinstance(share, Approximate)  # queries on a smooth scale take no other
    return mu_of(share.epsilon, share.delta)
