"""Noise for the means of secret random groups: the best of three proofs.

The records are cut by a uniformly random, secret partition into labelled groups of equal size, and
one Gaussian mean is released per group, each in the light of the earlier ones. Three bounds hold:

* parallel: a record is in one group, so all means together cost one (secrecy is not needed);
* groups: given the other records, the differing record's place among the groups is a shuffle of
  ``n_groups`` units, each as private as one mean;
* records: a mean with noise is the mean of records with noise of their own, so all records are
  shuffled, each with sqrt(group_size) times the mean's mu.

The second one: choose the record's n_groups - 1 rivals, then groups of the rest, then send rivals
and record to the groups by a uniform bijection. Each partition arises equally often, so the draw is
uniform, and given the first two choices it is a shuffle. A fixed, published or data-ordered
partition, or groups of different sizes, leave only the first bound. Records that the partition
leaves over are not used.

The third one needs a mean that is exactly one of noised records. What a gate releases is rounded
chunk by chunk, so its books count on the first two only; the third was never the best on any grid.

Reference
---------
Feldman, McMillan and Talwar 2021, Theorem 3.8 (shuffles of adaptive randomisers); McSherry 2009,
Theorem 4 (disjoint blocks).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from tailguard.checks import check_integer
from tailguard.privacy.accounting.solve import calibrate, satisfies
from tailguard.privacy.amplification.shuffled import shuffled_mu
from tailguard.privacy.events import Event, Gaussian, Repeated, Shuffled
from tailguard.privacy.guarantees import ApproxDP
from tailguard.privacy.roots import step_until

# Relative accuracy of mu where it is found with an accountant, which takes a second.
ACCURACY = 1e-4


@dataclass(frozen=True)
class GroupedShuffle:
    """How private each group's mean must be, and why.

    Attributes
    ----------
    proof
        ``"parallel"``, ``"groups"`` or ``"records"``.
    mu
        Sensitivity of one group's mean over the standard deviation of its noise.
    event
        What all groups' means cost together, over all repetitions.

    Examples
    --------
    >>> GroupedShuffle("parallel", mu=0.5, event=Gaussian(mu=0.5)).proof
    'parallel'
    """

    proof: str
    mu: float
    event: Event


def grouped_shuffle(
    guarantee: ApproxDP, *, n_groups: int, group_size: int, times: int = 1
) -> GroupedShuffle:
    """Return the least noise for the means of secret random groups, of the three proofs.

    *Guarantee.* ``satisfies(event, guarantee)`` holds; replace-one neighbours. Each of the
    ``times`` repetitions draws its partition anew.

    *Edge cases.* ``parallel`` where the shuffle is worth nothing: one group, a large epsilon, or a
    delta below 1e-10.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.

    Examples
    --------
    >>> best = grouped_shuffle(ApproxDP(0.5, 1e-6), n_groups=1000, group_size=10)
    >>> best.proof, round(best.mu, 3)
    ('groups', 0.31)
    """
    check_integer("group_size", group_size, minimum=1)
    check_integer("n_groups", n_groups, minimum=1)
    spread = math.sqrt(group_size)
    events: dict[str, Callable[[float], Event]] = {
        "parallel": lambda mu: _repeated_event(Gaussian(mu), times),
        "groups": lambda mu: _repeated_event(Shuffled(mu, n_groups), times),
        "records": lambda mu: _repeated_event(Shuffled(mu * spread, n_groups * group_size), times),
    }
    proof, mu = "parallel", calibrate(events["parallel"], guarantee)
    units = {"groups": (n_groups, 1.0), "records": (n_groups * group_size, spread)}
    for name, (n_units, factor) in units.items():
        # A proof that does not allow a little more than the best so far need not be solved.
        if not satisfies(events[name](mu * (1.0 + ACCURACY)), guarantee):
            continue
        if times == 1:
            guess = shuffled_mu(guarantee.epsilon, n_units=n_units, delta=guarantee.delta) / factor
            found = _stepped(events[name], guarantee, guess)
        else:
            found = calibrate(events[name], guarantee, guess=mu, accuracy=ACCURACY)
        proof, mu = (name, found) if found > mu else (proof, mu)
    return GroupedShuffle(proof, mu, events[proof](mu))


def _stepped(event_of: Callable[[float], Event], guarantee: ApproxDP, guess: float) -> float:
    """Step down from a closed form until the accountant, whose cells round up, agrees."""
    return step_until(lambda mu: satisfies(event_of(mu), guarantee), guess, 1.0 - ACCURACY / 10.0)


def _repeated_event(event: Event, times: int) -> Event:
    """Return the event so many times, and itself for one."""
    return event if times == 1 else Repeated(event, times)
