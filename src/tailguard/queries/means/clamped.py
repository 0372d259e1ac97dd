"""The coordinate-wise clamped median of means.

Every coordinate of a gradient is cut at ``3 * threshold``, averaged within groups of records, and
the median of the group means is released.

Reference
---------
Kamath, Liu and Zhang 2022, Algorithm 3 and Theorem 4.1: with Gaussian noise for zCDP, with Laplace
noise for pure DP. The sensitivity stated here is exact; the printed one is four times too large
for an even number of groups, twice for an odd one.
"""

from dataclasses import dataclass

from tailguard.checks import check_integer, check_positive
from tailguard.queries.kernels.coordinates import CoordinateBound
from tailguard.queries.means.coordinate_mean import CoordinateMean


@dataclass(frozen=True)
class ClampedMean(CoordinateMean):
    """Median over groups of the means of ``clamp(slope * row)``; the state is the weight vector.

    Attributes
    ----------
    loss, units
        As for :class:`CoordinateMean`.
    threshold
        The paper's tau: every coordinate is cut at three times this.
    n_groups
        How many groups, drawn at random. Even numbers are half as sensitive.

    Guarantee
    ---------
    Replacing any record by any other moves each coordinate by at most ``3 * threshold`` over the
    size of the smallest group if ``n_groups`` is even, and by at most twice that if it is odd (1
    included); the vector by ``sqrt(d)`` times that in l2 norm and ``d`` times in l1 norm; plus the
    charged rounding. Under replace-one neighbours.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted.

    Reference
    ---------
    Kamath, Liu and Zhang 2022, Algorithm 3.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> query = ClampedMean(None, Units.raw(1, intercept=False), threshold=10.0, n_groups=4)
    >>> query.sensitivity(n_rows=100, n_features=1).ideal
    1.2
    """

    threshold: float
    n_groups: int

    name = "clamped median of means"

    @classmethod
    def wide(cls, reach: float) -> dict[str, float]:
        """Return parameters with which hardly anything within ``reach`` of zero is cut."""
        return {"threshold": reach}

    def __post_init__(self) -> None:
        check_positive("threshold", self.threshold)
        check_integer("n_groups", self.n_groups, minimum=1)

    @property
    def bound(self) -> CoordinateBound:
        """A cut at ``3 * threshold``."""
        return CoordinateBound("clamped", 3.0 * self.threshold)

    @property
    def group_count(self) -> int:
        """How many groups the median is taken over."""
        return self.n_groups
