"""How the budget is shared out, from public numbers alone.

Reference
---------
Shares were chosen by trial on the training family of ``benchmarks/accuracy``, with its laboratory
tasks in view; they are not optimal in any proved sense. That any shares keep the guarantee is Dong,
Roth and Su 2022, Corollary 3.3.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from tailguard.queries.whitened_histogram import Bins
from tailguard.solvers.base import Problem, Stage
from tailguard.solvers.private_units import target_units
from tailguard.solvers.whitened.units import PLACED, standing_out, units_stages

__all__ = ["LADDER_LEVELS", "LENGTH_BINS", "SLOPE_BINS", "Shares", "shares_for", "stages_for"]

LENGTH_BINS = Bins("octaves", -16.0, 2.0, 64)
SLOPE_BINS = Bins("signed", -30.0, 3.0, 180)
LADDER_LEVELS = 4
"""Clip levels above the first that are released side by side where clipping bias is measured."""


@dataclass(frozen=True)
class Shares:
    """Shares of ``mu**2`` by purpose; what is not named goes to the rounds.

    Attributes
    ----------
    rounds
        Shares of the rounds among themselves.
    look, bend
        The rounds before which clip levels are chosen anew, and the curvature is released.
    ladder
        The round that releases several clip levels, or -1.

    Examples
    --------
    >>> len(Shares().rounds)
    6
    """

    target: float = 0.02  # scale and place of the target
    spread: float = 0.05
    again: float = 0.0  # the second look at scales
    place: float = 0.03
    constant: float = 0.0
    norms: float = 0.01
    moments: float = 0.10
    lengths: float = 0.01
    slopes: float = 0.08
    curvature: float = 0.0
    calibration: float = 0.08
    variance: float = 0.03
    rounds: tuple[float, ...] = (0.08, 0.1, 0.12, 0.15, 0.2, 0.35)
    look: tuple[int, ...] = (0, 1, 3)
    bend: tuple[int, ...] = ()
    ladder: int = 3

    def rest(self, problem: Problem) -> float:
        """Return the share that is left to the rounds.

        Examples
        --------
        >>> import tailguard as tg
        >>> problem = Problem(tg.losses.Squared(), 1000, 3, intercept=True)
        >>> round(Shares(spread=0.12).rest(problem), 9)
        0.52
        """
        stages = stages_before(problem, self, 1.0)
        return 1.0 - sum(stage.total_mu**2 for stage in stages)


MANY_ROUNDS = (0.03, 0.03, 0.04, 0.04, 0.04, 0.06, 0.06, 0.1, 0.1, 0.12, 0.15, 0.23)
# Twelve rounds and one release of the curvature, where residuals spread with the row: with six, and
# three, directions that whitening could not tell from noise were far from converged (training
# family: T06, T22, T24, T30).
SQUARED = Shares(curvature=0.08, rounds=MANY_ROUNDS, look=(0, 1, 3, 6), bend=(4,), ladder=6)
ROBUST = replace(Shares(), calibration=0.0, ladder=-1)
LOGISTIC = Shares(
    spread=0.025,
    constant=0.01,
    lengths=0.04,
    slopes=0.0,
    curvature=0.18,
    calibration=0.0,
    rounds=(0.1, 0.15, 0.15, 0.2, 0.4),
    look=(0, 1, 3),
    bend=(1, 3),
    ladder=-1,
)
# A histogram of one column tells nothing where its share of mu, times n, is below about 20: where
# n * mu is small there are fewer of them, at a larger share each, and no release of curvature or
# variance, which would be mostly noise.
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
# With n * mu above this many times size**1.5 the noise allows more rounds and a third curvature.
PLENTY = 60.0
MANY_BENDS, MANY_LOOKS = (2, 4, 7), (0, 2, 4, 7)
# A typical column's scale should stand out by this many times what is taken for records, when a
# window of bins holds that share of the records as pairs; up to a largest share of the budget.
CONSTANT_SEEN, LARGEST_CONSTANT = 20.0, 0.2  # the same for the first constant, as n * mu
SPREAD_MARGIN, SPREAD_BULK, LARGEST_SPREAD = 2.0, 0.2, 0.12
# A second look where some scale was not seen. A median asks for a quarter of what its scale does,
# since it is told by all records and not by pairs. (Training family: 10 of 28 cells of small
# n * mu were worse than a constant without these two, 7 with them.)
RARE, LARGEST_AGAIN, LEAST_ROUNDS, LARGEST_TARGET = 5.0, 0.25, 0.2, 0.08


def shares_for(problem: Problem, mu: float, *, robust: bool = False) -> Shares:
    """Choose shares by what the loss does with targets and by how far the budget reaches.

    Examples
    --------
    >>> import tailguard as tg
    >>> shares_for(Problem(tg.losses.Logistic(), 1000, 3), mu=0.1).bend
    (1, 3)
    """
    units = target_units(problem)
    if units == "location-scale":
        bounded = problem.scored is not None and math.isfinite(problem.scored.slope_bound())
        shares = ROBUST if robust or bounded else SQUARED
        if problem.n_rows * mu < FEW:
            shares = replace(shares, **FEW_LOOKS)
    else:
        shares = LOGISTIC
        if problem.n_rows * mu > PLENTY * problem.size**1.5:
            shares = replace(shares, rounds=MANY_ROUNDS, look=MANY_LOOKS, bend=MANY_BENDS)
        if units == "scale":
            ladder = len(shares.rounds) - 3
            shares = replace(shares, slopes=0.04, calibration=0.06, ladder=ladder)
        faint = (CONSTANT_SEEN / (problem.n_rows * mu)) ** 2
        shares = replace(shares, constant=min(max(faint, shares.constant), LARGEST_CONSTANT))
    alone, wanted = (_share_to_see(columns, problem, mu) for columns in (1, problem.n_features))
    most = LARGEST_TARGET if units == "location-scale" else shares.target
    target = min(max((1.0 + 1.0 / PLACED) * alone, shares.target), most)
    spread = min(max(wanted, shares.spread), LARGEST_SPREAD)
    shares = replace(shares, spread=spread, target=target)
    room = (shares.rest(problem) - LEAST_ROUNDS) / (1.0 + 1.0 / PLACED)
    rare = RARE if units == "location-scale" else 1.0
    again = max(min(rare * wanted - spread, LARGEST_AGAIN, room), 0.0)
    return replace(shares, again=again, place=shares.place + again / PLACED)


def _share_to_see(columns: int, problem: Problem, mu: float) -> float:
    """Share of ``mu**2`` at which the scales of so many typical columns stand out."""
    seen = SPREAD_MARGIN * standing_out(columns) * math.sqrt(2.0 * columns)
    return (seen / (SPREAD_BULK * problem.n_rows * mu)) ** 2


def stages_for(problem: Problem, shares: Shares, total_mu: float) -> tuple[Stage, ...]:
    """Lay out every release of the method.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3, intercept=True)
    >>> stages = stages_for(problem, Shares(), total_mu=1.0)
    >>> round(sum(stage.total_mu**2 for stage in stages), 9)
    1.0
    """
    stages = stages_before(problem, shares, total_mu)
    rest = 1.0 - sum(stage.total_mu**2 for stage in stages) / total_mu**2
    for number, share in enumerate(shares.rounds):
        levels = LADDER_LEVELS + 1 if number == shares.ladder else 1
        mu = total_mu * math.sqrt(rest * share / sum(shares.rounds))
        purpose = "the clipped score, for one Newton step"
        stages.append(Stage(f"round {number + 1}", purpose, mu, 1, levels * problem.size))
    return tuple(stages)


def stages_before(problem: Problem, shares: Shares, total_mu: float) -> list[Stage]:
    """Lay out all but the rounds.

    Examples
    --------
    >>> import tailguard as tg
    >>> stages_before(Problem(tg.losses.Squared(), 1000, 3), Shares(), total_mu=1.0)[0].name
    'spread'
    """
    stages = units_stages(
        problem, total_mu, shares.spread, shares.place, shares.again, shares.target
    )
    for name, purpose, share, times, size in _middle(problem, shares):
        if share > 0.0 and times > 0:
            stages.append(Stage(name, purpose, total_mu * math.sqrt(share / times), times, size))
    return stages


def _middle(problem: Problem, shares: Shares) -> list[tuple[str, str, float, int, int]]:
    """List name, purpose, share, times and size of the stages between units and rounds."""
    height = problem.n_features + 2  # features, constant, target
    square = problem.size * (problem.size + 1) // 2
    looks = len(shares.look)
    curved = target_units(problem) != "location-scale"
    lengths = looks if curved else 1 + len(shares.bend)
    levels = LADDER_LEVELS + 1
    return [
        ("constant", "the best constant, to start from",
         shares.constant * problem.intercept, 2, 1),
        ("norms", "how long rows are", shares.norms, 1, LENGTH_BINS.count),
        ("moments", "correlations of the columns", shares.moments, 1, height * (height + 1) // 2),
        ("lengths", "how long whitened rows are", shares.lengths, lengths, LENGTH_BINS.count),
        ("slopes", "how large residuals are", shares.slopes, looks, SLOPE_BINS.count),
        ("curvature", "how the loss bends", shares.curvature, len(shares.bend), square),
        ("calibration", "what clipping takes from the mean and the fitted score",
         0.8 * shares.calibration, 1, 2 * levels),
        ("calibration curvature", "how the loss bends in these two directions",
         0.2 * shares.calibration, 1, 3),
        ("variance", "the sampling variance of the coefficients", shares.variance, 1, square),
    ]  # fmt: skip
