"""Where the proof of the clipped minimiser fails it is refused; counterexamples."""

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import expit

import tailguard as tg
from queries.test_clipped_minimiser import BALL, BALLS, LOGISTIC, MU, query_of, ratio, steep_data
from support.adversary import replaced
from tailguard.data.rows.arrays import make_rows


def distance(slope, start):
    """How far apart the points are where both slopes vanish, of either side."""
    found = [root(slope, start, args=side, tol=1e-12) for side in (1.0, -1.0)]
    assert all(each.success for each in found)
    return np.linalg.norm(found[0].x - found[1].x)


@pytest.mark.parametrize("balls", [BALLS, BALL])
def test_several_balls_go_with_plain_steps_and_all_in_a_bounded_set(balls):
    options = {"constraint": tg.sets.L2Ball(1.0)} if balls is BALLS else {"n_steps": 3}
    with pytest.raises(tg.InputError, match="constraint must be a bounded set"):
        query_of(size=2, balls=balls, **options)


@pytest.mark.parametrize("ball", [((0.3, 0.2), np.nan), ((0.3,), 0.1), ((0.3, np.nan), 0.1)])
def test_a_ball_has_a_radius_and_a_center_of_numbers(ball):
    with pytest.raises(tg.InputError, match="balls"):
        query_of(size=2, balls=(ball,), constraint=tg.sets.L2Ball(1.0))


@pytest.mark.parametrize("value", [1e-320, 1e308, 0.0, np.nan])
@pytest.mark.parametrize("name", ["strength", "clip_norm", "row_limit", "step_size"])
def test_numbers_that_floats_cannot_work_with_are_named(name, value):
    with pytest.raises(
        tg.InputError, match=rf"{name} must be a number from 1e-100 to 1e\+100; got"
    ):
        query_of(size=2, **{name: value})


@pytest.mark.parametrize("name", ["strength", "clip_norm", "row_limit"])
@pytest.mark.parametrize("other", ["strength", "clip_norm", "row_limit"])
def test_all_other_numbers_have_a_sensitivity(name, other):
    ends = 1e-100, 1e-40, 1e40, 1e100
    for loss in (tg.losses.Squared(), LOGISTIC, tg.losses.LpLoss(4)):
        for one in ends:
            for two in ends:
                query = query_of(loss, size=2, **{name: one, other: two})
                assert query.sensitivity(1_000, 2).ideal > 0.0


# Where the proof fails: the counterexamples to the claim for every convex loss.


def test_losses_of_more_than_one_score_are_refused():
    """Clipping the gradient of w -> (w - b)' A (w - b) / 2 is no gradient; see the next test."""
    own = tg.losses.RecordGradient(lambda w, x, y: w - x)
    for loss in (own, tg.losses.Multinomial(3), tg.losses.Poisson()):
        with pytest.raises(tg.InputError, match="loss must have a single score"):
            query_of(loss)


def quadratic_ratio(n_rows):
    """How far the end moves, of a clipped quadratic in the plane, over what is claimed."""
    strength, eigenvalues = 0.01, np.array([1.0, 100.0])
    optimum = np.array([10.149379344, -99.523619756])
    last = np.array([-0.10145459, 0.99484017])

    def slope(w, side):
        common = (w - optimum) * eigenvalues
        common /= max(1.0, np.linalg.norm(common))
        return ((n_rows - 1) * common + side * last) / n_rows + strength * w

    return distance(slope, np.zeros(2)) / (2.0 / (n_rows * strength))


def test_a_clipped_quadratic_of_two_scores_moves_three_times_as_far_as_claimed():
    assert quadratic_ratio(100) > 3.0


def test_a_step_beyond_what_the_curvature_allows_is_refused_and_would_break_the_promise():
    options = {"strength": 0.1, "row_limit": np.sqrt(10.0)}
    with pytest.raises(tg.InputError, match=r"step_size must be at most .* = 0.196078"):
        query_of(**options, step_size=1.0)
    w = np.zeros(2)
    for _ in range(200):
        slope = (999 * np.clip(10.0 * w, -1, 1) + np.array([1.0, -1.0])) / 1000 + 0.1 * w
        w = w - slope
    assert abs(w[0] - w[1]) / (2.0 / (1000 * 0.1)) == pytest.approx(51.6, abs=0.1)
    for step_size in (None, 1.999999 / 10.2):
        query = query_of(**options, step_size=step_size)
        assert ratio(query, steep_data((1.0, -1e9)), 999, (1.0, 1e9)) <= 0.0099


INSIDE = {"penalty": 0.1, "clip_norm": 2.5, "strength": 0.01}
FAR = np.array([249.17675986, 19.61437253])
WORST = np.array([-0.99701032, -0.07726851])


def inside_ratio():
    """How far the end moves over what is claimed, with a penalty inside the clip.

    There are 999 rows (10, 0) of class 0, and one record of constant gradient.
    """
    penalty, limit, strength = INSIDE["penalty"], INSIDE["clip_norm"], INSIDE["strength"]

    def slope(w, side):
        joint = np.array([10.0 * expit(10.0 * w[0]), 0.0]) + penalty * w
        joint /= max(1.0, np.linalg.norm(joint) / limit)
        return (999 * joint + side * limit * WORST) / 1000 + strength * (w - FAR)

    return distance(slope, FAR) / (2.0 * limit / (1000 * strength))


def test_a_penalty_inside_the_clip_would_break_the_promise():
    assert inside_ratio() > 5.5


def test_a_penalty_outside_of_the_clip_only_helps():
    data = np.zeros((1000, 3))
    data[:, 0] = 10.0
    total = INSIDE["strength"] + INSIDE["penalty"]
    query = query_of(LOGISTIC, 2, strength=total, clip_norm=2.5, row_limit=10.0)
    center = FAR * (INSIDE["strength"] / total)
    before = replaced(data, 5, (*(10.0 * WORST), 1.0))
    assert ratio(query, before, 5, (*(10.0 * WORST), 0.0), center) <= 1.0
    assert query.sensitivity(1000, 2).ideal == pytest.approx(2 * 2.5 / (1000 * total))


# Public conditions and the ends of floats.


def test_a_set_of_unknown_projection_is_refused():
    class Sloppy(tg.sets.L2Ball):
        pass

    pair = tg.sets.Intersection(tg.sets.L1Ball(1.0), tg.sets.Box(-1, 1))
    for constraint in (Sloppy(1.0), pair, tg.sets.IntersectionWithBall(pair, (0.0,), 1.0)):
        with pytest.raises(tg.InputError, match="whose projection is exact"):
            query_of(constraint=constraint)


@pytest.mark.parametrize("name", ["strength", "clip_norm", "row_limit", "step_size"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_numbers_that_bound_nothing_are_refused(name, value):
    with pytest.raises(tg.InputError, match=name):
        query_of(**{name: value})


def test_an_offset_is_refused_by_shape():
    rows = make_rows(np.ones((5, 1)), np.ones(5), exposure=np.ones(5), loss=tg.losses.Poisson())
    query = query_of()
    with pytest.raises(tg.InputError, match="offset must be None"):
        query.answer(rows, np.zeros(1), query.calibrate(5, 1, MU))
