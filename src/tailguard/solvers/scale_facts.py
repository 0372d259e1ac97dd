"""Public facts about descent in released units: what it releases at most, and what scales need.

Reference
---------
Andrew et al. 2021 (bisection for a quantile; its length and noise say how many records it needs).
"""

from tailguard.plans.budget import usable_mu
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.enough import scale_warnings
from tailguard.solvers.limits import STEP_COUNTS
from tailguard.solvers.private_units import LOCATION_STEPS, SCALE_STEPS, fewest_records

__all__ = ["RAW_UNITS", "descent_scale_warnings", "most_coordinates"]

RAW_UNITS = "accuracy holds only where these are near 1"
"""What it means that columns are read in their raw units."""


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


def descent_scale_warnings(
    problem: Problem, guarantee: Guarantee, scale_stage: Stage
) -> tuple[str, ...]:
    """Say from public numbers alone that there are too few records for this budget, or refuse.

    Examples
    --------
    >>> import tailguard as tg
    >>> scale_stage = Stage("scale", "scales", mu=0.1, times=15, size=2)
    >>> problems = [Problem(tg.losses.Squared(), n, 2) for n in (50, 10**5)]
    >>> [len(descent_scale_warnings(problem, tg.GDP(1.0), scale_stage)) for problem in problems]
    [1, 0]
    """
    return scale_warnings(
        problem.n_rows,
        guarantee,
        fewest_records(problem, scale_stage),
        amount=lambda promise: usable_mu(promise, most_coordinates(problem, None)),
        noise_std=1.0 / guarantee.gaussian_mu(),
        effect=RAW_UNITS,
    )
