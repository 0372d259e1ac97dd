"""How the budget is shared out, from public numbers alone.

Shares were chosen by trial on the training family and former evaluation families of
``benchmarks/accuracy``, with its laboratory tasks in view; they are not optimal in any proved
sense. What they reach on tasks that nobody chose them on is in ``docs/accuracy.md``.

Reference
---------
Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023: any shares keep the guarantee.
"""

import math
from dataclasses import replace
from typing import Any

from tailguard.plans.problem import Problem
from tailguard.queries.view import LARGEST_FEATURE
from tailguard.scaling.noisy_distribution import detection_threshold
from tailguard.scaling.sizes import SIZE_WINDOW
from tailguard.solvers.whitened.bounds import feature_bound
from tailguard.solvers.whitened.schedule import Shares

__all__ = ["enough", "shares_for"]

# By loss.
SQUARED = Shares(
    second_moments=0.06,
    slopes=0.06,
    debiasing=0.12,
    diagnostic_phases=(0, 2, 3),
)
ROBUST = Shares(debiasing=0.0)
LOGISTIC = Shares(
    constant=0.01,
    second_moments=0.06,
    whitened_row_norms=0.04,
    slopes=0.0,
    curvature=0.09,
    debiasing=0.0,
    diagnostic_phases=(0, 2),
    curvature_phases=(2,),
)
LOG_LINK: dict[str, Any] = {"slopes": 0.04, "debiasing": 0.06}  # besides those of LOGISTIC

# By budget. A histogram of one column tells nothing where its share of mu, times n, is below about
# 20: with n * mu below FEWER_HISTOGRAMS_BELOW residuals have two histograms, at a larger share
# each, likelihoods and losses of bounded slopes one. Below ONE_HISTOGRAM_BELOW all have one, and
# below ONE_HISTOGRAM_BELOW_PER_WEIGHT times size, where rounds tell little.
FEWER_HISTOGRAMS_BELOW, ONE_HISTOGRAM_BELOW, ONE_HISTOGRAM_BELOW_PER_WEIGHT = 350.0, 140.0, 12.0
FEWER_HISTOGRAMS: dict[str, Any] = {
    "row_norms": 0.03,
    "whitened_row_norms": 0.05,
    "slopes": 0.16,
    "diagnostic_phases": (0, 2),
}
ONE_HISTOGRAM: dict[str, Any] = {"slopes": 0.1, "diagnostic_phases": (0,)}
ONE_HISTOGRAM_OF_LIKELIHOOD: dict[str, Any] = {
    "whitened_row_norms": 0.1,
    "curvature": 0.0,
    "diagnostic_phases": (0,),
    "curvature_phases": (),
}
# With n * mu below this many times size**1.5 noise covers the second moments of all columns but in
# directions that stand out: then nothing but whitening asks for them, and nothing is debiased. A
# likelihood's curvature is noisier, being weighted (training family: T41, T19, T23, T47).
WHITENING_ONLY_BELOW, WHITENING_ONLY_BELOW_OF_LIKELIHOOD = 4.2, 16.0
WHITENING_ONLY: dict[str, Any] = {
    "curvature": 0.0,
    "debiasing": 0.0,
    "variance": 0.0,
    "curvature_phases": (),
}
# Of few columns the noise of rounds is the least of all errors where residuals are skewed: their
# correction gets this share over the number of columns, with n * mu above FEWER_HISTOGRAMS_BELOW,
# but leaves that much to the rounds.
DEBIASING_FACTOR, LARGEST_DEBIASING, LEFT_BY_DEBIASING = 4.0, 0.3, 0.3
# With n * mu above this many times size**1.5 it allows a likelihood more rounds and curvatures.
MORE_ROUNDS_ABOVE = 60.0
MORE_ROUNDS: dict[str, Any] = {
    "rounds": (4, 4, 8, 16),
    "diagnostic_phases": (0, 2, 3),
    "curvature_phases": (2, 3),
}
# Many rounds of little budget come nearer to the fit than few of much, and their average is as
# little noisy, as long as noise carries no round far off: n * mu at ROUNDS_UNIT times size allows
# eight rounds, and twice that four times as many. Where noise hides most directions steps are short
# along them, and the more rounds the better; those of a likelihood where noise carries them.
ROUNDS_UNIT, ROUNDS_UNIT_OF_LIKELIHOOD, EIGHTHS = 2.5, 7.0, (1, 1, 2, 4)
MOST_ROUNDS, MOST_CURVED_ROUNDS = 64, 24
# From so many records on what only steers reads a random tenth of them, or SMALLEST_SAMPLE, if the
# sample's n * mu is above SAMPLE_ABOVE times size**1.5, and large enough for histograms. Its rounds
# have to come near the fit, not to tell it: those that read all records get nearly all of the
# budget. These are four or six, and curvatures read all records: with three rounds, after
# curvatures of the sample, fits with rare indicators had not settled (simulated, 4e5 records of 20
# columns).
SAMPLED_FROM, SAMPLED_SHARE, SMALLEST_SAMPLE = 200_000, 0.1, 100_000
SAMPLE_ABOVE, SAMPLE_ABOVE_ALWAYS = 40.0, 3000.0
# Where events turn out to be rare the sample may hold this share of what is planned with.
SAMPLE_FOR_EVENTS = 0.3
WITH_SAMPLE: dict[str, Any] = {"rounds": (4, 4, 8, 6), "early": 3}
CURVED_WITH_SAMPLE: dict[str, Any] = {
    "rounds": (2, 2, 4, 4),
    "diagnostic_phases": (0, 1, 3),
    "curvature_phases": (1, 3),
    "early": 3,
}

