"""What a record adds to the gradients of several classes: values, roots of curvature, refusals."""

import tracemalloc

import numpy as np
import pytest

import tailguard as tg
from support.sources import QuietSource
from support.stages import once
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import RecordBlock
from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian
from tailguard.queries.class_view import ClassView
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.histograms import Bins, WhitenedHistogram
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.softmax_gradients import SoftmaxGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View, Weighting

N_ROWS, K, FAR = 300, 4, 1e3
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((N_ROWS, 3)), RNG.integers(0, K, N_ROWS).astype(float)
WEIGHTS, MAP = RNG.standard_normal((K, 3)), RNG.standard_normal((3 * K, 5))
VIEW = ClassView(None, Units.raw(3, intercept=False), MAP, n_classes=K)
LOSS = tg.losses.Multinomial(K)
CHANCES = LOSS.mean(X @ WEIGHTS.T)
ERRORS = CHANCES - np.eye(K)[Y.astype(int)]


def asked(query, X=X, y=Y):
    gate = Gate(make_rows(X, y, loss=LOSS), guarantee=tg.GDP(1.0), source=QuietSource())
    gate.reserve(Gaussian(0.9), coordinates=10**6)
    return gate.ask(query, WEIGHTS.ravel(), once(0.9))


def contributions(errors=ERRORS):
    """By their definition: the gradient of each record, read through the map."""
    return np.einsum("nk,nj->nkj", errors, X).reshape(N_ROWS, -1) @ MAP


def test_contributions_are_the_gradients_of_records():
    each = [LOSS.record_gradient(WEIGHTS.ravel(), *pair) @ MAP for pair in zip(X, Y, strict=True)]
    np.testing.assert_allclose(contributions(), each)
    found = asked(ContributionLevels(VIEW, (1.0, FAR))).sum(axis=0)
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=1e-5, atol=1e-5)


def test_a_contribution_is_cut_in_its_length():
    rows = contributions()
    cut = rows * np.minimum(1.0, 2.0 / np.linalg.norm(rows, axis=1))[:, None]
    found = asked(ContributionLevels(VIEW, (1.0, 2.0))).sum(axis=0)
    np.testing.assert_allclose(found, cut.mean(axis=0), rtol=1e-5, atol=1e-6)


def test_second_moments_of_contributions_are_those_of_gradients():
    rows = contributions()
    found = asked(SecondMoments(VIEW, FAR, FAR))
    np.testing.assert_allclose(found, rows.T @ rows / N_ROWS, rtol=1e-3, atol=1e-2)


def hessian(limit=np.inf):
    """The mean over a class drawn by the probabilities, each record's trace cut."""
    drawn = [contributions(CHANCES - np.eye(K)[[label] * N_ROWS]) for label in range(K)]
    each = np.einsum("kn,kni,knj->nij", CHANCES.T, drawn, drawn)
    traces = np.trace(each, axis1=1, axis2=2)
    return (each * np.minimum(1.0, limit**2 / traces)[:, None, None]).mean(axis=0), traces


@pytest.mark.parametrize("limit", [1.5, FAR])
def test_roots_of_curvature_square_to_the_hessian_and_are_cut_together(limit):
    found = asked(SecondMoments(VIEW.curved(), limit, limit))
    expected, _ = hessian(limit)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6 * limit**2)


def test_the_hessian_is_the_rise_of_the_gradient():
    expected, step = hessian()[0], 1e-5
    for line, way in zip(expected, MAP.T, strict=True):
        moved = step * way.reshape(K, 3)
        rise = LOSS.mean(X @ (WEIGHTS + moved).T) - LOSS.mean(X @ (WEIGHTS - moved).T)
        np.testing.assert_allclose(contributions(rise).mean(axis=0) / (2.0 * step), line, atol=1e-6)


def test_a_record_has_one_length_whatever_it_is_made_of():
    bins = Bins("octaves", -12.0, 3.0, 80)
    for view, lengths in (
        (VIEW, np.linalg.norm(contributions(), axis=1)),
        (VIEW.curved(), np.sqrt(hessian()[1])),
    ):
        found = asked(WhitenedHistogram(view, "length", bins))
        counts = np.bincount(bins.index(lengths), minlength=bins.count)
        np.testing.assert_allclose(found, counts, atol=1e-9)


