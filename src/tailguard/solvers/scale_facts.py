"""Public facts about descent in released units: what it releases at most, and what scales need.

Reference
---------
Karwa and Vadhan 2018, Section 3 (how many records a location and a scale take).
"""

import math
from collections.abc import Sequence

from tailguard.plans.budget import usable_mu
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import Guarantee
from tailguard.scaling.sizes import SIZE_BINS, fewest_records
from tailguard.solvers.enough import scale_warnings
from tailguard.solvers.limits import STEP_COUNTS
from tailguard.solvers.problem_columns import units_stages

__all__ = ["RAW_UNITS", "UNIT_SHARES", "descent_scale_warnings", "most_coordinates"]

RAW_UNITS = "accuracy holds only where these are near 1"
"""What it means that columns are read in their raw units."""

UNIT_SHARES = {"target": 0.2, "size": 0.25, "location": 0.35, "pair_differences": 0.2}
"""What every histogram gets of what units get: pairs are half as many as records."""


def most_coordinates(problem: Problem, n_steps: int | None) -> int:
    """Bound the numbers that a plan releases, before its steps are chosen.

    Examples
    --------
    >>> import tailguard as tg
    >>> most_coordinates(Problem(tg.losses.Squared(), 1000, n_features=2), n_steps=10)
    980
    """
    unit_stages = units_stages(problem, 1.0, **UNIT_SHARES)
    steps = (n_steps or max(STEP_COUNTS)) * problem.size
    return sum(stage.coordinates for stage in unit_stages) + steps


def descent_scale_warnings(
    problem: Problem, guarantee: Guarantee, unit_stages: Sequence[Stage]
) -> tuple[str, ...]:
    """Say from public numbers alone that there are too few records for this budget, or refuse.

    Examples
    --------
    >>> import tailguard as tg
    >>> problems = [Problem(tg.losses.Squared(), n, 2) for n in (50, 10**5)]
    >>> stages = units_stages(problems[0], 0.1, **UNIT_SHARES)
    >>> [len(descent_scale_warnings(problem, tg.GDP(1.0), stages)) for problem in problems]
    [1, 0]
    """
    return scale_warnings(
        problem.n_rows,
        guarantee,
        math.ceil(max(_needs(stage) for stage in unit_stages if "typical size" in stage.name)),
        amount=lambda promise: usable_mu(promise, most_coordinates(problem, None)),
        noise_std=1.0 / guarantee.gaussian_mu(),
        effect=RAW_UNITS,
    )


def _needs(stage: Stage) -> float:
    """Return how many records typical columns need to be seen at a stage of sizes."""
    columns = stage.size // SIZE_BINS.count
    return fewest_records(columns, math.sqrt(2 * columns) / stage.mu)