# With n * mu**2 below this many times size noise outweighs what even logistic slopes lose. From 40
# on that depends on the task: F15, F01 and F09 gain, T2 and T4 (another link, long tails) lose.
BALANCED_BELOW = 80.0

# With n * mu below this a fit may be mostly noise: it is compared with its constant, and no
# intervals are given. Above, bounds of features are chosen anew: below, noise hides what they do.
FEW_BELOW, FIT_CHOICE_SHARE, BOUND_CHOICE_SHARE = 500.0, 0.05, 0.03

# The first constant of a likelihood should be seen so clearly, as share of mu times n.
CONSTANT_SIGNIFICANCE, LARGEST_CONSTANT = 20.0, 0.2
# A typical column should stand out by this many times what is taken for records. All shares of
# units follow from what that asks for.
SIZE_MARGIN = 1.3
LARGEST_SIZE = 0.12  # of many columns not all sizes are worth being seen
TARGET_MARGIN, LARGEST_TARGET = 4.0, 0.16  # times that: without the target all is lost
LARGEST_SHARED_SIZE = 0.05
LEAST_RETRY, LARGEST_RETRY = 0.015, 0.2
# Times that: places are sought in fewer windows. Likelihoods have the more left for them.
LOCATION_FACTOR, LOCATION_FACTOR_OF_LIKELIHOOD, LARGEST_LOCATION = 0.6, 1.5, 0.12
# Times that: pairs are half as many. Where they would cost more than the largest share they are
# left to the few columns whose centres stay coarse.
PAIR_FACTOR, LARGEST_PAIR_DIFFERENCES = 8.0, 0.12
LEAST_ROUNDS = 0.2  # what second releases and locations must leave to the rounds


def shares_for(problem: Problem, mu: float, *, robust: bool = False) -> Shares:
    """Choose shares by what the loss does with targets and by how far the budget reaches.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Logistic(), 1000, 3)
    >>> shares_for(problem, mu=0.1).curvature_phases, shares_for(problem, mu=0.35).curvature_phases
    ((), (2, 3))
    """
    if problem.link.residual:
        shares, below = _of_residuals(problem, mu, robust=robust), WHITENING_ONLY_BELOW
    else:
        shares, below = _of_likelihood(problem, mu), WHITENING_ONLY_BELOW_OF_LIKELIHOOD
    if problem.n_rows * mu < below * (problem.n_features + 2) ** 1.5:
        shares = replace(shares, **WHITENING_ONLY)
    few = problem.n_rows * mu < FEW_BELOW
    shares = replace(shares, bound=feature_bound(problem, few=few))
    if few:
        shares = replace(shares, fit_choice=FIT_CHOICE_SHARE, variance=0.0)
    elif shares.bound < LARGEST_FEATURE:
        shares = replace(shares, bound_choice=BOUND_CHOICE_SHARE)
    shares = _with_units(shares, problem, mu)
    if shares.debiasing < SQUARED.debiasing or problem.n_rows * mu < FEWER_HISTOGRAMS_BELOW:
        return shares
    corrected = min(DEBIASING_FACTOR / problem.size, LARGEST_DEBIASING)
    room = shares.debiasing + shares.rest(problem) - LEFT_BY_DEBIASING
    return replace(shares, debiasing=max(min(corrected, room), shares.debiasing))


def _of_residuals(problem: Problem, mu: float, *, robust: bool) -> Shares:
    """Shares of losses whose curvature does not depend on the score."""
    bounded = problem.scored is not None and math.isfinite(problem.scored.slope_bound())
    shares = ROBUST if robust or bounded else SQUARED
    shares = replace(
        shares,
        rounds=_rounds_of_phases(problem, mu, ROUNDS_UNIT, MOST_ROUNDS),
    )
    if problem.n_rows * mu < FEWER_HISTOGRAMS_BELOW:
        return _with_fewer_histograms(shares, problem, mu, once=bounded)
    sample = _sample_for(problem, mu)
    return replace(shares, **WITH_SAMPLE, sample=sample) if sample else shares


