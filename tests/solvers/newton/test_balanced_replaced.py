"""Even slopes: replacing one record by the worst ones moves answers within what they state."""

import itertools

import numpy as np

import tailguard as tg
from support.sources import QuietSource
from support.stages import once
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.losses.balanced_logistic import BalancedLogistic
from tailguard.privacy.events import Gaussian
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.second_moments import SecondMoments, Weighting
from tailguard.queries.units import Units
from tailguard.queries.view import View

N_ROWS, ROW_LIMIT, ROW_CAP, MU = 40, 2.0, 4.0, 1.0
WEIGHTS = np.array([0.4, -1.3, 0.2])
ROWS = [(0.0, 0.0), (9.0, 0.0), (-9.0, 0.0), (1e300, -1e300), (np.inf, 1.0), (np.nan, 1.0)]
ROWS += [(1.0, 40.0), (1e-300, 3.0), (130.0, 40.0 + 0.2 / 1.3)]  # the last has a score of zero
WORST = [(row, target) for row in ROWS for target in (0.0, 1.0, 2.0, -1e300, np.nan)]
ROUNDING = 1.0 + 1e-4


def answer(query, record):
    """What a query says, without noise, where the first of ordinary records is this one."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((N_ROWS, 2)), (rng.random(N_ROWS) < 0.4).astype(float)
    x[0], y[0] = record
    rows = make_rows(x, y, loss=tg.losses.Logistic())
    gate = Gate(rows, guarantee=tg.GDP(MU * 1.001), source=QuietSource())
    gate.reserve(Gaussian(MU), coordinates=10**3)
    return np.asarray(gate.ask(query, WEIGHTS, once(MU)))


def furthest(query):
    """The largest distance between answers about neighbours."""
    answers = [answer(query, record) for record in WORST]
    return max(np.linalg.norm(one - other) for one, other in itertools.combinations(answers, 2))


def view_of(loss):
    return View(loss, Units.raw(2, intercept=True), np.eye(3))


def test_a_score_moves_by_the_row_limit_times_twice_one_half_and_no_less_is_stated():
    moved = furthest(LevelGradients(view_of(BalancedLogistic()), ROW_LIMIT, (0.5,)))
    stated = 2.0 * ROW_LIMIT * 0.5 / N_ROWS
    assert 0.9 * stated < moved <= stated * ROUNDING


def test_a_curvature_moves_within_what_is_stated():
    weighting = Weighting(kind="expected-curvature", bound=0.25)
    query = SecondMoments(view_of(BalancedLogistic()), ROW_LIMIT, ROW_CAP, weighting)
    stated = query.sensitivity(N_ROWS, 2).ideal / N_ROWS
    assert 0.5 * stated < furthest(query) <= stated * ROUNDING
