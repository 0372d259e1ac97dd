"""A theorem as something to run: a solver with the theorem's parameters, and what it predicts.

The theorems hold for bounded moments and promise privacy for every input. Here the second half is
kept by the gate whatever the first half is worth; the noise is calibrated exactly by default, or as
the paper prints it, and the plan then says what the printed noise costs in truth.

Reference
---------
The theorems' own papers; Dong, Roth and Su 2022, Theorem 2.7 (what Gaussian noise costs).
"""

import math
from dataclasses import dataclass, replace

from tailguard.checks import InputError, check_boolean, check_choice
from tailguard.engine import Solver
from tailguard.gate import Gate
from tailguard.papers.typical import Course
from tailguard.plans.plan import Plan
from tailguard.plans.problem import Problem
from tailguard.plans.solution import Solution
from tailguard.privacy.guarantees import GDP, Guarantee
from tailguard.solvers.reproduction import promises_nothing

__all__ = ["Assumptions", "Theorem", "promised_and_spent"]

CALIBRATIONS = ("tight", "paper")


@dataclass(frozen=True)
class Assumptions:
    """What a theorem rests on, in plain words, apart for privacy and for accuracy.

    Examples
    --------
    >>> Assumptions(for_privacy=(), for_accuracy=("the loss is convex",)).for_privacy
    ()
    """

    for_privacy: tuple[str, ...]
    for_accuracy: tuple[str, ...]


@dataclass(frozen=True)
class Theorem:
    """A solver with a theorem's parameters, its predicted excess risk, and the lower bound.

    It is a solver itself: hand it to ``tg.minimize(..., solver=...)`` or to an estimator.

    Attributes
    ----------
    statement
        Authors, year and number.
    solver
        The algorithm with its parameters.
    n_rows, n_features
        What the parameters were chosen for; ``n_features`` counts the weights, intercept included.
    guarantee
        What is promised.
    spent
        What the run spends: the guarantee, or what the printed noise costs.
    predicted_excess
        Excess risk by the analysis of the theorem, with the noise that is really added: a bound,
        for the worst risk that is allowed. :meth:`typical_excess` is what compares methods.
    noise_std
        Noise on every coordinate of a step's gradient, or of a release, of the first one where they
        differ; NaN where it follows the records.
    n_passes
        How often every record is read.
    bound, lower_bound
        The rate that the theorem states, and the least of any method, with hidden constants 1.
    assumptions
        What must hold.
    deviations
        Every place where this is not what the paper prints.
    course
        What its steps do with errors, from which :meth:`typical_excess` follows.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = tg.papers.kamath2022.convex(
    ...     10_000, 3, tg.ZCDP(0.5), moment=tg.Moment(2.0, 1.0), diameter=2.0
    ... )
    >>> theorem.statement
    'Kamath, Liu and Zhang 2022, Theorem 5.2'
    """

    statement: str
    solver: Solver
    n_rows: int
    n_features: int
    guarantee: Guarantee
    spent: Guarantee
    predicted_excess: float
    noise_std: float
    n_passes: float
    bound: float
    lower_bound: float
    assumptions: Assumptions
    deviations: tuple[str, ...]
    course: Course

    @property
    def unprotected(self) -> bool:
        """Whether its solver was made with ``unsafe_reproduction=True`` and promises nothing."""
        return promises_nothing(self.solver)

    def typical_excess(self, curvature: float) -> float:
        """Return the excess on a quadratic risk: one model, which compares theorems."""
        return self.course.excess(curvature)

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Plan as the theorem says, for the sizes and the guarantee that it was given."""
        for name, told, asked in (
            ("n_rows", self.n_rows, problem.n_rows),
            ("n_features", self.n_features, problem.size),
        ):
            if told != asked:
                raise InputError(
                    f"{name} must be {asked}, as in the data (an intercept counts as a feature), "
                    f"in the call of the theorem; got {told}."
                )
        if guarantee != self.guarantee:
            raise InputError(
                f"guarantee must be {self.guarantee!r}, that of the theorem; got {guarantee!r}."
            )
        plan = self.solver.plan(problem, self.spent)
        return replace(
            plan,
            guarantee=self.guarantee,
            settings={"theorem": self.statement, **plan.settings},
            assumptions=self.assumptions.for_accuracy,
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry the plan out."""
        return self.solver.run(plan, gate)

    def explain(self) -> str:
        """Say what is run, what it rests on, what it should achieve, and how it deviates."""
        lines = [
            f"{self.statement}: {self.guarantee.describe()}, n = {self.n_rows}, "
            f"{self.n_features} coefficients",
            f"  solver: {self.solver!r}",
            f"  spends: {self.spent.describe()}",
            f"  predicted excess risk {self.predicted_excess:.3g} "
            f"(bound {self.bound:.3g}, lower bound {self.lower_bound:.3g}, constants 1)",
            f"  noise {self._noise()}, {self.n_passes:g} passes",
        ]
        lines += [f"  needed for privacy: {line}" for line in self.assumptions.for_privacy]
        lines += [f"  needed for accuracy: {line}" for line in self.assumptions.for_accuracy]
        lines += [f"  differs from the paper: {line}" for line in self.deviations]
        return "\n".join(lines)

    def _noise(self) -> str:
        known = math.isfinite(self.noise_std)
        return f"{self.noise_std:.3g} on every coordinate" if known else "follows the records"


def promised_and_spent(
    guarantee: Guarantee, printed_mu: float | None, *, calibration: str, unsafe_reproduction: bool
) -> tuple[Guarantee, Guarantee]:
    """Return what is promised and what is spent: the guarantee, or what printed noise costs.

    Guarantee
    ---------
    Printed noise that costs more than the guarantee is refused; with ``unsafe_reproduction`` its
    true cost is promised instead.

    Examples
    --------
    >>> options = {"calibration": "paper", "unsafe_reproduction": False}
    >>> promised_and_spent(GDP(1.0), 0.4, **options)
    (GDP(mu=1.0), GDP(mu=0.4))
    >>> options = {"calibration": "paper", "unsafe_reproduction": True}
    >>> promised_and_spent(GDP(1.0), 1.5, **options)
    (GDP(mu=1.5), GDP(mu=1.5))
    """
    check_choice("calibration", calibration, CALIBRATIONS)
    check_boolean("unsafe_reproduction", unsafe_reproduction)
    if calibration == "tight":
        return guarantee, guarantee
    if printed_mu is None:
        raise InputError("calibration must be 'tight' here: the paper prints no noise.")
    spent = GDP(printed_mu)
    if printed_mu <= guarantee.gaussian_mu():
        return guarantee, spent
    if not unsafe_reproduction:
        raise InputError(
            "unsafe_reproduction must be True for this calibration='paper': the printed noise "
            f"does not keep {guarantee.describe()} but {spent.describe()}."
        )
    return spent, spent
