"""Sums of parts on workers, however the table is cut, and nothing lost or counted twice."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from tailguard.checks import InputError
from tailguard.data.sources.spark_table import PartSums

VALUES = np.arange(21)


def worked(run):
    """Sum the values, and tell by their places that chunks begin where they should."""
    tables, first = run
    values = np.concatenate([table["age"].to_numpy() for table in tables])
    return np.array([values.sum(), (values * (first + np.arange(len(values)))).sum(), len(values)])


def answers(lengths, chunk_rows=4):
    parts = PartSums.of(lengths, worked, chunk_rows)
    found, first = [], 0
    for part, length in enumerate(lengths):
        table = pa.table({"age": VALUES[first : first + length]})
        found += [row for sent in parts.of_part([table], part) for row in sent.to_pylist()]
        first += length
    return parts, [SimpleNamespace(**row) for row in found]


def added(parts, rows):
    return parts.added(SimpleNamespace(collect=lambda: rows)).tolist()


@pytest.mark.parametrize("lengths", [(21,), (3, 18), (5, 0, 9, 7), (1, 1, 1, 1, 1, 16), (4, 8, 9)])
def test_the_sum_is_that_of_the_table_in_any_order_of_answers(lengths):
    parts, rows = answers(lengths)
    expected = [VALUES.sum(), (VALUES * VALUES).sum(), 21]
    assert added(parts, rows) == added(parts, rows[::-1]) == expected


@pytest.mark.parametrize("times", [0, 2])
def test_an_answer_that_is_lost_or_there_twice_is_seen(times):
    parts, rows = answers((5, 9, 7))
    for place in range(len(rows)):
        with pytest.raises(InputError, match="the same rows whenever"):
            added(parts, rows[:place] + times * [rows[place]] + rows[place + 1 :])
