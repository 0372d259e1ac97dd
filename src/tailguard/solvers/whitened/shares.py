"""How the budget is shared out, from public numbers alone.

Shares were chosen by trial on the training family of ``benchmarks/accuracy``, with its laboratory
tasks in view; they are not optimal in any proved sense. On 24 training tasks, 6 seeds each, the
excess over that of a search that asked for differences of pairs first, with five rounds for
likelihoods and steps that did not follow the curvature along the fit, is in geometric mean 0.85 at
epsilon 0.1, 0.90 at 0.5, 1.03 at 1 and 0.94 at 4; at 0.1 it is least in T06 (0.31), T30 (0.49) and
T22 (0.53).

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3: any shares keep the guarantee.
"""

import math
from dataclasses import replace
from typing import Any

from tailguard.solvers.base import Problem
from tailguard.solvers.private_units import target_units
from tailguard.solvers.whitened.law import standing_out
from tailguard.solvers.whitened.stages import Shares

__all__ = ["shares_for"]

# By loss. Where residuals spread with the row twelve rounds and one release of the curvature: with
# six, and three, directions that whitening could not tell from noise were far from converged
# (training family: T06, T22, T24, T30).
MANY_ROUNDS = (0.03, 0.03, 0.04, 0.04, 0.04, 0.06, 0.06, 0.1, 0.1, 0.12, 0.15, 0.23)
SQUARED = Shares(curvature=0.08, rounds=MANY_ROUNDS, look=(0, 1, 3, 6), bend=(4,), ladder=6)
ROBUST = Shares(calibration=0.0, ladder=-1)
LOGISTIC = Shares(
    constant=0.01,
    lengths=0.04,
    slopes=0.0,
    curvature=0.18,
    calibration=0.0,
    rounds=(0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.14, 0.2),
    bend=(1, 3),
    ladder=-1,
)
LOG_LINK: dict[str, Any] = {"slopes": 0.04, "calibration": 0.06}  # besides those of LOGISTIC

# By budget. A histogram of one column tells nothing where its share of mu, times n, is below about
# 20: with n * mu below this number there are fewer of them, at a larger share each, and no release
# of curvature or variance, which would be mostly noise.
FEW = 300.0
FEW_LOOKS: dict[str, Any] = {
    "norms": 0.03,
    "lengths": 0.05,
    "slopes": 0.1,
    "curvature": 0.0,
    "variance": 0.0,
    "rounds": (0.08, 0.1, 0.12, 0.15, 0.2, 0.35),
    "look": (0,),
    "bend": (),
}
# With n * mu below this many times size**1.5 noise covers the second moments of all columns but in
# directions that stand out: then nothing but whitening asks for them, and nothing is calibrated. A
# likelihood's curvature is noisier, being weighted (training family: T41, T19, T23, T47).
FAINT, FAINT_CURVATURE = 4.2, 16.0
WITHOUT: dict[str, Any] = {
    "curvature": 0.0,
    "calibration": 0.0,
    "variance": 0.0,
    "bend": (),
    "ladder": -1,
}
# With n * mu above this many times size**1.5 it allows a likelihood more rounds and curvatures.
PLENTY = 60.0
PLENTY_OF_LOOKS: dict[str, Any] = {
    "rounds": MANY_ROUNDS,
    "look": (0, 2, 4, 7),
    "bend": (2, 4, 7),
}

# The first constant of a likelihood should be seen so clearly, as share of mu times n.
CONSTANT_SEEN, LARGEST_CONSTANT = 20.0, 0.2
# A typical column has this share of its records in one window of octaves, which should stand out by
# this many times what is taken for records. All shares of units follow from what that asks for.
SIZE_BULK, SIZE_MARGIN = 0.4, 1.3
LARGEST_SIZE = 0.12  # of many columns not all sizes are worth being seen
TARGET_MARGIN, LARGEST_TARGET = 2.0, 0.08  # times that: without the target all is lost
# Both looks at sizes together: times that, where losses are residuals, since columns that are
# mostly zero have few records to show. The second one takes some of the rounds' budget, but only
# where some size was not seen.
RARE, LEAST_AGAIN, LARGEST_AGAIN = 5.0, 0.015, 0.2
PLACED, LARGEST_PLACE = 0.6, 0.12  # times that: places are sought in fewer windows
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
    >>> shares_for(problem, mu=0.1).bend, shares_for(problem, mu=0.25).bend
    ((), (1, 3))
    """
    if target_units(problem) == "location-scale":
        shares, faint = _of_residuals(problem, mu, robust=robust), FAINT
    else:
        shares, faint = _of_likelihood(problem, mu), FAINT_CURVATURE
    if problem.n_rows * mu < faint * (problem.n_features + 2) ** 1.5:
        shares = replace(shares, **WITHOUT)
    return _with_units(shares, problem, mu)


def _of_residuals(problem: Problem, mu: float, *, robust: bool) -> Shares:
    """Shares of losses that bend alike at every score."""
    bounded = problem.scored is not None and math.isfinite(problem.scored.slope_bound())
    shares = ROBUST if robust or bounded else SQUARED
    return replace(shares, **FEW_LOOKS) if problem.n_rows * mu < FEW else shares


def _of_likelihood(problem: Problem, mu: float) -> Shares:
    """Shares of losses whose curvature has to be released."""
    shares = LOGISTIC
    if problem.n_rows * mu > PLENTY * problem.size**1.5:
        shares = replace(shares, **PLENTY_OF_LOOKS)
    if target_units(problem) == "scale":
        shares = replace(shares, **LOG_LINK, ladder=len(shares.rounds) - 3)
    faint = (CONSTANT_SEEN / (problem.n_rows * mu)) ** 2
    return replace(shares, constant=min(max(faint, shares.constant), LARGEST_CONSTANT))


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
    place = min(max(PLACED * wanted, shares.place), shares.place + max(room - again, 0.0))
    return replace(shares, again=again, place=min(place, LARGEST_PLACE))


def _share_to_see(columns: int, problem: Problem, mu: float) -> float:
    """Share of ``mu**2`` at which the sizes of so many typical columns stand out."""
    seen = SIZE_MARGIN * standing_out(columns) * math.sqrt(2.0 * columns)
    return (seen / (SIZE_BULK * problem.n_rows * mu)) ** 2
