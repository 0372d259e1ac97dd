"""A location and a scale for every column from a few releases of histograms.

Typical size: the median absolute value of every column, and again of those that were not detected.
Location: in units of that size, and finer where it is far from zero; a curve fitted to these bins
tells the scale, too. Scale: differences of pairs, which do not depend on the location. Without an
intercept nothing may be shifted, and the size is the scale.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); the search for a scale that spans
all units follows Karwa and Vadhan 2018, Section 3.
"""

import math
from dataclasses import replace

import numpy as np

from tailguard.array_types import BoolArray
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.queries.units import Units
from tailguard.solvers.private_units import MeasuredColumns, target_units, unmet_shift
from tailguard.solvers.whitened.column_queries import ColumnQueries, ColumnScales
from tailguard.solvers.whitened.locations import (
    FINE_BINS,
    LOCATION_BINS,
    REFINEMENTS,
    find_locations,
)
from tailguard.solvers.whitened.session import BudgetSession
from tailguard.solvers.whitened.sizes import SIZE_BINS, find_scales, find_sizes, sizes_at

__all__ = ["UNITS", "find_target", "find_units", "units_stages"]


TARGET = "target "  # what the names of the target's own stages begin with
PURPOSES = {
    "target typical size": "the typical absolute value of the target",
    "target location": "the location of the target",
    "target scale": "the scale of the target, from differences of pairs",
    "typical size": "the typical absolute value of every column",
    "typical size retry": "the same again, for columns that were not detected",
    "location": "the location of every column",
    "fine location": "finer histograms of locations far from zero",
    "scale": "the scale of columns, from differences of pairs",
}
UNITS = tuple(PURPOSES)
"""The stages that units come from."""
# What of the target's share goes to its typical size, its location and its scale.
TARGET_SIZE, TARGET_LOCATION, TARGET_SCALE = 0.5, 0.35, 0.15
LARGEST_SCALE = 2.0**150


def units_stages(
    problem: Problem,
    total_mu: float,
    *,
    size: float,
    location: float,
    size_retry: float = 0.0,
    pair_differences: float = 0.02,
    target: float = 0.02,
) -> list[Stage]:
    """Plan the histograms by their shares of ``total_mu**2``.

    The target is asked for alone: among ``k`` columns its noise would be ``sqrt(k)`` times as
    large, and without it no fit is better than a guess.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3, intercept=True)
    >>> [stage.name for stage in units_stages(problem, 1.0, size=0.03, location=0.03)][:4]
    ['target typical size', 'target location', 'target scale', 'typical size']
    """
    columns = MeasuredColumns.of(problem)
    others = len(columns.indices) - columns.target
    stages = []
    if columns.target and _shifted(problem, target=True):
        stages = [
            ("target typical size", TARGET_SIZE * target, 1, 1, SIZE_BINS),
            ("target location", TARGET_LOCATION * target, 1 + REFINEMENTS, 1, FINE_BINS[-1]),
            ("target scale", TARGET_SCALE * target, 1, 1, SIZE_BINS),
        ]
    elif columns.target:
        stages = [("target typical size", target, 1, 1, SIZE_BINS)]
    stages.append(("typical size", size, 1, others, SIZE_BINS))
    if size_retry > 0.0:
        stages.append(("typical size retry", size_retry, 1, others, SIZE_BINS))
    if _shifted(problem):
        stages.append(("location", location / 2, 1, others, LOCATION_BINS))
        stages.append(("fine location", location / 2, REFINEMENTS, others, FINE_BINS[-1]))
        stages.append(("scale", pair_differences, 1, others, SIZE_BINS))
    return [
        Stage(name, PURPOSES[name], total_mu * math.sqrt(share / times), times, count * bins.count)
        for name, share, times, count, bins in stages
    ]


def find_units(
    session: BudgetSession, problem: Problem, *, location_reserve: float = 0.0
) -> tuple[Units, BoolArray]:
    """Release the histograms and turn them into units; say which columns were seen.

    What the second release of sizes leaves goes to locations, up to ``location_reserve`` of
    ``mu**2``. Where the target is not seen only a constant will be fitted, and no columns are asked
    for.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.plans.plan import Plan
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1, intercept=True)
    >>> stages = tuple(units_stages(problem, 9.0, size=0.5, location=0.4))
    >>> plan = Plan("example", problem, tg.GDP(9.0), stages)
    >>> x = 50.0 + tg.datasets.heavy_tailed_linear(400, 1, seed=0).features
    >>> gate = Gate.over(x, x[:, 0], guarantee=tg.GDP(9.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> bool(abs(find_units(BudgetSession(plan, gate), problem)[0].center[0] - 50.0) < 1.0)
    True
    """
    columns = MeasuredColumns.of(problem)
    indices = np.array(columns.indices)
    is_target = indices == problem.n_features
    whole, alone = ColumnScales.unknown(len(indices)), False
    if columns.target:
        queries = ColumnQueries(session, (problem.n_features,), TARGET)
        shifted = _shifted(problem, target=True)
        found = _target(queries, shifted=shifted)
        whole.center[is_target], whole.scale[is_target] = found.center, found.scale
        alone = shifted and not found.detected.any()
    if not alone and not is_target.all():
        queries = ColumnQueries(session, tuple(map(int, indices[~is_target])))
        found = _others(queries, location_reserve, shifted=_shifted(problem))
        whole.center[~is_target], whole.scale[~is_target] = found.center, found.scale
    return _units(columns, problem, whole), whole.detected


