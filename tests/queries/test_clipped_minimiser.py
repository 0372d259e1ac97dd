"""The clipped minimiser: certified, and as private as proved."""

import numpy as np
import pytest
from scipy.optimize import minimize

import tailguard as tg
from support.adversary import replaced
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock
from tailguard.queries import clipped_minimiser
from tailguard.queries.certified_descent import gradient_error
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.units import Units

MU = 0.7
SQUARED, LOGISTIC, LP = tg.losses.Squared(), tg.losses.Logistic(), tg.losses.LpLoss(4)


def query_of(loss=SQUARED, size=1, **options):
    options = {"strength": 0.5, "clip_norm": 1.0, "row_limit": 1.0, **options}
    return ClippedMinimiser(loss, Units.raw(size, intercept=False), **options)


def answer(query, X, y, center=0.0):
    """The minimiser itself, up to the lattice."""
    rows = make_rows(X, y, loss=query.loss)
    n_rows, n_features = X.shape
    calibration = query.calibrate(n_rows, n_features, MU)
    state = np.broadcast_to(center, n_features).astype(float)
    with np.errstate(all="ignore"):
        moved = query.answer(rows, state, calibration) * calibration.grid
    return query.center(state, n_rows) + moved


def ratio(query, data, slot, record, center=0.0):
    """How far one record moves the answer, over what is charged for it."""
    ends = [
        answer(query, d[:, :-1], d[:, -1], center) for d in (data, replaced(data, slot, record))
    ]
    charged = query.calibrate(*data[:, :-1].shape, MU).charged
    return np.linalg.norm(ends[0] - ends[1]) / charged


# What is computed.


def clipped_gradient(loss, w, X, y, clip_norm, row_limit):
    """The mean clipped gradient, written afresh."""
    norms = np.linalg.norm(X, axis=1)
    rows = X * np.minimum(1.0, row_limit / norms)[:, None]
    limits = clip_norm / np.linalg.norm(rows, axis=1)
    return np.clip(loss.slope(rows @ w, y), -limits, limits) @ rows / len(X)


def independent_minimiser(query, X, y, center, project, n_steps=20_000):
    w = project(center)
    for _ in range(n_steps):
        slope = clipped_gradient(query.loss, w, X, y, query.clip_norm, query.row_limit)
        before, step = w, slope + query.strength * (w - center)
        w = project(w - step / (query.curvature + query.strength))
        if np.linalg.norm(w - before) <= 1e-15:
            break
    return w


SETS = {
    "everywhere": (tg.sets.WholeSpace(), lambda z: z),
    "box": (tg.sets.Box(-0.1, 0.2), lambda z: np.clip(z, -0.1, 0.2)),
    "ball": (tg.sets.L2Ball(0.3), lambda z: z / max(1.0, np.linalg.norm(z) / 0.3)),
    "l1": (tg.sets.L1Ball(0.4), tg.sets.L1Ball(0.4).project),
    "cut": (
        tg.sets.IntersectionWithBall(tg.sets.WholeSpace(), (0.1, 0.1, 0.1), 0.2),
        lambda z: 0.1 + (z - 0.1) / max(1.0, np.linalg.norm(z - 0.1) / 0.2),
    ),
}


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC, LP, tg.losses.Quantile(0.8)])
@pytest.mark.parametrize("name", SETS)
def test_it_is_within_the_tolerance_of_an_independent_minimiser(loss, name):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3)) * [1.0, 2.0, 0.5]
    y = (rng.random(200) < 0.7).astype(float)
    constraint, project = SETS[name]
    query = query_of(loss, 3, strength=0.2, row_limit=2.0, clip_norm=0.8, constraint=constraint)
    center = np.array([0.3, -0.2, 0.1])
    expected = independent_minimiser(query, X, y, center, project, n_steps=3_000)
    tolerance = query.accuracy(200).tolerance
    assert tolerance <= 1.1e-3 * query.sensitivity(200, 3).ideal
    assert np.linalg.norm(answer(query, X, y, center) - expected) <= tolerance


