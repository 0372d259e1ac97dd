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

from tailguard.solvers.base import Problem
from tailguard.solvers.private_units import target_units
from tailguard.solvers.whitened.law import standing_out
from tailguard.solvers.whitened.stages import Shares

__all__ = ["enough", "shares_for"]

# By loss.
SQUARED = Shares(
    moments=0.06,
    slopes=0.06,
    curvature=0.08,
    leaning=0.04,
    calibration=0.12,
    look=(0, 2, 3),
    bend=(2,),
)
ROBUST = Shares(calibration=0.0)
LOGISTIC = Shares(
    constant=0.01,
    moments=0.06,
    lengths=0.04,
    slopes=0.0,
    curvature=0.09,
    calibration=0.0,
    look=(0, 2),
    bend=(2,),
)
LOG_LINK: dict[str, Any] = {"slopes": 0.04, "calibration": 0.06}  # besides those of LOGISTIC

# By budget. A histogram of one column tells nothing where its share of mu, times n, is below about
# 20: with n * mu below SOME residuals are looked at twice, at a larger share each, and the
# curvature would be mostly noise. Below FEW the variance would be, too, and likelihoods and losses
# of bounded slopes look once. Below FEWEST all do, and below FEWEST_ALONG times size, where rounds
# tell little.
SOME, FEW, FEWEST, FEWEST_ALONG = 350.0, 300.0, 140.0, 12.0
SOME_LOOKS: dict[str, Any] = {
    "norms": 0.03,
    "lengths": 0.05,
    "slopes": 0.16,
    "curvature": 0.0,
    "look": (0, 2),
    "bend": (),
}
FEWEST_LOOKS: dict[str, Any] = {"slopes": 0.1, "look": (0,)}
FEW_CURVED_LOOKS: dict[str, Any] = {
    "lengths": 0.1,
    "curvature": 0.0,
    "variance": 0.0,
    "look": (0,),
    "bend": (),
}
# With n * mu below this many times size**1.5 noise covers the second moments of all columns but in
# directions that stand out: then nothing but whitening asks for them, and nothing is calibrated. A
# likelihood's curvature is noisier, being weighted (training family: T41, T19, T23, T47).
FAINT, FAINT_CURVATURE = 4.2, 16.0
WITHOUT: dict[str, Any] = {
    "curvature": 0.0,
    "leaning": 0.0,
    "calibration": 0.0,
    "variance": 0.0,
    "bend": (),
}
# Of few columns the noise of rounds is the least of all errors where residuals are skewed: their
# correction gets this share over the number of columns, with n * mu above FEW, but leaves that much
# to the rounds.
CORRECTED, LARGEST_CALIBRATION, LEFT_BY_IT = 4.0, 0.3, 0.3
# With n * mu below this many times size**1.5 noise is far above what clipping symmetric residuals
# may take from a fit.
SPARE = 1000.0
# With n * mu above this many times size**1.5 it allows a likelihood more rounds and curvatures.
PLENTY = 60.0
PLENTY_OF_LOOKS: dict[str, Any] = {"rounds": (4, 4, 8, 16), "look": (0, 2, 3), "bend": (2, 3)}
# Many rounds of little budget come nearer to the fit than few of much, and their average is as
# little noisy, as long as noise carries no round far off: n * mu at REACH times size allows eight
# rounds, and twice that four times as many. Where noise hides most directions steps are short along
# them, and the more rounds the better; a likelihood's bend otherwise where noise carries them.
REACH, CURVED_REACH, EIGHTHS = 2.5, 7.0, (1, 1, 2, 4)
MOST_ROUNDS, MOST_CURVED_ROUNDS = 64, 24
# From so many records on what only steers reads a random tenth of them, or SMALLEST_SAMPLE, if the
# sample's n * mu is above ENOUGH times size**1.5, and large enough for histograms. Its rounds have
# to come near the fit, not to tell it: those that read all records get nearly all of the budget.
# These are four or six, and curvatures read all records: with three rounds, after curvatures of the
# sample, fits with rare indicators had not settled (simulated, 4e5 records of 20 columns).
SAMPLED_FROM, SAMPLED_SHARE, SMALLEST_SAMPLE = 200_000, 0.1, 100_000
ENOUGH, ENOUGH_TO_LOOK = 40.0, 3000.0
# Where events turn out to be rare the sample may hold this share of what is planned with.
ENOUGH_EVENTS = 0.3
WITH_SAMPLE: dict[str, Any] = {"rounds": (4, 4, 8, 6), "early": 3}
CURVED_WITH_SAMPLE: dict[str, Any] = {
    "rounds": (2, 2, 4, 4),
    "look": (0, 1, 3),
    "bend": (1, 3),
    "early": 3,
}