def find_target(session: BudgetSession, problem: Problem) -> tuple[Units, bool]:
    """Release what the target alone tells of units; say whether it was seen.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.plans.plan import Plan
    >>> from tailguard.solvers.whitened.outlook import constant_stages
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1, intercept=True)
    >>> plan = Plan("example", problem, tg.GDP(9.0), constant_stages(problem, 9.0))
    >>> y = np.random.default_rng(0).normal(50.0, 1.0, 400)
    >>> gate = Gate.over(y[:, None], y, guarantee=tg.GDP(9.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> bool(abs(find_target(BudgetSession(plan, gate), problem)[0].target_center - 50.0) < 1.0)
    True
    """
    columns = MeasuredColumns.of(problem)
    whole = ColumnScales.unknown(len(columns.indices))
    if not columns.target:
        return _units(columns, problem, whole), True
    queries = ColumnQueries(session, (problem.n_features,), TARGET)
    found = find_sizes(queries)
    if found.detected.any() and _shifted(problem, target=True):
        found.zeros[:] = False  # the centre of the target is the fit
        find_locations(queries, found, queries.stage("location"), queries.stage("location"))
    location = columns.indices.index(problem.n_features)
    whole.center[location], whole.scale[location] = found.center[0], found.scale[0]
    return _units(columns, problem, whole), bool(found.detected.any())


def _shifted(problem: Problem, *, target: bool = False) -> bool:
    """Whether columns, or the target, may be shifted."""
    return problem.intercept and (not target or target_units(problem) == "location-scale")


def _others(queries: ColumnQueries, location_reserve: float, *, shifted: bool) -> ColumnScales:
    """Measure the features and the offset, as far as noise lets them be seen.

    Whose place is one bin, however fine the histogram, is taken to have one value in most records,
    not to be that narrow: its size is the scale, unless differences of pairs tell it. A scale that
    is far too small would cut all rows at that column.
    """
    found = find_sizes(queries)
    if shifted and found.detected.any():
        sizes = found.scale.copy()
        spikes = find_locations(queries, found, *_location_stages(queries, location_reserve))
        found.scale[spikes] = sizes[spikes]
        find_scales(queries, found)
    return found


def _location_stages(queries: ColumnQueries, location_reserve: float) -> tuple[Stage, Stage]:
    """Return what the first and a finer histogram of locations may spend."""
    location, fine = queries.stage("location"), queries.stage("fine location")
    reserve = min(
        location_reserve * queries.session.plan.total_mu**2,
        queries.unspent("typical size retry") ** 2,
    )
    times = math.sqrt(1.0 + reserve / (location.mu**2 + REFINEMENTS * fine.mu**2))
    return replace(location, mu=times * location.mu), replace(fine, mu=times * fine.mu)


def _target(queries: ColumnQueries, *, shifted: bool) -> ColumnScales:
    """Measure the target; where its size is not seen, its centre may take all that is left."""
    found = find_sizes(queries)
    if not shifted:
        return found
    if not found.detected.any():
        return _constant(queries)
    found.zeros[:] = False  # the centre of the target is a fit of its own
    find_locations(queries, found, queries.stage("location"), queries.stage("location"))
    find_scales(queries, found)
    return found


def _constant(queries: ColumnQueries) -> ColumnScales:
    """Spend all that is left on the centre of the target, whose scale then stays unknown."""
    rest = queries.session.rest(2 + REFINEMENTS)  # size, location and finer histograms
    found = sizes_at(queries, rest)
    found.zeros[:] = False
    if found.detected.any():
        find_locations(queries, found, rest, rest)
        found.scale[:] = np.nan
    return found


def _units(columns: MeasuredColumns, problem: Problem, found: ColumnScales) -> Units:
    """Put each measured column where it belongs; the target's meaning is the loss's to say."""
    scale = np.where(found.detected, found.scale, 1.0)
    scale = np.clip(scale, 1.0 / LARGEST_SCALE, LARGEST_SCALE)
    center, d = found.center, columns.n_features
    target_center, target_scale = 0.0, 1.0
    if columns.target:
        target_scale = float(scale[d])
        if target_units(problem) == "location-scale":
            target_center = float(center[d])
    offset_center = float(center[-1]) if columns.offset else 0.0
    offset_center += unmet_shift(problem, target_scale)
    return Units(
        center[:d], scale[:d], problem.intercept, target_center, target_scale, offset_center
    )
