"""The number of rows of each person, as a table with one row per person.

The number depends on the rows of that person only. So replacing all rows of a person replaces one
row of this table.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from tailguard.data.inputs import Inputs
from tailguard.data.rows.keys import NOBODY, PersonRule

ROWS_PER_PERSON = "rows per person"
"""The name of the column."""


def rows_per_person(keys: Any) -> Inputs:
    """Count the rows of each person by a column of keys; rows without a key are not counted."""
    rule = PersonRule.of(keys, max_rows=1)
    rule.check_axes(None, may_be_vector=True)
    persons = rule.read(None, None)
    assert persons is not None
    numbers = persons.numbers[persons.numbers != NOBODY]
    counts = np.bincount(numbers, minlength=persons.count).astype(np.float64)[:, None]
    each = np.arange(persons.count)
    return Inputs(
        records=counts,
        n_rows=persons.count,
        n_features=1,
        names=(ROWS_PER_PERSON,),
        source=counts,
        persons=replace(persons, keys=each, numbers=each),
        unit=persons.unit,
    )
