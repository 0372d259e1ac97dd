"""Heavy-tailed columns in raw units: what the simulators of linear models share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, check_finite, check_positive, shown
from tailguard.datasets.dataset import Dataset, check_sizes


@dataclass(frozen=True, eq=False)
class RawDesign:
    """A design matrix in raw units, and the standardised columns behind it.

    Column ``j`` of ``features`` is ``unit_j * (offset_j + standardised_j)``.

    Examples
    --------
    >>> import numpy as np
    >>> design = RawDesign(np.ones((4, 1)), np.array([100.0]), np.array([2.0]))
    >>> data = design.dataset(np.array([5.0]), 1.0, target=np.zeros(4), description="Ones.")
    >>> data.features[0], data.coefficients, data.intercept
    (array([300.]), array([0.05]), -9.0)
    """

    standardised: FloatArray
    units: FloatArray
    offsets: FloatArray

    @property
    def features(self) -> FloatArray:
        """The columns as a user would hold them."""
        return self.units * (self.offsets + self.standardised)

    def dataset(
        self,
        weights: FloatArray,
        intercept: float,
        *,
        target: NDArray[Any],
        description: str,
        exposure: FloatArray | None = None,
    ) -> Dataset:
        """Return the records with the truth behind them, given for the standardised columns."""
        return Dataset(
            features=self.features,
            feature_names=tuple(f"x{j}" for j in range(weights.size)),
            target=target,
            coefficients=weights / self.units,
            intercept=intercept - float(weights @ self.offsets),
            description=description,
            exposure=exposure,
        )


def draw_raw_design(
    rng: np.random.Generator,
    n_rows: int,
    n_features: int,
    *,
    tail: float,
    units: tuple[float, float],
    offset: float,
) -> RawDesign:
    """Draw Student-t columns in units from ``units[0]`` to ``units[1]``, ``offset`` sd from zero.

    ``tail`` is the degrees of freedom: moments of order ``tail`` and beyond do not exist. Columns
    have variance 1 before the units where it exists (``tail > 2``), and signs of the offsets
    alternate.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> design = draw_raw_design(rng, 100, 3, tail=3.0, units=(1e-6, 1e6), offset=50.0)
    >>> design.units, design.offsets
    (array([1.e-06, 1.e+00, 1.e+06]), array([ 50., -50.,  50.]))
    """
    check_sizes(n_rows=n_rows, n_features=n_features)
    check_positive("tail", tail)
    check_finite("offset", offset)
    if not isinstance(units, tuple | list | np.ndarray) or len(units) != 2:
        raise InputError(f"units must be a pair of numbers above 0; got {shown(units)}.")
    spread = np.geomspace(
        check_positive("units[0]", units[0]), check_positive("units[1]", units[1]), n_features
    )
    standardised = rng.standard_t(tail, size=(n_rows, n_features))
    if tail > 2:
        standardised /= np.sqrt(tail / (tail - 2))
    signs = np.where(np.arange(n_features) % 2 == 0, 1.0, -1.0)
    return RawDesign(standardised, spread, offset * signs)


def alternating_weights(n_features: int) -> FloatArray:
    """Weights of alternating sign and falling size, of norm 1.

    Examples
    --------
    >>> alternating_weights(2).round(3)
    array([ 0.816, -0.577])
    """
    order = np.arange(n_features)
    weights = np.where(order % 2 == 0, 1.0, -1.0) / np.sqrt(1.0 + order)
    unit: FloatArray = weights / np.linalg.norm(weights)
    return unit
