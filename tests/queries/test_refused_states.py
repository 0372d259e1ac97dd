"""What queries refuse before a record is read, and what blocks of records may lack."""

import numpy as np
import pytest

import tailguard as tg
from support.count_below import CountBelow
from support.loops import loop
from tailguard.audit.worst_pairs import worst_pair
from tailguard.checks import InputError
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.base import GaussianQuery
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.histograms import Bins, ColumnHistograms
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.registry import QUERIES
from tailguard.queries.softmax_gradients import SoftmaxGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View, check_levels

RAW, SQUARED = Units.raw(1, intercept=False), tg.losses.Squared()


@pytest.mark.parametrize("bad", [np.array([np.nan]), np.zeros(2)])
@pytest.mark.parametrize("place", [0, 1])
def test_histograms_need_a_finite_center_and_scale_a_column(bad, place):
    query = ColumnHistograms((0,), Bins("octaves", -20.0, 1.0, 40))
    state = [np.ones(1), np.ones(1)]
    state[place] = bad
    with pytest.raises(InputError, match="must have one finite number per column"):
        query.read_state(state)


def test_losses_of_one_candidate_have_no_differences():
    query = LossDifferences(SQUARED, (View.plain(SQUARED, RAW),), 1.0)
    with pytest.raises(InputError, match="views must be at least two"):
        query.read_state(np.zeros((1, 1)))


@pytest.mark.parametrize("name", QUERIES)
def test_weights_of_several_scores_are_refused_where_a_record_has_one(name):
    """Eight rows of weights for eight records, each of which would be counted in eight bins."""
    pair = worst_pair(name)
    if not hasattr(pair.query, "view") or isinstance(pair.query, SoftmaxGradients):
        return
    with pytest.raises(InputError, match="whitening and weights must have 3 rows"):
        pair.query.read_state(np.zeros((8, 3)))


def test_losses_are_compared_of_as_many_scores_as_they_have():
    views = 2 * (View.plain(None, RAW),)
    for loss, state, words in (
        (SQUARED, np.zeros((2, 3, 1)), "whitening and weights must have 1 rows"),
        (tg.losses.Multinomial(3), np.zeros((2, 1)), "weights must have a row for each of 3"),
        (tg.losses.Multinomial(3), np.zeros((2, 2, 1)), "weights must have a row for each of 3"),
    ):
        with pytest.raises(InputError, match=words):
            LossDifferences(loss, views, 1.0).read_state(state)


@pytest.mark.parametrize("loss", [SQUARED, tg.losses.Multinomial(3)])
def test_losses_are_compared_within_as_many_bounds_as_there_are_scores(loss):
    """Seven bounds would make seven of one record, which adds seven times its bound."""
    views, state = 2 * (View.plain(None, RAW),), np.zeros((2, 1) if loss is SQUARED else (2, 3, 1))
    for shape in (7, (7, 3)):
        bounds = np.zeros(shape), np.ones(shape)
        for given in (bounds, (0.0, bounds[1])):
            query = LossDifferences(loss, views, 1.0, score_bounds=given)
            with pytest.raises(InputError, match="score_bounds must be two numbers, or have one"):
                query.read_state(state)


def test_levels_need_a_share_each():
    with pytest.raises(InputError, match="levels and shares must have the same length"):
        check_levels("levels", (1.0,), ())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"center": [np.inf]}, "center must be a vector of finite numbers"),
        ({"center": [[0.0]]}, "center must be a vector of finite numbers"),
        ({"scale": [1.0, 1.0]}, "scale must have one entry per centre"),
        ({"scale": [0.0]}, "scale must be a vector of numbers above 0"),
        ({"scale": [5e-324]}, "scale must be a vector of numbers above 0"),
    ],
)
def test_units_are_finite_and_above_zero(given, words):
    with pytest.raises(InputError, match=words):
        Units(**{"center": [0.0], "scale": [1.0], "intercept": False, **given})


def test_a_query_must_define_how_a_block_adds_up():
    with pytest.raises(TypeError, match="CountBelow must define sum_block"):
        GaussianQuery.sum_block(CountBelow((0,)), None, None, 1.0)


def test_a_minimiser_refuses_records_that_are_rounded_one_by_one():
    query = ClippedMinimiser(SQUARED, RAW, 1.0, 1.0, 1.0)
    block = RecordBlock(np.zeros((2, 1)), np.zeros(2), first=None)
    with pytest.raises(InputError, match="records without an order have no chunks"):
        query.sum_block(block, np.zeros(1), 1.0)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("has_target", "has_offset"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_counts_of_blocks_with_and_without_target_and_offset(paired, has_target, has_offset):
    features, more = np.array([[0.0], [1.0]]), np.array([0.0, 5.0])
    target, offset = (more if has else None for has in (has_target, has_offset))
    columns = (0, *(1,) * has_target, *(2,) * has_offset)  # offsets come after a target's place
    query = CountBelow(columns, paired)
    found = loop(query, np.full(len(columns), 2.0)).sum_block(RecordBlock(features, target, offset))
    n_more = has_target + has_offset
    differences = [1.0] + [5.0] * n_more
    paired_counts = [float(each <= 2.0) for each in differences]
    expected = paired_counts if paired else [2.0] + [1.0] * n_more
    assert found.tolist() == expected
