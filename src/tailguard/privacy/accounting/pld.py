"""Privacy loss distributions through ``dp_accounting``: the sharpest bound for mixtures.

Every leaf becomes a discrete loss distribution that dominates it; composition is convolution. We
use the package only in ways that comparisons with closed forms support:

* its neighbour relations are not used at all (``REPLACE_ONE`` doubles the sensitivity again);
* Gaussian leaves are merged before they are discretised; leaves with only a rho are merged too;
* composed deltas below 1e-10 are not trusted. Every delta is raised by 1e-15, plus 1e-16 for each
  step, which is more than the rounding error of the convolutions.

Reference
---------
Zhu, Dong and Wang 2022, Theorem 10 (adaptive composition of dominating pairs); Doroshenko, Ghazi,
Kamath, Kumar and Manurangsi 2022 (discretisation); McSherry 2009, Theorem 4 (disjoint blocks).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import check_cost, check_failure
from tailguard.privacy import events
from tailguard.privacy.accounting import profiles
from tailguard.privacy.accounting.accountant import Accountant
from tailguard.privacy.accounting.profiles import Profile
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.amplification.sampling import fixed_size_profile, poisson_profile
from tailguard.privacy.amplification.shuffling import shuffled_profile, shuffled_pure_profile
from tailguard.privacy.events import Event
from tailguard.privacy.flat_events import FlatEvents
from tailguard.privacy.roots import up
from tailguard.privacy.selection import selected_profile

if TYPE_CHECKING:  # it takes a while to load
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# The effect of rounding on a composed delta: see the head of this file.
SMALLEST_DELTA = 1e-10
SLACK, SLACK_PER_STEP = 1e-15, 1e-16

# Beyond these limits a bound would be useless or slow; closed forms are used instead.
LARGEST_LOSS, MOST_STEPS, MOST_CELLS = 500.0, 10**6, 400_000

# Limits of the width of a cell of losses, which is a thousandth of the total mu. It is also at most
# a hundredth of the largest loss of every leaf that is not merged (a twentieth would cost 1e-4 of
# epsilon at 1000 steps).
FINEST, COARSEST = 1e-5, 1e-3

SCHEMES = {"fixed-size": fixed_size_profile, "poisson": poisson_profile}
PROFILES: Mapping[type[Event], Callable[[Any], Profile]] = {
    events.Gaussian: lambda event: profiles.gaussian_profile(event.mu),
    events.Laplace: lambda event: profiles.laplace_profile(event.epsilon),
    events.Pure: lambda event: profiles.pure_profile(event.epsilon),
    events.Approximate: lambda event: profiles.pure_profile(event.epsilon, event.delta),
    events.BoundedRange: lambda event: profiles.bounded_range_profile(event.eta),
    events.ZeroConcentrated: lambda event: profiles.zcdp_profile(event.rho),
    events.Sampled: lambda event: SCHEMES[event.scheme](event.mu, event.rate),
    events.Shuffled: lambda event: shuffled_profile(event.mu, event.n_units),
    events.ShuffledPure: lambda event: shuffled_pure_profile(event.epsilon, event.n_units),
    events.Selected: selected_profile,
}
"""The privacy profiles, by the type of the leaf."""
KNOWN_BY_PROFILE = (events.Sampled, events.Selected, events.Shuffled, events.ShuffledPure)
"""Leaves without a rho."""

# Leaves of one of these types are merged before they are discretised.
MERGED = (events.Gaussian, events.ZeroConcentrated)


@dataclass(frozen=True)
class PldAccountant(Accountant):
    """Convolves loss distributions; accepts every leaf that has a privacy profile.

    *Guarantee.* Replace-one neighbours, adaptive composition.

    *Edge cases.* No bound (infinity) below delta = 1e-10, beyond a million steps, or where losses
    of several hundred are likely.

    *Reference.* Zhu, Dong and Wang 2022, Theorem 10.

    Examples
    --------
    >>> from tailguard.privacy.events import Gaussian, Laplace
    >>> mixture = PldAccountant().compose(Gaussian(mu=1.0)).compose(Laplace(epsilon=0.1), times=10)
    >>> round(mixture.epsilon(delta=1e-6), 4)
    5.1423
    """

    known: ClassVar[frozenset[type[Event]]] = frozenset(PROFILES)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at ``delta``; infinity below 1e-10."""
        remaining_delta = check_failure("delta", delta) - self._slack
        if not self.flat_events.kinds:
            return 0.0
        if delta < SMALLEST_DELTA or remaining_delta <= 0.0 or not self._feasible:
            return math.inf
        return up(float(self._losses.get_epsilon_for_delta(remaining_delta)))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta at ``epsilon``, which is never below 1e-10."""
        epsilon = check_cost("epsilon", epsilon)
        if not self.flat_events.kinds:
            return 0.0
        if not self._feasible:
            return 1.0
        bound = float(self._losses.get_delta_for_epsilon(epsilon)) + self._slack
        return min(1.0, max(bound, SMALLEST_DELTA))

    @cached_property
    def _rho(self) -> float:
        try:
            return float(self.flat_events.add_up(_rho_of))
        except OverflowError:
            return math.inf

    @cached_property
    def _end(self) -> float:
        """A loss that is almost never exceeded, from the simple zCDP bound and from profiles."""
        leaves = self.flat_events.every_leaf()
        ends = [profile_of(leaf).end for leaf in leaves if type(leaf) in KNOWN_BY_PROFILE]
        return max([self._rho + 2.0 * math.sqrt(46.0 * self._rho), *ends])

    @cached_property
    def _n_steps(self) -> int:
        """The largest number of convolutions of one record's losses."""
        repeated = self.flat_events.add_up(lambda leaf: Fraction(not isinstance(leaf, MERGED)))
        return int(repeated) + 2 * (1 + len(self.flat_events.blocks))

    @property
    def _feasible(self) -> bool:
        return self._end <= LARGEST_LOSS and self._n_steps <= MOST_STEPS

    @property
    def _slack(self) -> float:
        return SLACK + min(self._n_steps, 1.0 / SLACK_PER_STEP) * SLACK_PER_STEP

    @cached_property
    def _losses(self) -> "PrivacyLossDistribution":
        unmerged = [leaf for leaf in self.flat_events.every_leaf() if not isinstance(leaf, MERGED)]
        step = min(max(math.sqrt(2.0 * self._rho) / 1000.0, FINEST), COARSEST)
        step = min([step, *(_largest_loss(leaf) / 100.0 for leaf in unmerged)])
        return _composed(self.flat_events, max(step, 2.0 * self._end / MOST_CELLS))


