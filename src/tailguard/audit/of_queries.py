"""Audits of every registered query: its worst pair is released through the gate and attacked.

With Gaussian noise the attack projects all released numbers onto the line through the two answers;
this is the likelihood ratio. With Laplace noise the data have many equal columns, each with its own
release. For a single number the best event is that it exceeds the higher answer.

Reference
---------
Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023; for noise that depends
on the records, Bun and Steinke 2019 and Nissim, Raskhodnikova and Smith 2007.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from tailguard.array_types import FloatArray
from tailguard.audit.bounds import PrivacyClaim, epsilon_claim, gaussian_claim, profile_claim
from tailguard.audit.cases import Rates, Scores, Scoring, ThresholdCase
from tailguard.audit.gates import AttackedGate
from tailguard.audit.testers import Score
from tailguard.audit.worst_pairs import N_FEATURES, WorstPair, moved_end, moved_medians, worst_pair
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import Rows
from tailguard.gate.stage import Stage
from tailguard.means.trimmed import TrimmedMean
from tailguard.noise.mechanisms import PEELING_MECHANISMS
from tailguard.privacy.events import Approximate, Event, Gaussian, Laplace, ZeroConcentrated
from tailguard.privacy.guarantees import GDP
from tailguard.queries.base import calibration_for
from tailguard.queries.bounded_moments import BoundedMoments
from tailguard.queries.level_tables import CountOfLevels, LevelTables
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.sample_aggregate import SampleAggregate
from tailguard.queries.units import Units
from tailguard.queries.value_histograms import ValueHistograms

N_ROWS = 40  # as in the contract tests of every query
MU = 2.5
"""The mu that audits of Gaussian noise claim. At 2.5 to 3 they need the fewest runs: for power
0.9995 at a false alarm of 2.4e-5, 952 runs per neighbour at 2.5, 1112 at 2 and 3072 at 1
(computed).
"""

# The epsilon claimed for each number with Laplace noise. It needs the fewest runs (measured).
EPSILON, N_COLUMNS = 2.0, 50
PURE_QUERIES = ("clamped-mean", "truncated-mean", "soft-mean")
"""Queries that are audited with Laplace noise on equal columns; each column has one answer."""

# The columns of cells; and the indicator after them, by which records are grouped.
CELLS, GROUP = tuple(range(N_COLUMNS)), ((N_COLUMNS,),)
UNIT = np.zeros((1, N_COLUMNS)), np.ones((1, N_COLUMNS))  # centres 0 and radii 1 keep cells
OF_CELLS: dict[str, tuple[Any, Any, tuple[float, float], tuple[float, float]]] = {
    "value-histograms": (
        ValueHistograms(CELLS, 1), np.zeros((N_COLUMNS, 1)), (-9.0, 0.0), (9.0, 0.0),
    ),
    "value-histograms, by groups": (
        ValueHistograms(CELLS, 1, GROUP), np.zeros((3 * N_COLUMNS, 1)), (9.0, 0.0), (9.0, 1.0),
    ),
    "bounded-moments": (BoundedMoments(CELLS), UNIT, (-0.3012, 0.0), (9.0, 0.0)),
    "bounded-moments, by groups": (
        BoundedMoments(CELLS, GROUP), tuple(np.tile(part, (3, 1)) for part in UNIT),
        (9.0, 0.0), (9.0, 1.0),
    ),
    "level-tables": (LevelTables((GROUP,) * N_COLUMNS), None, (0.0, 0.0), (0.0, 1.0)),
    "count-of-levels": (CountOfLevels(GROUP, ((1,),)), None, (0.0, 0.0), (0.0, 1.0)),
}  # fmt: skip
"""Queries of cells with Laplace noise: query, state, and the cell and the group of both records.

