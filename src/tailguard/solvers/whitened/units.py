"""A location and a scale for every column from at most three releases of histograms.

Scale: the typical absolute difference of slot pairs that differ at all, which does not depend on
the location; without an intercept, where nothing may be shifted, the typical absolute value.
Location: the median from signed logarithmic bins in units of the scale, then, where these are
coarser than the scale, from finer bins around it.

Reference
---------
Dwork, McSherry, Nissim and Smith 2006, Section 3.2 (histograms); the search for a scale that spans
all units follows Karwa and Vadhan 2018, Section 3.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tailguard.queries.column_histograms import Bins, ColumnHistograms
from tailguard.queries.units import Units
from tailguard.solvers.base import Problem, Stage
from tailguard.solvers.private_units import Columns, target_units
from tailguard.solvers.whitened.law import Law
from tailguard.solvers.whitened.purse import Purse

__all__ = ["find_units", "units_stages"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

SPREAD_BINS = Bins("octaves", -160.0, 1.0, 320)
PLACE_BINS = Bins("signed", -60.0, 3.0, 360)
FINE_BINS = Bins("linear", -2.0, 16.0, 64)
REFINEMENTS = 2
# How often any window of pure noise may stand out in a fit, among some thousand a column.
FALSE_ALARM, WINDOWS = 1e-2, 2e3
# The same for one given bin, where all other pairs may be ties as far as this much noise can hide.
FAINT, HIDDEN = 2.5, 2.0
PLACED = 4.0  # a median asks for this much less than a scale: all records tell it, and not pairs
INDICATOR_BIN = int(SPREAD_BINS.index(1.0))
PURPOSES = {
    "spread": "a private scale for every column",
    "spread again": "the same again, where some scale was not seen",
    "target spread": "a private scale for the target",
    "place": "a private centre for every column",
    "fine place": "centres far from zero",
    "target place": "a private centre for the target",
}
COARSE = 1.0  # a location is refined while its bin is wider than this many scales
SIZE_UNITS = 16.0  # a typical size in units of which a target is placed whose spread is unknown
LARGEST_SCALE = 2.0**150


def units_stages(
    problem: Problem,
    total_mu: float,
    spread: float,
    place: float,
    again: float = 0.0,
    target: float = 0.02,
) -> list[Stage]:
    """Plan the histograms; refinements are asked for only where bins turn out too coarse.

    The target is asked for alone: among ``k`` columns its noise would be ``sqrt(k)`` times as
    large, and without it no fit is better than a guess.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3, intercept=True)
    >>> [stage.times for stage in units_stages(problem, 1.0, 0.03, 0.03)]
    [1, 1, 1, 2, 3]
    """
    columns = Columns.of(problem)
    others = len(columns.indices) - columns.target
    spread_of = {"spread": (spread, 1, others, SPREAD_BINS)}
    place_of = {}
    if again > 0.0:
        spread_of["spread again"] = (again, 1, others, SPREAD_BINS)
    if problem.intercept:
        place_of = {
            "place": (place / 2, 1, others, PLACE_BINS),
            "fine place": (place / 2, REFINEMENTS, others, FINE_BINS),
        }
    if columns.target:
        placed = problem.intercept and target_units(problem) == "location-scale"
        share = target * PLACED / (1.0 + PLACED) if placed else target
        spread_of["target spread"] = (share, 1, 1, SPREAD_BINS)
        if placed:
            place_of["target place"] = (target - share, 1 + REFINEMENTS, 1, PLACE_BINS)
    return [
        Stage(name, PURPOSES[name], total_mu * math.sqrt(share / times), times, count * bins.count)
        for name, (share, times, count, bins) in {**spread_of, **place_of}.items()
    ]


def find_units(purse: Purse, problem: Problem) -> tuple[Units, FloatArray]:
    """Release the histograms and turn them into units.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.solvers.base import Plan
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1, intercept=True)
    >>> plan = Plan("example", problem, tg.GDP(9.0), tuple(units_stages(problem, 9.0, 0.5, 0.4)))
    >>> x = 50.0 + tg.datasets.heavy_tailed_linear(400, 1, seed=0).features
    >>> gate = Gate.over(x, x[:, 0], guarantee=tg.GDP(9.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> bool(abs(find_units(Purse(plan, gate), problem)[0].center[0] - 50.0) < 1.0)
    True
    """
    columns = Columns.of(problem)
    scale = np.full(len(columns.indices), np.nan)
    center, resolution = np.zeros((2, scale.size))
    target = np.array(columns.indices) == problem.n_features
    for asked, spread, place in (
        (np.flatnonzero(target), ("target spread",), ("target place", "target place")),
        (np.flatnonzero(~target), ("spread", "spread again"), ("place", "fine place")),
    ):
        if not asked.size:
            continue
        scale[asked] = _spreads(purse, columns, problem, asked, spread)
        hopeless = target[asked].any() and np.isnan(scale[asked]).all()
        # A column that is left out needs no centre; the target does, being the constant fit.
        placed = asked[~np.isnan(scale[asked]) | hopeless]
        if placed.size and _planned(purse, place[0]):
            mus = [purse.plan.stage(stage).mu for stage in place]
            unit = scale[placed]
            if hopeless:  # nothing but a constant will be fitted: it may take all that is left
                mus = [purse.left() / math.sqrt(2.0 + REFINEMENTS)] * 2
                unit = _sizes(purse, columns, placed, mus[0])
            found = _places(purse, columns, placed, unit, mus)
            center[placed], resolution[placed] = found
        if hopeless and target_units(problem) == "location-scale":
            break
    seen = ~np.isnan(scale)
    scale = np.where(seen, np.maximum(scale, resolution), 1.0)
    scale = np.clip(scale, 1.0 / LARGEST_SCALE, LARGEST_SCALE)
    return _assemble(columns, problem, center, scale), seen


def _planned(purse: Purse, stage: str) -> bool:
    return any(planned.name == stage for planned in purse.plan.stages)


def _spreads(
    purse: Purse, columns: Columns, problem: Problem, asked: IntArray, stages: tuple[str, ...]
) -> FloatArray:
    """Typical difference (or size) of each column; NaN where none can be told from zero.

    Where some column is not seen, the second release, if planned, is averaged with the first.
    """
    paired = problem.intercept
    query = ColumnHistograms(tuple(columns.indices[c] for c in asked), SPREAD_BINS, paired=paired)
    mu, counts = 0.0, np.zeros((asked.size, SPREAD_BINS.count))
    found = np.full(asked.size, np.nan)
    for stage in stages:
        if np.isnan(found).any() and _planned(purse, stage):
            more = purse.plan.stage(stage).mu
            released = purse.ask(query, (np.zeros(asked.size), np.ones(asked.size)), more)
            counts = (mu**2 * counts + more**2 * released) / (mu**2 + more**2)
            mu = math.hypot(mu, more)
            total = problem.n_rows // 2 if paired else problem.n_rows
            found = _scales(counts, math.sqrt(2 * asked.size) / mu, total)
    return found


def _sizes(purse: Purse, columns: Columns, asked: IntArray, mu: float) -> FloatArray:
    """Typical absolute value of each column: a unit where no difference was seen."""
    query = ColumnHistograms(tuple(columns.indices[column] for column in asked), SPREAD_BINS)
    counts = purse.ask(query, (np.zeros(asked.size), np.ones(asked.size)), mu)
    return _scales(counts, math.sqrt(2 * asked.size) / mu, math.inf) / SIZE_UNITS


def _scales(counts: FloatArray, noise_std: float, total: float) -> FloatArray:
    """Scale of each column as its histogram of ``total`` differences tells it."""
    found, least = np.full(len(counts), np.nan), standing_out(len(counts))
    for column, row in enumerate(counts.copy()):
        ties, row[0] = row[0], 0.0  # exact zeros, and what is too small to tell
        law, ones = Law.of(row, SPREAD_BINS, noise_std), row[INDICATOR_BIN]
        others = total - ties - ones
        if law.seen > least:
            found[column] = law.quantile(0.5)
        elif ties > least * noise_std and ones > FAINT * noise_std and others < HIDDEN * noise_std:
            found[column] = 1.0  # mostly ties, the rest differences of 1: a rare indicator
    return found


def _places(
    purse: Purse,
    columns: Columns,
    placed: IntArray,
    scale: FloatArray,
    mus: list[float],
) -> tuple[FloatArray, FloatArray]:
    """Median of each placed column, and how far off its bin leaves it."""
    known, scale = ~np.isnan(scale), np.where(np.isnan(scale), 1.0, scale)
    center, coarse = np.zeros((2, placed.size))
    least = standing_out(placed.size)
    for column, law in _laws(purse, columns, placed, PLACE_BINS, mus[0], center, scale):
        middle = law.quantile(0.5)
        place = np.searchsorted(law.edges, middle).clip(1, law.edges.size - 1)
        wide = law.edges[place] - law.edges[place - 1]
        # In units of a scale that was not seen, the bins around zero tell nothing from zero.
        if law.seen > least and (known[column] or abs(middle) > wide):
            center[column] = middle * scale[column]
            coarse[column] = wide * scale[column]
    for _ in range(REFINEMENTS):
        far = np.flatnonzero(coarse > COARSE * scale)
        if not far.size:
            break
        window = coarse[far]
        laws = _laws(purse, columns, placed[far], FINE_BINS, mus[1], center[far], window)
        for number, law in laws:
            if law.seen > least:
                center[far[number]] += law.quantile(0.5) * window[number]
                coarse[far[number]] = window[number] / FINE_BINS.per_unit
    return center, coarse / 4.0


def _laws(
    purse: Purse,
    columns: Columns,
    asked: IntArray,
    bins: Bins,
    mu: float,
    center: FloatArray,
    scale: FloatArray,
) -> list[tuple[int, Law]]:
    """Release histograms of some columns around a centre and read them."""
    query = ColumnHistograms(tuple(columns.indices[column] for column in asked), bins)
    counts = purse.ask(query, (center, 1.0 / scale), mu)
    noise_std = math.sqrt(2 * asked.size) / mu
    return [(column, Law.of(row, bins, noise_std)) for column, row in enumerate(counts)]


def standing_out(n_columns: int) -> float:
    """How many noise standard deviations a window must stand out to be taken for records.

    Examples
    --------
    >>> round(standing_out(1), 2), round(standing_out(100), 2)
    (4.42, 5.33)
    """
    return -NormalDist().inv_cdf(FALSE_ALARM / (WINDOWS * n_columns))


def _assemble(columns: Columns, problem: Problem, center: FloatArray, scale: FloatArray) -> Units:
    """Give each measured column its place; the target's meaning is the loss's to say."""
    d = columns.n_features
    target_center, target_scale = 0.0, 1.0
    if columns.target:
        target_scale = float(scale[d])
        if target_units(problem) == "location-scale":
            target_center = float(center[d])
    offset_center = float(center[-1]) if columns.offset else 0.0
    return Units(
        center[:d], scale[:d], problem.intercept, target_center, target_scale, offset_center
    )
