"""Levels of one column and of two, by indicators that are proper and that are not."""

from support.query_example import Example
from tailguard.queries.level_tables import LevelCounts


def examples():
    one, two = LevelCounts(((0, 1, 2),)), LevelCounts(((2, 0), (1,)))
    yield Example("level-counts/one", one, None, (0.0,) * 4, (0.0, 0.0, 1.0, 9.0))
    yield Example("level-counts/two", two, None, (0.0, 1.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    hostile = (1e300, -0.0, -5e-324, 0.0), (0.0, -7.0, 0.0, 1e300)
    yield Example("level-counts/not-indicators", two, None, *hostile)
