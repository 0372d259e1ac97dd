"""The result of every simulator: records, names of columns and true coefficients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_count, shown


@dataclass(frozen=True, eq=False)
class Dataset:
    """Simulated records, with the true coefficients.

    Attributes
    ----------
    features
        The design matrix, ``(n_rows, n_features)``, in raw units.
    feature_names
        One name per column.
    target
        The target of a model: amounts (float64), or labels and counts (int64).
    coefficients, intercept
        The true values in the raw units of ``features``. The scores of all records are
        ``features @ coefficients + intercept``.
    description
        One sentence about the distribution of the records.
    exposure
        For counts, the duration of observation of each record; otherwise None.

    Examples
    --------
    >>> from tailguard.datasets import insurance_claims
    >>> claims = insurance_claims(n_rows=500, seed=1)
    >>> claims.features.shape, claims.feature_names[0]
    ((500, 8), 'driver_age_years')
    """

    features: FloatArray
    feature_names: tuple[str, ...]
    target: NDArray[Any]
    coefficients: FloatArray
    intercept: float
    description: str
    exposure: FloatArray | None = None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of a table by name, including target and exposure.

        Examples
        --------
        >>> from tailguard.datasets import heavy_tailed_linear
        >>> list(heavy_tailed_linear(10, 2).columns())
        ['x0', 'x1', 'target']
        """
        table: dict[str, NDArray[Any]] = dict(zip(self.feature_names, self.features.T, strict=True))
        table["target"] = self.target
        if self.exposure is not None:
            table["exposure"] = self.exposure
        return table


def check_sizes(**sizes: int) -> None:
    """Refuse sizes below one, and arrays that do not fit into memory.

    Examples
    --------
    >>> check_sizes(n_rows=10**15, n_features=2)
    Traceback (most recent call last):
    tailguard.checks.InputError: n_rows, n_features must be such that an array of these sizes fits \
into memory; got 1000000000000000, 2.
    """
    for name, size in sizes.items():
        check_count(name, size)
    try:
        np.empty(tuple(sizes.values()))
    except (MemoryError, OverflowError, ValueError):
        values = ", ".join(map(shown, sizes.values()))
        raise InputError(
            f"{', '.join(sizes)} must be such that an array of these sizes fits into memory; got "
            f"{values}."
        ) from None
