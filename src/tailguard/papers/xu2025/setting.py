"""What the theorems of Xu and others (2025) share: moments of norms, clip norms and predictions.

Reference
---------
Xu and others 2025, Algorithms 3 to 7; Ghadimi and Lan 2012, Proposition 9.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from tailguard.checks import (
    InputError,
    check_choice,
    check_finite,
    check_given,
    check_positive,
    shown,
)
from tailguard.gate.plan import Problem
from tailguard.losses.squared import Squared
from tailguard.means.formulas import check_facts, check_order, tail_power
from tailguard.papers.common.prediction import accelerated_excess, localised_excess
from tailguard.papers.common.setting import Facts
from tailguard.papers.common.statement import needed_of_batches, statement_of, theorem_of
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.printed.terms import printed_in
from tailguard.papers.solvers.localised import SCHEDULES, Localised, printed_noise_ratio
from tailguard.papers.solvers.permuted_accelerated import PermutedAccelerated
from tailguard.papers.solvers.phases import SMALLEST_ROUND, check_doubling, doubling_rounds
from tailguard.papers.xu2025 import bounds, parameters
from tailguard.privacy.guarantees import GDP
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
from tailguard.sets.l2_ball import L2Ball


@dataclass(frozen=True)
class Norms(Facts):
    """Facts with the moment of the gradient's norm; a clip norm may replace the theorem's."""

    clip_norm: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_given(self, check_positive, "clip_norm")
        check_order(self.moment.order)

    @property
    def order(self) -> float:
        """The order in the rates."""
        return self.moment.order

    @property
    def problem(self) -> Problem:
        """A problem of these sizes, for plans: their cost and noise hardly depend on loss and set.

        Only the tolerance of certified minimisers does, and it is below 1 percent of the noise.
        """
        return Problem(Squared(), **self.sizes, constraint=L2Ball(self.diameter / 2.0))

    @property
    def least(self) -> float:
        """Theorems 4 and 5 as the growth tends to infinity, for a set of this diameter.

        They use the order of the bounded moment, even if rates use half of it: the proof's laws for
        half of the order do not have that moment.
        """
        order = self.moment.order
        private = tail_power(math.sqrt(self.n_features / self.rho) / self.n_rows, order)
        rate = 1.0 / math.sqrt(self.n_rows) + min(1.0, private)
        return self.moment.scale * self.diameter / 2.0 * rate

    def least_growing(self, growth: float) -> float:
        """Theorems 4 and 5 for a risk that grows; 0 for a growth below 2, which has no proof."""
        if growth < 2.0:
            return 0.0
        private = self.into(bounds.tsybakov_lower_bound, growth=growth)
        return private + self.into(bounds.tsybakov_lower_bound_sampling, growth=growth)

    def clip_norm_of(self, n_rows: int) -> float:
        """Return the clip norm for a number of records, ``r (n mu / sqrt(d))^(1/q)``.

        Printed noise has ``epsilon / sqrt(log(1/delta))`` in place of mu.
        """
        mu = self.mu
        if self.prints:
            epsilon, delta = self.printed_terms
            mu = epsilon / math.sqrt(-math.log(delta))
        moment = {"moment_order": self.order, "moment_bound": self.moment.scale**self.order}
        return self.clip_norm or self.into(
            parameters.gradient_clip_norm, n_rows=n_rows, mu=mu, **moment
        )

    def solver_options(self, n_rows: int) -> dict[str, Any]:
        """Return the parameters of all solvers, for a run on ``n_rows`` records."""
        gradients = {"gradient_scale": self.moment.scale, "moment_order": self.order}
        return {"clip_norm": self.clip_norm_of(n_rows), "diameter": self.diameter, **gradients}

    def eta(self, n_rows: int) -> float:
        """Return the step parameter of the localised method on ``n_rows`` records."""
        known = {"clip_norm": self.clip_norm_of(n_rows), "gradient_scale": self.moment.scale}
        return self.into(parameters.localized_step_parameter, n_rows=n_rows, **known)

    def grown(self, risk: float, growth: float, growth_constant: float) -> float:
        """Convert the risk of a convex problem to that of a problem that grows.

        A risk of ``a`` times the diameter becomes ``a r``, for the distance r at which the growth
        ``lambda r^theta`` equals ``a r``; it never increases.
        """
        check_facts(growth_constant=growth_constant)
        slope, power = risk / self.diameter, 1.0 / (growth - 1.0)
        return min(risk, math.pow(slope, growth * power) * math.pow(growth_constant, -power))

    @property
    def printed_mu(self) -> float | None:
        """The cost of the printed noise of a phase; None for tight noise."""
        return 1.0 / printed_noise_ratio(printed_in(self.guarantee)) if self.prints else None

    def round_sizes(self, growth_bound: float, *, printed: bool) -> tuple[int, ...]:
        """Return the sizes of doubling rounds: of all records, or the printed ones."""
        check_doubling(self.n_rows, growth_bound)
        return doubling_rounds(self.n_rows, growth_bound, SMALLEST_ROUND, printed=printed)

    def reach(self, risk: float, growth: float, growth_constant: float) -> float:
        """Bound the root mean squared distance from the minimiser of points with this risk.

        It is ``(risk / lambda)^(1/theta)`` for a growth theta of 2 or more, and at most the
        diameter.
        """
        check_facts(growth_constant=growth_constant)
        power = 1.0 / max(growth, 2.0)
        factor = math.pow(self.diameter, 1.0 - min(growth, 2.0) / 2.0)
        return min(self.diameter, factor * math.pow(risk / growth_constant, power))

    def doubling_risk(self, sizes: tuple[int, ...], growth: float, growth_constant: float) -> float:
        """Return the risk after rounds of these sizes, each of which starts at the last answer.

        The eta of each is for the whole diameter, so its noise does not depend on the distance.
        """
        risk, distance = math.inf, self.diameter
        for n_rows in sizes:
            risk = self.risk(n_rows, distance)
            distance = self.reach(risk, growth, growth_constant)
        return risk

    def risk(self, n_rows: int, distance: float | None = None) -> float:
        """Return the risk of the localised method on ``n_rows`` records, term by term.

        ``distance`` is that of the start from the minimiser; by default the diameter.
        """
        known = self.solver_options(n_rows) | {"diameter": distance or self.diameter}
        known |= {"step_parameter": self.eta(n_rows), "mu": self.printed_mu or self.mu}
        return self.into(bounds.localized_risk, n_rows=n_rows, **known)

    def batches(self, n_rows: int) -> int:
        """Return the number of batches of the accelerated method."""
        count = self.into(parameters.accelerated_steps, n_rows=n_rows)
        return min(n_rows, self.steps(count))


@dataclass(frozen=True)
class DoubledNorms(Norms):
    """Facts of localised theorems; their moments have twice the order that the rates have.

    Attributes
    ----------
    row_limit
        A limit on the norm of rows.
    schedule
        ``"practical"``, ours; ``"printed"``: rounds as printed, and phases down to one record, with
        clip norms, eta and penalties as printed; or ``"steps"``: the same with the steps of
        Algorithm 2. None is ``"steps"`` with printed noise, and ``"practical"`` otherwise.
    exponent, lipschitz_bound
        The paper's p and L of the printed schedule; None is the largest that the theorem admits.
    """

    row_limit: float = math.inf
    schedule: str | None = None
    exponent: float = 1.0
    lipschitz_bound: float | None = None

    doubled: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_finite("exponent", self.exponent) < 1.0:
            raise InputError(f"exponent must be at least 1; got {shown(self.exponent)}.")
        check_given(self, check_positive, "lipschitz_bound")
        if self.moment.order < 4.0:
            raise InputError(
                "moment must be of order at least 4 for this theorem, which needs moments of twice "
                f"its order; got {self.moment.order:g}."
            )

    @property
    def order(self) -> float:
        """Half of the order of the moment."""
        return self.moment.order / 2.0

    @property
    def schedule_taken(self) -> str:
        """The stated schedule, or that of the calibration."""
        return check_choice("schedule", self.schedule or SCHEDULES[2 * self.prints], SCHEDULES)

    def localised_options(self, n_rows: int) -> dict[str, Any]:
        """Return the parameters of localised solvers, of a printed schedule or of ours."""
        ours = {"schedule": self.schedule_taken, "calibration": self.calibration}
        ours |= self.solver_options(n_rows) | {"row_limit": self.row_limit}
        if self.schedule_taken == "practical":
            return ours
        printed = {"exponent": self.exponent, "lipschitz_bound": self.lipschitz_bound}
        return ours | printed | {"clip_norm": self.clip_norm}  # None: one for every phase


def localised_theorem(
    facts: Norms, name: str, lower: float, solver: Localised, bound: float, *cases: str
) -> Theorem:
    """Build a theorem on the localised method, with its statement for the solver's schedule."""
    mu, pulls, guarantee = facts.mu, [], facts.guarantee
    phases = solver.phases(facts.problem, mu, guarantee)
    for phase in phases:
        noise = phase.move / (facts.printed_mu or mu)
        pulls.append((phase.strength, facts.root_size * noise, facts.sampling(phase.n_rows)))
    plan = solver.plan(facts.problem, guarantee)
    return theorem_of(
        facts,
        statement_of(f"xu2025.{name}", facts, lower, solver.schedule, *cases),
        solver,
        bound,
        partial(localised_excess, distance=facts.diameter / 2.0, pulls=tuple(pulls)),
        noise_std=float(plan.settings["first_noise_std"]),
        n_passes=sum(phase.n_rows for phase in phases) / facts.n_rows,
        spent=GDP(plan.total_mu) if facts.prints else None,
        knows_noise=True,
    )


