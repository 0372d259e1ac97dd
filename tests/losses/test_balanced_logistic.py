"""Slopes of one half: bounded, unbiased whatever the score, and taken only where noise is large."""

import numpy as np
import pytest
from scipy.special import expit

import tailguard as tg
from support.spy import spent_mu
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.losses.balanced_logistic import BalancedLogistic
from tailguard.queries.clip_levels import LevelGradients
from tailguard.solvers.newton.allocation import BALANCED_BELOW, shares_for
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.session import BudgetSession

EXTREME = np.array([0.0, -0.0, 5e-324, 1e-300, 1e-9, 36.0, 710.0, 746.0, 1e9, 1e308, np.inf])
EXTREME = np.concatenate([EXTREME, -EXTREME])
SCORES = np.concatenate([np.linspace(-30.0, 30.0, 241) + 0.1, [1e-3, -1e-3]])
HALF_STEP = 1e-5
both_targets = pytest.mark.parametrize("target", [0.0, 1.0])


def rise(of, scores, *target):
    """The numerical derivative."""
    above, below = of(scores + HALF_STEP, *target), of(scores - HALF_STEP, *target)
    return (above - below) / (2.0 * HALF_STEP)


def mean_slope(loss, scores, at):
    """The slope expected over both outcomes, which are as likely as scores of ``at`` say."""
    return expit(at) * loss.slope(scores, 1.0) + expit(-at) * loss.slope(scores, 0.0)


@pytest.mark.filterwarnings("error")
@both_targets
def test_slopes_stay_within_one_half_at_every_score(target):
    loss = BalancedLogistic()
    assert loss.slope_bound() == 0.5
    assert (np.abs(loss.slope(EXTREME, target)) <= 0.5).all()
    assert (np.abs(loss.slope(SCORES, target)) <= 0.5 + 1e-15).all()  # as far as it is rounded


@both_targets
def test_a_sure_and_wrong_score_has_the_largest_slope_and_a_right_one_none(target):
    wrong, right = BalancedLogistic().slope([-np.inf, np.inf], 1.0)
    assert (wrong, right) == (-0.5, 0.0)
    sign = 1.0 - 2.0 * target
    np.testing.assert_array_equal(
        BalancedLogistic().slope(sign * np.abs(EXTREME), target), 0.5 * sign
    )


def test_slopes_average_zero_where_scores_are_true():
    np.testing.assert_allclose(mean_slope(BalancedLogistic(), SCORES, SCORES), 0.0, atol=1e-15)
    # A bound alone, without the weights, would not do.
    clipped = expit(SCORES) * np.maximum(-expit(-SCORES), -0.5)
    clipped += expit(-SCORES) * np.minimum(expit(SCORES), 0.5)
    assert np.abs(clipped).max() > 0.05


def test_the_expected_curvature_is_half_of_the_less_likely_outcome():
    """As slopes rise on average, where outcomes are as likely as scores say."""
    apart = SCORES[np.abs(SCORES) > HALF_STEP]  # the loss has a kink at zero
    expected = 0.5 * np.minimum(expit(apart), expit(-apart))
    np.testing.assert_allclose(BalancedLogistic().expected_curvature(apart), expected, rtol=1e-12)
    average = rise(lambda scores: mean_slope(BalancedLogistic(), scores, apart), apart)
    np.testing.assert_allclose(average, expected, atol=1e-9)


def test_the_slope_of_a_record_depends_on_that_record_alone():
    loss = BalancedLogistic()
    rng = np.random.default_rng(0)
    scores, targets = 5.0 * rng.standard_normal(60), rng.integers(0, 2, 60).astype(float)
    alone = [float(loss.slope(*record)) for record in zip(scores, targets, strict=True)]
    np.testing.assert_array_equal(loss.slope(scores, targets), alone)
    order = rng.permutation(60)
    np.testing.assert_array_equal(loss.slope(scores[order], targets[order]), np.take(alone, order))
    scores[1:] = rng.choice([np.nan, np.inf, 1e308], 59)
    assert loss.slope(scores, targets)[0] == alone[0]


@pytest.mark.parametrize("n_features", [1, 10])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_rows", [500, 20_000, 1_000_000])
def test_logistic_fits_alone_take_them_and_only_below_a_budget(n_features, intercept, n_rows):
    limit = np.sqrt(BALANCED_BELOW * (n_features + intercept) / n_rows)
    for loss in (tg.losses.Logistic(), tg.losses.Squared(), tg.losses.Poisson()):
        problem = Problem(loss, n_rows, n_features, intercept)
        even = [shares_for(problem, share * limit).balanced for share in (0.1, 0.999, 1.001, 10.0)]
        logistic = isinstance(loss, tg.losses.Logistic)
        assert even == ([True, True, False, False] if logistic else [False] * 4)


def asked(mu, monkeypatch):
    """The questions of one fit that read scores, and its solution."""
    rng, queries, honest = np.random.default_rng(1), [], BudgetSession.ask
    X = rng.standard_normal((20_000, 2))
    y = (rng.random(20_000) < expit(0.5 + X @ [1.0, -0.6])).astype(float)

    def spied(session, query, *more):
        queries.append(query)
        return honest(session, query, *more)

    monkeypatch.setattr(BudgetSession, "ask", spied)
    problem = Problem(tg.losses.Logistic(), 20_000, 2, intercept=True)
    plan = WhitenedNewton().plan(problem, tg.GDP(mu))
    gate = Gate.over(X, y, guarantee=tg.GDP(mu), loss=problem.loss, random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    solution = WhitenedNewton().run(plan, gate)
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)
    return queries, solution


@pytest.mark.parametrize(("mu", "limit"), [(0.1, 0.5), (1.0, 1.0)])
def test_rounds_pay_for_the_limit_of_their_slopes(mu, limit, monkeypatch):
    queries, solution = asked(mu, monkeypatch)
    rounds = [query for query in queries if isinstance(query, LevelGradients)]
    assert len(rounds) >= 8
    for query in rounds:
        assert query.levels == (limit,)
        assert query.view.loss.slope_bound() == limit
    np.testing.assert_allclose(solution.coef, [1.0, -0.6], atol=0.25)


@pytest.mark.parametrize(("mu", "even"), [(0.1, True), (1.0, False)])
def test_curvatures_of_even_slopes_are_those_expected(mu, even, monkeypatch):
    queries, _ = asked(mu, monkeypatch)
    weighted = [q for q in queries if getattr(q, "weighting", None) is not None]
    kinds = {q.weighting.kind for q in weighted if "curvature" in q.weighting.kind}
    assert kinds == {"expected-curvature" if even else "curvature"}