# With n * mu**2 below this many times size noise outweighs what even logistic slopes lose. From 40
# on that depends on the task: F15, F01 and F09 gain, T2 and T4 (another link, long tails) lose.
EVEN = 80.0

# The first constant of a likelihood should be seen so clearly, as share of mu times n.
CONSTANT_SEEN, LARGEST_CONSTANT = 20.0, 0.2
# A typical column has this share of its records in one window of octaves, which should stand out by
# this many times what is taken for records. All shares of units follow from what that asks for.
SIZE_BULK, SIZE_MARGIN = 0.4, 1.3
LARGEST_SIZE = 0.12  # of many columns not all sizes are worth being seen
TARGET_MARGIN, LARGEST_TARGET = 4.0, 0.16  # times that: without the target all is lost
# Both looks at sizes together: times that, where losses are residuals, since columns that are
# mostly zero have few records to show. The second one takes some of the rounds' budget, but only
# where some size was not seen and may be.
RARE, LEAST_AGAIN, LARGEST_AGAIN = 100.0, 0.015, 0.2
# Times that: places are sought in fewer windows. Likelihoods have the more left for them.
PLACED, PLACED_OF_LIKELIHOOD, LARGEST_PLACE = 0.6, 1.5, 0.12
# Times that, where the second look at sizes would leave it: closer looks at many columns show how
# far those that lie away from zero spread.
AMPLE = 3.0
# Times that: pairs are half as many. Where they would cost more than the largest share they are
# left to the few columns whose centres stay coarse.
PAIRED, LARGEST_PAIRS = 8.0, 0.12
LEAST_ROUNDS = 0.2  # what second looks and places must leave to the rounds


def shares_for(problem: Problem, mu: float, *, robust: bool = False) -> Shares:
    """Choose shares by what the loss does with targets and by how far the budget reaches.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Logistic(), 1000, 3)
    >>> shares_for(problem, mu=0.1).bend, shares_for(problem, mu=0.35).bend
    ((), (2, 3))
    """
    if target_units(problem) == "location-scale":
        shares, faint = _of_residuals(problem, mu, robust=robust), FAINT
    else:
        shares, faint = _of_likelihood(problem, mu), FAINT_CURVATURE
    if problem.n_rows * mu < faint * (problem.n_features + 2) ** 1.5:
        shares = replace(shares, **WITHOUT)
    shares = _with_units(shares, problem, mu)
    if shares.calibration < SQUARED.calibration or problem.n_rows * mu < FEW:
        return shares
    corrected = min(CORRECTED / problem.size, LARGEST_CALIBRATION)
    room = shares.calibration + shares.rest(problem) - LEFT_BY_IT
    return replace(shares, calibration=max(min(corrected, room), shares.calibration))


def _of_residuals(problem: Problem, mu: float, *, robust: bool) -> Shares:
    """Shares of losses that bend alike at every score."""
    bounded = problem.scored is not None and math.isfinite(problem.scored.slope_bound())
    shares = ROBUST if robust or bounded else SQUARED
    spare = problem.n_rows * mu < SPARE * (problem.n_features + 2) ** 1.5
    shares = replace(shares, rounds=_rounds(problem, mu, REACH, MOST_ROUNDS), spare=spare)
    if problem.n_rows * mu < (FEW if bounded else SOME):
        return _with_few_looks(shares, problem, mu, once=bounded)
    sample = _sample_for(problem, mu)
    return replace(shares, **WITH_SAMPLE, sample=sample) if sample else shares