def test_capped_descent_takes_the_steps_of_the_paper():
    """Xu et al. 2025, Algorithm 2 on four records: 0.375, 0.5625, 0.65625, and 0.75 at last."""
    X, y = np.ones((4, 1)), np.array([0.0, 1.0, 2.0, 10.0])
    for most_steps, expected in ((1, 0.375), (2, 0.5625), (3, 0.65625)):
        query = query_of(step_size=0.5, most_steps=most_steps)
        assert not query.accuracy(4).certified
        assert answer(query, X, y)[0] == pytest.approx(expected, abs=1e-6)
        share = 1.0 - 0.75**most_steps
        assert query.sensitivity(4, 1).ideal == pytest.approx(2.0 / (4 * 0.5) * share)
    assert answer(query_of(step_size=0.5), X, y)[0] == pytest.approx(0.75, abs=1e-3)


def drawn(w, center, radius):
    return center + (w - center) / max(1.0, np.linalg.norm(w - center) / radius)


BALLS = (((0.0, 0.0), 0.5), ((0.3, 0.2), 0.25))
IN_BALLS = {"constraint": tg.sets.L2Ball(0.6), "balls": BALLS}


@pytest.mark.parametrize("n_steps", [1, 7, 400])
def test_plain_descent_takes_its_steps_and_draws_points_into_balls(n_steps):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 2)), 3.0 + rng.standard_normal(40)
    query = query_of(size=2, n_steps=n_steps, step_size=0.2, row_limit=2.0, **IN_BALLS)
    w = start = np.array([0.25, 0.1])
    for _ in range(n_steps):
        slope = clipped_gradient(SQUARED, w, X, y, 1.0, 2.0) + 0.5 * (w - start)
        w = drawn(w - 0.2 * slope, np.zeros(2), 0.6)
        for center, radius in BALLS:
            w = drawn(w, np.array(center), radius)
    np.testing.assert_allclose(answer(query, X, y, start), w, atol=1e-8)
    assert n_steps == 1 or np.linalg.norm(w - BALLS[1][0]) == pytest.approx(0.25)  # it cuts
    assert query.sensitivity(40, 2).ideal <= 2.0 / (40 * 0.5) * (1.0 - 0.9**n_steps) + 1e-12
    assert query.sensitivity(2, 2).ideal == pytest.approx(min(2.0 * (1.0 - 0.9**n_steps), 0.5))


def test_one_step_may_be_as_long_as_the_penalty_allows_whatever_the_curvature():
    steep = {"strength": 0.1, "row_limit": np.sqrt(10.0), "step_size": 10.0}
    query = query_of(n_steps=1, **steep)
    assert 0.99 <= ratio(query, steep_data((1.0, -1e9)), 999, (1.0, 1e9)) <= 1.0
    for more in ({"n_steps": 2}, {"n_steps": 1, "step_size": 10.1}, {}):
        with pytest.raises(tg.InputError, match="step_size must be at most"):
            query_of(**(steep | more))


@pytest.mark.parametrize("more", [{}, {"n_steps": 2}])
def test_a_ball_that_does_not_hold_the_start_is_where_it_begins(more):
    ball = ((9.0,), 0.1)
    query = query_of(constraint=tg.sets.L2Ball(9.0), balls=(ball,), **more)
    X, y = np.ones((40, 1)), np.linspace(-1.0, 1.0, 40)
    assert query.center(np.zeros(1), 40)[0] == answer(query, X, y)[0] == pytest.approx(8.9)


def test_balls_apart_lead_no_further_than_the_noise_is_made_for():
    balls = ((9.0,), 0.1), ((-9.0,), 0.1)
    query = query_of(constraint=tg.sets.L2Ball(9.0), n_steps=1, strength=0.6, balls=balls)
    near = answer(query, np.ones((40, 1)), np.linspace(-1.0, 1.0, 40), 9.0)
    assert abs(near - query.center(np.array([9.0]), 40)) <= query.sensitivity(40, 1).largest_total


BALL = (((0.3, 0.2), 0.25),)


def test_a_search_in_a_ball_finds_where_its_steps_end():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 2)), 3.0 + rng.standard_normal(40)
    query = query_of(size=2, row_limit=2.0, constraint=tg.sets.L2Ball(0.5), balls=BALL)
    w = start = np.array([0.25, 0.1])
    for _ in range(3_000):
        slope = clipped_gradient(SQUARED, w, X, y, 1.0, 2.0) + 0.5 * (w - start)
        w = drawn(drawn(w - 0.2 * slope, np.zeros(2), 0.5), np.array(BALL[0][0]), 0.25)
    accuracy = query.accuracy(40)
    assert accuracy.certified
    assert np.linalg.norm(w - BALL[0][0]) == pytest.approx(0.25)  # it cuts
    # Steps of another length end at the edge of both at another point, where both cut.
    assert np.linalg.norm(answer(query, X, y, start) - w) <= 1e-3 + accuracy.tolerance


