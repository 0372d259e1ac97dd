"""The coordinate-wise mean under smoothed soft truncation.

Every coordinate ``g`` of a gradient becomes ``scale * psi(g / scale)``, an odd, increasing, bounded
function that is the identity near zero, and the mean is released.

Reference
---------
Wang, Xiao, Devadas and Xu 2020, equation (12), Theorem 6 and Algorithm 4; Kamath, Liu and Zhang
2022, Algorithm 4. Their bound on psi, ``2 sqrt(2) / 3``, is valid and never attained; the exact one
is used here. The noise printed in the latter takes psi to be at most ``1 / sqrt(2)``, which it is
only for a smoothing of at most 1.3233.
"""

from dataclasses import dataclass

from tailguard.queries.kernels.coordinates import CoordinateBound
from tailguard.queries.means.coordinate_mean import CoordinateMean


@dataclass(frozen=True)
class SoftMean(CoordinateMean):
    """Mean of ``scale * psi(slope * row / scale)``; the state is the weight vector.

    Attributes
    ----------
    loss, units
        As for :class:`CoordinateMean`.
    scale
        Where the truncation sets in.
    smoothing
        Inverse variance of the noise that psi is smoothed by, from 1/4 to 400.

    Guarantee
    ---------
    Replacing any record by any other moves each coordinate by at most ``2 * scale * K / n``, with
    ``K`` of :func:`tailguard.queries.kernels.soft_truncation.soft_limit`; the
    vector by ``sqrt(d)`` times that in l2 norm and ``d`` times in l1 norm; plus the charged
    rounding. The compiled evaluation of psi is cut at ``K`` exactly, so that its error, of 2e-9 for
    a smoothing from 1 to 100, costs accuracy alone. Under replace-one neighbours.

    Edge cases
    ----------
    A record with a non-finite value contributes zero and stays counted.

    Reference
    ---------
    Wang, Xiao, Devadas and Xu 2020, equation (12); Kamath, Liu and Zhang 2022, Algorithm 4.

    Examples
    --------
    >>> from tailguard.queries.units import Units
    >>> query = SoftMean(None, Units.raw(1, intercept=False), scale=10.0)
    >>> round(query.sensitivity(n_rows=100, n_features=1).ideal, 6)
    0.128729
    """

    scale: float
    smoothing: float = 1.0

    name = "softly truncated mean"

    @classmethod
    def wide(cls, reach: float) -> dict[str, float]:
        """Return parameters with which hardly anything within ``reach`` of zero is cut."""
        return {"scale": 30.0 * reach, "smoothing": 400.0}  # it bends by a cube

    def __post_init__(self) -> None:
        CoordinateBound("soft", self.scale, self.smoothing)

    @property
    def bound(self) -> CoordinateBound:
        """The smoothed soft truncation."""
        return CoordinateBound("soft", self.scale, self.smoothing)

    @property
    def group_count(self) -> int:
        """One: a plain mean."""
        return 1

    def parameters(self) -> dict[str, float | int | str]:
        """Public numbers behind the stated sensitivity."""
        return {**super().parameters(), "scale": self.scale, "smoothing": self.smoothing}
