"""What the theorems on projected descent have in common: facts in, a ready solver out.

Reference
---------
Kamath, Liu and Zhang 2022, Section 3: descent on a private mean of known bias and error.
"""

import math
from dataclasses import dataclass

import numpy as np

from tailguard.checks import InputError, check_integer
from tailguard.engine import Solver
from tailguard.papers.descent import strongly_convex_descent_bound
from tailguard.papers.facts import check_facts
from tailguard.papers.parameters.steps import whole_steps
from tailguard.papers.theorem import Assumptions, Theorem, promised_and_spent
from tailguard.papers.typical import Course, Descent
from tailguard.plans.budget import usable_mu
from tailguard.plans.stage import Stage
from tailguard.privacy.guarantees import ApproxDP, Guarantee, PureDP
from tailguard.queries.units import Units
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle

__all__ = [
    "Facts",
    "Statement",
    "needed_of_batches",
    "noise_of",
    "resolve_spend",
    "strongly_convex_theorem",
    "theorem_of",
]

# The centre of noised group means has about the noise of their median (Laplace 1818).
CENTRE_LOSS = math.sqrt(math.pi / 2.0)


@dataclass(frozen=True)
class Facts:
    """The public facts that every theorem on descent asks for.

    ``n_steps`` stands in for the theorem's number of steps where it is given.

    Examples
    --------
    >>> import tailguard as tg
    >>> round(Facts(1000, 3, tg.ZCDP(0.5), diameter=2.0).rho, 6)
    0.5
    """

    n_rows: int
    n_features: int
    guarantee: Guarantee
    diameter: float
    gradient_bound: float = 1.0
    n_steps: int | None = None
    calibration: str = "tight"
    unsafe_reproduction: bool = False

    def __post_init__(self) -> None:
        check_facts(n_rows=self.n_rows, n_features=self.n_features)
        check_facts(diameter=self.diameter, gradient_bound=self.gradient_bound)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps, minimum=1)

    @property
    def mu(self) -> float:
        """What Gaussian releases may spend together."""
        return self.guarantee.gaussian_mu()

    @property
    def rho(self) -> float:
        """What Gaussian releases may spend in zCDP: half of mu squared."""
        return self.mu**2 / 2.0

    @property
    def terms(self) -> tuple[float, float]:
        """Epsilon and delta for formulas that are printed in them.

        A promise without delta stands for the pair with ``rho = epsilon^2 / (4 log(1/delta))`` and
        ``log(1/delta) = 1``, as Bun and Steinke 2016 convert for small rho.
        """
        if isinstance(self.guarantee, ApproxDP):
            return self.guarantee.epsilon, self.guarantee.delta
        if isinstance(self.guarantee, PureDP):
            return self.guarantee.epsilon, math.exp(-1.0)
        return 2.0 * math.sqrt(self.rho), math.exp(-1.0)

    @property
    def printed_terms(self) -> tuple[float, float]:
        """Epsilon and delta for a printed noise, which is stated for them alone."""
        if not isinstance(self.guarantee, ApproxDP):
            raise InputError(
                "calibration must be 'tight' unless epsilon and delta are promised: the paper "
                f"prints its noise in them; got {self.guarantee!r}."
            )
        return self.terms

    @property
    def prints(self) -> bool:
        """Whether the noise is to be as printed."""
        return self.calibration == "paper"

    @property
    def root_size(self) -> float:
        """The root of the number of coordinates, from one of them to the l2 norm."""
        return math.sqrt(self.n_features)

    def descent(self, solver: NoisyGradientDescent, *, noise: float, error: float) -> Descent:
        """Return the course of a descent; ``noise`` and ``error`` are those of a coordinate."""
        assert solver.step_size is not None  # every theorem states it
        return Descent(
            self.diameter / 2.0,
            solver.n_steps,
            solver.step_size,
            noise=self.root_size * noise,
            error=self.root_size * error,
            last=solver.iterate == "last",
            fades=solver.decay == "root",
        )

    def block_rows(self, n_steps: int) -> int:
        """Return how many records each step has where every step reads its own, or refuse."""
        if n_steps > self.n_rows:
            raise InputError(
                f"n_steps must be at most n_rows = {self.n_rows}, since every step reads records "
                f"of its own; got {n_steps}."
            )
        return self.n_rows // n_steps

    def steps(self, count: float, *, maximum: int = 1000) -> int:
        """Return the user's number of steps, or the theorem's, made whole."""
        return self.n_steps or whole_steps(count, maximum=maximum)


@dataclass(frozen=True)
class Statement:
    """What a theorem says, apart from its algorithm.

    ``noise_deviations`` are those of the noise, which are none where it is added as printed.

    Examples
    --------
    >>> Statement("Theorem 1", 0.1, 0.01, Assumptions((), ()), ()).bound
    0.1
    """

    name: str
    bound: float
    lower_bound: float
    assumptions: Assumptions
    deviations: tuple[str, ...]
    noise_deviations: tuple[str, ...] = ()


