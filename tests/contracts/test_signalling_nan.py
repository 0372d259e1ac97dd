"""A signalling NaN of single precision is missing, like any other: NumPy warns of none.

Where a warning is an error, as here, it would tell of one record, and cost nothing.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tailguard as tg
from tailguard.data.labels import encode_labels
from tailguard.data.matrices import to_matrix, to_matrix_or_vector, to_vector
from tailguard.data.missing import filled

N_ROWS, PLACE = 600, 3
PROMISE = {"epsilon": 3.0, "delta": 1e-5}
SIGNALLING = np.uint32(0x7F800001)


def signalling(width=None):
    """Numbers of single precision, one of which is such a NaN."""
    numbers = np.random.default_rng(0).random(N_ROWS if width is None else (N_ROWS, width))
    numbers = numbers.astype(np.float32)
    numbers.view(np.uint32)[PLACE] = SIGNALLING
    return numbers


def plain(seed=1):
    return np.random.default_rng(seed).random(N_ROWS)


COLUMN, MATRIX = signalling(), signalling(2)
FRAMES = {
    "pandas": pd.DataFrame({f"x{k}": COLUMN for k in range(2)}),
    "pandas, mixed": pd.DataFrame({"a": COLUMN, "b": plain()}),
    "pandas, wide": pd.DataFrame({f"x{k}": COLUMN if k else plain() for k in range(9)}),
    "arrow": pa.table({f"x{k}": COLUMN for k in range(2)}),
    "arrow, wide": pa.table({f"x{k}": COLUMN for k in range(9)}),
    "array": MATRIX,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_table_with_one_is_read_in_silence(kind):
    read = to_matrix(FRAMES[kind])
    assert np.flatnonzero(np.isnan(read).any(axis=1)).tolist() == [PLACE]


def test_so_are_a_column_and_cells_that_a_constant_stands_for():
    for read in (to_vector(COLUMN), to_matrix_or_vector(COLUMN)[0][:, 0]):
        assert read.dtype == np.float64
        assert np.flatnonzero(np.isnan(read)).tolist() == [PLACE]
    assert not np.isnan(filled(MATRIX, {0: 1.0, 1: 1.0})).any()


def fitted(model=tg.LinearRegression, y=None, **beside):
    model = model(**PROMISE, weight_bound=1.0 if "sample_weight" in beside else None)
    return model.fit(plain()[:, None], plain(2) if y is None else y, **beside)


RUNS = {
    "features": lambda: tg.LinearRegression(**PROMISE).fit(FRAMES["pandas"], plain()),
    "target": lambda: fitted(y=COLUMN),
    "label": lambda: encode_labels(COLUMN, (0, 1)),
    "weight": lambda: fitted(sample_weight=COLUMN),
    "exposure": lambda: fitted(tg.PoissonRegression, exposure=COLUMN),
    "mean": lambda: tg.mean(COLUMN, **PROMISE),
    "description": lambda: tg.describe(FRAMES["pandas, mixed"], **PROMISE),
    "scored features": lambda: fitted().private_score(COLUMN[:, None], plain(), **PROMISE),
    "scored target": lambda: fitted().private_score(plain()[:, None], COLUMN, **PROMISE),
}


@pytest.mark.parametrize("name", RUNS)
def test_no_run_warns_of_one(name):
    RUNS[name]()
