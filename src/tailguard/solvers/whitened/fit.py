"""The state of a run and what every step needs of it.

Everything here was released or is public, so whatever is done with it costs nothing more.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing); James and Stein 1961 (shrinkage).
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tailguard.losses.base import Loss
from tailguard.queries.view import View
from tailguard.solvers.base import Problem
from tailguard.solvers.private_units import target_units
from tailguard.solvers.whitened.levels import Clip, RowLaw, SlopeLaw
from tailguard.solvers.whitened.moments import shrunk
from tailguard.solvers.whitened.purse import Purse, usable
from tailguard.solvers.whitened.stages import Shares

__all__ = ["Arrival", "Fit", "Leaning"]

FloatArray = NDArray[np.float64]

# Share of the squared way to the fit by which a Newton step may miss it. Whitening from noise
# makes steps too short in some directions, and an average that counts early rounds lags behind;
# where losses bend, noise is the larger part of the way.
MISMATCH, BENT_MISMATCH = 0.5, 0.3
BELIEVED = 9.0  # variance of a likelihood's score before any is seen
WIDEST = 3.0  # standard deviation of a fitted score, in scales of the target, beyond which is noise
SAME_LEVEL = 0.7  # rounds whose slope limit is below this share of the raised one are left out


@dataclass(frozen=True, eq=False)
class Arrival:
    """Where a Newton step started and arrived, in standardised weights, and the noise it carries.

    ``stretch`` is by how much the step was lengthened, ``view`` how records were read for it.

    Examples
    --------
    >>> Arrival(np.zeros(2), np.ones(2), 0.1, 1.5).noise_std
    0.1
    """

    start: FloatArray
    weights: FloatArray
    noise_std: float
    slope_limit: float
    stretch: float = 1.0
    view: View | None = None


@dataclass(frozen=True, eq=False)
class Leaning:
    """How far standardised weights move between two clip levels, and the error of each.

    Examples
    --------
    >>> Leaning(np.ones(2), np.ones(2), (1.0, 4.0)).levels
    (1.0, 4.0)
    """

    weights: FloatArray
    variances: FloatArray
    levels: tuple[float, float]


@dataclass(eq=False)
class Fit:
    """A fit under way.

    Attributes
    ----------
    view, weights
        How records are read; the weights of the standardised coordinates.
    effective
        Second moments of whitened rows, summed: the columns that whitening could tell from noise.
    mean_row
        The standardised mean row as the second moments told it.
    shift
        Squared length of the mean whitened row where no intercept takes it up.
    largest_curvature
        Bound at which a record's curvature is cut where curvature varies.
    noise_std
        Privacy noise of the weights in whitened coordinates.
    calibrated
        The two calibrated directions, each as long as its standard error, if calibration ran.
    leaning
        What clipping was seen to take from the other directions, if levels were compared.

    Examples
    --------
    >>> sorted(Fit.__dataclass_fields__)[:3]
    ['arrivals', 'bent', 'calibrated']
    """

    purse: Purse
    problem: Problem
    shares: Shares
    view: View
    weights: FloatArray
    mean_row: FloatArray
    effective: float
    shift: float = 0.0
    largest_curvature: float = 1.0
    rows: RowLaw | None = None
    slopes: SlopeLaw | None = None
    clip: Clip | None = None
    floor: float = 0.0
    bent: bool = False
    cap: float = math.inf
    noise_std: float = math.nan
    arrivals: list[Arrival] = field(default_factory=list)
    calibrated: FloatArray | None = None
    leaning: Leaning | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """The public number of records."""
        return self.problem.n_rows

    @property
    def n_features(self) -> int:
        """The public number of features."""
        return self.problem.n_features

    @property
    def loss(self) -> Loss:
        """The loss of a score."""
        assert self.problem.scored is not None
        return self.problem.scored

    @property
    def curved(self) -> bool:
        """Whether curvature varies with the score, so that it has to be released."""
        return target_units(self.problem) != "location-scale"

    @property
    def inverse(self) -> FloatArray:
        """The map from standardised weights to whitened ones."""
        return np.asarray(np.linalg.pinv(self.view.whitening))

    def has(self, stage: str) -> bool:
        """Whether the plan has the stage."""
        return any(planned.name == stage for planned in self.purse.plan.stages)

    def mu(self, stage: str) -> float:
        """Return what one release of the stage may spend."""
        return self.purse.plan.stage(stage).mu

    def rounds_mu(self, first: int) -> float:
        """Return the planned mu of all rounds from ``first`` on, counted from 0."""
        names = [f"round {number + 1}" for number in range(first, len(self.shares.rounds))]
        return math.sqrt(sum(self.mu(name) ** 2 for name in names))

    def constant(self) -> FloatArray:
        """Return the whitened direction of a constant score as a column; zero without intercept."""
        if not self.problem.intercept:
            return np.zeros((self.view.width, 1))
        direction = self.inverse[:, -1]
        return direction[:, None] / max(float(np.linalg.norm(direction)), 1e-300)

    def calibration_basis(self) -> FloatArray:
        """Return an orthonormal basis of the constant (or mean row) and the fitted score."""
        inverse = self.inverse
        first = inverse[:, -1] if self.problem.intercept else self.view.whitening.T @ self.mean_row
        basis, _ = np.linalg.qr(np.column_stack([first, inverse @ self.weights]))
        return np.asarray(basis)

    def settle(self) -> None:
        """Stand at the average of the rounds so far, weighted by their error and shrunk by it.

        A round errs by its noise and, since the map is not exact, by a share of its way. Shrinkage
        is towards the constant fit, which costs least where the noise is far above the signal.
        """
        kept = [a for a in self.arrivals if a.slope_limit > SAME_LEVEL * self.floor]
        kept = kept or self.arrivals[-1:]
        inverse = self.inverse
        starts, ends = (
            np.array([inverse @ getattr(a, name) for a in kept]) for name in ("start", "weights")
        )
        noise = self.view.width * np.array([a.noise_std for a in kept]) ** 2
        mismatch = np.array([a.stretch for a in kept]) ** 2
        mismatch *= BENT_MISMATCH if self.curved else MISMATCH
        mean = ends[-1]
        for _ in range(3):
            share = 1.0 / (noise + mismatch * ((starts - mean) ** 2).sum(axis=1))
            share /= share.sum()
            mean = share @ ends
        self.noise_std = float(np.sqrt((share**2 * noise).sum() / self.view.width))
        constant = self.constant()
        level = constant @ (constant.T @ mean)
        rest = mean - level
        variance = max(0, rest.size - 1) * self.noise_std**2
        kept_share = shrunk(rest, variance)
        if self.curved:  # noise can look like signal: scores that spread too far are not believed
            kept_share = min(kept_share, BELIEVED / (BELIEVED + variance))
        else:  # the target cannot spread less than its best prediction
            kept_share = min(kept_share, WIDEST / max(float(np.linalg.norm(rest)), WIDEST))
        if kept_share == 0.0:  # then the constant from before the rounds is the better one
            level = constant @ (constant.T @ (inverse @ self.arrivals[0].start))
        self.weights = usable(self.view.whitening @ (level + kept_share * rest))
