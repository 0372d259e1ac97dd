"""Deviances of scores and of a constant: what is added up, and which records add nothing."""

import numpy as np
import pytest

import tailguard as tg
from queries.test_by_cell import answered
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.unit import Unit
from tailguard.queries.deviances import DevianceMoments, DevianceSizes
from tailguard.queries.histograms import Bins

CELLS = np.array([[0.0, 2.0], [3.0, 2.0], [np.nan, 2.0], [1.0, np.inf], [1e300, -1e300]])


def test_sums_are_those_of_deviances_in_parts_of_the_limit():
    """Squares: halves of 4, 1 and infinity, and of the constant 1 halves of 1, 1 and infinity."""
    a, b = np.array([0.5, 0.125, 1.0]), np.array([0.125, 0.125, 1.0])
    expected = [a.sum(), b.sum(), a @ a, b @ b, a @ b]
    found = answered(DevianceMoments(tg.losses.Squared()), CELLS, (1.0, 4.0))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_person_is_one_record_of_the_means_over_her_usable_rows():
    """Halves of 4 and 0, of one row and one that is void, of nothing, and of 2000 rows of 1/2."""
    scores = [
        [0.0, 2.0],
        [2.0, 2.0],
        [0.0, 2.0],
        [np.nan, 2.0],
        [np.inf, 2.0],
        *[[1.0, 2.0]] * 2000,
    ]
    keys, count = np.array([1, 1, 2, 2, 3, *[4] * 2000]), 4
    query, cells = DevianceMoments(tg.losses.Squared()), np.array(scores)
    persons = Persons.of(keys, Unit(person="key", max_rows=2000))
    calibration = query.calibrate(count, 2, 1.0)
    rows = PersonRows(make_rows(cells, None), persons, SimulationSource(0))
    lattice = query.answer(rows, query.read_state((2.0, 4.0)), calibration)
    a, weight = np.array([0.25, 0.5, 0.0, 0.125]), np.array([1.0, 0.5, 0.0, 1.0])
    expected = [weight @ a, 0.0, weight @ a**2, 0.0, 0.0]
    np.testing.assert_allclose(lattice * calibration.grid, expected, atol=1e-4)


def test_each_record_has_one_bin_in_both_histograms_or_none():
    found = answered(DevianceSizes(tg.losses.Squared(), Bins("octaves", -2.0, 1.0, 4)), CELLS, 1.0)
    assert found.tolist() == [[0, 1, 0, 2], [0, 2, 0, 1]]


def test_targets_that_a_loss_does_not_allow_add_nothing():
    cells = np.array([[0.0, -1.0], [0.0, 0.0], [0.0, 1.0]])
    for loss, usable in (
        (tg.losses.Poisson(), 2),
        (tg.losses.Gamma(), 1),
        (tg.losses.Logistic(), 2),
    ):
        sizes = answered(DevianceSizes(loss, Bins("octaves", -2.0, 1.0, 4)), cells, 0.0)
        assert sizes.sum(axis=1).tolist() == [usable, usable]


def test_several_classes_have_a_score_each_and_the_constant_has():
    """The log-loss of even scores is log(3); that of the constant is log(2), log(4) or log(4)."""
    cells = np.array([[5.0, 5.0, 5.0, 0.0], [0.0, 0.0, 0.0, 2.0], [9.0, -1e9, 0.0, 1.0]])
    cells = np.concatenate([cells, [[0.0, 0.0, 0.0, 3.0], [0.0, np.nan, 0.0, 1.0]]])
    constant, limit = np.log([0.5, 0.25, 0.25]), 4.0
    a, b = np.log([3.0, 3.0]) / limit, np.log([2.0, 4.0, 4.0]) / limit
    a = np.append(a, 1.0)
    found = answered(DevianceMoments(tg.losses.Multinomial(3)), cells, (constant, limit))
    np.testing.assert_allclose(found, [a.sum(), b.sum(), a @ a, b @ b, a @ b], atol=1e-4)
    sizes = answered(DevianceSizes(tg.losses.Multinomial(3), Bins("octaves", -2, 1, 4)), cells,
                     constant)  # fmt: skip
    assert sizes.tolist() == [[0, 0, 2, 1], [0, 1, 2, 0]]


@pytest.mark.parametrize("constant", [0.0, np.zeros(2), np.array([0.0, np.inf, 0.0])])
def test_a_constant_of_classes_has_a_finite_score_for_each(constant):
    query = DevianceSizes(tg.losses.Multinomial(3), Bins("octaves", -2.0, 1.0, 4))
    with pytest.raises(InputError, match="constant must have a finite score for each of 3"):
        query.read_state(constant)


@pytest.mark.parametrize(("state", "name"), [((np.nan, 1.0), "constant"), ((0.0, 0.0), "limit")])
def test_what_is_no_constant_or_limit_is_refused(state, name):
    with pytest.raises(InputError, match=f"{name} must"):
        answered(DevianceMoments(tg.losses.Squared()), CELLS, state)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_deviances_are_half_those_of_scikit_learn(power):
    from sklearn.metrics import mean_tweedie_deviance

    loss = {1.0: tg.losses.Poisson(), 2.0: tg.losses.Gamma()}.get(power, tg.losses.Tweedie(1.5))
    for target, score in ((0.5, 1.0), (3.0, -1.0), (1e-3, 0.0), (7.0, np.log(7.0))):
        half = mean_tweedie_deviance([target], [np.exp(score)], power=power) / 2.0
        assert float(loss.deviance(score, target)) == pytest.approx(half, rel=1e-9, abs=1e-12)
    if power < 2.0:
        half = mean_tweedie_deviance([0.0], [2.0], power=power) / 2.0
        assert float(loss.deviance(np.log(2.0), 0.0)) == pytest.approx(half, rel=1e-9)
