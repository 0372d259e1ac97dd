"""Sums of parts on workers, however the table is cut, and nothing lost or counted twice."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from tailguard.checks import InputError
from tailguard.data.readers.spark import _received_sum, _send_sums

VALUES = np.arange(21)


def worked(run):
    """Sum the values, and tell by their places that chunks begin where they should."""
    tables, first = run
    values = np.concatenate([table["age"].to_numpy() for table in tables])
    return np.array([values.sum(), (values * (first + np.arange(len(values)))).sum(), len(values)])


def answers(lengths, chunk_rows=4):
    found, first = [], 0
    for part, length in enumerate(lengths):
        table = pa.table({"age": VALUES[first : first + length]})
        sent = _send_sums(worked, lengths, chunk_rows, [table], part)
        found += [row for each in sent for row in each.to_pylist()]
        first += length
    return [SimpleNamespace(**row) for row in found]


def added(lengths, rows, chunk_rows=4):
    return _received_sum(
        SimpleNamespace(collect=lambda: rows), worked, lengths, chunk_rows
    ).tolist()


@pytest.mark.parametrize("lengths", [(21,), (3, 18), (5, 0, 9, 7), (1, 1, 1, 1, 1, 16), (4, 8, 9)])
def test_the_sum_is_that_of_the_table_in_any_order_of_answers(lengths):
    rows = answers(lengths)
    expected = [VALUES.sum(), (VALUES * VALUES).sum(), 21]
    assert added(lengths, rows) == added(lengths, rows[::-1]) == expected


@pytest.mark.parametrize("times", [0, 2])
def test_an_answer_that_is_lost_or_there_twice_is_seen(times):
    rows = answers((5, 9, 7))
    for place in range(len(rows)):
        with pytest.raises(InputError, match="the same rows whenever"):
            added((5, 9, 7), rows[:place] + times * [rows[place]] + rows[place + 1 :])