@pytest.mark.parametrize("view", [VIEW, VIEW.curved()], ids=["contributions", "curvature"])
def test_records_that_are_rounded_alone_add_up_to_the_same(view):
    query, grid = SecondMoments(view, 3.0, 3.0), 2.0**-30
    sums = [
        query.sum_block(RecordBlock(X, Y, first=first), query.read_state(WEIGHTS.ravel()), grid)
        for first in (0, None)
    ]
    assert np.abs(sums[0] - sums[1]).max() <= N_ROWS
    turned = RecordBlock(X[::-1].copy(), Y[::-1].copy(), first=None)
    again = query.sum_block(turned, query.read_state(WEIGHTS.ravel()), grid)
    np.testing.assert_array_equal(again, sums[1])


MANY = 30
OF_MANY = RNG.standard_normal((3, MANY, 3))
VIEW_OF_MANY = ClassView(
    None, VIEW.units, RNG.standard_normal((3 * MANY, 2 * MANY)), n_classes=MANY
)
EVERY_CLASS = {
    "contributions": (ContributionLevels(VIEW_OF_MANY, (1.0, 4.0)), OF_MANY[0].ravel(), 47),
    "curvature": (SecondMoments(VIEW_OF_MANY.curved(), 3.0, 3.0), OF_MANY[0].ravel(), 41),
    "gradients": (SoftmaxGradients(View.plain(None, VIEW.units), MANY, 1.0), OF_MANY[0], 47),
    "losses": (
        LossDifferences(
            tg.losses.Multinomial(MANY), 3 * (View.plain(None, VIEW.units),), 0.05,
            score_bounds=(np.full(MANY, -5.0), np.zeros(MANY)),
        ),
        0.01 * OF_MANY,
        44,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY_CLASS)
def test_a_record_of_many_classes_adds_the_same_whatever_is_read_with_it(name):
    """Persons of more or fewer rows move others to and fro: even a chunk of one row adds it so."""
    (query, state, digits), y = EVERY_CLASS[name], np.arange(N_ROWS) % MANY
    state = query.read_state(state)

    def summed(rows):
        return query.sum_block(RecordBlock(X[rows], 1.0 * y[rows], first=None), state, 2.0**-digits)

    each = sum(summed(slice(row, row + 1)) for row in range(N_ROWS))
    np.testing.assert_array_equal(summed(slice(None)), each)


def test_second_moments_of_records_rounded_alone_are_not_all_held_at_once():
    wide = RNG.standard_normal((N_ROWS, 80))
    view = ClassView(
        None, Units.raw(80, intercept=False), RNG.standard_normal((240, 150)), n_classes=3
    )
    query, block = SecondMoments(view.curved(), 3.0, 3.0), RecordBlock(wide, Y % 3, first=None)
    state = query.read_state(np.zeros(240))
    tracemalloc.start()
    moments = query.sum_block(block, state, 2.0**-30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < N_ROWS * moments.nbytes


def test_records_of_no_class_or_without_numbers_add_nothing():
    strange, void, far = Y.copy(), X.copy(), X.copy()
    strange[:3], void[:3], far[:3] = (K, -1.0, 0.5), np.nan, 0.0
    query = SecondMoments(VIEW, FAR, FAR)
    state = query.read_state(WEIGHTS.ravel())
    blocks = [RecordBlock(*data) for data in ((X, strange), (void, Y), (far, Y))]
    found = [query.sum_block(block, state, 2.0**-20) for block in blocks]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


BY_SCORE = Weighting(kind="curvature", slope_limit=1.0)
REFUSED = {
    "residuals": WhitenedHistogram(VIEW, "residual", Bins("signed", -9.0, 3.0, 80)),
    "lengths by slopes": WhitenedHistogram(
        VIEW, "length", Bins("octaves", -9.0, 3.0, 80), BY_SCORE
    ),
    "moments by slopes": SecondMoments(VIEW, 1.0, 1.0, BY_SCORE),
    "gradients": LevelGradients(VIEW, 1.0, (1.0,)),
    "gradients of classes": SoftmaxGradients(VIEW, K, 1.0),
    "rows alone": SecondMoments(
        ClassView(None, VIEW.units, MAP, times="one", n_classes=K), 1.0, 1.0
    ),
    "other classes": SecondMoments(ClassView(None, VIEW.units, MAP, n_classes=5), 1.0, 1.0),
    "endless": SecondMoments(VIEW.through(np.inf * MAP), 1.0, 1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_query_of_scores_and_a_view_without_a_meaning_are_refused(name):
    with pytest.raises(InputError):
        REFUSED[name].read_state(WEIGHTS.ravel())


def test_a_comparison_of_losses_is_refused():
    with pytest.raises(InputError, match="a query of scores needs a view of one score"):
        LossDifferences(LOSS, (VIEW, VIEW), 1.0).read_state(np.array([WEIGHTS, WEIGHTS]))
