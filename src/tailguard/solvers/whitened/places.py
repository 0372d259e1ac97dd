"""Where columns lie: signed bins in units of their size, then finer ones where these are coarse.

Signed logarithmic bins reach far and are fine near zero. A column that lies far from zero, compared
with its spread, is one sharp bell in a wide bin there: its scale is not known yet, and it is looked
at again in linear bins that split this one.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms).
"""

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.column_histograms import Bins
from tailguard.solvers.whitened.bells import Bell, bell_of
from tailguard.solvers.whitened.group import Found, Group
from tailguard.solvers.whitened.law import standing_out

__all__ = ["FINE_BINS", "PLACE_BINS", "REFINEMENTS", "find_places"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

PLACE_BINS = Bins("signed", -3.5, 8.0, 56)
"""Bins of the first look, in units of the size: a median is within a few sizes of zero."""
FINE_BINS = Bins("linear", -2.0, 8.0, 32), Bins("linear", -1.0, 64.0, 128)
"""Bins of closer looks, in units of the bin looked into: fine ones show wide bells less clearly."""
REFINEMENTS = len(FINE_BINS)
"""How many closer looks there are at most."""

# A bell is wrong as often as this, among so few windows: a centre that is wrong by some sizes does
# little harm.
FALSE_PLACE, WINDOWS = 0.05, 2e2
MOST = 0.5  # share of the records that a bell holds: else it is noise, and so is its spread
# At a closer look, where most columns fill many bins, noise makes bells that are far too narrow; a
# scale that is too small cuts all rows. Their spread is believed from so many noise standard
# deviations on; the centre, which moves by two widths of the bin at most, before that.
SPREAD_SEEN = 9.0
NEAR = 0.35  # of the size: a median within that is no offset, and the size tells the scale


def find_places(
    group: Group, found: Found, mu: float, fine_mu: float, stage: str = ""
) -> BoolArray:
    """Release centres, and scales of columns that lie away from zero; who hides stays at zero.

    All looks read the records that ``stage`` reads. Return who is but one bin at the closest one.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.solvers.base import Plan, Problem, Stage
    >>> from tailguard.solvers.whitened.purse import Purse
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1)
    >>> plan = Plan("example", problem, tg.GDP(3.0), (Stage("place", "centres", 1.5, 3, 128),))
    >>> x = np.random.default_rng(0).normal(50.0, 1.0, (400, 1))
    >>> gate = Gate.over(x, guarantee=tg.GDP(3.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> found = Found.nothing(1)
    >>> found.scale[:] = 70.0  # its size
    >>> find_places(Group(Purse(plan, gate), (0,)), found, mu=1.5, fine_mu=1.5)
    array([False])
    >>> bool(abs(found.center[0] - 50.0) < 1.0), bool(found.scale[0] < 3.0)
    (True, True)
    """
    placed = np.flatnonzero(found.seen & ~found.zeros)
    looks = np.zeros(len(found.scale))
    for column, bell, unit in _bells(group, found, placed, found.scale, PLACE_BINS, mu, stage):
        if abs(bell.center) > NEAR:
            _settle(found, column, bell, unit, PLACE_BINS)
        else:
            found.center[column] = bell.center * unit
    for bins in FINE_BINS:
        coarse = np.flatnonzero(found.width)
        for column, bell, unit in _bells(group, found, coarse, found.width, bins, fine_mu, stage):
            if bell.seen > SPREAD_SEEN:
                _settle(found, column, bell, unit, bins)
                looks[column] += 1
            else:
                found.center[column] += bell.center * unit
                looks[column] += bell.sharp
    return np.asarray((found.width > 0.0) & (looks == REFINEMENTS))


def _bells(
    group: Group,
    found: Found,
    chosen: IntArray,
    units: FloatArray,
    bins: Bins,
    mu: float,
    stage: str,
) -> list[tuple[int, Bell, float]]:
    """Release how the chosen ones lie around their centres; return the bells that stand out."""
    if not chosen.size:
        return []
    center, unit = found.center[chosen], units[chosen]
    counts, noise_std = group.histograms(chosen, bins, mu, stage, center=center, unit=unit)
    bells = [bell_of(row, bins, group.n_rows(), noise_std) for row in counts]
    least = standing_out(chosen.size, FALSE_PLACE, WINDOWS)
    all_of_them = zip(map(int, chosen), bells, map(float, unit), strict=True)
    return [found for found in all_of_them if found[1].seen > least and found[1].share > MOST]


def _settle(found: Found, column: int, bell: Bell, unit: float, bins: Bins) -> None:
    """Move to the bell's centre, and take its spread for the scale unless it is but one bin."""
    place = bins.index(bell.center)
    width = float(bins.value(place + 1) - bins.value(place))
    found.center[column] += bell.center * unit
    found.scale[column] = bell.spread * unit
    found.width[column] = width * unit if bell.sharp else 0.0
