"""The design matrix of a table, by its schema: numeric columns as they are, levels as indicators.

The width and the names of the matrix follow from the schema alone. A row of it depends on its own
record and on nothing else.
"""

from typing import Any

import numpy as np

from tailguard.array_types import Features
from tailguard.data.design.columns import columns_of
from tailguard.data.design.indicators import indicators
from tailguard.data.schema.schema import Schema


def design_matrix(table: Any, schema: Schema) -> Features:
    """Return one column per coefficient of a schema whose features are named.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"region": ["south", "moon", "north"], "age": [41, 50, 30]})
    >>> schema = Schema(categorical={"region": ["north", "south"]}).settled(table.columns)
    >>> design_matrix(table, schema)
    array([[ 1.,  0., 41.],
           [ 0.,  1., 50.],
           [ 0.,  0., 30.]])
    """
    columns = columns_of(table)
    if not schema.categorical:
        return columns.numbers(schema.numeric)
    blocks: dict[str, Any] = {}
    if schema.numeric:
        matrix = columns.numbers(schema.numeric)
        blocks |= {name: matrix[:, [place]] for place, name in enumerate(schema.numeric)}
    cells = columns.cells(list(schema.levels))
    for (name, levels), listed in zip(schema.levels.items(), cells, strict=True):
        blocks[name] = indicators(listed, levels)
    stacked: Features = np.hstack([blocks[name] for name in schema.features or ()])
    return stacked
