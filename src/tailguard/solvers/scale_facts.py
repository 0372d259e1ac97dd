"""Public facts about descent in released units: what it releases at most, and what scales need.

Reference
---------
Andrew et al. 2021 (bisection for a quantile; its length and noise say how many records it needs).
"""

from tailguard.solvers.base import Problem, Stage
from tailguard.solvers.limits import STEP_COUNTS
from tailguard.solvers.private_units import LOCATION_STEPS, SCALE_STEPS, fewest_records

__all__ = ["most_coordinates", "too_few_records"]


def most_coordinates(problem: Problem, n_steps: int | None) -> int:
    """Bound the numbers that a plan releases, before its steps are chosen.

    Examples
    --------
    >>> import tailguard as tg
    >>> most_coordinates(Problem(tg.losses.Squared(), 1000, n_features=2), n_steps=10)
    198
    """
    measured = problem.n_features + 2  # the target and the offset are columns too
    unit_coordinates = (SCALE_STEPS + 2 + LOCATION_STEPS + 1) * measured + problem.size
    return unit_coordinates + (n_steps or max(STEP_COUNTS)) * problem.size


def too_few_records(problem: Problem, scale_stage: Stage) -> tuple[str, ...]:
    """Say from public numbers alone that there are too few records for this budget.

    Examples
    --------
    >>> import tailguard as tg
    >>> scale_stage = Stage("scale", "scales", mu=0.1, times=15, size=2)
    >>> [len(too_few_records(Problem(tg.losses.Squared(), n, 2), scale_stage)) for n in (50, 10**5)]
    [1, 0]
    """
    fewest = fewest_records(problem, scale_stage)
    if problem.n_rows >= fewest:
        return ()
    return (
        f"n = {problem.n_rows} is below the {fewest} records that scales need at this budget, so "
        "columns are read in their raw units: accuracy holds only where these are near 1",
    )