def noise_of(oracle: Oracle, facts: Facts, *, n_rows: int, mu: float) -> float:
    """Noise of one answer in each coordinate, at its exact calibration.

    Examples
    --------
    >>> import tailguard as tg
    >>> from tailguard.solvers.oracles import make_oracle
    >>> facts = Facts(1000, 4, tg.GDP(1.0), diameter=2.0)
    >>> oracle = make_oracle("clipped", clip_norm=1.0)
    >>> round(noise_of(oracle, facts, n_rows=1000, mu=1.0), 6)
    0.002
    """
    query = oracle.query(None, Units.raw(facts.n_features, intercept=False))
    calibration = query.calibrate(n_rows, facts.n_features, mu)
    # Finishing is linear, or the centre of groups, which all say the same here.
    noise = float(query.finish(np.full(calibration.size, calibration.noise_std), n_rows)[0])
    n_groups = calibration.size // facts.n_features
    return noise if n_groups == 1 else noise * CENTRE_LOSS / math.sqrt(n_groups)


def needed_of_batches(stage: Stage) -> str:
    """Say what the privacy of batches rests on: nothing, or a partition that stays secret.

    Examples
    --------
    >>> stage = Stage("pass", "means", mu=0.1, times=1, size=3, block_map="batches", n_blocks=50)
    >>> needed_of_batches(stage).partition(":")[0]
    'nothing of the data'
    """
    if not stage.shuffled:
        return (
            "nothing of the data: every batch is released with noise, and batches are disjoint "
            "(proof 'parallel', for every epsilon and delta)"
        )
    return (
        f"the gate's partition stays secret: which record is in which of the {stage.n_blocks} "
        "batches, drawn for each pass, is told to nobody (proof 'groups', a shuffle of the "
        "batches, for every epsilon and delta; taken where it needs less noise than 'parallel')"
    )


def strongly_convex_theorem(
    facts: Facts,
    statement: Statement,
    *,
    oracle: Oracle,
    n_steps: int,
    strong_convexity: float,
    smoothness: float,
    bias: float,
    sampling: float,
    typical_sampling: float | None = None,
    printed_mu: float | None = None,
    disjoint: bool = True,
    step_size: float | None = None,
) -> Theorem:
    """Descent with the last iterate, on disjoint blocks of records unless stated otherwise.

    Steps are of ``1 / (strong_convexity + smoothness)`` unless stated otherwise; the typical excess
    counts ``typical_sampling`` where bias and sampling are one bound together.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = tg.papers.kamath2022.strongly_convex(
    ...     100_000, 3, tg.GDP(1.0), moment=tg.Moment(2.0, 1.0), diameter=2.0,
    ...     strong_convexity=1.0, smoothness=2.0,
    ... )
    >>> theorem.solver.schedule, theorem.solver.iterate
    ('disjoint', 'last')
    """
    promise, spent = resolve_spend(facts, printed_mu)
    mu = usable_mu(spent, n_steps * facts.n_features) / (1.0 if disjoint else math.sqrt(n_steps))
    n_rows = facts.block_rows(n_steps) if disjoint else facts.n_rows
    noise = noise_of(oracle, facts, n_rows=n_rows, mu=mu)
    predicted = strongly_convex_descent_bound(
        diameter=facts.diameter,
        n_steps=n_steps,
        gradient_error=facts.root_size * math.hypot(bias, sampling, noise),
        strong_convexity=strong_convexity,
        smoothness=smoothness,
        step_size=step_size,
    )
    solver = NoisyGradientDescent(
        n_steps,
        step_size=step_size or 1.0 / (strong_convexity + smoothness),
        oracle=oracle,
        iterate="last",
        schedule="disjoint" if disjoint else "full",
    )
    passes = 1 if disjoint else n_steps
    usual = typical_sampling or sampling
    course = facts.descent(solver, noise=noise, error=usual)
    if disjoint:  # steps read records of their own, so that sampling is fresh as well
        course = facts.descent(solver, noise=math.hypot(noise, usual), error=0.0)
    return theorem_of(
        facts,
        statement,
        solver,
        promise,
        spent,
        predicted,
        course=course,
        noise_std=noise,
        n_passes=passes,
    )


def resolve_spend(facts: Facts, printed_mu: float | None = None) -> tuple[Guarantee, Guarantee]:
    """Return what is promised and what is spent, given what the printed noise costs.

    Examples
    --------
    >>> import tailguard as tg
    >>> resolve_spend(Facts(1000, 3, tg.GDP(1.0), diameter=2.0))
    (GDP(mu=1.0), GDP(mu=1.0))
    """
    return promised_and_spent(
        facts.guarantee,
        printed_mu,
        calibration=facts.calibration,
        unsafe_reproduction=facts.unsafe_reproduction,
    )


def theorem_of(
    facts: Facts,
    statement: Statement,
    solver: Solver,
    promise: Guarantee,
    spent: Guarantee,
    predicted: float,
    *,
    course: Course,
    noise_std: float,
    n_passes: float,
) -> Theorem:
    """Put a theorem together.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = tg.papers.xu2025.localised(
    ...     10_000, 3, tg.GDP(1.0), moment=tg.Moment(4.0, 1.0, kind="norm"), diameter=2.0,
    ...     row_limit=3.0,
    ... )
    >>> theorem.n_passes
    1.0
    """
    return Theorem(
        statement=statement.name,
        solver=solver,
        n_rows=facts.n_rows,
        n_features=facts.n_features,
        guarantee=promise,
        spent=spent,
        predicted_excess=float(predicted),
        noise_std=noise_std,
        n_passes=float(n_passes),
        bound=statement.bound,
        lower_bound=statement.lower_bound,
        assumptions=statement.assumptions,
        deviations=(*(() if facts.prints else statement.noise_deviations), *statement.deviations),
        course=course,
    )
