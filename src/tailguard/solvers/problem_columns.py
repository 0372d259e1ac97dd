"""Which columns of a problem are measured, and the stages that measure them.

Reference
---------
McCullagh and Nelder 1989, Section 6.2 (scaling a Poisson target shifts the intercept only).
"""

import math

from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.scaling.columns import Columns
from tailguard.scaling.units import PAIRED, planned_histograms


def columns_of(problem: Problem) -> Columns:
    """Read from the public facts what is measured.

    Examples
    --------
    >>> import tailguard as tg
    >>> columns_of(Problem(tg.losses.Poisson(), n_rows=10, n_features=1)).target_shifted
    False
    """
    return Columns(
        problem.n_features,
        target=problem.link.scaled,
        offset=problem.has_offset,
        intercept=problem.intercept,
        residual=problem.link.residual,
    )


def units_stages(
    problem: Problem,
    total_mu: float,
    *,
    size: float,
    location: float,
    size_retry: float = 0.0,
    shared_size: float = 0.0,
    pair_differences: float = 0.02,
    target: float = 0.02,
) -> list[Stage]:
    """Plan the histograms by their shares of ``total_mu**2``.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3, intercept=True)
    >>> [stage.name for stage in units_stages(problem, 1.0, size=0.03, location=0.03)][:4]
    ['target typical size', 'target location', 'target scale', 'typical size']
    """
    planned = planned_histograms(
        columns_of(problem),
        size=size,
        location=location,
        size_retry=size_retry,
        shared_size=shared_size,
        pair_differences=pair_differences,
        target=target,
    )
    return [
        Stage(
            name,
            purpose,
            total_mu * math.sqrt(share / times),
            times,
            count,
            by_place=name in PAIRED,
        )
        for name, purpose, share, times, count in planned
    ]
