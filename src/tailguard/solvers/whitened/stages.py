"""Every release of the method, laid out from public numbers and shares of the budget.

Reference
---------
Dong, Roth and Su 2022, Corollary 3.3: stages that are adaptively chosen cost the root of the sum of
their squares, however that sum is shared out.
"""

import math
from dataclasses import dataclass

from tailguard.queries.whitened_histogram import Bins
from tailguard.solvers.base import Problem, Stage
from tailguard.solvers.private_units import target_units
from tailguard.solvers.whitened.units import units_stages

__all__ = ["LADDER_LEVELS", "LENGTH_BINS", "SLOPE_BINS", "Shares", "stages_before", "stages_for"]

LENGTH_BINS = Bins("octaves", -16.0, 2.0, 64)
SLOPE_BINS = Bins("signed", -30.0, 3.0, 180)
LADDER_LEVELS = 4
"""Clip levels above the first that are released side by side where clipping bias is measured."""


@dataclass(frozen=True)
class Shares:
    """Shares of ``mu**2`` by purpose; what is not named goes to the rounds.

    Attributes
    ----------
    target
        Size, place and spread of the target.
    size, again, place, pairs
        Of the other columns: the first and the second look at sizes; centres; differences of pairs.
    constant, norms, moments, lengths, slopes, curvature, calibration, variance
        The stages of these names.
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

    target: float = 0.02
    size: float = 0.025
    again: float = 0.0
    place: float = 0.03
    pairs: float = 0.03
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
        >>> round(Shares(size=0.12).rest(problem), 9)
        0.49
        """
        stages = stages_before(problem, self, 1.0)
        return 1.0 - sum(stage.total_mu**2 for stage in stages)


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
    'target size'
    """
    stages = units_stages(
        problem,
        total_mu,
        size=shares.size,
        place=shares.place,
        again=shares.again,
        pairs=shares.pairs,
        target=shares.target,
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
