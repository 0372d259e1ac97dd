"""The state of a run and what every step needs of it.

Everything here was released or is public, so whatever is done with it costs nothing more.

Reference
---------
Dwork and Roth 2014, Proposition 2.1 (post-processing); James and Stein 1961 (shrinkage).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from tailguard.array_types import BoolArray, FloatArray
from tailguard.losses.balanced_logistic import ExpectedBalancedSlope
from tailguard.losses.base import Loss
from tailguard.losses.link import Link
from tailguard.plans.problem import Problem
from tailguard.plans.stage import Stage
from tailguard.queries.view import View
from tailguard.solvers.session import BudgetSession, usable
from tailguard.solvers.whitened.clipping import Clip, RowNormDistribution, SlopeDistribution
from tailguard.solvers.whitened.schedule import DEBIASING_STAGES, Shares
from tailguard.solvers.whitened.secants import Secants
from tailguard.solvers.whitened.whitening import shrunk

__all__ = ["Fit", "NewtonIterate"]


# Share of the squared way to the fit by which a Newton step may miss it; share of the rounds that
# come before the average, being too far off still.
STEP_ERROR, BURN_IN = 0.3, 1.0 / 3.0
PRIOR_SCORE_VARIANCE = 9.0  # variance of a likelihood's score before any is seen
LARGEST_SCORE_STD = (
    3.0  # standard deviation of a fitted score, in scales of the target, beyond which is noise
)


@dataclass(frozen=True, eq=False)
class NewtonIterate:
    """Where a Newton step started and arrived, in standardised weights, and the noise it carries.

    ``n_rows`` says how many records were read for it.

    Examples
    --------
    >>> NewtonIterate(np.zeros(2), np.ones(2), 0.1, 1000).noise_std
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
    effective_dim
        Second moments of whitened rows, summed: the columns that whitening could tell from noise.
    mean_row
        The standardised mean row as the second moments told it.
    variance_inflation
        How many times the variance along each whitened direction is more than it seems, since noise
        distorts the whitening.
    shift
        Squared length of the mean whitened row where no intercept takes it up.
    largest_curvature
        Bound at which a record's curvature is cut where curvature varies.
    noise_std
        Privacy noise of the weights in whitened coordinates.
    debiased
        The debiased directions, each as long as its standard error, if debiasing ran.
    constant_moved
        Whether the constant was read off residuals before the rounds.
    secants
        What rounds so far told of the curvature along their steps.
    mu_factor
        How many times their planned mu rounds and corrections may spend, since units took less.

    Examples
    --------
    >>> sorted(Fit.__dataclass_fields__)[:3]
    ['cap', 'clip', 'constant_moved']
    """

    session: BudgetSession
    problem: Problem
    shares: Shares
    view: View
    weights: FloatArray
    mean_row: FloatArray
    effective_dim: float
    variance_inflation: FloatArray
    shift: float = 0.0
    largest_curvature: float = 1.0
    rows: RowNormDistribution | None = None
    slopes: SlopeDistribution | None = None
    clip: Clip | None = None
    phase: int = 0
    curvature_released: bool = False
    cap: float = math.inf
    noise_std: float = math.nan
    iterates: list[NewtonIterate] = field(default_factory=list)
    debiased: FloatArray | None = None
    constant_moved: bool = False
    mu_factor: float = 1.0
    secants: Secants | None = None
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
        return ExpectedBalancedSlope() if self.shares.balanced else self.loss

    @property
    def curvature_view(self) -> View:
        """The view through which curvatures are read."""
        return replace(self.view, loss=self.expected)

    @property
    def link(self) -> Link:
        """How scores tell expected targets."""
        return self.problem.link

    @property
    def left_out(self) -> BoolArray:
        """Features that the fit does not read, of whose coefficients nothing is known."""
        return np.asarray(~self.view.whitening[: self.n_features].any(axis=1))

    @property
    def inverse(self) -> FloatArray:
        """The map from standardised weights to whitened ones."""
        return np.asarray(np.linalg.pinv(self.view.whitening))

    def planned(self, *names: str) -> list[Stage]:
        """Return the stages of these names that the plan has."""
        stages = self.session.plan.stages
        return [stage for name in names for stage in stages if stage.name == name]

    def rounds(self, phases: Iterable[int]) -> list[Stage]:
        """Return the planned rounds of some phases."""
        wanted, stages = set(phases), self.session.plan.stages
        return [stage for stage in stages if stage.phase in wanted]

    def has(self, name: str) -> bool:
        """Whether the plan has the stage."""
        return bool(self.planned(name))

    def stage(self, name: str) -> Stage:
        """Return the stage of that name, at the mu that a release of it may spend by now."""
        return self.allowed(self.session.plan.stage(name))

    def allowed(self, planned: Stage) -> Stage:
        """Return a planned stage at the mu that a release of it may spend by now."""
        return replace(planned, mu=self._times(planned) * planned.mu)

    def current_stage(self, name: str) -> Stage:
        """Return the stage that is for the phase under way: an early one, or not."""
        early = self.phase < self.shares.early and self.has(f"early {name}")
        return self.stage(f"early {name}" if early else name)

    def total_mu(self, stages: Iterable[Stage]) -> float:
        """Return the mu that all releases of some planned stages may spend by now."""
        mus = (self._times(stage) * stage.total_mu for stage in stages)
        return math.sqrt(sum(mu**2 for mu in mus))

    def reallocate(self, unspent_mu: float) -> None:
        """Let rounds and corrections have what else was planned before and not spent."""
        sharing = [*self.rounds(range(len(self.shares.rounds))), *self.planned(*DEBIASING_STAGES)]
        # A hair below, since sums of squares are rounded.
        more = unspent_mu**2 * (1.0 - 1e-9) / self.total_mu(sharing) ** 2
        self.mu_factor = math.sqrt(1.0 + more)

    def _times(self, stage: Stage) -> float:
        """Return how many times its planned mu a stage may spend."""
        return self.mu_factor if stage.takes_rest else 1.0

    def rounds_mu(self) -> float:
        """Return the mu of all rounds that read what this phase does."""
        early = self.shares.early
        if self.phase < early:
            return self.total_mu(self.rounds(range(early)))
        return self.total_mu(self.rounds(range(early, len(self.shares.rounds))))

    def constant(self) -> FloatArray:
        """Return the whitened direction of a constant score as a column; zero without intercept."""
        if not self.problem.intercept:
            return np.zeros((self.view.width, 1))
        direction = self.inverse[:, -1]
        return direction[:, None] / max(float(np.linalg.norm(direction)), 1e-300)

    def debiasing_basis(self) -> FloatArray:
        """Return an orthonormal basis of what clipping takes most from.

        These are the constant, or the mean row, and the fitted score.
        """
        inverse = self.inverse
        first = inverse[:, -1] if self.problem.intercept else self.view.whitening.T @ self.mean_row
        basis, _ = np.linalg.qr(np.column_stack([first, inverse @ self.weights]))
        return np.asarray(basis)

    def average_iterates(self) -> None:
        """Stand at the average of the rounds so far, weighted by their error and shrunk by it.

        A round errs by its noise and, since the map is not exact, by a share of its way. Rounds of
        a sample err by more than that: they count until one has read all records. Shrinkage is
        towards the constant fit, which costs least where the noise is far above the signal.

        Reference
        ---------
        Polyak and Juditsky 1992 (the average of later steps is as good as the best of them).
        """
        late = self.iterates[int(BURN_IN * len(self.iterates)) :]
        kept = [iterate for iterate in late if iterate.n_rows == late[-1].n_rows]
        mean, self.noise_std = self._average(kept)
        constant = self.constant()
        level = constant @ (constant.T @ mean)
        rest = mean - level
        kept_share = self._kept_share(rest)
        # Where nothing beside it is believed the constant from before the rounds is the better one,
        # unless the rounds were about nothing else, or it was read off residuals.
        if kept_share == 0.0 and self.view.width > 1 and not self.constant_moved:
            level = constant @ (constant.T @ (self.inverse @ self.iterates[0].start))
        self.weights = usable(self.view.whitening @ (level + kept_share * rest))

    def _average(self, kept: list[NewtonIterate]) -> tuple[FloatArray, float]:
        """Return the mean of whitened iterates by the inverse of their errors, and its noise."""
        inverse = self.inverse
        starts = np.array([inverse @ iterate.start for iterate in kept])
        ends = np.array([inverse @ iterate.weights for iterate in kept])
        noise = self.view.width * np.array([iterate.noise_std for iterate in kept]) ** 2
        mean = ends[-1]
        for _ in range(3):
            share = 1.0 / (noise + STEP_ERROR * ((starts - mean) ** 2).sum(axis=1))
            share /= share.sum()
            mean = share @ ends
        return mean, float(np.sqrt((share**2 * noise).sum() / self.view.width))

    def _kept_share(self, rest: FloatArray) -> float:
        """Return the share of a fit, beside its constant, that noise leaves to be believed."""
        variance = max(0, rest.size - 1) * self.noise_std**2
        if self.link.curved:  # noise can look like signal: scores that spread far are not believed
            most = PRIOR_SCORE_VARIANCE / (PRIOR_SCORE_VARIANCE + variance)
        else:  # the target cannot spread less than its best prediction
            most = LARGEST_SCORE_STD / max(float(np.linalg.norm(rest)), LARGEST_SCORE_STD)
        return min(shrunk(rest, variance), most)
