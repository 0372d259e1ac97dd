"""Queries by cell: what they count, that a gap leaves other cells alone, and their noise."""

import numpy as np
import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import RecordBlock
from tailguard.queries.bounded_moments import BoundedMoments, CellProducts
from tailguard.queries.deviances import DevianceMoments, DevianceSizes
from tailguard.queries.histograms import Bins
from tailguard.queries.level_tables import CountOfLevels, LevelCounts, LevelTables, codes_of
from tailguard.queries.value_histograms import MOST_COMPARED, ValueHistograms

EDGES = np.array([[-1.0, 1.0], [0.0, 10.0]])
UNIT = np.zeros((1, 2)), np.ones((1, 2))


def answered(query, features, state=None):
    features = np.asarray(features, dtype=np.float64)
    rows = make_rows(features, None)
    calibration = query.calibrate(*features.shape, 1.0)
    lattice = query.answer(rows, query.read_state(state) if state is None else state, calibration)
    return query.finish(lattice * calibration.grid, len(features))


def test_each_cell_is_in_the_bin_whose_upper_edge_it_does_not_pass():
    cells = [[-1.0, 0.0], [-0.5, 1e-9], [1.0, 10.0], [np.inf, 99.0], [7.0, np.nan]]
    found = answered(ValueHistograms((0, 1), 2), cells, EDGES)
    assert found.tolist() == [[1, 2, 1, 4], [1, 2, 1, 4]]


def test_a_row_of_many_columns_adds_the_same_products_whatever_is_read_with_it():
    """Persons of more or fewer rows move others to and fro: even a chunk of one row adds it so."""
    cells, query = np.random.default_rng(0).standard_normal((300, 20)), CellProducts((*range(20),))
    state = query.read_state((np.zeros((1, 20)), np.ones((1, 20))))

    def summed(rows):
        return query.sum_block(RecordBlock(cells[rows], first=None), state, 2.0**-44)

    each = sum(summed(slice(row, row + 1)) for row in range(300))
    np.testing.assert_array_equal(summed(slice(None)), each)


def test_groups_have_edges_of_their_own_and_a_missing_level_is_one_more():
    cells = [[5.0, 0.0], [5.0, 1.0], [5.0, np.nan], [np.nan, 1.0], [0.0, 1.0]]
    edges = np.array([[4.0], [6.0], [4.0]])
    found = answered(ValueHistograms((0,), 1, by=((1,),)), cells, edges)
    assert found.tolist() == [[0, 1], [2, 0], [0, 1]]


@pytest.mark.parametrize("stored", [np.float64, np.float32])
@pytest.mark.parametrize("n_edges", [1, 15, MOST_COMPARED, MOST_COMPARED + 1, 700])
@pytest.mark.parametrize("by", [(), ((2,),)])
def test_both_loops_count_what_a_search_of_sorted_edges_finds(stored, n_edges, by):
    rng = np.random.default_rng(n_edges)
    features = np.round(rng.standard_t(2, (3_000, 3)), 1).astype(stored)
    features[rng.random(features.shape) < 0.1] = np.nan
    features[:9, :2] = [[np.inf], [-np.inf], [0.0], [-0.0], [1e30], [-1e30], [0.1], [2.0], [-3.0]]
    features[:, 2] = rng.choice([0.0, 1.0, np.nan], 3_000)
    query = ValueHistograms((0, 1), n_edges, by=by)
    edges = np.sort(np.round(rng.standard_t(2, (query.n_rows_of_edges, n_edges)), 1), axis=1)
    edges[0, [0, -1]] = edges[0, 0], np.inf  # ties with cells, and among edges
    found, codes = answered(query, features, edges), codes_of(features, by)
    for row, told in enumerate(found):
        values = features[codes == row // 2, row % 2].astype(np.float64)
        values = values[np.isfinite(values)]
        exact = np.bincount(np.searchsorted(edges[row], values), minlength=n_edges + 1)
        assert told.tolist() == [*exact, *([] if by else [len(values)])]


@pytest.mark.parametrize("stored", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1e-300, 0.3, 1e6])
def test_rows_of_the_same_edges_are_searched_from_an_octave_on(shift, stored):
    octaves = 2.0 ** np.arange(-120, 121)
    others = [0.0, 0.0, 1.5, 1.5, -np.inf, np.inf]
    edges = np.sort(np.concatenate([-octaves, octaves, others])) + shift
    ends = [-np.inf, -3e38, -5e-324, -0.0, 0.0, 5e-324, 1e-320, 3e38, np.inf, np.nan]
    beside = [np.nextafter(edges, way) for way in (-np.inf, np.inf)]
    with np.errstate(over="ignore"):
        cells = np.concatenate([ends, edges, *beside, -edges]).astype(stored)
    query = ValueHistograms((0, 1), edges.size)
    found = answered(query, np.column_stack([cells, cells]), np.array([edges, edges]))
    values = cells[np.isfinite(cells)].astype(float)
    values[np.abs(values) < np.finfo(stored).tiny] = 0.0  # as subnormal numbers count
    exact = np.bincount(np.searchsorted(edges, values), minlength=edges.size + 1)
    assert found[0].tolist() == found[1].tolist() == [*exact, len(values)]


