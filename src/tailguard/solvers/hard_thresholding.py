"""Private iterative hard thresholding: each step peels sparse weights from one block of records.

The records are split into disjoint blocks. Each step moves the weights along the mean gradient of
one block, chooses the largest entries of the result, and adds noise to them: a few entries get
noise instead of a thousand. A record is in one block, so every step may spend the whole budget, and
all blocks together cost as much as one block.

Reference
---------
Tao, Wu, Cheng and Wang 2022, Algorithm 5; Cai, Wang and Zhang 2021, Algorithm 3; McSherry 2009,
Theorem 4 (disjoint blocks). The noise comes from exact accounting; it determines threshold and
steps (``solvers/limits.py``).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import (
    InputError,
    check_between,
    check_finite,
    check_given,
    require,
)
from tailguard.gate import Gate
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import BUDGET_MARGIN, Stage, usable_guarantee
from tailguard.privacy.accounting.total_cost import calibrate
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.calibration import PEELINGS, peeling_event, share_factor
from tailguard.privacy.events import Composed, Event, Gaussian, Laplace, Parallel
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units
from tailguard.sets.sparse_ball import SparseBall
from tailguard.solvers.limits import REMAINING, STEP_COUNTS, choose_sparse_limits
from tailguard.solvers.options import (
    LARGEST,
    PerColumn,
    check_ranges,
    check_scale,
    column_vector,
    per_column,
)
from tailguard.solvers.session import BudgetSession
from tailguard.solvers.sparse_choice import (
    CHOICE,
    LABELS,
    MOST_COMPARED,
    SparseChoice,
    choice_stages,
    choose,
    start_of,
)
from tailguard.solvers.units import UNREAD, SharedScale

BLOCK_MAP = "hard thresholding"
"""Name of the partition into blocks."""

ACCURACY = 1e-6  # relative accuracy of the calibrated ratio, rounded to the safe side


def peeling_stage(
    form: str, ratio: float, n_selected: int, n_free: int, *, n_blocks: int, size: int
) -> Stage:
    """Plan one peeling of each of ``n_blocks`` blocks; its mu is ``sqrt(2 * rho)``.

    Parameters
    ----------
    form
        ``"peeled-gaussian"`` or ``"peeled-laplace"``.
    ratio
        Sensitivity of an entry over the scale of its noise.
    n_selected, n_free
        How many entries are chosen, and how many are always released.
    """
    event = peeling_event(form, ratio, n_selected, n_free)
    share = ratio * share_factor(form, n_selected, n_free)
    return Stage(
        "descent",
        "the largest entries of steps, a block of records each",
        math.sqrt(2.0 * ZcdpAccountant().compose(event).rho),
        1,
        size,
        block_map=BLOCK_MAP,
        n_blocks=n_blocks,
        share=Gaussian(share) if form == "peeled-gaussian" else Laplace(share),
        kept=event,
    )


def best_form(
    guarantee: Guarantee, earlier: Iterable[Event], n_selected: int, n_free: int
) -> tuple[str, float]:
    """Return the form with the least noise that the guarantee allows, and its ratio."""
    earlier_events = tuple(earlier)

    def largest_ratio(form: str) -> float:
        """Return the largest ratio that the guarantee allows."""

        def event_of(ratio: float) -> Event:
            """Return the cost of all releases at a ratio."""
            peeling = peeling_event(form, ratio, n_selected, n_free)
            return Composed((*earlier_events, Parallel(BLOCK_MAP, 0, peeling)))

        return calibrate(event_of, guarantee, guess=0.1, accuracy=ACCURACY)

    forms = PEELINGS[1:] if isinstance(guarantee, PureDP) else PEELINGS
    ratios = [(form, largest_ratio(form)) for form in forms]
    # The scale of the noise matters for a choice, its standard deviation for a value.
    return min(ratios, key=lambda pair: (1.0 if n_selected else std_of(pair[0])) / pair[1])


def std_of(form: str) -> float:
    """Return the standard deviation of the noise of a value, in noise scales."""
    return 1.0 if form == "peeled-gaussian" else math.sqrt(2.0)


HIDDEN = (
    "the kept coefficients are together no larger than the noise by which they were chosen: "
    "predictions may be worse than a constant"
)


@dataclass(frozen=True)
class HardThresholding:
    """Sparse descent over the truncated mean gradient, by peeling.

    Parameters
    ----------
    n_nonzero
        How many features are kept; None takes it from the constraint, a ``tg.sets.SparseBall``.
    n_steps, threshold, step_size
        Public numbers in private units; None applies the rule in ``solvers/limits.py``.
    feature_scale
        Public scales of the columns, one number or one per column. None releases a scale and a
        centre of each column, or one scale for all if noise is predicted to hide typical columns.
    feature_center
        Public centres of the columns, one number or one per column.
    target_scale, target_center
        The public scale and centre of the target. Without a scale both are released if the loss
        needs them.
    units_share
        The share of ``mu**2`` that is spent on units.
    feature_limit
        Features are cut to this many scales about their centre, in the fit and, as
        ``feature_bounds``, in predictions; 1e100 cuts nothing.
    choice_share
        The share of ``mu**2`` that is spent on comparing the fit with a constant, so that the worse
        is not kept; 0 compares nothing. Pure DP compares nothing.

    Guarantee
    ---------
    The run spends exactly the plan's event, whose total is at most the guarantee, for every input.

    Edge cases
    ----------
    If ``n_nonzero`` is at least the number of features, all are kept and no choice costs budget. An
    intercept is always kept and does not count. Pure DP needs stated units, and uses Laplace noise.

    Reference
    ---------
    Tao, Wu, Cheng and Wang 2022, Algorithm 5.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=20_000, n_features=1000)
    >>> plan = HardThresholding(n_nonzero=5).plan(problem, tg.ApproxDP(1.0, 1e-6))
    >>> plan.stage("descent").n_blocks, plan.settings["noise"]
    (3, 'peeled-gaussian')
    """

    n_nonzero: int | None = None
    n_steps: int | None = None
    threshold: float | None = None
    step_size: float | None = None
    feature_scale: PerColumn | None = None
    feature_center: PerColumn = 0.0
    target_scale: float | None = None
    target_center: float = 0.0
    units_share: float = 0.1
    feature_limit: float | None = None
    choice_share: float = 0.1

    example: ClassVar[SolverExample] = SolverExample(SparseBall(2))

    def __post_init__(self) -> None:
        """Check the public numbers."""
        check_ranges(self)
        check_between("choice_share", self.choice_share, 0.0, 0.9)
        check_given(self, check_scale, "threshold", "step_size", "target_scale", "feature_limit")
        center = per_column("feature_center", self.feature_center, check_finite)
        object.__setattr__(self, "feature_center", center)
        if self.feature_scale is not None:
            scale = per_column("feature_scale", self.feature_scale, check_scale)
            object.__setattr__(self, "feature_scale", scale)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Divide the budget, and choose limits and steps from public numbers."""
        n_nonzero = self._check(problem)
        units = self._units(problem)
        coordinates = _most_coordinates(problem, self.n_steps)
        promise = usable_guarantee(guarantee, coordinates)
        unit_stages: tuple[Stage, ...] = ()
        if units.releases_any:
            usable = promise.gaussian_mu() * (1.0 - BUDGET_MARGIN) * math.sqrt(self.units_share)
            units = units.seen_by_column(usable)
            unit_stages = units.stages(usable)
        comparison = choice_stages(self.choice_share, problem, guarantee, promise)
        probe = PeeledStep(problem.scored, units.stated, 1.0, 1.0, n_nonzero)
        counts = probe.n_selected, probe.n_free
        form, ratio = self.form(promise, (*unit_stages, *comparison), *counts)
        limits = choose_sparse_limits(
            problem,
            ratio,
            n_nonzero,
            n_steps=self.n_steps,
            threshold=self.threshold,
            step_size=self.step_size,
        )
        size = units.stated.size
        descent = peeling_stage(form, ratio, *counts, n_blocks=limits.n_steps, size=size)
        # The lattice is that of a Gaussian release of the same cost, so this release must exist.
        replace(descent, share=None).check(problem.n_rows, guarantee)
        return Plan(
            solver="hard-thresholding",
            problem=problem,
            guarantee=guarantee,
            stages=(*unit_stages, *comparison[:-1], descent, *comparison[-1:]),
            settings={
                "n_nonzero": n_nonzero,
                "threshold": limits.threshold,
                "step_size": limits.step_size,
                "feature_limit": self.feature_limit or limits.feature_limit,
                "largest_noise": limits.largest_noise,
                "noise": form,
                "noise_over_sensitivity": std_of(form) / ratio,
            },
            assumptions=(
                "columns vary, and their scales can be told from the noise"
                if units.by_column
                else "columns are in comparable units and lie around zero, or their scales and "
                "centres are stated",
                "few columns matter, at most as many as are kept, and none of the others nearly "
                "repeats one",
                "the weights that matter stand out from the largest noise of all columns",
            ),
            warnings=units.warnings(guarantee, unit_stages, coordinates),
            takes_persons=True,
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Release units, run the steps, and map the weights back to the user's units."""
        problem, settings = plan.problem, plan.settings
        descent = plan.stage("descent")
        query = PeeledStep(
            problem.scored,
            replace(self._units(problem), by_column="typical size" in plan.by_name).release(
                BudgetSession(plan, gate)
            ),
            threshold=float(settings["threshold"]),
            step_size=float(settings["step_size"]),
            n_nonzero=int(settings["n_nonzero"]),
            feature_limit=float(settings["feature_limit"]),
        )
        blocks = gate.partition(BLOCK_MAP, descent.n_blocks)
        points = np.zeros((descent.n_blocks + 1, query.units.size))
        if LABELS in plan.by_name:
            points[0] = start_of(gate, plan.stage(LABELS), query.units)
        for step in range(descent.n_blocks):
            points[step + 1] = gate.ask(query, points[step], descent, block=blocks[step])
        chosen = SparseChoice(points[-1], query.feature_limit)
        if CHOICE in plan.by_name:
            chosen = choose(gate, plan.stage(CHOICE), query, points[0], points[-1])
        return _sparse_solution(plan, query, points[1:], chosen)

    def form(
        self, promise: Guarantee, earlier: Sequence[Stage], n_selected: int, n_free: int
    ) -> tuple[str, float]:
        """Return the form with the least noise, and the ratio of sensitivity to noise scale."""
        return best_form(promise, (stage.event for stage in earlier), n_selected, n_free)

    def _check(self, problem: Problem) -> int:
        """Refuse unsuitable problems; return how many features are kept."""
        require(
            problem.scored is not None,
            "solver 'hard-thresholding' needs a loss of one score; "
            f"{type(problem.loss).__name__} is not: use solver='noisy-gradient-descent' and a "
            "constraint.",
        )
        given = type(problem.loss).__name__ if problem.link.log else "an offset"
        require(
            not problem.link.log and not problem.has_offset,
            "solver 'hard-thresholding' must be given a loss without a log link, and no offset; "
            f"got {given}.",
        )
        sparse = getattr(problem.constraint, "n_nonzero", None)
        require(
            problem.constraint is None or sparse is not None,
            "constraint must be a tg.sets.SparseBall for solver 'hard-thresholding', or None; "
            f"got {problem.constraint!r}.",
        )
        n_nonzero = self.n_nonzero or sparse
        if n_nonzero is None:
            raise InputError(
                "n_nonzero must be given, such as tg.solvers.HardThresholding(n_nonzero=10), or "
                "constraint=tg.sets.SparseBall(10)."
            )
        require(
            self.n_steps is None or self.n_steps <= problem.n_rows,
            f"n_steps must be at most n_rows = {problem.n_rows}: every step takes records of its "
            f"own; got {self.n_steps}.",
        )
        return n_nonzero

    def _units(self, problem: Problem) -> SharedScale:
        """Return the stated units, and mark those to release."""
        stated = Units(
            column_vector("feature_center", self.feature_center, problem.n_features),
            column_vector("feature_scale", self.feature_scale or 1.0, problem.n_features),
            problem.intercept,
            self.target_center if self.target_scale else 0.0,
            self.target_scale or 1.0,
        )
        releases_target = self.target_scale is None and problem.link.scaled
        return SharedScale(problem, stated, self.feature_scale is None, releases_target)


def _most_coordinates(problem: Problem, n_steps: int | None) -> int:
    """Bound how many numbers a plan releases, before the number of steps is chosen."""
    stated = Units.raw(problem.n_features, intercept=False)
    both = (
        SharedScale(problem, stated, True, problem.link.scaled, by_column)
        for by_column in (False, True)
    )
    most = max(sum(stage.coordinates for stage in units.stages(1.0)) for units in both)
    return most + (n_steps or max(STEP_COUNTS)) * problem.size + MOST_COMPARED


def _sparse_solution(
    plan: Plan, query: PeeledStep, points: FloatArray, chosen: SparseChoice
) -> Solution:
    """Map the chosen weights and their predicted noise back to the user's units."""
    loss, units, problem = query.loss, query.units, plan.problem
    assert loss is not None
    descent = plan.stage("descent")
    weights = chosen.weights
    coef, intercept = units.coefficients(weights, loss.link)
    coef, intercept = np.nan_to_num(coef), float(np.nan_to_num(intercept))
    if problem.constraint is not None:
        coef = problem.constraint.project(coef)
    # Later steps shrink the noise of a step in the same way as they shrink distances.
    remaining = sum(REMAINING ** (2 * step) for step in range(descent.n_blocks))
    sensitivity = query.sensitivity(problem.n_rows // descent.n_blocks, problem.n_features).ideal
    noise = sensitivity * float(plan.settings["noise_over_sensitivity"]) * math.sqrt(remaining)
    gain = chosen.noise * units.gain(loss.link)
    coef_std = np.where(coef == 0.0, np.nan, gain * noise / units.scale)
    intercept_std = gain * noise if units.intercept else 0.0
    # If there is no signal, the entries with the largest noise are chosen.
    kept = points[-1][: problem.n_features]
    largest = float(plan.settings["largest_noise"])
    hidden = bool(kept @ kept <= np.count_nonzero(kept) * largest**2)
    half = np.where(units.scale == UNREAD, math.inf, chosen.feature_limit * units.scale)
    bounds = np.column_stack([units.center - half, units.center + half])
    return Solution(
        *(coef, intercept, plan, coef_std, intercept_std, points),
        notes=(HIDDEN,) * hidden + chosen.notes,
        feature_bounds=None if query.feature_limit >= LARGEST else bounds,
    )
