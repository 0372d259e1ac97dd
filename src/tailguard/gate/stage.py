"""A stage of a plan: releases of one kind and purpose, what each spends, and what each reads.

Also the budget that a guarantee gives a plan, in each unit in which costs add up.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3; Dwork and Roth 2014, Theorem 3.16; Bun and Steinke 2016,
Lemma 2.3 (Gaussian, pure and concentrated costs add up); McSherry 2009, Theorem 4 (blocks).
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from tailguard.checks import InputError, shown
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.accounting.total_cost import COORDINATE_DISTANCE
from tailguard.privacy.accounting.zcdp import rho_of
from tailguard.privacy.calibration import LARGEST_RECORDS_SHARE, LARGEST_SHARE, SMALLEST_SHARE
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
from tailguard.privacy.guarantees import ZCDP, ApproxDP, Guarantee

SAMPLE = "sample"  # the partition with one block, the sample: at most half of the records
WEIGHT = "total weight"  # the stage that releases the total weight of the records
WEIGHING = "the sums of the records' weights and of their squares"  # the purpose of that stage


@dataclass(frozen=True)
class Stage:
    """``times`` releases of ``size`` numbers that spend ``mu`` each, and their purpose in words.

    Attributes
    ----------
    name, purpose
        The name, which the books use too, and the purpose in words.
    mu
        What a release spends. For Gaussian noise it is the mu, and for Laplace noise the epsilon.
        For other noise, as in a peeling, it is the mu of a Gaussian release of the same cost.
    times
        The number of releases, which are made one after the other.
    size
        The largest number of coordinates of a release.
    block_map
        The name of a partition of the records, or None. With a name, each release is made on every
        block of the partition in turn, and only the costliest block counts.
    n_blocks
        The number of blocks of that partition.
    shuffled
        Whether each of the ``times`` passes over the blocks has its own secret partition, into
        blocks of equal size. The shuffle makes the stage cheaper than ``total_mu``.
    sampled
        The share of the records in a sample, or None. With a share, each release reads its own
        secret sample, which makes the stage cheaper than ``total_mu``.
    within
        Name and block of another partition: the stage reads only this block. If stages read
        different blocks of one partition, only the costliest stage counts.
    by_place
        Whether the stage pairs, groups or sorts records, which therefore need places.
    takes_rest
        Whether the stage may also spend the budget that earlier stages did not use.
    phase
        The phase of the run to which the stage belongs, counted from 0; None if it belongs to no
        single phase.
    share
        The cost of a release that the plan requests; None requests Gaussian noise of ``mu``.
    kept
        The cost of a release in the books, with the constants of its mechanism; None if the books
        state the requested cost.

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
    share: Event | None = field(default=None, kw_only=True)
    kept: Event | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls, share: Event, name: str, purpose: str, times: int, size: int, **how: Any
    ) -> "Stage":
        """Plan releases that cost ``share`` each; its type decides the kind of noise."""
        if isinstance(share, Gaussian):
            return cls(name, purpose, share.mu, times, size, **how)
        return cls(name, purpose, _mu_of_share(share), times, size, share=share, **how)

    @property
    def reads_sample(self) -> bool:
        """Whether it reads the sample, and no other records."""
        return self.block_map == SAMPLE and self.within is None

    # Derived values are cached, because plans read them repeatedly.
    @cached_property
    def asked(self) -> Event:
        """The requested cost of a release."""
        return Gaussian(self.mu) if self.share is None else self.share

    @cached_property
    def total_mu(self) -> float:
        """The mu that the whole stage spends, without amplification by a shuffle or samples."""
        return self.mu * math.sqrt(self.times)

    @cached_property
    def additive(self) -> float:
        """The cost of the stage in a unit that adds up: ``mu**2``, or epsilon for Laplace noise."""
        laplace = isinstance(self.price, Laplace)
        return self.times * self.mu if laplace else self.total_mu**2

    @cached_property
    def event(self) -> Event:
        """The stage as a privacy event."""
        cost = self.kept or self.asked  # of a release, or of a pass over a secret partition
        if self.sampled is not None:
            cost = Sampled(self.mu, self.sampled)
        elif self.shuffled:
            cost = Shuffled(self.mu, self.n_blocks)
        event: Event = Repeated(cost, self.times)
        if self.block_map is not None and not self.shuffled:
            event = Parallel(self.block_map, 0, event)  # blocks cost the same, and one counts
        return event if self.within is None else Parallel(*self.within, event)

    @cached_property
    def price(self) -> Event:
        """The cost of a release as plans add it up, without the constants of its mechanism."""
        if self.kept is None or isinstance(self.asked, Approximate):
            return self.asked
        return ZeroConcentrated(self.mu**2 / 2.0)

    @cached_property
    def currency(self) -> str:
        """The unit in which costs add up: ``"mu"``, ``"rho"`` or ``"epsilon"``; else the cost."""
        if self.price is self.asked and self.share is None:
            return "mu"
        _, name, *other_fields = self.price.to_dict()
        return self.spends if other_fields else name

    @cached_property
    def coordinates(self) -> int:
        """How many numbers the stage releases."""
        return self.times * self.n_blocks * self.size

    @cached_property
    def spends(self) -> str:
        """What a release spends, in words."""
        spent = list(self.price.to_dict().items())[1:]  # without the kind of the event
        return ", ".join(f"{name} = {value:.4g}" for name, value in spent)

    @property
    def releases(self) -> str:
        """How many releases there are, in words."""
        read = "" if self.n_blocks == 1 else f" of each of {self.n_blocks} blocks"
        read = read if self.sampled is None else f" of fresh samples of {self.sampled:.3g} of all"
        releases = "1 release" if self.times == 1 else f"{self.times} releases"
        return f"{releases}{read} at {self.spends}"

    def check(self, n_rows: int, guarantee: Guarantee) -> None:
        """Refuse a mu that is too large or too small for the lattice, before reserving budget.

        A ``share`` passed the same test when the plan was made. It is refused here if it disagrees
        with the mu, or if the stage has samples or a shuffle, for which there is no proof.
        """
        if self.share is not None:
            if self.kept is None and self.mu != _mu_of_share(self.share):
                raise InputError(f"mu must be that of {self.share}; got {shown(self.mu)}.")
            if self.shuffled or self.sampled is not None:
                raise InputError(f"share must be None in samples or a shuffle; got {self.share}.")
            return
        largest = min(LARGEST_SHARE, LARGEST_RECORDS_SHARE / n_rows)
        if not self.mu <= largest:
            raise InputError(
                f"epsilon must be smaller: stage {self.name!r} would release numbers at "
                f"mu = {self.mu:.3g}, and {largest:.3g} is the most for {n_rows} "
                f"records; got {guarantee.describe()}."
            )
        smallest = SMALLEST_SHARE * math.sqrt(self.size)
        if not self.mu >= smallest:
            raise InputError(
                f"epsilon must be larger: stage {self.name!r} would release {self.size} numbers "
                f"at mu = {self.mu:.3g}, and {smallest:.3g} is the least; "
                f"got {guarantee.describe()}."
            )