All columns are equal. Within a column, several released numbers differ between the neighbours; a
count is one number. A value and its square move furthest in l1 norm from -0.3012, ``-1 / (2 b)``
with ``b`` the weight of squares in ``BoundedMoments``, to 1; 9 is cut to 1."""


def gaussian_rates(mu: float) -> Rates:
    """Return both errors of a threshold halfway between the answers, with Gaussian noise."""
    return even_rates(lambda factor: norm.sf(factor * mu / 2.0))


def even_rates(rate: Callable[[float], float]) -> Rates:
    """Return both errors if they have the same probability, ``rate``."""
    return lambda factor: (float(rate(factor)),) * 2


def arsinh_rates(shift: float) -> Rates:
    """Return both errors of a threshold halfway, with arsinh-normal noise."""
    return even_rates(lambda factor: norm.sf(math.asinh(factor * shift / 2.0)))


def halfway_claim(rates: Rates) -> PrivacyClaim:
    """Claim the delta at epsilon 0 that a threshold with these errors proves."""
    return profile_claim(0.0, 1.0 - 2.0 * rates(1.0)[0])


def heard(
    gate: type[AttackedGate],
    rows: Rows,
    query: Any,
    state: Any,
    stage: Stage,
    n_runs: int,
    seed: int,
) -> FloatArray:
    """Return the numbers of many releases, one release per row."""
    attacked = gate.of(rows, guarantee=GDP(1.0), seed=seed)
    calibration = calibration_for(query, rows.n_rows, rows.n_features, stage.asked)
    event = _cost(calibration, stage)
    attacked.reserve(event, coordinates=calibration.size, unprotected=True)
    attacked.ask_often(query, state, stage, n_runs)
    return np.array(attacked.heard)


def _cost(calibration: Any, stage: Stage) -> Event:
    """Return the cost of one release, as the books record it."""
    if calibration.mechanism in PEELING_MECHANISMS:
        return PEELING_MECHANISMS[calibration.mechanism].event(calibration)
    return stage.asked


def _exact(query: Any, state: Any, rows: Rows, asked: Event) -> FloatArray:
    """Return the answer without noise."""
    calibration = calibration_for(query, rows.n_rows, rows.n_features, asked)
    with np.errstate(all="ignore"):
        answer: FloatArray = query.answer(rows, state, calibration) * calibration.grid
    return answer


def _scoring(query: Any, state: Any, stage: Stage, pair: Sequence[Rows], score: Score) -> Scoring:
    """Return a function that releases from both neighbours and scores the releases."""

    def scores(gate: type[AttackedGate], n_runs: int, seed: int) -> Scores:
        first, second = (
            score(heard(gate, rows, query, state, stage, n_runs, 2 * seed + side))
            for side, rows in enumerate(pair)
        )
        return first, second

    return scores


def _between(low: FloatArray, high: FloatArray) -> Score:
    """Score each number separately: 0 at the first answer, 1 at the second."""
    return lambda released: ((released - low) / (high - low)).ravel()


def query_case(name: str, mu: float = MU) -> ThresholdCase:
    """Return the audit of a query with Gaussian noise."""
    pair = worst_pair(name)
    rows = [pair.rows(record, N_ROWS) for record in (pair.old, pair.new)]
    low, high = (_exact(pair.query, pair.state, each, Gaussian(mu)) for each in rows)
    direction = (high - low) / float((high - low) @ (high - low))
    std = pair.query.calibrate(N_ROWS, N_FEATURES, mu).noise_std
    stage = Stage(name, "", mu, 1, low.size)
    scores = _scoring(
        pair.query, pair.state, stage, rows, lambda released: (released - low) @ direction
    )
    attained = float(np.linalg.norm(high - low)) / std
    return ThresholdCase(gaussian_claim(mu), scores, gaussian_rates(attained))


def pure_case(name: str, epsilon: float = EPSILON) -> ThresholdCase:
    """Return the audit of a query with Laplace noise, on equal columns."""
    pair, state = worst_pair(name), np.zeros(N_COLUMNS)
    query = replace(pair.query, units=Units.raw(N_COLUMNS, intercept=False))
    stage = Stage.of(Laplace(epsilon * N_COLUMNS), name, "", 1, N_COLUMNS)
    rows = [_rows_of_equal_columns(pair, record[0]) for record in (pair.old, pair.new)]
    low, high = (_exact(query, state, each, stage.asked) for each in rows)
    scores = _scoring(query, state, stage, rows, _between(low, high))
    return ThresholdCase(
        epsilon_claim(epsilon, 0.0),
        scores,
        rates=lambda factor: (0.5 * math.exp(-factor * epsilon), 0.5),
        threshold=1.0,
        scores_per_run=N_COLUMNS,
        tester="threshold at the higher answer",
    )


def pure_cells_case(name: str, epsilon: float = EPSILON) -> ThresholdCase:
    """Return the audit of a query of cells with Laplace noise, on equal columns.

    The guess for a column is the second neighbour if all of its differing numbers pass that
    neighbour's answer. If the query attains the claim for a column, the probabilities of this event
    have the ratio ``exp(epsilon)``.
    """
    query, state, *records = OF_CELLS[name]
    n_columns = 1 if name == "count-of-levels" else N_COLUMNS
    asked = Laplace(epsilon * n_columns)
    stage = Stage.of(asked, name, "", 1, query.sensitivity(1, 1).size)
    rows = []
    for cell, group in records:
        data = np.zeros((N_ROWS, N_COLUMNS + 1))  # only record 4, chosen arbitrarily, differs
        data[4] = [*[cell] * N_COLUMNS, group]
        rows.append(make_rows(data))
    low, high = (_exact(query, state, each, asked) for each in rows)
    differing = np.flatnonzero(low != high)
    # With groups, the numbers of different columns are adjacent; otherwise those of one column are.
    by_groups = getattr(query, "by", ()) and n_columns > 1
    places = differing.reshape(-1, n_columns) if by_groups else differing.reshape(n_columns, -1).T

    def smallest_score(released: FloatArray) -> FloatArray:
        each = (released[:, places] - low[places]) / (high - low)[places]
        return np.asarray(each.min(axis=1).ravel())

    scores = _scoring(query, state, stage, rows, smallest_score)
    charged = query.calibrate_pure(N_ROWS, 1, asked.epsilon).charged
    attained = float(np.abs(high - low).sum()) / charged
    chance = 0.5 ** len(places)
    return ThresholdCase(
        epsilon_claim(epsilon, 0.0),
        scores,
        rates=lambda factor: (chance * math.exp(-factor * epsilon * attained), 1.0 - chance),
        threshold=1.0,
        scores_per_run=n_columns,
        tester="threshold at the higher answer",
    )


def _rows_of_equal_columns(pair: WorstPair, value: float) -> Rows:
    """Return rows of equal columns; record 4, the one that differs, has this ``value``."""
    data = pair.background(N_ROWS)
    data[4] = value
    return make_rows(np.repeat(data[:, :1], N_COLUMNS, axis=1))


def choice_case() -> ThresholdCase:
    """Return the audit of a choice by peeling, which the books charge separately from the value.

    One magnitude rises and another falls by the whole sensitivity. So the exponential mechanism
    attains its privacy profile, which is ``tanh(ratio / 2)`` at epsilon 0.
    """
    ratio = 2.0  # the logarithm of how much likelier the larger entry is than the other
    query = PeeledStep(None, Units.raw(2, intercept=False), 4.0, 1.0, n_nonzero=1)
    stage, state = Stage("choice", "", ratio * math.sqrt(2.0), 1, 2), np.full(2, 9.0)

    pair = []
    for record in ((4.0, -4.0), (-4.0, 4.0)):
        X = np.zeros((20, 2))
        X[3] = record
        pair.append(make_rows(X))
    scores = _scoring(
        query, state, stage, pair, lambda released: (released[:, 0] != 0.0).astype(np.float64)
    )
    rates = even_rates(lambda factor: 1.0 / (1.0 + math.exp(factor * ratio)))
    claim = profile_claim(0.0, math.tanh(ratio / 2.0))
    tester = "which entry is chosen"
    return ThresholdCase(claim, scores, rates, tester=tester)


def trimmed_case(rho: float = 1.45) -> ThresholdCase:
    """Return the audit of a trimmed mean whose median moves by its whole scale.

    The books record by how many scales of the noise an answer may move. The errors of a threshold
    halfway between the answers are exactly those of this move.
    """
    options: dict[str, Any] = {"n_trimmed": 20, "resolution": 100.0, "calibration": "numerical"}
    units = Units.raw(N_COLUMNS, intercept=False)
    query, event = TrimmedMean(None, units, -2.0, 2.0, **options), ZeroConcentrated(rho * N_COLUMNS)
    pair = [make_rows(side) for side in moved_medians(N_COLUMNS)]
    rates = arsinh_rates(query.calibrate_event(pair[0].n_rows, N_COLUMNS, event).shift)
    return ThresholdCase(
        halfway_claim(rates), _smooth_scoring(query, event, pair), rates,
        scores_per_run=N_COLUMNS, tester="threshold halfway",
    )  # fmt: skip


def sample_aggregate_case() -> ThresholdCase:
    """Return the audit of nine points on a line, where one moves from end to end.

    The centre then moves by exactly the smooth scale.
    """
    query = SampleAggregate(
        lambda features, target: features[0],  # the only record of a block
        (0.0,), 4.0, n_blocks=9, calibration="numerical",
    )  # fmt: skip
    event = Approximate(20.0, 0.1)
    pair = [make_rows(side[:, None]) for side in moved_end()]
    rates = gaussian_rates(query.calibrate_event(9, 1, event).shift)
    scores, tester = _smooth_scoring(query, event, pair), "threshold halfway"
    claim = halfway_claim(rates)
    return ThresholdCase(claim, scores, rates, tester=tester)


def _smooth_scoring(query: Any, event: Event, pair: Sequence[Rows]) -> Scoring:
    """Return the scoring of releases of a query whose noise scale depends on the records."""
    size = pair[0].n_features
    calibration = query.calibrate_event(pair[0].n_rows, size, event)
    stage = Stage.of(event, "smooth", "", 1, size, kept=event)
    state = np.zeros(size)
    low, high = (query.answer(rows, state, calibration).value for rows in pair)
    return _scoring(query, state, stage, pair, _between(low, high))