def _with_few_looks(shares: Shares, problem: Problem, mu: float, *, once: bool) -> Shares:
    """Let there be fewer looks, each of which tells something."""
    shares = replace(shares, **SOME_LOOKS)
    if problem.n_rows * mu < FEW:
        shares = replace(shares, variance=0.0)
    if once or problem.n_rows * mu < max(FEWEST, FEWEST_ALONG * problem.size):
        shares = replace(shares, **FEWEST_LOOKS)
    return shares


def _of_likelihood(problem: Problem, mu: float) -> Shares:
    """Shares of losses whose curvature has to be released."""
    shares = replace(LOGISTIC, rounds=_rounds(problem, mu, CURVED_REACH, MOST_CURVED_ROUNDS))
    if problem.n_rows * mu > PLENTY * problem.size**1.5:
        shares = replace(shares, **PLENTY_OF_LOOKS)
    if problem.n_rows * mu < FEW:
        shares = replace(shares, **FEW_CURVED_LOOKS)
    if sample := _sample_for(problem, mu):
        shares = replace(shares, **CURVED_WITH_SAMPLE, sample=sample)
    if target_units(problem) == "scale":
        shares = replace(shares, **LOG_LINK)
    if target_units(problem) == "none":  # outcomes, which are yes or no
        shares = replace(shares, even=problem.n_rows * mu**2 < EVEN * problem.size)
    faint = (CONSTANT_SEEN / (problem.n_rows * mu)) ** 2
    return replace(shares, constant=min(max(faint, shares.constant), LARGEST_CONSTANT))


def _rounds(problem: Problem, mu: float, reach: float, most: int) -> tuple[int, ...]:
    """Return the rounds of each phase."""
    eights = (problem.n_rows * mu / (reach * problem.size)) ** 2
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
    needed: float = max(ENOUGH * problem.size**1.5, ENOUGH_TO_LOOK)
    return n_rows * mu > needed


def _with_units(shares: Shares, problem: Problem, mu: float) -> Shares:
    """Give the histograms of columns what they need to be seen, and leave enough to the rounds."""
    residual = target_units(problem) == "location-scale"
    alone, wanted = (_share_to_see(columns, problem, mu) for columns in (1, problem.n_features))
    most = LARGEST_TARGET if residual else shares.target
    target = min(max(TARGET_MARGIN * alone, shares.target), most)
    size = min(max(wanted, shares.size), LARGEST_SIZE)
    shares = replace(shares, size=size, target=target)
    if PAIRED * wanted < LARGEST_PAIRS:
        shares = replace(shares, pairs=max(PAIRED * wanted, shares.pairs))
    room = shares.rest(problem) - LEAST_ROUNDS
    both = (RARE if residual else 1.0) * wanted
    again = max(min(max(both - size, LEAST_AGAIN), LARGEST_AGAIN, room / 2.0), 0.0)
    placed = (PLACED if residual else PLACED_OF_LIKELIHOOD) * wanted
    place = min(max(placed, shares.place), shares.place + max(room - again, 0.0))
    place = min(place, LARGEST_PLACE)
    spare = AMPLE * wanted - place
    return replace(
        shares, again=again, place=place, spare_place=spare if 0.0 < spare <= again else 0.0
    )


def _share_to_see(columns: int, problem: Problem, mu: float) -> float:
    """Share of ``mu**2`` at which the sizes of so many typical columns stand out."""
    seen = SIZE_MARGIN * standing_out(columns) * math.sqrt(2.0 * columns)
    return (seen / (SIZE_BULK * problem.n_rows * mu)) ** 2
