"""A location and a scale for every column from a few releases of histograms.

Size: the typical absolute value of all columns, and again of those it did not show. Place: where
columns lie in units of their size, and closer where they lie far from zero; a bell fitted to these
bins tells the scale, too. Spread: differences of pairs, which do not depend on the place. Without
an intercept nothing may be shifted, and the size is the scale.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); the search for a scale that spans
all units follows Karwa and Vadhan 2018, Section 3.
"""

import math

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.units import Units
from tailguard.solvers.base import Problem, Stage
from tailguard.solvers.private_units import Columns, target_units, unmet_shift
from tailguard.solvers.whitened.group import Found, Group
from tailguard.solvers.whitened.places import FINE_BINS, PLACE_BINS, REFINEMENTS, find_places
from tailguard.solvers.whitened.purse import Purse
from tailguard.solvers.whitened.sizes import SIZE_BINS, find_sizes, find_spreads, sizes_at

__all__ = ["UNITS", "find_target", "find_units", "units_stages"]

BoolArray = NDArray[np.bool_]

TARGET = "target "  # what the names of the target's own stages begin with
PURPOSES = {
    "target size": "a private size for the target",
    "target place": "a private centre for the target",
    "target spread": "a private scale for the target, wherever it lies",
    "size": "a private size for every column",
    "size again": "the same again, where some size was not seen and may be",
    "place": "a private centre for every column",
    "fine place": "a closer look at centres far from zero",
    "spread": "a private scale where centres are coarse, or for every column",
}
UNITS = tuple(PURPOSES)
"""The stages that units come from."""
# What of the target's share goes to its size, its place and its spread.
TARGET_SIZE, TARGET_PLACE, TARGET_SPREAD = 0.5, 0.35, 0.15
LARGEST_SCALE = 2.0**150


def units_stages(
    problem: Problem,
    total_mu: float,
    *,
    size: float,
    place: float,
    again: float = 0.0,
    pairs: float = 0.02,
    target: float = 0.02,
) -> list[Stage]:
    """Plan the histograms by their shares of ``total_mu**2``.

    The target is asked for alone: among ``k`` columns its noise would be ``sqrt(k)`` times as
    large, and without it no fit is better than a guess.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3, intercept=True)
    >>> [stage.name for stage in units_stages(problem, 1.0, size=0.03, place=0.03)][:4]
    ['target size', 'target place', 'target spread', 'size']
    """
    columns = Columns.of(problem)
    others = len(columns.indices) - columns.target
    stages = []
    if columns.target and _shifted(problem, target=True):
        stages = [
            ("target size", TARGET_SIZE * target, 1, 1, SIZE_BINS),
            ("target place", TARGET_PLACE * target, 1 + REFINEMENTS, 1, FINE_BINS[-1]),
            ("target spread", TARGET_SPREAD * target, 1, 1, SIZE_BINS),
        ]
    elif columns.target:
        stages = [("target size", target, 1, 1, SIZE_BINS)]
    stages.append(("size", size, 1, others, SIZE_BINS))
    if again > 0.0:
        stages.append(("size again", again, 1, others, SIZE_BINS))
    if _shifted(problem):
        stages.append(("place", place / 2, 1, others, PLACE_BINS))
        stages.append(("fine place", place / 2, REFINEMENTS, others, FINE_BINS[-1]))
        stages.append(("spread", pairs, 1, others, SIZE_BINS))
    return [
        Stage(name, PURPOSES[name], total_mu * math.sqrt(share / times), times, count * bins.count)
        for name, share, times, count, bins in stages
    ]


def find_units(
    purse: Purse, problem: Problem, *, spare_place: float = 0.0
) -> tuple[Units, BoolArray]:
    """Release the histograms and turn them into units; say which columns were seen.

    What no second look at sizes asks for goes to places, up to ``spare_place`` of ``mu**2``. Where
    the target is not seen only a constant will be fitted, and no columns are asked for.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.solvers.base import Plan
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1, intercept=True)
    >>> stages = tuple(units_stages(problem, 9.0, size=0.5, place=0.4))
    >>> plan = Plan("example", problem, tg.GDP(9.0), stages)
    >>> x = 50.0 + tg.datasets.heavy_tailed_linear(400, 1, seed=0).features
    >>> gate = Gate.over(x, x[:, 0], guarantee=tg.GDP(9.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> bool(abs(find_units(Purse(plan, gate), problem)[0].center[0] - 50.0) < 1.0)
    True
    """
    columns = Columns.of(problem)
    indices = np.array(columns.indices)
    is_target = indices == problem.n_features
    whole, alone = Found.nothing(len(indices)), False
    if columns.target:
        group = Group(purse, (problem.n_features,), TARGET)
        shifted = _shifted(problem, target=True)
        found = _target(group, shifted=shifted)
        whole.center[is_target], whole.scale[is_target] = found.center, found.scale
        alone = shifted and not found.seen.any()
    if not alone and not is_target.all():
        group = Group(purse, tuple(map(int, indices[~is_target])))
        found = _others(group, spare_place, shifted=_shifted(problem))
        whole.center[~is_target], whole.scale[~is_target] = found.center, found.scale
    return _units(columns, problem, whole), whole.seen


