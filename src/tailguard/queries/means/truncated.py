"""The coordinate-wise truncated median of means; with one group, the truncated mean.

Every coordinate of a gradient beyond ``threshold`` counts as zero; group means and their median
follow.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithm 3 and Theorem 3; Algorithm 1 and Theorem 1 with one group
and one coordinate. Each group mean runs over the group's own records; the printed sum over all
records is a slip.
"""

from dataclasses import dataclass

from tailguard.checks import check_integer, check_positive
from tailguard.queries.kernels.coordinates import CoordinateBound
from tailguard.queries.means.coordinate_mean import CoordinateMean


@dataclass(frozen=True)
class TruncatedMean(CoordinateMean):
    """Median over groups of the means of truncated ``slope * row``; the state is the weight vector.

    Attributes
    ----------
    loss, units
        As for :class:`CoordinateMean`.
    threshold
        The largest magnitude that is kept, itself included.
    n_groups
        How many groups, drawn at random. Even numbers are half as sensitive.

    Guarantee
    ---------
    Replacing any record by any other moves each coordinate by at most ``threshold`` over the size
    of the smallest group if ``n_groups`` is even, and by at most twice that if it is odd (1
    included); the vector by ``sqrt(d)`` times that in l2 norm and ``d`` times in l1 norm; plus the
    charged rounding. Under replace-one neighbours.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted.

    Reference
    ---------
    Tao, Wu, Cheng and Wang 2022, Algorithms 1 and 3.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> query = TruncatedMean(None, Units.raw(1, intercept=False), threshold=10.0, n_groups=4)
    >>> query.sensitivity(n_rows=100, n_features=1).ideal
    0.4
    """

    threshold: float
    n_groups: int = 1

    name = "truncated median of means"

    @classmethod
    def wide(cls, reach: float) -> dict[str, float]:
        """Return parameters with which hardly anything within ``reach`` of zero is cut."""
        return {"threshold": reach}

    def __post_init__(self) -> None:
        check_positive("threshold", self.threshold)
        check_integer("n_groups", self.n_groups, minimum=1)

    @property
    def bound(self) -> CoordinateBound:
        """Zero for what exceeds ``threshold``."""
        return CoordinateBound("truncated", self.threshold)

    @property
    def group_count(self) -> int:
        """How many groups the median is taken over."""
        return self.n_groups