@pytest.mark.parametrize("strength", [1e12, 3e16])
def test_where_penalties_leave_less_room_than_floats_err_the_charge_is_the_room(
    strength, monkeypatch
):
    """The start is on the edge, and one record may do as much as all: as there is one."""
    start = np.array([0.36, 0.48, 0.8])
    query = query_of(size=3, strength=strength, constraint=tg.sets.L2Ball(1.0))
    stated, calibration = query.sensitivity(1, 3), query.calibrate(1, 3, MU)
    room = 2.0 / strength * (1.0 + 2.0**-46)
    assert stated.ideal + 2.0 * query.accuracy(1).tolerance > room >= stated.computed

    def widest():
        axes = np.vstack([np.eye(3), np.random.default_rng(7).standard_normal((9, 3))])
        pairs = [(axis[None], np.array([side])) for axis in axes for side in (-1e9, 1e9)]
        rows = [make_rows(X, y, loss=SQUARED) for X, y in pairs]
        ends = [query.answer(each, start, calibration) * calibration.grid for each in rows]
        return np.linalg.norm(np.array(ends)[:, None] - np.array(ends), axis=2).max()

    assert 0.5 * stated.computed < widest() <= calibration.charged
    if strength > 1e16:  # roundoff would lead further
        monkeypatch.setattr(clipped_minimiser, "drawn_into", lambda point, *_: point)
        assert widest() > calibration.charged


# What one record may do.

POOL = (
    (1.0, 1.0, 1e6),
    (1.0, -1.0, -1e6),
    (np.nan, 1.0, 1.0),
    (1e300, -1e300, 1.0),
    (1e-310, 0.0, 1e150),
    (0.0, 0.0, 0.0),
    (-np.inf, 0.0, 0.0),
    (3.0, 4.0, 1.0),
)


@pytest.mark.long
@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC, LP, tg.losses.Huber(1.0)])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"most_steps": 4},
        {**IN_BALLS, "n_steps": 6},
        {**IN_BALLS, "balls": BALL},
        {"n_steps": 1, "step_size": 20.0},
    ],
    ids=",".join,
)
def test_replacing_one_record_by_the_worst_ones_stays_within_the_charge(loss, how):
    rng = np.random.default_rng(3)
    data = np.column_stack([rng.standard_normal((60, 2)), rng.integers(0, 2, 60)])
    query = query_of(loss, 2, row_limit=2.0, strength=0.05, **how)
    worst = 0.0
    for slot in (0, 59):
        for old in POOL:
            before = replaced(data, slot, old)
            worst = max(worst, *(ratio(query, before, slot, new) for new in POOL))
    assert worst <= 1.0 + 1e-9
    assert worst >= 0.02


def steep_data(last):
    """A loss of curvature 10 for 999 records, and one record of constant gradient."""
    data = np.zeros((1000, 2))
    data[:, 0] = np.sqrt(10.0)
    data[-1] = last
    return data


class Crowd:
    """Many equal records of one column, in whole chunks, and one more."""

    has_offset, n_features = False, 1

    def __init__(self, n_chunks, target):
        self.n_chunks, self.n_rows, self.target = n_chunks, n_chunks * CHUNK_ROWS + 1, target

    def reduce(self, kernel, n_threads=None):
        chunk = RecordBlock(np.ones((CHUNK_ROWS, 1)), np.full(CHUNK_ROWS, 1e6))
        last = RecordBlock(np.ones((1, 1)), np.array([self.target]))
        with np.errstate(all="ignore"):  # as arrays do, a sum beyond 64 bits begins anew
            return kernel.sum_block(chunk) * np.int64(self.n_chunks) + kernel.sum_block(last)


@pytest.mark.parametrize("n_chunks", [2**16, 2**17, 2**18])
def test_one_of_hundreds_of_millions_of_records_moves_it_no_further_than_charged(n_chunks):
    query = query_of()
    crowds = [Crowd(n_chunks, target) for target in (1e6, -1e6)]
    calibration = query.calibrate(crowds[0].n_rows, 1, MU)
    ends = [query.answer(crowd, np.zeros(1), calibration) for crowd in crowds]
    assert ends[0] * calibration.grid == pytest.approx(2.0, abs=1e-3)
    moved = np.linalg.norm(ends[0] - ends[1]) * calibration.grid
    assert moved <= calibration.charged


