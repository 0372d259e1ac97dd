"""Released counts of classes: their noise, what they spend, and when there are second ones."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.spy import gate_over, spent_mu
from support.statistics import gaussian_scale_test
from tailguard.gate.plan import Problem
from tailguard.solvers.class_shares import LARGEST_LOSS, ClassCounts, count_classes, sharpened
from tailguard.solvers.session import BudgetSession
from tailguard.solvers.softmax_newton import AGAIN, COUNTS, SoftmaxNewton

MANY, FALSE_ALARM = 6_000, 1e-6


def session_over(y, classes, promise, *, seed=None):
    """A session of a fit to labels alone, and its books."""
    problem = Problem(tg.losses.Multinomial(classes), len(y), 1, intercept=True)
    plan = SoftmaxNewton().plan(problem, promise)
    gate, books = gate_over(problem, np.zeros((len(y), 1)), y, promise, seed=seed)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return BudgetSession(plan, gate), books


def test_both_counts_have_the_noise_that_they_state_and_wrong_scales_are_rejected():
    """Each alone, and their mean, by what its variance says: of as many classes as tests need."""
    y = np.random.default_rng(0).integers(0, MANY, 20_000).astype(float)
    session, books = session_over(y, MANY, tg.GDP(3.0), seed=5)
    first, again = session.stages[COUNTS], session.stages[AGAIN]
    counted = count_classes(session, MANY, first)
    both = sharpened(session, counted, first, again)
    second = books.releases[-1]
    part = counted.variance / (counted.variance + second.noise_std**2)
    exact = np.bincount(y.astype(int), minlength=MANY)
    alone = (both.counts - (1.0 - part) * counted.counts) / part
    for found, std in (
        (counted.counts, math.sqrt(2.0) / first.mu),
        (alone, math.sqrt(2.0) / again.mu),
        (both.counts, math.sqrt(2.0) / math.hypot(first.mu, again.mu)),
    ):
        accepted = []
        for ratio in (0.9, 1.0, 1.1):
            verdict = gaussian_scale_test(ratio * (found - exact), std, false_alarm=FALSE_ALARM)
            assert verdict.power >= 0.999
            accepted.append(verdict.accepted)
        assert accepted == [False, True, False]
    assert math.sqrt(both.variance) == pytest.approx(math.sqrt(2.0) / spent_mu(books), rel=1e-3)


@pytest.mark.parametrize("worst", [2.0, 0.0, 1e300, -1e300, np.nan, np.inf, 2.5, -5e-324])
def test_a_replaced_label_moves_what_is_spent_twice_by_what_both_counts_charge(worst):
    """Second counts hold the promise of their own stage beside the first, whatever the label."""
    y = np.repeat([0.0, 1.0, 2.0], [900, 95, 5])
    replaced, moves = y.copy(), []
    replaced[0] = worst
    for name in (COUNTS, AGAIN):
        answers = []
        for labels in (y, replaced):
            session, books = session_over(labels, 3, tg.GDP(1.0))
            answers.append(count_classes(session, 3, session.stages[name]).counts)
        (release,) = books.releases
        moves.append(np.linalg.norm(answers[0] - answers[1]) / release.sensitivity)
        assert release.sensitivity / release.noise_std <= session.stages[name].mu
    assert max(moves) <= 1.0 + 1e-12
    assert worst != 2.0 or min(moves) > 0.99


@pytest.mark.parametrize(
    ("sizes", "spends"),
    [((2_000, 2_000, 2_000), "none"), ((3_000, 2_970, 30), "some"), ((5_900, 90, 10), "all")],
)
def test_second_counts_spend_what_brings_the_loss_of_a_rare_class_down(sizes, spends):
    session, books = session_over(np.repeat([0.0, 1.0, 2.0], sizes), 3, tg.GDP(0.25), seed=1)
    first, again = session.stages[COUNTS], session.stages[AGAIN]
    counted = count_classes(session, 3, first)
    both = sharpened(session, counted, first, again)
    assert (both is counted) == (len(books.releases) == 1) == (spends == "none")
    loss = counted.loss * both.variance / counted.variance
    all_spent = math.hypot(first.mu, again.mu)
    if spends == "some":
        assert loss == pytest.approx(LARGEST_LOSS, rel=1e-6)
        assert spent_mu(books) < 0.9 * all_spent
    elif spends == "all":
        assert loss > LARGEST_LOSS
        assert spent_mu(books) == pytest.approx(all_spent, rel=1e-6)
    else:
        assert loss < LARGEST_LOSS


def test_the_expected_loss_is_that_of_counts_with_noise():
    rng, counts, std = np.random.default_rng(1), np.array([8_000.0, 1_500.0, 500.0]), 40.0
    exact = counts / counts.sum()
    entropy = -(exact @ np.log(exact))
    lost = [
        exact @ np.log(exact / ClassCounts(noisy, std**2).shares)
        for noisy in counts + std * rng.standard_normal((4_000, 3))
    ]
    stated = ClassCounts(counts, std**2).loss * entropy
    assert np.mean(lost) == pytest.approx(stated, rel=0.15)