def accelerated_theorem(
    facts: Norms,
    name: str,
    lower: float,
    solver: PermutedAccelerated,
    reach: Callable[[float], float] | None = None,
) -> Theorem:
    """Build a theorem on the accelerated method.

    For a risk that grows, ``reach`` maps the risk after a pass to the largest distance from the
    minimiser at which the next pass starts.
    """
    size, order, smoothness = facts.n_features, facts.order, facts.shape["smoothness"]
    scale, plan = facts.moment.scale, solver.plan(facts.problem, facts.guarantee)
    clips = solver.pass_clip_norms(facts.problem, plan.stages)
    units = Units.raw(size, intercept=False)
    noises, passes = [], []
    sizes = solver.pass_sizes(facts.problem)
    risk, distance = math.inf, facts.diameter
    for n_rows, stage, clip_norm in zip(sizes, plan.stages, clips, strict=True):
        batch = n_rows // stage.n_blocks
        query = MeanClippedGradient(Squared(), units, clip_norm=clip_norm)
        noises.append(query.calibrate(batch, size, stage.mu).noise_std / batch)
        whole = math.hypot(facts.root_size * noises[-1], facts.sampling(batch))
        passes.append((stage.n_blocks, whole))
        # Steps are for the whole diameter, so noise does not depend on the distance.
        spread = (distance**2 / facts.diameter + facts.diameter) / 2.0
        bias = scale**order / ((order - 1.0) * clip_norm ** (order - 1.0))
        risk = smoothness * (distance / stage.n_blocks) ** 2
        risk += spread * whole / math.sqrt(stage.n_blocks) + distance * bias
        distance = facts.diameter if reach is None else reach(risk)
    statement = statement_of(f"xu2025.{name}", facts, lower)
    needed = tuple(dict.fromkeys(map(needed_of_batches, plan.stages)))
    return theorem_of(
        facts,
        replace(statement, for_privacy=needed),
        solver,
        risk,
        partial(
            accelerated_excess,
            distance=facts.diameter / 2.0,
            smoothness=smoothness,
            passes=tuple(passes),
            lag=solver.lag,
        ),
        noise_std=noises[0],
        n_passes=sum(sizes) / facts.n_rows,
        cost=plan.event,
    )
