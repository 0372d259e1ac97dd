"""Public data sets from a folder of Parquet files that the repository does not contain.

``a8a``, ``a9a`` and ``w7a`` of LIBSVM have binary columns, a column ``label`` of -1 and 1 and a
column ``split`` of ``train`` and ``test``; ``adult`` of UCI (Becker and Kohavi 1996) has its own
names. Columns are scaled only by public constants.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError

# Wang and others 2020 take 30,000 records of Adult: 28,000 to train on.
ADULT_ROWS, ADULT_TRAIN_ROWS = 30_000, 28_000
# Numeric columns and the public constants by which they are divided: ages, years and hours in a
# week have two digits, and years of education end at 16.
ADULT_UNITS = {"age": 100.0, "education-num": 16.0, "hours-per-week": 100.0}
ADULT_AMOUNTS = ("capital-gain", "capital-loss")
ADULT_WORDS = {"sex": "Male", "marital-status": "Married-civ-spouse"}


@dataclass(frozen=True, eq=False)
class PublicSet:
    """Training and test records; the labels are 0 and 1."""

    X: FloatArray
    y: FloatArray
    X_test: FloatArray
    y_test: FloatArray

    @property
    def n_rows(self) -> int:
        """Number of training records."""
        return len(self.X)

    def first(self, n_rows: int) -> "PublicSet":
        """Return the set with its first ``n_rows`` training records."""
        return PublicSet(self.X[:n_rows], self.y[:n_rows], self.X_test, self.y_test)


@lru_cache(maxsize=2)
def read_libsvm(folder: Path, name: str) -> PublicSet:
    """Read a8a, a9a or w7a with its own split."""
    columns = _columns(folder, name)
    split, label = columns.pop("split").astype(str), columns.pop("label").astype(np.float64)
    X = np.column_stack([column.astype(np.float64) for column in columns.values()])
    train, y = split == "train", (label == 1.0).astype(np.float64)
    return PublicSet(X[train], y[train], X[~train], y[~train])


@lru_cache(maxsize=1)
def read_adult(folder: Path) -> PublicSet:
    """Read the first records of Adult: a constant, ages, years, hours, and four yes or no."""
    columns = {name: column[:ADULT_ROWS] for name, column in _columns(folder, "adult").items()}
    shown = [columns[name].astype(np.float64) / unit for name, unit in ADULT_UNITS.items()]
    shown += [columns[name].astype(np.float64) > 0.0 for name in ADULT_AMOUNTS]
    shown += [columns[name].astype(str) == word for name, word in ADULT_WORDS.items()]
    X = np.column_stack([np.ones(len(shown[0])), *shown]).astype(np.float64)
    y = (columns["income"].astype(str) == ">50K").astype(np.float64)
    cut = ADULT_TRAIN_ROWS
    return PublicSet(X[:cut], y[:cut], X[cut:], y[cut:])


def _columns(folder: Path, name: str) -> dict[str, Any]:
    """Return name -> column of a Parquet file."""
    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise InputError(f"--data must be a folder with {name}.parquet; got {str(folder)!r}.")
    try:
        from pyarrow import parquet  # noqa: PLC0415 - only where there is data
    except ImportError:
        raise InputError(
            "pyarrow must be installed to read --data, such as by pip install "
            "'tailguard[parquet]'; it is not."
        ) from None
    table = parquet.read_table(path)
    return {column: table[column].to_numpy() for column in table.column_names}
