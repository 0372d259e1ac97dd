"""What the theorems of Xu and others (2025) share: moments of norms, clip norms and predictions.

Reference
---------
Xu and others 2025, Algorithms 3 to 7; Ghadimi and Lan 2012, Proposition 9.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tailguard.checks import InputError, check_positive
from tailguard.losses.squared import Squared
from tailguard.moments import Moment
from tailguard.papers.descent_theorem import (
    Facts,
    Statement,
    needed_of_batches,
    resolve_spend,
    theorem_of,
)
from tailguard.papers.facts import check_facts, check_order, tail_power
from tailguard.papers.parameters import xu2025 as parameters
from tailguard.papers.theorem import Assumptions, Theorem
from tailguard.papers.typical import Accelerated, Localisation, Pass, Pull
from tailguard.papers.xu2025 import bounds
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
from tailguard.sets.l2_ball import L2Ball
from tailguard.solvers.localised import Localised
from tailguard.solvers.permuted_accelerated import PermutedAccelerated

__all__ = ["Setting"]

PAPER = "Xu and others 2025"
SMOOTH_AND_BOUNDED = "the loss is convex and smooth, and the set bounded"


@dataclass(frozen=True)
class Setting:
    """Facts, and the moment of the gradient's norm.

    Attributes
    ----------
    facts
        The public facts.
    moment
        Of the norm.
    order
        The order that enters the rates: that of the moment, or half of it in Theorems 1 to 3.
    stated_clip_norm
        The user's, in the place of the theorem's.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(4.0, 16.0, kind="norm")
    >>> setting = Setting.of(1000, 3, tg.GDP(0.5), moment, 2.0, {}, doubled=True)
    >>> setting.order, setting.moment.scale
    (2.0, 2.0)
    """

    facts: Facts
    moment: Moment
    order: float
    stated_clip_norm: float | None

    @classmethod
    def of(
        cls,
        n_rows: int,
        n_features: int,
        guarantee: Guarantee,
        moment: Moment,
        diameter: float,
        options: dict[str, Any],
        *,
        doubled: bool = False,
    ) -> "Setting":
        """Read the facts; ``doubled`` where the theorem needs moments of twice its order."""
        clip_norm = options.pop("clip_norm", None)
        if clip_norm is not None:
            check_positive("clip_norm", clip_norm)
        facts = Facts(n_rows, n_features, guarantee, diameter, **options)
        moment = moment.convert("norm", n_features=n_features)
        if doubled and moment.order < 4.0:
            raise InputError(
                "moment must be of order at least 4 for this theorem, which needs moments of twice "
                f"its order; got {moment.order:g}."
            )
        check_order(moment.order)
        return cls(facts, moment, moment.order / 2.0 if doubled else moment.order, clip_norm)

    @property
    def printed(self) -> dict[str, Any]:
        """Sizes and moments, as the bounds name them."""
        return {
            "n_rows": self.facts.n_rows,
            "n_features": self.facts.n_features,
            "moment_order": self.order,
            "moment_bound": self.moment.bound,
        }

    @property
    def problem(self) -> Problem:
        """A problem of these sizes: promise and noise are the same for all of them, nearly.

        The tolerance to which minimisers are certified depends on loss and set, and is below 1
        percent of the noise.
        """
        ball = L2Ball(self.facts.diameter / 2.0)
        return Problem(Squared(), self.facts.n_rows, self.facts.n_features, constraint=ball)

    @property
    def convex_lower_bound(self) -> float:
        """Theorem 4 as the growth tends to infinity, for a set of this diameter."""
        facts = self.facts
        private = tail_power(math.sqrt(facts.n_features / facts.rho) / facts.n_rows, self.order)
        rate = 1.0 / math.sqrt(facts.n_rows) + min(1.0, private)
        return self.moment.scale * facts.diameter / 2.0 * rate

    def assumptions(self, for_privacy: tuple[str, ...], *more: str) -> Assumptions:
        """Return what privacy and accuracy rest on."""
        norm = "the norm of the gradient has the stated moment, at every point of the set"
        return Assumptions(for_privacy, (SMOOTH_AND_BOUNDED, norm, *more))

    def clip_norm(self, n_rows: int) -> float:
        """Return the clip norm for so many records, ``r (n mu / sqrt(d))^(1/q)``."""
        return self.stated_clip_norm or parameters.gradient_clip_norm(
            n_rows=n_rows,
            n_features=self.facts.n_features,
            moment_order=self.order,
            mu=self.facts.mu,
            moment_bound=self.moment.scale**self.order,
        )

    def knobs(self, n_rows: int) -> dict[str, Any]:
        """Return the parameters that all solvers get, where a run reads so many records."""
        return {
            "clip_norm": self.clip_norm(n_rows),
            "gradient_scale": self.moment.scale,
            "moment_order": self.order,
            "diameter": self.facts.diameter,
        }

    @property
    def calibration(self) -> dict[str, Any]:
        """Return how the accelerated solvers calibrate."""
        facts = self.facts
        return {
            "calibration": facts.calibration,
            "unsafe_reproduction": facts.unsafe_reproduction,
        }

    def eta(self, n_rows: int) -> float:
        """Return the step parameter of the localised method on so many records."""
        return parameters.localized_step_parameter(
            n_rows=n_rows,
            n_features=self.facts.n_features,
            diameter=self.facts.diameter,
            clip_norm=self.clip_norm(n_rows),
            gradient_scale=self.moment.scale,
            mu=self.facts.mu,
        )

    def growing(
        self,
        theorem: str,
        growth: float,
        growth_constant: float,
        for_privacy: tuple[str, ...],
        deviations: tuple[str, ...],
        noise_deviations: tuple[str, ...],
    ) -> Statement:
        """Return what a theorem for risks that grow says."""
        epsilon, delta = self.facts.terms
        growing: dict[str, Any] = {"growth": growth, "growth_constant": growth_constant}
        rate = (
            bounds.accelerated_tsybakov_bound if theorem == "Theorem 7" else bounds.tsybakov_bound
        )
        lower = 0.0  # none is proved for a growth below 2
        if growth >= 2.0:
            norms: dict[str, Any] = {
                "n_rows": self.facts.n_rows,
                "moment_order": self.moment.order,
                "moment_bound": self.moment.bound,
                "growth": growth,
            }
            lower = bounds.tsybakov_lower_bound(
                **norms, n_features=self.facts.n_features, rho=self.facts.rho
            ) + bounds.tsybakov_lower_bound_sampling(**norms)
        return Statement(
            f"{PAPER}, {theorem}",
            rate(**self.printed, epsilon=epsilon, delta=delta, **growing),
            lower,
            self.assumptions(
                for_privacy,
                "the risk exceeds its minimum by growth_constant times the distance to the "
                "minimiser to the power growth",
            ),
            deviations,
            noise_deviations,
        )

    def grown(self, risk: float, growth: float, growth_constant: float) -> float:
        """Turn the risk of a convex problem into that of one that grows.

        A risk of ``a`` times the diameter ends where the growth ``lambda r^theta`` outweighs
        ``a r``.
        """
        check_facts(growth_constant=growth_constant)
        slope, room = risk / self.facts.diameter, 1.0 / (growth - 1.0)
        return min(risk, math.pow(slope, growth * room) * math.pow(growth_constant, -room))

    @property
    def printed_mu(self) -> float | None:
        """What the printed noise of a phase costs; None where it is not asked for."""
        if not self.facts.prints:
            return None
        epsilon, delta = self.facts.printed_terms
        return epsilon / (4.0 * math.sqrt(-math.log(delta)))

    def risk(self, n_rows: int) -> float:
        """Predict the risk of the localised method on so many records."""
        return bounds.localized_risk(
            n_rows=n_rows,
            n_features=self.facts.n_features,
            moment_order=self.order,
            diameter=self.facts.diameter,
            clip_norm=self.clip_norm(n_rows),
            step_parameter=self.eta(n_rows),
            gradient_scale=self.moment.scale,
            mu=self.printed_mu or self.facts.mu,
        )

    def localised(self, statement: Statement, solver: Localised, predicted: float) -> Theorem:
        """Put a theorem on the localised method together."""
        promise, spent = resolve_spend(self.facts, self.printed_mu)
        noise = float(solver.plan(self.problem, spent).settings["first_noise_std"])
        return theorem_of(
            self.facts,
            statement,
            solver,
            promise,
            spent,
            predicted,
            course=self._localisation(solver, spent.gaussian_mu()),
            noise_std=noise,
            n_passes=1,
        )

    def _localisation(self, solver: Localised, mu: float) -> Localisation:
        """Return what the phases do with distances."""
        scale, pulls = self.moment.scale, []
        for phase in solver.phases(self.problem, mu):
            noise = 2.0 * phase.clip_norm / (phase.n_rows * phase.strength * mu)
            error = scale / math.sqrt(phase.n_rows)
            pulls.append(Pull(phase.strength, self.facts.root_size * noise, error))
        return Localisation(self.facts.diameter / 2.0, tuple(pulls))

    def steps(self, n_rows: int, smoothness: float) -> int:
        """Return how many batches so many records are cut into."""
        epsilon, delta = self.facts.terms
        count = parameters.accelerated_steps(
            n_rows=n_rows,
            n_features=self.facts.n_features,
            moment_order=self.order,
            epsilon=epsilon,
            delta=delta,
            smoothness=smoothness,
            diameter=self.facts.diameter,
            moment_bound=self.moment.bound,
        )
        return self.facts.steps(count, maximum=min(n_rows, 1000))

    def accelerated(
        self,
        statement: Statement,
        solver: PermutedAccelerated,
        shape: Callable[[float], float],
    ) -> Theorem:
        """Put a theorem on the accelerated method together."""
        facts, smoothness = self.facts, solver.smoothness
        scale, order, clip_norm = self.moment.scale, self.order, solver.clip_norm
        assert smoothness is not None  # every theorem states both
        assert clip_norm is not None
        cut = scale**order / ((order - 1.0) * clip_norm ** (order - 1.0))
        plan = solver.plan(self.problem, facts.guarantee)
        noises, passes = self._passes(solver, plan)
        needed = tuple(dict.fromkeys(map(needed_of_batches, plan.stages)))
        last = passes[-1]
        risk = smoothness * (facts.diameter / last.n_steps) ** 2 + facts.diameter * (
            last.noise / math.sqrt(last.n_steps) + cut
        )
        return theorem_of(
            facts,
            replace(statement, assumptions=replace(statement.assumptions, for_privacy=needed)),
            solver,
            plan.guarantee,
            facts.guarantee,
            shape(risk),
            course=Accelerated(facts.diameter / 2.0, smoothness, passes),
            noise_std=noises[0],
            n_passes=1,
        )

    def _passes(
        self, solver: PermutedAccelerated, plan: Plan
    ) -> tuple[list[float], tuple[Pass, ...]]:
        """Return the noise of a coordinate in each pass, and what passes do with distances."""
        assert solver.clip_norm is not None  # every theorem states it
        size, noises, passes = self.facts.n_features, [], []
        units = Units.raw(size, intercept=False)
        query = MeanClippedGradient(Squared(), units, clip_norm=solver.clip_norm)
        for n_rows, stage in zip(solver.pass_sizes(self.problem), plan.stages, strict=True):
            batch = n_rows // stage.n_blocks
            noises.append(query.calibrate(batch, size, stage.mu).noise_std / batch)
            sampling = self.moment.scale / math.sqrt(batch)
            whole = math.hypot(self.facts.root_size * noises[-1], sampling)
            passes.append(Pass(stage.n_blocks, whole))
        return noises, tuple(passes)