def profile_of(leaf: Event) -> Profile:
    """Return the privacy profile of a leaf."""
    return PROFILES[type(leaf)](leaf)


@lru_cache(maxsize=256)
def _rho_of(leaf: Event) -> Fraction:
    """Return a leaf's rho; if only its profile is known, half its Renyi divergence of order two.

    The result sets the width of cells and the range of the convolution; no bound depends on it. The
    chi-square divergence is twice the integral of delta(e) (exp(e) + exp(-2 e)).
    """
    if type(leaf) not in KNOWN_BY_PROFILE:
        return ZcdpAccountant.prices[type(leaf)](leaf)
    profile = profile_of(leaf)
    if profile.end > LARGEST_LOSS:
        return Fraction(LARGEST_LOSS)
    e = np.linspace(0.0, profile.end, 4000)
    excess = np.trapezoid(profile.delta(e) * (np.exp(e) + np.exp(-2.0 * e)), e)
    return Fraction(math.log1p(2.0 * float(excess)) / 2.0)


def _largest_loss(leaf: Event) -> float:
    """Return the largest loss of a leaf; without a rho, at most five standard deviations."""
    end = profile_of(leaf).end
    return min(end, 5.0 * math.sqrt(2.0 * _rho_of(leaf))) if type(leaf) in KNOWN_BY_PROFILE else end


def _composed(flat_events: FlatEvents, step: float) -> "PrivacyLossDistribution":
    """Convolve all leaves and, for each block map, the worst case over its blocks."""
    maximal = [_maximal(parts.values()) for parts in flat_events.blocks.values()]
    single = [parts[0] for parts in maximal if len(parts) == 1 and not parts[0].blocks]
    leaves = _merged(FlatEvents.total((FlatEvents(flat_events.leaves), *single)).leaves)
    losses = [_convolved(leaf, times, step) for leaf, times in leaves.items()]
    losses += [_envelope(parts, step) for parts in maximal if len(parts) > 1 or parts[0].blocks]
    return reduce(lambda one, other: one.compose(other), losses)


def _merged(leaves: Mapping[Event, int]) -> dict[Event, int]:
    """Merge Gaussian leaves into one leaf, and leaves with only a rho into another leaf."""
    mu = math.sqrt(
        sum(n * leaf.mu**2 for leaf, n in leaves.items() if isinstance(leaf, events.Gaussian))
    )
    rho = sum(
        n * leaf.rho for leaf, n in leaves.items() if isinstance(leaf, events.ZeroConcentrated)
    )
    merged = {leaf: times for leaf, times in leaves.items() if not isinstance(leaf, MERGED)}
    return (
        merged
        | ({events.Gaussian(mu): 1} if mu else {})
        | ({events.ZeroConcentrated(rho): 1} if rho else {})
    )


def _convolved(leaf: Event, times: int, step: float) -> "PrivacyLossDistribution":
    """Discretise a leaf and convolve it with itself."""
    once = profiles.loss_distribution(profile_of(leaf), step)
    return once if times == 1 else once.self_compose(times)


def _maximal(parts: Iterable[FlatEvents]) -> list[FlatEvents]:
    """Keep the blocks that no other block covers."""
    kept: list[FlatEvents] = []
    for part in parts:
        if not any(other.covers(part) for other in kept):
            kept = [other for other in kept if not part.covers(other)] + [part]
    return kept


def _envelope(parts: list[FlatEvents], step: float) -> "PrivacyLossDistribution":
    """Return a distribution whose profile is the maximum of the blocks' profiles."""
    losses = [_composed(part, step) for part in parts]
    if len(losses) == 1:
        return losses[0]

    def delta(epsilons: FloatArray) -> FloatArray:
        """Evaluate all profiles and return the largest values."""
        values = [each.get_delta_for_epsilon(epsilons) for each in losses]
        return np.asarray(np.max(values, axis=0), dtype=np.float64)

    return profiles.loss_distribution(Profile(delta, max(map(_end_of, losses))), step)


def _end_of(losses: "PrivacyLossDistribution") -> float:
    """Return the epsilon at which a profile has fallen to its truncated tail."""
    ends = (losses.get_epsilon_for_delta(10.0**power) for power in range(-16, 0))
    return next(float(end) for end in ends if end < math.inf)
