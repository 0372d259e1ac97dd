"""The same rows in other orders and layouts, with a column that identifies them."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

N_ROWS = 6000
COLUMNS = ["x0", "x1", "x2"]


def shuffled(frame, seed):
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    X = rng.standard_t(3, (N_ROWS, 3)).astype(np.float32)
    X[[5, 4097], [2, 0]] = np.nan, np.inf
    score = np.nan_to_num(X, posinf=0.0) @ [0.5, -0.3, 0.2]
    ill = np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-score)), 1.0, 0.0)
    others = {"cost": np.abs(np.rint(score + rng.standard_t(3, N_ROWS))), "ill": ill}
    return pd.DataFrame(X, columns=COLUMNS).assign(**others, policy=rng.permutation(N_ROWS) + 10**6)


@pytest.fixture(scope="module")
def cuts(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    found = {"pandas": frame, "shuffled": shuffled(frame, 5)}
    found["arrow"] = pa.Table.from_pandas(frame[::-1], preserve_index=False)
    for seed, size in enumerate((100, 1024, 5000)):
        table = pa.Table.from_pandas(shuffled(frame, seed), preserve_index=False)
        found[f"row groups of {size}"] = folder / f"{size}.parquet"
        parquet.write_table(table, found[f"row groups of {size}"], row_group_size=size)
    wide = frame.astype(dict.fromkeys(COLUMNS, np.float64))  # all digits of a float32
    shuffled(wide, 9).to_csv(folder / "rows.csv", index=False)
    found["csv"] = folder / "rows.csv"
    for n in (1, 2, 7):
        found[f"{n} partitions"] = dd.from_pandas(shuffled(frame, n), npartitions=n, sort=False)
    return found