def _with_fewer_histograms(shares: Shares, problem: Problem, mu: float, *, once: bool) -> Shares:
    """Plan fewer histograms, each of which tells something."""
    shares = replace(shares, **FEWER_HISTOGRAMS)
    if once or problem.n_rows * mu < max(
        ONE_HISTOGRAM_BELOW, ONE_HISTOGRAM_BELOW_PER_WEIGHT * problem.size
    ):
        shares = replace(shares, **ONE_HISTOGRAM)
    return shares


def _of_likelihood(problem: Problem, mu: float) -> Shares:
    """Shares of losses whose curvature has to be released."""
    shares = replace(
        LOGISTIC,
        rounds=_rounds_of_phases(problem, mu, ROUNDS_UNIT_OF_LIKELIHOOD, MOST_CURVED_ROUNDS),
    )
    if problem.n_rows * mu > MORE_ROUNDS_ABOVE * problem.size**1.5:
        shares = replace(shares, **MORE_ROUNDS)
    if problem.n_rows * mu < FEWER_HISTOGRAMS_BELOW:
        shares = replace(shares, **ONE_HISTOGRAM_OF_LIKELIHOOD)
    if sample := _sample_for(problem, mu):
        shares = replace(shares, **CURVED_WITH_SAMPLE, sample=sample)
    if problem.link.log:
        shares = replace(shares, **LOG_LINK)
    if not problem.link.scaled:  # outcomes, which are yes or no
        shares = replace(shares, balanced=problem.n_rows * mu**2 < BALANCED_BELOW * problem.size)
    below = (CONSTANT_SIGNIFICANCE / (problem.n_rows * mu)) ** 2
    return replace(shares, constant=min(max(below, shares.constant), LARGEST_CONSTANT))


def _rounds_of_phases(problem: Problem, mu: float, unit: float, most: int) -> tuple[int, ...]:
    """Return the rounds of each phase."""
    eights = (problem.n_rows * mu / (unit * problem.size)) ** 2
    return tuple(int(min(max(eights, 1.0), most / 8)) * eighth for eighth in EIGHTHS)


def _sample_for(problem: Problem, mu: float) -> int:
    """Return how many records the sample has, or 0 where all records are read throughout."""
    sample = max(int(SAMPLED_SHARE * problem.n_rows), SMALLEST_SAMPLE)
    return sample if problem.n_rows >= SAMPLED_FROM and enough(problem, sample, mu) else 0


def enough(problem: Problem, n_rows: float, mu: float) -> bool:
    """Whether so many records, with that budget for them alone, would do for whatever steers.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Logistic(), 1_000_000, 50)
    >>> enough(problem, 100_000, mu=0.2), enough(problem, 100_000, mu=0.02)
    (True, False)
    """
    needed: float = max(SAMPLE_ABOVE * problem.size**1.5, SAMPLE_ABOVE_ALWAYS)
    return n_rows * mu > needed


def _with_units(shares: Shares, problem: Problem, mu: float) -> Shares:
    """Give the histograms of columns what they need to be seen, and leave enough to the rounds."""
    residual = problem.link.residual
    alone, wanted = (_share_to_detect(columns, problem, mu) for columns in (1, problem.n_features))
    most = LARGEST_TARGET if residual else shares.target
    target = min(max(TARGET_MARGIN * alone, shares.target), most)
    size = min(max(wanted, shares.size), LARGEST_SIZE)
    shares = replace(shares, size=size, target=target)
    if PAIR_FACTOR * wanted < LARGEST_PAIR_DIFFERENCES:
        shares = replace(
            shares, pair_differences=max(PAIR_FACTOR * wanted, shares.pair_differences)
        )
    shares = replace(shares, shared_size=min(max(alone, shares.shared_size), LARGEST_SHARED_SIZE))
    room = shares.rest(problem) - LEAST_ROUNDS
    wanted_location = (LOCATION_FACTOR if residual else LOCATION_FACTOR_OF_LIKELIHOOD) * wanted
    size_retry = max(min(max(wanted, LEAST_RETRY), LARGEST_RETRY, room / 2.0), 0.0)
    location = min(
        max(wanted_location, shares.location), shares.location + max(room - size_retry, 0.0)
    )
    return replace(shares, size_retry=size_retry, location=min(location, LARGEST_LOCATION))


def _share_to_detect(columns: int, problem: Problem, mu: float) -> float:
    """Share of ``mu**2`` at which the sizes of so many typical columns stand out."""
    seen = SIZE_MARGIN * detection_threshold(columns) * math.sqrt(2.0 * columns)
    return (seen / (SIZE_WINDOW * problem.n_rows * mu)) ** 2
