"""Noise for the means of secret random groups: the better of two proved bounds.

A uniformly random, secret partition divides the records into labelled groups of equal size, and one
Gaussian mean is released per group; a mean may depend on earlier means. Two bounds hold:

* parallel: a record is in one group, so all means together cost as much as one mean (secrecy is not
  needed);
* groups: given the other records, the group of the record that differs is decided by a shuffle of
  ``n_groups`` units, each as private as one mean.

*Proof of the second bound.* Choose n_groups - 1 rivals of the record, then divide all other records
into groups, then send rivals and record to the groups by a uniform bijection. Each partition arises
equally often, so the draw is uniform; given the first two choices it is a shuffle. If the partition
is fixed, published or ordered by the data, or if groups differ in size, only the first bound holds.
Records in no group are not used.

Reference
---------
Feldman, McMillan and Talwar 2021, Theorem 3.8 (shuffles of adaptive randomisers); McSherry 2009,
Theorem 4 (disjoint blocks).
"""

from tailguard.checks import check_integer
from tailguard.privacy.accounting.total_cost import calibrate, satisfies
from tailguard.privacy.amplification.shuffling import shuffled_mu
from tailguard.privacy.events import Event, Gaussian, Repeated, Shuffled
from tailguard.privacy.guarantees import ApproxDP
from tailguard.privacy.roots import step_until

# Relative accuracy of a mu that an accountant computes, which takes a second.
ACCURACY = 1e-4


def grouped_shuffle(guarantee: ApproxDP, *, n_groups: int, times: int = 1) -> tuple[float, bool]:
    """Return the largest mu of each group's mean, and whether it relies on the shuffle.

    *Guarantee.* All groups' means together keep the guarantee, over ``times`` repetitions that each
    draw a new partition; replace-one neighbours.

    *Edge cases.* The shuffle has no benefit for one group, a large epsilon, or a delta below
    1e-10.

    *Reference.* Feldman, McMillan and Talwar 2021, Theorem 3.8.

    Examples
    --------
    >>> mu, shuffled = grouped_shuffle(ApproxDP(0.5, 1e-6), n_groups=1000)
    >>> round(mu, 3), shuffled
    (0.31, True)
    """
    check_integer("n_groups", n_groups, minimum=1)

    def keeps_guarantee(mu: float) -> bool:
        """Whether shuffled means keep the guarantee."""
        return satisfies(_repeated(Shuffled(mu, n_groups), times), guarantee)

    unshuffled = calibrate(lambda mu: _repeated(Gaussian(mu), times), guarantee)
    # If the shuffle does not allow a slightly larger mu, the equation need not be solved.
    if not keeps_guarantee(unshuffled * (1.0 + ACCURACY)):
        return unshuffled, False
    if times == 1:
        # The accountant rounds up: step down from the closed form until the accountant agrees.
        guess = shuffled_mu(guarantee.epsilon, n_units=n_groups, delta=guarantee.delta)
        shuffled = step_until(keeps_guarantee, guess, 1.0 - ACCURACY / 10.0)
    else:
        shuffled = calibrate(
            lambda mu: Repeated(Shuffled(mu, n_groups), times),
            guarantee,
            guess=unshuffled,
            accuracy=ACCURACY,
        )
    return (shuffled, True) if shuffled > unshuffled else (unshuffled, False)


def _repeated(event: Event, times: int) -> Event:
    return event if times == 1 else Repeated(event, times)