def find_target(purse: Purse, problem: Problem) -> tuple[Units, bool]:
    """Release what the target alone tells of units; say whether it was seen.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.solvers.base import Plan
    >>> from tailguard.solvers.whitened.outlook import constant_stages
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1, intercept=True)
    >>> plan = Plan("example", problem, tg.GDP(9.0), constant_stages(problem, 9.0))
    >>> y = np.random.default_rng(0).normal(50.0, 1.0, 400)
    >>> gate = Gate.over(y[:, None], y, guarantee=tg.GDP(9.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> bool(abs(find_target(Purse(plan, gate), problem)[0].target_center - 50.0) < 1.0)
    True
    """
    columns = Columns.of(problem)
    whole = Found.nothing(len(columns.indices))
    if not columns.target:
        return _units(columns, problem, whole), True
    group = Group(purse, (problem.n_features,), TARGET)
    found = find_sizes(group)
    if found.seen.any() and _shifted(problem, target=True):
        found.zeros[:] = False  # the centre of the target is the fit
        find_places(group, found, group.mu("place"), group.mu("place"), "place")
    place = columns.indices.index(problem.n_features)
    whole.center[place], whole.scale[place] = found.center[0], found.scale[0]
    return _units(columns, problem, whole), bool(found.seen.any())


def _shifted(problem: Problem, *, target: bool = False) -> bool:
    """Whether columns, or the target, may be shifted."""
    return problem.intercept and (not target or target_units(problem) == "location-scale")


def _others(group: Group, spare_place: float, *, shifted: bool) -> Found:
    """Measure the features and the offset, as far as noise lets them be seen.

    Whose place is one bin, however close the look, is taken to have one value in most records, not
    to be that narrow: its size is the scale, unless differences of pairs tell it. A scale that is
    far too small would cut all rows at that column.
    """
    found = find_sizes(group)
    if shifted and found.seen.any():
        sizes = found.scale.copy()
        place, fine = _place_mu(group, spare_place)
        spikes = find_places(group, found, place, fine, "place")
        found.scale[spikes] = sizes[spikes]
        find_spreads(group, found)
    return found


def _place_mu(group: Group, spare_place: float) -> tuple[float, float]:
    """Return what the first and a closer look at places may spend."""
    place, fine = group.mu("place"), group.mu("fine place")
    spare = min(spare_place * group.purse.plan.total_mu**2, group.unspent("size again") ** 2)
    times = math.sqrt(1.0 + spare / (place**2 + REFINEMENTS * fine**2))
    return times * place, times * fine


def _target(group: Group, *, shifted: bool) -> Found:
    """Measure the target; where its size is not seen, its centre may take all that is left."""
    found = find_sizes(group)
    if not shifted:
        return found
    if not found.seen.any():
        return _constant(group)
    found.zeros[:] = False  # the centre of the target is a fit of its own
    find_places(group, found, group.mu("place"), group.mu("place"), "place")
    find_spreads(group, found)
    return found


def _constant(group: Group) -> Found:
    """Spend all that is left on the centre of the target, whose scale then stays unknown."""
    mu = group.purse.left() / math.sqrt(2.0 + REFINEMENTS)  # size, place and closer looks
    found = sizes_at(group, mu)
    found.zeros[:] = False
    if found.seen.any():
        find_places(group, found, mu, mu)
        found.scale[:] = np.nan
    return found


def _units(columns: Columns, problem: Problem, found: Found) -> Units:
    """Give each measured column its place; the target's meaning is the loss's to say."""
    scale = np.where(found.seen, found.scale, 1.0)
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
