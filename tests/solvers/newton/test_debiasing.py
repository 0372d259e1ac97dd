"""A correction: what is believed of it, and how far it goes along rows that are long and rare."""

import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.fits import plain_fit, reserved
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.queries.second_moments import SecondMoments
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.solvers.newton.clipping import Clipping, SlopeDistribution
from tailguard.solvers.newton.debiasing import (
    CAP,
    ROW_LIMIT,
    _corrected,
    _shrunk_error,
    debias,
    directions,
)
from tailguard.solvers.newton.schedule import SLOPE_BINS, Shares, stages_for

STD, VARIANCE = 0.1, 0.01
N_ROWS = 40_000
# Of a rare column, another one, and the constant.
RARE, OTHER = np.array([0.5, 0.0, 1.0]), np.array([0.0, 0.5, 1.0])
START = RARE - np.array([0.3, 0.0, 0.1])


def kept(total, expected):
    """The share of each that is kept, where noise is alike in all directions."""
    total, covariance = np.array(total), VARIANCE * np.eye(len(total))
    return _shrunk_error(total, covariance, np.array(expected)) / total


@pytest.mark.parametrize("way", [30.0, 100.0])
def test_corrections_as_large_as_expected_are_kept(way):
    assert (kept([way * STD, 20.0 * STD], [30.0 * STD, 30.0 * STD]) > 0.99).all()


@pytest.mark.parametrize("expected", [5.0, 30.0])
def test_what_noise_would_show_is_no_correction_even_where_one_is_expected(expected):
    """Noise makes residuals look skewed, too, and then there is nothing to correct."""
    moved = kept([STD, -STD], [expected * STD, expected * STD])
    assert (moved < 0.1).all()
    assert kept([1e-9], [STD]) == pytest.approx(0.5 / (1.0 + 2.0**0.5))


@pytest.mark.parametrize("expected", [[10.0 * STD, 10.0 * STD], [0.0]])
def test_noise_alone_moves_a_fit_of_seemingly_skewed_residuals_by_less_than_noise(expected):
    noise = STD * np.random.default_rng(0).standard_normal((4_000, len(expected)))
    moved = np.array([kept(one, expected) * one for one in noise])
    assert np.mean(moved**2) < (0.25 if any(expected) else 0.3) * VARIANCE


@pytest.mark.parametrize("size", [0.5, 2.0, 3.0, 5.0])
def test_what_is_not_corrected_is_known_to_be_missing(size):
    """A bias that may well be noise stays, and the error says so."""
    rng, truth = np.random.default_rng(2), np.array([size * STD, 0.0])
    expected, covered = np.full(2, 10.0 * STD), 0
    for _ in range(1_000):
        wrong = truth + STD * rng.standard_normal(2)
        found = _shrunk_error(wrong, VARIANCE * np.eye(2), expected)
        covered += abs(found - truth)[0] < 1.96 * np.sqrt(VARIANCE + (found - wrong)[0] ** 2)
    assert covered > 910


def test_unexpected_ones_are_dropped_below_two_deviations_and_kept_far_above():
    seen = STD * np.array([-1.99, -1.0, 1e-9, 1.99, 2.01, 3.0, -30.0])
    shares = kept(seen, np.zeros(7))
    assert (shares[:4] == 0.0).all()
    assert (shares[4:] > 0.0).all()
    np.testing.assert_allclose(shares[5:], [5.0 / 6.0, 896.0 / 897.0])


def test_each_direction_is_judged_alone():
    shares = kept([9.0 * STD, 0.5 * STD, 0.5 * STD], [0.0, 0.0, 20.0 * STD])
    assert shares[0] > 0.95
    assert shares[1] == 0.0
    assert shares[2] > 0.95


def test_noise_that_directions_share_tells_what_is_not_believed_from_what_is():
    curvature = np.array([[1.0, 0.9], [0.9, 1.0]])
    inverse = np.linalg.inv(curvature)
    rng, truth, found = np.random.default_rng(1), np.array([20.0 * STD, 0.0]), []
    for _ in range(400):
        wrong = truth + inverse @ (STD * rng.standard_normal(2))
        found.append(_shrunk_error(wrong, VARIANCE * inverse @ inverse, truth))
    errors = np.mean((np.array(found) - truth) ** 2, axis=0)
    alone = VARIANCE * np.diag(inverse @ inverse)[0]  # of the first way without that
    assert errors[0] < 0.2 * alone
    assert errors[1] < 0.2 * alone