@pytest.mark.parametrize(
    "edges", [np.zeros((2, 1)), np.array([[1.0, 0.0]] * 2), [[np.nan] * 2] * 2]
)
def test_edges_that_are_no_rising_rows_are_refused(edges):
    with pytest.raises(InputError, match="edges must"):
        answered(ValueHistograms((0, 1), 2), np.zeros((3, 2)), edges)


def test_codes_are_the_levels_in_their_order_then_missing():
    features = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0], [np.nan, 0, 1], [1, 1, np.inf]])
    assert codes_of(features, ((0, 1),)).tolist() == [0, 1, 2, 3, 1]
    assert codes_of(features, ((0, 1), (2,))).tolist() == [0, 4, 6, 10, 5]
    assert codes_of(features, ()).tolist() == [0] * 5


def test_each_record_counts_once_a_column_by_its_first_level():
    rows = [[0, 9, 0, 0], [1, 9, 0, 1], [0, 9, 1, 1], [1, 9, 1, 0], [0, 9, -3, -0.0]]
    assert answered(LevelCounts(((0, 2), (3,))), rows).tolist() == [1, 2, 2, 3, 2]


def test_tables_and_counts_agree():
    rng = np.random.default_rng(0)
    features = rng.choice([0.0, 1.0, np.nan], (200, 2))
    alone = answered(LevelTables((((0,),), ((1,),))), features)
    both = answered(LevelTables((((0,), (1,)),)), features).reshape(3, 3)
    assert both.sum(axis=1).tolist() == alone[:3].tolist()
    assert both.sum(axis=0).tolist() == alone[3:].tolist()
    some = answered(CountOfLevels(((0,), (1,)), ((0, 2), (1,))), features)
    assert some.tolist() == [both[[0, 2], 1].sum()]


def test_moments_are_those_of_cut_cells_and_leave_gaps_out():
    cells = np.array([[0.5, np.nan], [-3.0, 0.25], [np.inf, -0.5]])
    sums = answered(BoundedMoments((0, 1)), cells, UNIT)
    np.testing.assert_allclose(sums, [[[-0.5, 1.25], [-0.25, 0.3125]]], atol=1e-4)


def test_products_are_those_of_rows_cut_to_norm_one():
    cells = np.array([[3.0, 4.0], [0.5, np.nan], [0.1, 0.2]])
    # Entries of the first are cut to 1, then its length is.
    rows = np.array([[0.5**0.5, 0.5**0.5], [0.5, 0.0], [0.1, 0.2]])
    expected = rows.T @ rows
    found = answered(CellProducts((0, 1)), cells, UNIT)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("query", [BoundedMoments((0, 1)), CellProducts((0, 1))])
@pytest.mark.parametrize("wrong", [np.zeros((1, 2)), np.full((1, 2), np.nan), np.ones((2, 2))])
def test_radii_that_are_no_positive_numbers_are_refused(query, wrong):
    with pytest.raises(InputError, match="radius must"):
        answered(query, np.zeros((3, 2)), (np.zeros((1, 2)), wrong))


QUERIES = {
    "histograms": (ValueHistograms((0, 1), 2), 2.0, 4.0),
    "tables": (LevelTables((((0,),), ((1,),))), 2.0, 4.0),
    "count": (CountOfLevels(((0,),), ((1,),)), 1.0, 1.0),
    "moments": (BoundedMoments((0, 1)), 8.0**0.5, 5.624),
    "products": (CellProducts((0, 1)), 2.0**0.5, None),
    "deviance sizes": (DevianceSizes(tg.losses.Squared(), Bins("octaves", -2, 1, 4)), 2.0, 4.0),
    "deviance moments": (DevianceMoments(tg.losses.Squared()), 5.0**0.5, 5.0),
    "sizes of classes": (DevianceSizes(tg.losses.Multinomial(3), Bins("octaves", -2, 1, 4)), 2, 4),
    "moments of classes": (DevianceMoments(tg.losses.Multinomial(3)), 5.0**0.5, 5.0),
}
"""How far a record moves two columns of each query, in l2 and in l1 norm."""


@pytest.mark.parametrize("name", QUERIES)
def test_the_noise_has_the_scale_that_the_sensitivity_asks_for(name):
    query, l2_move, l1_move = QUERIES[name]
    assert query.calibrate(10**6, 2, 0.5).noise_std == pytest.approx(l2_move / 0.5, rel=2e-3)
    if l1_move:
        std = query.calibrate_pure(10**6, 2, 0.5).noise_std
        assert std == pytest.approx(2.0**0.5 * l1_move / 0.5, rel=2e-3)
