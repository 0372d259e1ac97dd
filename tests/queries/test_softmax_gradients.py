"""Gradients of several classes: their value, the noise they carry, and what is refused."""

import numpy as np
import pytest

import tailguard as tg
from support.queries.histograms import loss_differences
from support.sources import QuietSource
from support.stages import once
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.softmax_gradients import SoftmaxGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View

N_ROWS, MU, ROW_LIMIT = 300, 0.8, 2.0
MAP = np.array([[1.0, 0.5], [0.0, 2.0], [0.3, 0.1]])
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((N_ROWS, 3)), RNG.integers(0, 4, N_ROWS).astype(float)
WEIGHTS, LOSS = RNG.standard_normal((4, 3)), tg.losses.Multinomial(4)
VIEW = View(None, Units.raw(3, intercept=False), MAP)


def answer(query, state=WEIGHTS, X=X, y=Y):
    """The answer without noise."""
    gate = Gate(make_rows(X, y, loss=LOSS), guarantee=tg.GDP(MU * 1.001), source=QuietSource())
    gate.reserve(Gaussian(MU), coordinates=10**6)
    return gate.ask(query, state, once(MU))


def plainly():
    """The gradients by their definition, each row cut."""
    rows = X @ MAP
    cut = rows * np.minimum(1.0, ROW_LIMIT / np.linalg.norm(rows, axis=1))[:, None]
    errors = LOSS.mean(X @ WEIGHTS.T) - np.eye(4)[Y.astype(int)]
    return errors.T @ cut / N_ROWS


def test_without_noise_the_answer_is_the_mean_gradient_of_cut_rows():
    found = answer(SoftmaxGradients(VIEW, 4, ROW_LIMIT))
    np.testing.assert_allclose(found, plainly(), rtol=1e-5, atol=1e-7)


def test_rows_that_are_not_cut_have_the_gradient_of_the_loss():
    plain = View.plain(None, Units.raw(3, intercept=False))
    found = answer(SoftmaxGradients(plain, 4, 100.0))
    each = [LOSS.record_gradient(WEIGHTS.ravel(), *pair) for pair in zip(X, Y, strict=True)]
    np.testing.assert_allclose(found.ravel(), np.mean(each, axis=0), rtol=1e-5, atol=1e-6)


def test_noise_has_the_scale_that_public_numbers_say():
    query = SoftmaxGradients(VIEW, 4, ROW_LIMIT)
    std = query.noise_std(N_ROWS, 3, MU)
    assert std == pytest.approx(2.0 * np.sqrt(2.0) * ROW_LIMIT / (N_ROWS * MU), rel=1e-3)
    noise = np.full(8, query.calibrate(N_ROWS, 3, MU).noise_std)
    np.testing.assert_allclose(query.finish(noise, N_ROWS), std)


def test_a_target_that_is_no_class_adds_nothing():
    query = SoftmaxGradients(VIEW, 4, ROW_LIMIT)
    strange, void = Y.copy(), X.copy()
    strange[:3], void[:3] = (4.0, -1.0, 0.5), np.nan
    found = [answer(query, WEIGHTS, *data) for data in ((X, strange), (void, Y))]
    np.testing.assert_array_equal(*found)


def test_losses_of_several_classes_are_compared():
    states = np.array([0.0 * WEIGHTS, WEIGHTS])
    query = LossDifferences(LOSS, (VIEW, VIEW), 50.0)
    found = answer(query, states)
    expected = LOSS.value(X @ WEIGHTS.T, Y).mean() - np.log(4.0)
    assert found[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("query", "state"),
    [
        (SoftmaxGradients(VIEW, 3, ROW_LIMIT), WEIGHTS),
        (SoftmaxGradients(VIEW, 4, ROW_LIMIT), WEIGHTS[0]),
        (SoftmaxGradients(VIEW, 1, ROW_LIMIT), WEIGHTS[:1]),
        (SoftmaxGradients(VIEW, 4, 0.0), WEIGHTS),
        (SoftmaxGradients(VIEW.curved(), 4, ROW_LIMIT), WEIGHTS),
        (SoftmaxGradients(VIEW, 4, ROW_LIMIT), np.full((4, 3), np.nan)),
    ],
)
def test_what_does_not_fit_is_refused(query, state):
    with pytest.raises(tg.InputError):
        query.read_state(state)


def test_a_gain_that_is_cut_lower_is_cut_for_every_input():
    """A worst record goes from an endless gain to an endless loss."""
    (example,) = (e for e in loss_differences() if e.name == "loss-differences/gains")
    calibration = example.query.calibrate(100, 3, 1.0)
    answers = []
    for *row, target in (example.old, example.new):
        X, y = np.zeros((100, 3)), np.zeros(100)
        X[0], y[0] = row, target
        rows = make_rows(X, y, loss=example.loss)
        answers.append(example.query.answer(rows, example.state, calibration)[0])
    moved = (answers[1] - answers[0]) * calibration.grid
    assert 1.25 - 1e-6 < moved <= calibration.charged