def debiased(mu, length, seed=0, *, n_rows=N_ROWS, truth=RARE, start=START, mean=0.0):
    """Calibrate a fit that is off along rare rows of that length, where residuals are large.

    All columns have mean square one; the other one has that mean. Returns the fit, its directions
    before, and the row caps that curvatures were released with, over the row limit.
    """
    rng, caps = np.random.default_rng(seed), []
    rare = rng.random(n_rows) < length**-2.0
    other = mean + np.sqrt(1.0 - mean**2) * rng.standard_normal(n_rows)
    X = np.column_stack([length * rare, other])
    residual = (rng.lognormal(0.0, 0.8, n_rows) - np.exp(0.32)) * (1.0 + 3.0 * rare)
    y = X @ truth[:2] + truth[2] + residual
    problem, shares = (
        Problem(tg.losses.Squared(), n_rows, 2, intercept=True),
        Shares(),
    )
    plan = Plan("example", problem, tg.GDP(mu), stages_for(problem, shares, mu))
    gate = Gate.over(X, y, guarantee=tg.GDP(mu), random_state=seed)
    session = reserved(plan, gate, shares)
    fit = plain_fit(problem.loss, 2, weights=start, mean_row=np.eye(3)[2])
    slopes = X @ start[:2] + start[2] - y
    counts = np.bincount(SLOPE_BINS.index(slopes).astype(int), minlength=SLOPE_BINS.count)
    seen = SlopeDistribution(
        problem.loss, NoisyDistribution.of(counts.astype(float), SLOPE_BINS, 5.0)
    )
    clipping = Clipping(fit.clipping.rows, seen, ROW_LIMIT, 1.0, seen.curvature(1.0))
    fit = replace(fit, clipping=clipping)

    def spied(query, *more):
        if isinstance(query, SecondMoments):
            caps.append(query.row_cap / query.row_limit)
        return honest(query, *more)

    honest, session.ask = session.ask, spied
    basis = directions(fit)
    return SimpleNamespace(fit=debias(session, fit), basis=basis, caps=caps)


@pytest.mark.parametrize(("mu", "length"), [(1.0, 5.0), (20.0, 5.0), (20.0, 10.0)])
@pytest.mark.parametrize("seed", range(3))
def test_a_correction_along_long_rare_rows_does_not_overshoot(mu, length, seed):
    done = debiased(mu, length, seed)
    before, after = (done.basis.T @ (w - RARE) for w in (START, done.fit.weights))
    assert done.basis.shape == (3, 2)
    assert np.linalg.norm(after) < 0.3 * np.linalg.norm(before)


def test_the_curvature_counts_rows_far_beyond_the_limit_of_rounds():
    assert debiased(1.0, 10.0).caps == [CAP]


@pytest.mark.parametrize("mu", [0.2, 0.5])
def test_where_the_constant_alone_is_off_the_coefficients_stay(mu):
    """It shows in the score along the fit, too, since that column has a mean."""
    start, errors = OTHER - np.array([0.0, 0.0, 0.3]), []
    for seed in range(9):
        done = debiased(mu, 5.0, seed, n_rows=4_000, truth=OTHER, start=start, mean=0.5)
        assert done.basis.shape == (3, 2)
        errors.append(np.abs(done.fit.weights - OTHER))
    _, other, constant = np.median(errors, axis=0)
    assert other < 0.015
    assert constant < 0.6 * 0.3


@pytest.mark.parametrize("size", [0.5, 2.5, 9.0])
@pytest.mark.parametrize("loss", [tg.losses.Squared(), tg.losses.Poisson()])
def test_a_correction_moves_by_noise_as_far_as_it_says(size, loss):
    """How much is believed follows the noise, too; a way where the loss is curved is at most 1."""
    basis = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 2)))[0]
    own, wrong = np.array([[0.3, 0.1], [0.0, 0.2]]), size * np.array([0.3, 0.2])
    fit = replace(plain_fit(loss, 3), noise=0.1 * np.eye(4))
    rest = own @ own.T, np.array([0.5, 0.1])

    def corrected(error):
        return _corrected(fit, basis, own, error, *rest)

    stds = np.sqrt(np.diag(rest[0]))
    ways = [
        (corrected(wrong + step).weights - corrected(wrong - step).weights) / (2.0 * step.sum())
        for step in np.diag(stds)
    ]
    response = -np.array(ways).T  # of whitened weights to what is wrong; rows are raw here
    found = corrected(wrong)
    np.testing.assert_allclose(found.noise[:, :4], 0.1 * (np.eye(4) - response @ basis.T))
    np.testing.assert_allclose(found.noise[:, 4:], response @ own)
    length = np.linalg.norm(found.weights)
    assert (length < 1.0 + 1e-9) == (loss.link.curved or size < 9.0)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "told"), [(4_000, 10, "the mean was"), (15_000, 2, "mean and fitted")]
)
def test_counts_without_a_curvature_are_debiased_along_the_constant_alone(n_rows, n_features, told):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, n_features))
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 0.5))
    model = tg.PoissonRegression(epsilon=0.5, delta=1e-6, random_state=0).fit(X, y)
    (note,) = [note for note in model.notes_ if "debiased" in note]
    assert note.startswith(told)
    planned = model.plan_.stage("debiasing").purpose
    assert planned.endswith("in the mean" if n_rows < 10_000 else "once curvature is released")
    for name in ("debiasing", "debiasing curvature"):
        (released,) = [r for r in model.certificate_.releases if r.stage == name]
        assert released.parameters["coordinates"] == (1 if n_rows < 10_000 else 2)


@pytest.mark.parametrize(
    "estimator", [tg.LinearRegression, partial(tg.LpRegression, p=4)], ids=["squares", "power"]
)
def test_where_residuals_are_cut_is_said_in_the_unit_of_the_target(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 2))
    y = 1_000.0 * (X[:, 0] + rng.standard_t(3, 4_000))
    model = estimator(guarantee=tg.GDP(5.0), random_state=0).fit(X, y)
    said = r"residuals beyond ([\d,.]+) \(([\d.]+) of the target's scale\) were cut"
    cut, in_scales = re.search(said, str(vars(model))).groups()
    assert 500.0 < float(cut.replace(",", "")) / float(in_scales) < 5_000.0
    assert float(cut.replace(",", "")) < np.abs(y).max()  # the slope of a power is beyond it
