"""What is read cell by cell: levels, values, moments, and which records can be used."""

import numpy as np

from support.query_example import Example
from tailguard.audit.worst_pairs import worst_pair
from tailguard.losses.poisson import Poisson
from tailguard.queries.bounded_moments import BoundedMoments, CellProducts
from tailguard.queries.level_tables import CountOfLevels, LevelCounts, LevelTables
from tailguard.queries.target_totals import TargetTotals
from tailguard.queries.usable_records import CellKinds, UsableRecords
from tailguard.queries.value_histograms import ValueHistograms


def bounded_moments():
    """Moments of one group, of a record that attains both norms, and of several groups."""
    state = np.array([[0.5, -1.0, 0.0]]), np.array([[2.0, 1e-3, 1e100]])
    ends = (1e300, 9.0, 1e200, 0.0), (-0.1, -1.0003, -3e99, 0.0)
    yield Example("bounded-moments/plain", BoundedMoments((0, 1, 2)), state, *ends)
    grouped, state = BoundedMoments((0, 1), by=((2,),)), (np.zeros((3, 2)), np.ones((3, 2)))
    ends = (9.0, 9.0, 0.0, 0.0), (9.0, 9.0, 1.0, 0.0)
    yield Example("bounded-moments/groups", grouped, state, *ends)


def cell_kinds():
    """Cells that become empty, with an exposure, and with a weight."""
    pair = (0.5,) * 5, (np.nan,) * 5
    yield Example("cell-kinds/exposure", CellKinds(5), None, *pair, exposed=True)
    yield Example("cell-kinds/weight", CellKinds(5), None, *pair, weighted=True)


def cell_products():
    """Products of three columns, and of two in units that are far apart."""
    state = np.array([[0.5, -1.0, 0.0]]), np.array([[2.0, 1.0, 3.0]])
    ends = (1e300, -1.0, 0.0, 0.0), (0.5, 1e300, 0.0, 0.0)
    yield Example("cell-products/three", CellProducts((0, 1, 2)), state, *ends)
    units = np.zeros((1, 2)), np.array([[1e-100, 1e100]])
    ends = (5.0, 0.0, np.nan, 0.0), (-0.0, -1e200, np.inf, 0.0)
    yield Example("cell-products/units", CellProducts((0, 1)), units, *ends)


def count_of_levels():
    """A count that one column decides, and one that two decide."""
    missing = CountOfLevels(((0, 1),), ((3,),))
    yield Example("count-of-levels/missing", missing, None, (np.nan, 0.0, 0.0, 0.0), (0.0,) * 4)
    two = CountOfLevels(((0,), (1, 2)), ((0, 1), (2,)))
    yield Example("count-of-levels/two", two, None, (1.0, 0.0, 1.0, 0.0), (1.0, 1.0, 1.0, 0.0))


def level_counts():
    """Levels of one column and of two, by indicators that are proper and that are not."""
    one, two = LevelCounts(((0, 1, 2),)), LevelCounts(((2, 0), (1,)))
    yield Example("level-counts/one", one, None, (0.0,) * 4, (0.0, 0.0, 1.0, 9.0))
    yield Example("level-counts/two", two, None, (0.0, 1.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    hostile = (1e300, -0.0, -5e-324, 0.0), (0.0, -7.0, 0.0, 1e300)
    yield Example("level-counts/not-indicators", two, None, *hostile)


def level_tables():
    """One table and three that share columns, whose indicators need not be indicators."""
    one = LevelTables((((0,), (1, 2)),))
    yield Example("level-tables/one", one, None, (0.0,) * 4, (1.0, 0.0, np.nan, 0.0))
    three = LevelTables((((0,),), ((1, 2),), ((0,), (1, 2))))
    yield Example(
        "level-tables/three", three, None, (-5e-324, 7.0, 1.0, 0.0), (np.inf,) + (0.0,) * 3
    )


def target_totals():
    """A usable record and a void one; a target, and one with an exposure, at both ends."""
    zero, far = (0.0,) * 4, (9.0, -9.0, 0.0, 1e300)
    yield Example("target-totals/void", TargetTotals(0.5), None, (np.nan, 0, 0, 9.0), far)
    yield Example("target-totals/tiny", TargetTotals(1e-300), None, zero, far, Poisson())
    exposed = TargetTotals(4.0, 1.0)
    ends = (0.0, 0.0, 0.0, 0.0, 1e-300), (0.0, 0.0, 0.0, 9.0, 1e300)
    yield Example("target-totals/exposure", exposed, None, *ends, Poisson(), exposed=True)
    both = TargetTotals(4.0, -1.0)
    ends = (0.0, 0.0, 0.0, -1.0, 1.0), (0.0, 0.0, 0.0, 1e300, 1e300)
    yield Example("target-totals/void-exposure", both, None, *ends, Poisson(), exposed=True)
    ends = (0.0,) * 4 + (1.0,), (0.0, 0.0, 0.0, 9.0, 1.0)
    yield Example("target-totals/weighted", TargetTotals(4.0), None, *ends, weighted=True)


def usable_records():
    """A target that the loss refuses, and one that it allows; a record with one cell, and none."""
    allowed, refused = (0.0, 0.0, 0.0, 2.0), (0.0, 0.0, 0.0, -1.0)
    yield Example("usable-records/poisson", UsableRecords(), None, allowed, refused, Poisson())
    one, none = (np.nan, 1.0, np.inf, 0.0), (np.nan, -np.inf, np.inf, 0.0)
    yield Example("usable-records/any-cell", UsableRecords(any_cell=True), None, one, none)


def value_histograms():
    """Cells between edges: one group and several, edges that coincide, and open ends."""
    plain = ValueHistograms((0, 1, 2), 2)
    edges = np.array([[-1.0, 1.0], [0.0, 0.0], [-np.inf, 5e-324]])
    yield Example("value-histograms/plain", plain, edges, (-9.0,) * 4, (9.0,) * 4)
    grouped = ValueHistograms((0, 1), 1, by=((2,),))
    ends = (-9.0, 5.0, 0.0, 0.0), (9.0, -5.0, 1.0, 0.0)
    yield Example("value-histograms/groups", grouped, np.zeros((6, 1)), *ends)


def weight_totals():
    """The total alone: of no weight and a full one, and of a void record and a usable one."""
    alone = worst_pair("weight-totals, alone")
    yield alone
    void = np.nan, *alone.new[1:]
    yield Example("weight-totals/void", alone.query, None, void, alone.new, weighted=True)
