"""The functions of one column that terms may use, with the names of their coefficients.

Their parameters are public. If a function is undefined, such as the logarithm of zero, or the cell
is infinite, the value is not finite and the record is void.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from tailguard.array_types import FloatArray

Values: TypeAlias = Callable[[FloatArray, Sequence[float]], FloatArray]
"""Maps the numbers of a column, and the function's parameters, to one column per coefficient."""


@dataclass(frozen=True)
class Function:
    """A function of one column.

    Attributes
    ----------
    values
        Computes one column per coefficient from a column of the table.
    example
        A call that error messages show.
    names
        Maps a column's name and the parameters to the names of the coefficients. None if there is
        one coefficient, named by the text of the call.
    least, most
        Limits on the number of parameters; several parameters must increase.
    indicators
        Whether the computed columns are indicators: at most one 1 per record, and zeros.
    indicates_missing
        Whether it indicates missing cells: it reads the column before constants replace them, and
        accepts a column of levels.
    """

    values: Values
    example: str
    names: Callable[[str, Sequence[float]], list[str]] | None = None
    least: int = 0
    most: float = 0
    indicators: bool = False
    indicates_missing: bool = False

    def accepts(self, numbers: Sequence[float]) -> bool:
        """Whether these are valid parameters."""
        increasing = all(low < high for low, high in pairwise(numbers))
        return self.least <= len(numbers) <= self.most and increasing


def number_text(number: float) -> str:
    """Return the shortest text of a number, without a fraction of zero."""
    return repr(float(number)).removesuffix(".0")


def _power(x: FloatArray, numbers: Sequence[float]) -> FloatArray:
    return _where_finite(x, np.power(x, numbers[0])[:, None])


def _missing(x: FloatArray, _: Sequence[float]) -> FloatArray:
    """Return 1 for a missing cell, 0 for a number, and NaN for an infinite cell."""
    return np.where(np.isinf(x), np.nan, np.isnan(x))[:, None]


def _cut(x: FloatArray, breaks: Sequence[float]) -> FloatArray:
    """Return indicators of the intervals ``(low, high]`` above the first break."""
    intervals = np.eye(len(breaks) + 1)[:, 1:]
    return _where_finite(x, intervals[np.searchsorted(breaks, x)])


def _names_of_intervals(column: str, breaks: Sequence[float]) -> list[str]:
    ends = [*map(number_text, breaks), "inf"]
    return [f"{column}=({low}, {high}]" for low, high in pairwise(ends)]


def _basis(degree: int) -> Values:
    """Return a function that computes all B-splines of this degree except the first.

    Together with a constant they span all splines.

    Let ``t`` be the knots, with ``degree`` more copies of the first and of the last. ``B[i, 0](x)``
    is 1 where ``t[i] <= x < t[i + 1]``, else 0. For ``k > 0``, ``B[i, k](x)`` is
    ``w[i, k] B[i, k - 1](x) + (1 - w[i + 1, k]) B[i + 1, k - 1](x)``, where ``w[i, k]`` is
    ``(x - t[i]) / (t[i + k] - t[i])``. An ``x`` beyond the knots is moved to the nearest knot.
    B-splines are at least zero and add up to one.

    Reference: de Boor 1978, *A Practical Guide to Splines*, Chapter IX.
    """

    def values(x: FloatArray, knots: Sequence[float]) -> FloatArray:
        from scipy.interpolate import BSpline  # noqa: PLC0415 (it takes a while to load)

        t = np.concatenate([[knots[0]] * degree, knots, [knots[-1]] * degree])
        inside = np.clip(np.where(np.isfinite(x), x, knots[0]), knots[0], knots[-1])
        return _where_finite(x, BSpline.design_matrix(inside, t, degree).toarray()[:, 1:])

    return values


def _where_finite(x: FloatArray, values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(x)[:, None], values, np.nan)


def _names_at_knots(column: str, knots: Sequence[float]) -> list[str]:
    return [f"{column} at {number_text(knot)}" for knot in knots[1:]]


def _numbered_names(column: str, knots: Sequence[float]) -> list[str]:
    return [f"spline({column}) {number}" for number in range(1, len(knots) + 2)]


FUNCTIONS = {
    "log": Function(lambda x, _: np.log(x)[:, None], "log(x)"),
    "log1p": Function(lambda x, _: np.log1p(x)[:, None], "log1p(x)"),
    "power": Function(_power, "power(x, 2)", least=1, most=1),
    "cut": Function(_cut, "cut(x, 10, 20)", _names_of_intervals, 1, math.inf, indicators=True),
    "linear": Function(_basis(1), "linear(x, 0, 10, 20)", _names_at_knots, 2, math.inf),
    "spline": Function(_basis(3), "spline(x, 0, 10, 20)", _numbered_names, 2, math.inf),
    "missing": Function(_missing, "missing(x)", indicators=True, indicates_missing=True),
}
"""Name -> function; a new function needs one line here."""