def _mu_of_share(share: Event) -> float:
    """Return the epsilon of Laplace noise, else the mu of a Gaussian release of the same cost."""
    match share:
        case Gaussian(mu=mu):
            return mu
        case Laplace(epsilon=epsilon):
            return epsilon
        case ZeroConcentrated(rho=rho):
            return math.sqrt(2.0 * rho)
        case Approximate(epsilon=epsilon, delta=delta):
            return mu_of(epsilon, delta)
    raise InputError(
        f"share must be Gaussian, Laplace, ZeroConcentrated or Approximate; got {share}."
    )


Share: TypeAlias = Gaussian | Laplace
"""The cost of a release: a mu, whose squares add up, or an epsilon, which adds up itself."""

# Leaves room for rounding errors: relatively 1e-12 in closed forms, and less in shares.
BUDGET_MARGIN = 1e-9


def usable_guarantee(guarantee: Guarantee, coordinates: int) -> Guarantee:
    """Return the guarantee without the distance between sampled and ideal noise.

    That distance, for at most ``coordinates`` numbers, is subtracted from epsilon and delta.
    """
    if not isinstance(guarantee, ApproxDP):
        return guarantee
    distance = COORDINATE_DISTANCE.times(coordinates)
    epsilon, delta = distance.accounted_cost(guarantee.epsilon, guarantee.delta)
    if epsilon >= guarantee.epsilon / 2.0 and delta >= guarantee.delta / 2.0:
        return ApproxDP(epsilon, delta)
    least = 2.0 * distance.variation * (1.0 + math.exp(min(guarantee.epsilon, 700.0)))
    requirement = f"delta must be above {least:.3g} at epsilon = {guarantee.epsilon:g}"
    if least >= 1.0:
        largest = math.log(guarantee.delta) - math.log(2.0 * distance.variation)
        requirement = f"epsilon must be below {largest:.3g} at delta = {guarantee.delta:g}"
    if epsilon < guarantee.epsilon / 2.0:
        requirement = f"epsilon must be above {4.0 * distance.log_ratio:.3g}"
    numbers = "one released number" if coordinates == 1 else f"{coordinates} released numbers"
    raise InputError(
        f"{requirement} for {numbers}, whose noise is sampled and not ideal; got "
        f"{guarantee.describe()}; guarantee=tg.GDP(mu) states a promise beyond that."
    )


def usable_mu(guarantee: Guarantee, coordinates: int) -> float:
    """Return the total mu of a plan that releases at most ``coordinates`` numbers."""
    return usable_guarantee(guarantee, coordinates).gaussian_mu() * (1.0 - BUDGET_MARGIN)


def part_of(share: Share, part: float, *, times: int = 1) -> Share:
    """Split a part of a share equally among ``times`` releases; return the share of each."""
    portion = part / times
    if isinstance(share, Laplace):
        return Laplace(share.epsilon * portion)
    return Gaussian(share.mu * math.sqrt(portion))


def concentrated_budget(guarantee: Guarantee) -> float:
    """Return the total rho that zCDP releases may spend.

    *Edge cases.* GDP and pure DP are refused, because zCDP implies neither.
    """
    if isinstance(guarantee, ZCDP):
        return guarantee.rho * (1.0 - BUDGET_MARGIN)
    if isinstance(guarantee, ApproxDP):
        return rho_of(guarantee.epsilon, guarantee.delta) * (1.0 - BUDGET_MARGIN)
    raise InputError(
        "guarantee must be ApproxDP or ZCDP for noise that follows the records: its cost is "
        f"concentrated, neither Gaussian nor pure; got {guarantee!r}."
    )
