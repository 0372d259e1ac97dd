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
from tailguard.solvers.whitened.law import Law, bulk
from tailguard.solvers.whitened.purse import Purse

__all__ = ["find_units", "units_stages"]

FloatArray = NDArray[np.float64]

SPREAD_BINS = Bins("octaves", -160.0, 1.0, 320)
PLACE_BINS = Bins("signed", -60.0, 3.0, 360)
FINE_BINS = Bins("linear", -2.0, 16.0, 64)
REFINEMENTS = 2
# How often any window of pure noise may stand out in a fit, among some thousand a column.
FALSE_ALARM, WINDOWS = 1e-2, 2e3
FAINT = 2.5  # the same for one given bin
INDICATOR_BIN = int(SPREAD_BINS.index(1.0))
COARSE = 1.0  # a location is refined while its bin is wider than this many scales
LARGEST_SCALE = 2.0**150


def units_stages(problem: Problem, total_mu: float, spread: float, place: float) -> list[Stage]:
    """Plan the histograms; refinements are asked for only where bins turn out too coarse.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), 1000, 3, intercept=True)
    >>> [stage.times for stage in units_stages(problem, 1.0, 0.03, 0.03)]
    [1, 1, 2]
    """
    columns = len(Columns.of(problem).indices)
    planned = [("spread", "a private scale for every column", spread, 1, SPREAD_BINS)]
    if problem.intercept:
        planned += [
            ("place", "a private centre for every column", place / 2, 1, PLACE_BINS),
            ("fine place", "centres far from zero", place / 2, REFINEMENTS, FINE_BINS),
        ]
    return [
        Stage(name, purpose, total_mu * math.sqrt(share / times), times, columns * bins.count)
        for name, purpose, share, times, bins in planned
    ]


def find_units(purse: Purse, problem: Problem) -> tuple[Units, FloatArray]:
    """Release the histograms and turn them into units.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.gate import Gate
    >>> from tailguard.solvers.base import Plan
    >>> problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1, intercept=True)
    >>> plan = Plan("example", problem, tg.GDP(9.0), tuple(units_stages(problem, 9.0, 0.5, 0.5)))
    >>> x = 50.0 + tg.datasets.heavy_tailed_linear(400, 1, seed=0).features
    >>> gate = Gate.over(x, x[:, 0], guarantee=tg.GDP(9.0), random_state=0)
    >>> gate.reserve(plan.event, coordinates=plan.coordinates)
    >>> bool(abs(find_units(Purse(plan, gate), problem)[0].center[0] - 50.0) < 1.0)
    True
    """
    columns = Columns.of(problem)
    width = len(columns.indices)
    scale = _spreads(purse, columns, paired=problem.intercept)
    seen = ~np.isnan(scale)
    center = np.zeros(width)
    if problem.intercept:
        center, resolution = _places(purse, columns, np.where(np.isnan(scale), 1.0, scale))
        scale = np.maximum(np.where(np.isnan(scale), 1.0, scale), resolution)
    scale = np.clip(np.where(np.isnan(scale), 1.0, scale), 1.0 / LARGEST_SCALE, LARGEST_SCALE)
    return _assemble(columns, problem, center, scale), seen


def _spreads(purse: Purse, columns: Columns, *, paired: bool) -> FloatArray:
    """Typical difference (or size) of each column; NaN where none can be told from zero."""
    mu = purse.plan.stage("spread").mu
    query = ColumnHistograms(columns.indices, SPREAD_BINS, paired=paired)
    width = len(columns.indices)
    counts = purse.ask(query, (np.zeros(width), np.ones(width)), mu)
    noise_std = math.sqrt(2 * width) / mu
    found, least = np.full(width, np.nan), standing_out(width)
    for column, row in enumerate(counts):
        ties, row[0] = row[0], 0.0  # exact zeros, and what is too small to tell
        law = Law.of(row, SPREAD_BINS, noise_std)
        if law.seen > least:
            found[column] = law.quantile(0.5)
        elif ties > least * noise_std and row[INDICATOR_BIN] > FAINT * noise_std:
            found[column] = 1.0  # mostly ties, and some differences of 1: a rare indicator
    return found


def _places(purse: Purse, columns: Columns, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Median of each column, and how far off its bin leaves it."""
    width = len(columns.indices)
    mu = purse.plan.stage("place").mu
    query = ColumnHistograms(columns.indices, PLACE_BINS)
    counts = purse.ask(query, (np.zeros(width), 1.0 / scale), mu)
    noise_std = math.sqrt(2 * width) / mu
    center, coarse, least = np.zeros(width), np.zeros(width), standing_out(width)
    for column, row in enumerate(counts):
        law = Law.of(row, PLACE_BINS, noise_std)
        if law.seen > least:
            center[column] = law.quantile(0.5) * scale[column]
            place = np.searchsorted(law.edges, law.quantile(0.5)).clip(1, law.edges.size - 1)
            coarse[column] = (law.edges[place] - law.edges[place - 1]) * scale[column]
    fine = purse.plan.stage("fine place").mu
    for _ in range(REFINEMENTS):
        far = coarse > COARSE * scale
        if not far.any():
            break
        window = np.where(far, coarse, scale)
        query = ColumnHistograms(columns.indices, FINE_BINS)
        counts = purse.ask(query, (center, 1.0 / window), fine)
        for column in map(int, np.flatnonzero(far)):
            seen = bulk(counts[column], math.sqrt(2 * width) / fine)[2]
            if seen > least:
                law = Law.of(counts[column], FINE_BINS, math.sqrt(2 * width) / fine)
                center[column] += law.quantile(0.5) * window[column]
                coarse[column] = window[column] / FINE_BINS.per_unit
    return center, coarse / 4.0


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
