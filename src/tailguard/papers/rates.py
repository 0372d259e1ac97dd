"""How fast the error of each private mean falls with rows and grows with features.

The slopes are those of log(error) against log(n) and log(d), without logarithms, if the error of
privacy exceeds the sampling error. Each method's threshold is chosen for n and d, and its budget is
fixed. All methods have the same slope in the rows; they differ in the features and in the moments
that they need.

Kamath, Liu and Zhang (2022); Tao and others (2022); Wang and others (2020); Zhao and others (2024),
corrected.
"""

from dataclasses import dataclass
from typing import Literal

from tailguard.means.formulas import check_order
from tailguard.papers.common.statement import sentences


@dataclass(frozen=True)
class MeanRate:
    """Predicted slopes of one method, as functions of the order ``k`` of the moments.

    Attributes
    ----------
    method
        The public name of the estimator.
    theorem
        The theorem that states the rate, or from which it is derived.
    guarantee
        The kind of privacy for which it holds.
    moment
        The kind of bounded moments: those of each coordinate, or those along every direction.
    minimum_order, maximum_order
        Orders for which the rate holds; no maximum is None.
    tail_weight
        The slope in log(d) is ``1/2 + tail_weight (1 - 1/k)``: 1/2 for the dimension of the
        error, the rest for the cost of privacy under the tails.
    derived
        Whether the rate is ours, derived from the paper's analysis.

    Examples
    --------
    >>> rate = MEAN_RATES["clamped"]
    >>> rate.slope_in_rows(2.0), rate.slope_in_features(2.0)
    (-0.5, 0.75)
    """

    method: str
    theorem: str
    guarantee: Literal["gaussian", "pure"] = "gaussian"
    moment: Literal["coordinate", "direction"] = "coordinate"
    minimum_order: float = 2.0
    maximum_order: float | None = None
    tail_weight: float = 0.5
    derived: bool = False

    def slope_in_rows(self, moment_order: float) -> float:
        """Slope of log(error) in log(n): ``-(1 - 1/k)``."""
        return -self._tail_exponent(moment_order)

    def slope_in_features(self, moment_order: float) -> float:
        """Slope of log(error) in log(d), errors in l2 and moments fixed as d grows."""
        return 0.5 + self.tail_weight * self._tail_exponent(moment_order)

    def _tail_exponent(self, moment_order: float) -> float:
        """Return ``1 - 1/k``; refuse orders outside of the theorem."""
        check_order(moment_order, minimum=self.minimum_order, maximum=self.maximum_order)
        return 1.0 - 1.0 / moment_order


MEAN_RATES = {name: MeanRate(name, **row) for name, row in sentences("rates").items()}
"""Rates by methods; ``statements.toml`` has the source of each."""
