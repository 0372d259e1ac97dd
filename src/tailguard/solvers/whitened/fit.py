"""The state of a run and what every step needs of it.

Everything here was released or is public, so whatever is done with it costs nothing more.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing); James and Stein 1961 (shrinkage).
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tailguard.losses.balanced_logistic import ExpectedBalancedSlope
from tailguard.losses.base import Loss
from tailguard.queries.view import View
from tailguard.solvers.base import Problem
from tailguard.solvers.private_units import target_units
from tailguard.solvers.whitened.leaning import Leaning
from tailguard.solvers.whitened.levels import Clip, RowLaw, SlopeLaw
from tailguard.solvers.whitened.moments import shrunk
from tailguard.solvers.whitened.purse import Purse, usable
from tailguard.solvers.whitened.stages import CORRECTION, ROUNDS, Shares, rounds_of

__all__ = ["Arrival", "Fit"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Share of the squared way to the fit by which a Newton step may miss it; share of the rounds that
# come before the average, being too far off still.
MISMATCH, STILL_FAR = 0.3, 1.0 / 3.0
BELIEVED = 9.0  # variance of a likelihood's score before any is seen
WIDEST = 3.0  # standard deviation of a fitted score, in scales of the target, beyond which is noise


@dataclass(frozen=True, eq=False)
class Arrival:
    """Where a Newton step started and arrived, in standardised weights, and the noise it carries.

    ``n_rows`` says how many records were read for it.

    Examples
    --------
    >>> Arrival(np.zeros(2), np.ones(2), 0.1, 1000).noise_std
    0.1
    """

    start: FloatArray
    weights: FloatArray
    noise_std: float
    n_rows: int


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
    stretch
        How many times the variance along each whitened direction is more than it seems, since
        noise bends the whitening.
    shift
        Squared length of the mean whitened row where no intercept takes it up.
    largest_curvature
        Bound at which a record's curvature is cut where curvature varies.
    noise_std
        Privacy noise of the weights in whitened coordinates.
    calibrated
        The calibrated directions, each as long as its standard error, if calibration ran.
    leaning
        Along which rows residuals are large, if that was released.
    spared
        Stages that were given up for more of the rounds.
    moved
        Whether the constant was read off residuals before the rounds.
    raised
        How many times their planned mu rounds and corrections may spend, since units took less.

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
    stretch: FloatArray
    shift: float = 0.0
    largest_curvature: float = 1.0
    rows: RowLaw | None = None
    slopes: SlopeLaw | None = None
    clip: Clip | None = None
    phase: int = 0
    bent: bool = False
    cap: float = math.inf
    noise_std: float = math.nan
    arrivals: list[Arrival] = field(default_factory=list)
    calibrated: FloatArray | None = None
    leaning: Leaning | None = None
    spared: tuple[str, ...] = ()
    moved: bool = False
    raised: float = 1.0
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
        """The loss whose slopes are taken."""
        assert self.view.loss is not None
        return self.view.loss

    @property
    def expected(self) -> Loss:
        """The loss whose slopes rise as these are expected to, whatever the outcome."""
        return ExpectedBalancedSlope() if self.shares.even else self.loss

    @property
    def bending(self) -> View:
        """The view through which curvatures are read."""
        return replace(self.view, loss=self.expected)

    @property
    def curved(self) -> bool:
        """Whether curvature varies with the score, so that it has to be released."""
        return target_units(self.problem) != "location-scale"

    @property
    def log_link(self) -> bool:
        """Whether expected targets are exponentials of scores."""
        return target_units(self.problem) == "scale"

    @property
    def left_out(self) -> BoolArray:
        """Features that the fit does not read, of whose coefficients nothing is known."""
        return np.asarray(~self.view.whitening[: self.n_features].any(axis=1))

    @property
    def inverse(self) -> FloatArray:
        """The map from standardised weights to whitened ones."""
        return np.asarray(np.linalg.pinv(self.view.whitening))

    def has(self, stage: str) -> bool:
        """Whether the plan has the stage."""
        return any(planned.name == stage for planned in self.purse.plan.stages)

    def mu(self, stage: str) -> float:
        """Return what one release of the stage may spend."""
        return self._times(stage) * self.purse.plan.stage(stage).mu

    def now(self, stage: str) -> str:
        """Return the name of the stage that is for the phase under way: an early one, or not."""
        early = self.phase < self.shares.early and self.has(f"early {stage}")
        return f"early {stage}" if early else stage

    def total_mu(self, *stages: str) -> float:
        """Return the mu of all releases of some stages; what is not planned has none."""
        planned = (name for name in stages if self.has(name))
        mus = (self._times(name) * self.purse.plan.stage(name).total_mu for name in planned)
        return math.sqrt(sum(mu**2 for mu in mus))

    def take_over(self, spare: float) -> None:
        """Let rounds and corrections have what else was planned before and not spent."""
        rounds = map(rounds_of, range(len(self.shares.rounds)))
        # A hair below, since sums of squares are rounded.
        more = spare**2 * (1.0 - 1e-9) / self.total_mu(*rounds, *CORRECTION) ** 2
        self.raised = math.sqrt(1.0 + more)

    def _times(self, stage: str) -> float:
        """Return how many times its planned mu a stage may spend."""
        return self.raised if stage in CORRECTION or stage.startswith(ROUNDS) else 1.0

    def rounds_mu(self) -> float:
        """Return the mu of all rounds that read what this phase does, and of what is spared."""
        early = self.shares.early
        if self.phase < early:
            return self.total_mu(*map(rounds_of, range(early)))
        late = map(rounds_of, range(early, len(self.shares.rounds)))
        return self.total_mu(*late, *self.spared)

    def constant(self) -> FloatArray:
        """Return the whitened direction of a constant score as a column; zero without intercept."""
        if not self.problem.intercept:
            return np.zeros((self.view.width, 1))
        direction = self.inverse[:, -1]
        return direction[:, None] / max(float(np.linalg.norm(direction)), 1e-300)

    def calibration_basis(self) -> FloatArray:
        """Return an orthonormal basis of what clipping takes most from.

        The constant, or mean row, the fitted score, and, where it is seen, the leaning.
        """
        inverse = self.inverse
        first = inverse[:, -1] if self.problem.intercept else self.view.whitening.T @ self.mean_row
        columns = [first, inverse @ self.weights]
        basis, _ = np.linalg.qr(np.column_stack(columns))
        if self.leaning is not None and self.leaning.seen_beside(basis):
            basis, _ = np.linalg.qr(np.column_stack([*columns, self.leaning.beside(basis)]))
        return np.asarray(basis)

    def settle(self) -> None:
        """Stand at the average of the rounds so far, weighted by their error and shrunk by it.

        A round errs by its noise and, since the map is not exact, by a share of its way. Rounds of
        a sample err by more than that: they count until one has read all records. Shrinkage is
        towards the constant fit, which costs least where the noise is far above the signal.

        Reference
        ---------
        Polyak and Juditsky 1992 (the average of later steps is as good as the best of them).
        """
        late = self.arrivals[int(STILL_FAR * len(self.arrivals)) :]
        kept = [arrival for arrival in late if arrival.n_rows == late[-1].n_rows]
        mean, self.noise_std = self._average(kept)
        constant = self.constant()
        level = constant @ (constant.T @ mean)
        rest = mean - level
        believed = self._believed(rest)
        # Where nothing beside it is believed the constant from before the rounds is the better one,
        # unless the rounds were about nothing else, or it was read off residuals.
        if believed == 0.0 and self.view.width > 1 and not self.moved:
            level = constant @ (constant.T @ (self.inverse @ self.arrivals[0].start))
        self.weights = usable(self.view.whitening @ (level + believed * rest))

    def _average(self, kept: list[Arrival]) -> tuple[FloatArray, float]:
        """Return the mean of whitened arrivals by the inverse of their errors, and its noise."""
        inverse = self.inverse
        starts = np.array([inverse @ arrival.start for arrival in kept])
        ends = np.array([inverse @ arrival.weights for arrival in kept])
        noise = self.view.width * np.array([arrival.noise_std for arrival in kept]) ** 2
        mean = ends[-1]
        for _ in range(3):
            share = 1.0 / (noise + MISMATCH * ((starts - mean) ** 2).sum(axis=1))
            share /= share.sum()
            mean = share @ ends
        return mean, float(np.sqrt((share**2 * noise).sum() / self.view.width))

    def _believed(self, rest: FloatArray) -> float:
        """Return the share of a fit, beside its constant, that noise leaves to be believed."""
        variance = max(0, rest.size - 1) * self.noise_std**2
        if self.curved:  # noise can look like signal: scores that spread too far are not believed
            most = BELIEVED / (BELIEVED + variance)
        else:  # the target cannot spread less than its best prediction
            most = WIDEST / max(float(np.linalg.norm(rest)), WIDEST)
        return min(shrunk(rest, variance), most)