# The ends of floats.


def test_where_floats_are_too_coarse_the_tolerance_is_raised_and_charged():
    fine, coarse = query_of(size=3), query_of(size=3, strength=1e-9)
    assert fine.sensitivity(10**6, 3).computed <= 1.0021 * fine.sensitivity(10**6, 3).ideal
    assert coarse.sensitivity(10**6, 3).computed >= 1.1 * coarse.sensitivity(10**6, 3).ideal


def test_a_step_never_goes_the_whole_way():
    """Otherwise nothing would be left of which errors are a share."""
    assert query_of(strength=1e18).facts.shortening == 1.0 - 2.0**-50
    nearly = query_of(strength=1e18, step_size=1e-18 * (1.0 - 2.0**-40))
    assert nearly.facts.shortening == pytest.approx(1.0 - 2.0**-40, abs=2.0**-52)


def test_a_center_beyond_the_reach_of_floats_is_moved_closer():
    query = query_of(size=2)
    far = query.center(np.array([3e300, -4e300]), 100)
    assert np.linalg.norm(far) == pytest.approx(query.accuracy(100).largest_center)
    np.testing.assert_allclose(far / np.linalg.norm(far), [0.6, -0.8])
    near = np.array([3.0, -4.0])
    np.testing.assert_array_equal(query.center(near, 100), near)


def test_the_cut_of_a_ball_and_an_edge_stays_within_the_tolerance_of_a_general_solver():
    """The corner where rounding the radius moves the projection by the root of a roundoff."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 2))
    y = X @ [0.9, 0.5]
    base = tg.sets.Box([-0.3, -1.0], [0.3, 1.0])
    for radius in (0.3, 0.3 * (1 + 2**-52), 0.3 * (1 + 1e-12), 0.31):
        part = tg.sets.IntersectionWithBall(base, (0.0, 0.0), radius)
        query = query_of(size=2, strength=0.3, clip_norm=9.0, row_limit=9.0, constraint=part)

        def risk(w):
            return ((X @ w - y) ** 2).mean() / 2 + 0.15 * w @ w

        best = minimize(
            risk,
            np.zeros(2),
            method="SLSQP",
            bounds=[(-0.3, 0.3), (-1.0, 1.0)],
            constraints={"type": "ineq", "fun": lambda w, r=radius: r**2 - w @ w},
            options={"ftol": 1e-15},
        ).x
        slack = query.accuracy(300).tolerance + 1e-6
        assert np.linalg.norm(answer(query, X, y) - best) <= slack


@pytest.mark.parametrize("most_steps", [1_000_000, 3])
@pytest.mark.parametrize("constraint", [tg.sets.L2Ball(1.0), tg.sets.Box([-0.5], [0.5])])
def test_no_record_moves_the_answer_beyond_the_set(constraint, most_steps):
    """With hardly any penalty the formula says 2 000 where the set has a diameter of 2."""
    query = query_of(
        size=1, strength=1e-4, constraint=constraint, most_steps=most_steps, clip_norm=1.0
    )
    diameter = constraint.diameter()
    stated = query.sensitivity(10, 1)
    assert stated.ideal <= diameter
    assert stated.computed <= 1.003 * diameter
    data = np.column_stack([np.ones(10), np.linspace(-1.0, 1.0, 10)])
    for slot, record in ((0, [1.0, 1e9]), (9, [1.0, -1e9]), (5, [np.nan, 0.0])):
        assert ratio(query, data, slot, np.array(record)) <= 1.0


def test_the_books_tell_the_diameter_that_caps_the_sensitivity():
    assert query_of(constraint=tg.sets.L2Ball(1.0)).parameters()["diameter"] == 2.0
    assert "diameter" not in query_of().parameters()


def test_float_errors_of_gradients_are_divided_by_the_strength():
    sizes = {"clip_norm": 1.0, "row_limit": 1.0}
    n_rows = 10**15  # so many that one record moves next to nothing
    off = gradient_error(SQUARED, n_rows=n_rows, size=1, grid=query_of()._grid(n_rows), **sizes)
    assert query_of(strength=0.5, **sizes).accuracy(n_rows).tolerance >= 4.0 * off / 0.5
