"""Localised descent in rounds, for risks that grow away from their minimum like a power.

Under this noise condition, ``F(w) - F(w*) >= lambda |w - w*|^theta``, a point of small risk is near
the optimum. So each round runs the localised method in a ball around the last answer. Rounds read
disjoint records, and each may spend the whole budget.

Reference
---------
Xu et al. 2025, Algorithms 4 and 5 and Theorems 2 and 3.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Problem
from tailguard.papers.solvers.gradient_facts import PrintedSchedule
from tailguard.papers.solvers.localised import Localised
from tailguard.papers.solvers.phases import Round, doubling_rounds, equal_sizes
from tailguard.sets.l1_ball import L1Ball


@dataclass(frozen=True, kw_only=True)
class ShrinkingLocalised(Localised):
    """Localised descent in equal rounds, each in a ball of half the radius of the last.

    For noise conditions with an exponent of at least 2, which need not be known.

    Parameters
    ----------
    radius
        How far the optimum may be from the start; None takes the diameter of the set. The other
        parameters are those of :class:`Localised`.

    Guarantee
    ---------
    As for :class:`Localised`: rounds read records of their own.

    Edge cases
    ----------
    Few records make one round, which is :class:`Localised`. A ball is cut out around the last
    answer, which lies in the set, so it is never empty.

    Reference
    ---------
    Xu et al. 2025, Algorithm 4 and Theorem 2.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.LpLoss(4), n_rows=10_000, n_features=3, constraint=tg.sets.L1Ball(1.0)
    ... )
    >>> [part.radius for part in ShrinkingLocalised().rounds(problem)]
    [2.0, 1.0, 0.5, 0.25]
    """

    radius: float | None = None

    name: ClassVar[str] = "shrinking-localised"
    example: ClassVar[SolverExample] = replace(Localised.example, constraint=L1Ball(1.0))

    def _printed_eta(self, problem: Problem, schedule: PrintedSchedule, part: Round) -> float:
        """Return the gamma of Algorithm 4, proportional to the radius over n^(p/2)."""
        power, chance = schedule.exponent / 2.0, 1.0 / max(3, part.n_rows)
        return schedule.step_parameter(part.n_rows, part.radius, power=power, chance=chance)

    def rounds(self, problem: Problem) -> tuple[Round, ...]:
        """Return equal rounds, with radii that are halved."""
        radius = self.radius or self._diameter(problem)
        return tuple(
            Round(n_rows, radius / 2**index)
            for index, n_rows in enumerate(equal_sizes(problem.n_rows, printed=self.prints))
        )


@dataclass(frozen=True, kw_only=True)
class DoublingLocalised(Localised):
    """Localised descent in rounds that double, for any exponent of the noise condition above 1.

    Parameters
    ----------
    growth_bound
        A number above 1 and at most the exponent. The smaller it is, the more rounds there are.
    radius
        The radius of the ball around the start of the first round; None takes the diameter of the
        set.
    shrinks
        Whether the radius is halved from round to round, as in the paper. There is no proof that
        the halved balls contain the optimum, so by default the radius is constant. The other
        parameters are those of :class:`Localised`.

    Guarantee
    ---------
    As for :class:`Localised`: rounds read records of their own.

    Edge cases
    ----------
    There is at least one round, and none has fewer records than ``smallest_phase`` unless it is
    the only one. All records are used, except by the printed schedule.

    Reference
    ---------
    Xu et al. 2025, Algorithm 5 and Theorem 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(
    ...     tg.losses.LpLoss(4), n_rows=10_000, n_features=3, constraint=tg.sets.L1Ball(1.0)
    ... )
    >>> [part.n_rows for part in DoublingLocalised(growth_bound=2.0).rounds(problem)]
    [1428, 2857, 5715]
    """

    growth_bound: float = 2.0
    radius: float | None = None
    shrinks: bool = False

    name: ClassVar[str] = "doubling-localised"
    example: ClassVar[SolverExample] = ShrinkingLocalised.example

    def _printed_eta(self, problem: Problem, schedule: PrintedSchedule, part: Round) -> float:
        """Return the eta of Algorithm 5, proportional to the radius over n^((p-1)/2)."""
        power, chance = (schedule.exponent - 1.0) / 2.0, 1.0 / max(3, part.n_rows)
        return schedule.step_parameter(part.n_rows, part.radius, power=power, chance=chance)

    def rounds(self, problem: Problem) -> tuple[Round, ...]:
        """Return rounds that double."""
        radius = self.radius or self._diameter(problem)
        known = problem.n_rows, self.growth_bound, self.smallest_phase
        sizes = doubling_rounds(*known, printed=self.prints)
        return tuple(
            Round(n_rows, radius / 2**index if self.shrinks else radius)
            for index, n_rows in enumerate(sizes)
        )
