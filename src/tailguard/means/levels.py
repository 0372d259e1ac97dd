"""Methods that bound records at a level: a public one, one that a moment gives, or a released one.

Reference
---------
The methods cite their own papers.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tailguard.checks import InputError, check_between, check_positive
from tailguard.gate.plan import Problem
from tailguard.gate.stage import Share, Stage
from tailguard.means.base import (
    ANY_TAIL,
    IN_PRIVATE_UNITS,
    IN_USER_UNITS,
    Expected,
    MeanFacts,
    MeanMethod,
    MeanPlan,
)
from tailguard.means.facts import checked, cut_factor, moment_scale

# Products with sizes and budgets must stay far from the ends of the floats.
SMALLEST_LEVEL, LARGEST_LEVEL = 1e-200, 1e200


@dataclass(frozen=True)
class Level:
    """A threshold or a clip norm in the user's units, with the bias and sampling error there.

    They are those of a coordinate where coordinates are bounded, else l2 norms.
    """

    value: float
    bias: float
    sampling: float


@dataclass(frozen=True)
class LevelMethod(MeanMethod):
    """Base of the methods that bound records at a level."""

    option: ClassVar[str] = "threshold"  # which states a public level
    few: ClassVar[str] = "few entries exceed the threshold"  # what is assumed of it
    laplace: ClassVar[bool] = False  # whether noise may be Laplace, for pure DP

    @property
    def stated(self) -> float | None:
        """The public level, if one is stated."""
        value: float | None = getattr(self, self.option)
        return None if value is None else check_level(self.option, value)

    def plan_from(self, facts: MeanFacts) -> MeanPlan:
        """Choose a level, or plan to release one."""
        if facts.pure and not self.laplace:
            raise InputError(
                f"method {self.name!r} must not be used with PureDP: its noise is Gaussian; choose "
                "'clamped', 'truncated' or 'soft'."
            )
        self.check(facts)
        if self.stated is not None or facts.moment is not None:
            return self.public_plan(facts)
        return self.private_plan(facts)

    def check(self, facts: MeanFacts) -> None:
        """Check the method's own options."""

    def groups(self, problem: Problem) -> int:
        """Return over how many groups a centre of means is taken; one is a plain mean."""
        return 1

    def private_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan to release scales first, and a level in them."""
        raise TypeError(f"{type(self).__name__} must say how it plans with private scales.")

    def public_plan(self, facts: MeanFacts) -> MeanPlan:
        """Plan with a public level."""
        raise TypeError(f"{type(self).__name__} must say how it plans with a public level.")

    def moment_level(self, facts: MeanFacts, budget: Share, groups: int) -> Level:
        """Return the level that the moment gives, where groups may spend the budget each.

        A method that does not say takes no moment, and refuses one.
        """
        raise InputError(
            f"moment must not be given with method {self.name!r}, which takes {self.option}= or "
            "neither."
        )

    def spent(self, facts: MeanFacts, level: float = math.nan, groups: int = 1) -> Share:
        """Return what a release at a public level spends: all that may be spent."""
        return facts.budget

    def chosen_level(self, facts: MeanFacts, budget: Share, groups: int = 1) -> Level:
        """Return the stated level, or that of the moment."""
        if self.stated is None:
            return self.moment_level(facts, budget, groups)
        return Level(self.stated, bias=0.0, sampling=self.stated / math.sqrt(facts.n_rows))

    def planned(
        self,
        facts: MeanFacts,
        stages: tuple[Stage, ...],
        expected: Expected,
        settings: Mapping[str, float | int | str] | None = None,
    ) -> MeanPlan:
        """Put a plan together; scales are private where more than the mean is released."""
        private = len(stages) > 1
        assumed = ANY_TAIL if private else facts.moment.describe() if facts.moment else self.few
        unit = IN_PRIVATE_UNITS if private else IN_USER_UNITS
        told = (facts.problem, facts.guarantee, stages, settings or {}, (assumed,))
        return MeanPlan(self.name, *told, expected=expected, unit=unit)


def check_level(name: str, value: object) -> float:
    """Return a clip norm, a threshold or a bound that the arithmetic of noise can bear."""
    check_positive(name, value)
    return check_between(name, value, SMALLEST_LEVEL, LARGEST_LEVEL)


def directional_level(facts: MeanFacts, formula: Callable[..., float], **told: float) -> Level:
    """Return the clip norm of a formula for moments in every direction, and what it takes off."""
    moment = facts.known_moment("directional")
    clip_norm = facts.into(formula, moment, **told)
    bias = facts.into(clipping_bias, moment, clip_norm=clip_norm)
    return Level(clip_norm, bias, facts.sampling * math.sqrt(facts.n_features))


@checked
def clipping_bias(
    *, n_features: int, moment_order: float, clip_norm: float, moment_bound: float = 1.0
) -> float:
    """Bias of the l2-clipped mean: ``((q-1)^(q-1) / q^q) d^(q/2) M^q / R^(q-1)``.

    *Correction.* The paper has the constant ``1 / (q-1)``, four times as large for second moments.

    *Reference.* Zhao and others 2024, proof of Theorem 2, sharpened.
    """
    reach = n_features ** (moment_order / 2.0) / clip_norm ** (moment_order - 1.0)
    return float(cut_factor(moment_order) * moment_bound * reach)


@checked
def mean_clip_norm(
    *, n_rows: int, n_features: int, moment_order: float, rho: float, moment_bound: float = 1.0
) -> float:
    """Clipping norm, ``M sqrt(d) min((n sqrt(rho) / sqrt(d))^(1/q), (n / d)^(1/q))``.

    *Correction.* The paper prints no ``M``, the root of the moment.

    *Reference.* Zhao and others 2024, Theorem 4, equation (19).
    """
    reach = n_rows * min(math.sqrt(rho / n_features), 1.0 / n_features)
    return math.sqrt(n_features) * moment_scale(moment_bound * reach, moment_order)


@checked
def gradient_clip_norm(
    *, n_rows: int, n_features: int, moment_order: float, mu: float, moment_bound: float = 1.0
) -> float:
    """Clipping norm, ``r (n mu / sqrt(d))^(1/q)`` with ``r`` the root of the moment.

    The paper has ``epsilon / sqrt(log(1/delta))`` (and more logarithms) in the place of mu.

    *Reference.* Xu and others 2025, Algorithms 3 and 6.
    """
    return moment_scale(moment_bound * n_rows * mu / math.sqrt(n_features), moment_order)
