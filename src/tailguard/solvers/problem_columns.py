"""Which columns of a problem are measured, and the stages that measure them.

Reference
---------
McCullagh and Nelder 1989, Section 6.2 (scaling a Poisson target shifts the intercept only).
"""

from tailguard.gate.plan import Problem
from tailguard.gate.stage import Stage
from tailguard.privacy.events import Gaussian
from tailguard.scaling.columns import MeasuredColumns
from tailguard.scaling.units import histogram_stages, planned_histograms


def columns_of(problem: Problem) -> MeasuredColumns:
    """Read from the public facts what is measured."""
    return MeasuredColumns(
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
    """Plan the histograms by their shares of ``total_mu**2``."""
    planned = planned_histograms(
        columns_of(problem),
        size=size,
        location=location,
        size_retry=size_retry,
        shared_size=shared_size,
        pair_differences=pair_differences,
        target=target,
    )
    return histogram_stages(planned, Gaussian(total_mu))
