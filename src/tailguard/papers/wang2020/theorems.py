"""The theorems of Wang, Xiao, Devadas and Xu (2020) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data. Theorems 2 and 5 hold for the repaired algorithms: the
scales that the paper prints for them are not smooth, and give no privacy.

*Needed for accuracy.* Second raw moments of every coordinate of the gradient at every point of the
set (Theorem 5: sub-exponential coordinates whose means lie in a known range); a smooth risk whose
gradient vanishes at the minimiser; a bounded set.

Options of every theorem: ``gradient_bound`` (1), ``n_steps`` to replace the theorem's,
``calibration`` (``"tight"``, or ``"printed"`` for noise and steps of the paper). Theorems of this
module also have ``failure_probability`` (0.01) and ``scale="balanced"``, a truncation scale that
counts the noise, which the printed one ignores.
"""

import math
from dataclasses import dataclass, replace

from tailguard.checks import InputError, check_choice, check_integer, check_positive
from tailguard.gate.stage import usable_guarantee
from tailguard.means.formulas import check_facts
from tailguard.papers.common import descent
from tailguard.papers.common.setting import Concentrated, Facts
from tailguard.papers.common.statement import (
    Statement,
    descent_prediction,
    needed_of_batches,
    noise_of,
    statement_of,
    theorem_of,
)
from tailguard.papers.common.theorem import Theorem, theorem_on
from tailguard.papers.kamath2022 import bounds as kamath2022
from tailguard.papers.wang2020 import bounds, parameters
from tailguard.solvers.descent import Batches
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import make_oracle

SECOND = (2.0, 2.0)
"""The range of orders that theorems use: a moment of higher order is converted to a second one."""


@dataclass(frozen=True)
class _Facts(Concentrated):
    """Facts with the options of soft truncation."""

    failure_probability: float = 0.01
    scale: str = "printed"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_facts(failure_probability=self.failure_probability)
        check_choice("scale", self.scale, ("printed", "balanced"))
        if self.scale != "printed" and self.prints:
            raise InputError("scale must be 'printed' for calibration='printed'.")


@theorem_on("raw", "strong_convexity", "smoothness", of=_Facts, orders=SECOND)
def smoothed_strongly_convex(facts: _Facts) -> Theorem:
    """Descent on the smoothed soft truncation, for strongly convex losses.

    *Reference.* Wang and others 2020, Theorem 7 and Algorithm 4.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = smoothed_strongly_convex(
    ...     100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 5.0, kind="raw"),
    ...     diameter=2.0, strong_convexity=1.0, smoothness=4.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.step_size, theorem.solver.oracle.describe()
    (47, 0.25, 'soft (scale = 232.995, smoothing = 4.60517)')
    """
    count = facts.into(parameters.strongly_convex_steps)
    n_steps = facts.steps(math.ceil(count), maximum=10_000)
    statement = _statement("smoothed_strongly_convex", facts)
    step = _step(facts, n_steps)
    return descent.strongly_convex_theorem(facts, statement, step, n_steps, disjoint=False)


@theorem_on("raw", "smoothness", of=_Facts, orders=SECOND)
def smoothed_convex(facts: _Facts) -> Theorem:
    """Descent on the smoothed soft truncation, for convex losses; its last point.

    *Reference.* Wang and others 2020, Theorem 8 and Algorithm 4.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = smoothed_convex(
    ...     100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 5.0, kind="raw"),
    ...     diameter=2.0, smoothness=1.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.iterate
    (5, 'last')
    """
    count = round(facts.into(parameters.convex_steps))
    statement = _statement("smoothed_convex", facts)
    return descent.convex_theorem(facts, statement, count, lambda n: _step(facts, n), smooth=True)


@theorem_on("raw", of=_Facts, orders=SECOND)
def stochastic(
    facts: _Facts, *, batch_rows: int | None = None, n_passes: int = 1, step_size: float = 1.0
) -> Theorem:
    """Descent on batches with steps of ``step_size / sqrt(t)``, for convex losses; its average.

    The paper does not analyse the privacy of its batches. Here they are a random partition, with a
    new and secret one for every pass if that needs less noise. ``batch_rows`` is by default 1000,
    or all records if there are fewer.

    *Reference.* Wang and others 2020, Section 6 (stochastic Algorithm 4).

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = stochastic(
    ...     100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 5.0, kind="raw"),
    ...     diameter=2.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.schedule, theorem.solver.decay
    (100, 'shuffled', 'root')
    """
    n_rows = facts.n_rows
    check_integer("n_passes", n_passes, minimum=1)
    check_positive("step_size", step_size)
    if batch_rows is None:
        batch_rows = min(1000, n_rows)  # a round figure: the paper states no batch size
    n_batches = n_rows // check_integer("batch_rows", batch_rows, minimum=1, maximum=n_rows)
    batch_rows, n_steps = n_rows // n_batches, n_passes * n_batches  # batches share the remainder
    if facts.n_steps not in (None, n_steps):
        raise InputError("n_steps must be None here: batch_rows and n_passes say how many.")
    usable = usable_guarantee(facts.spent(), n_steps * facts.n_features)
    stage = Batches("shuffled", n_steps, n_batches).stage(usable, 0.0, n_rows, facts.n_features)
    # ``_step`` takes the mu of all steps on the same records; a step has its stage's mu on its own.
    step = _step(facts, n_steps, batch_rows, stage.mu * math.sqrt(n_steps))
    noise = noise_of(step.oracle, facts, n_rows=batch_rows, mu=stage.mu)
    solver = NoisyGradientDescent(
        n_steps,
        step_size=step_size,
        oracle=step.oracle,
        schedule="shuffled",
        iterate="average",
        n_batches=n_batches,
        decay="root",
    )
    statement = replace(_statement("stochastic", facts), for_privacy=(needed_of_batches(stage),))
    fresh = math.hypot(noise, facts.sampling(batch_rows))
    return theorem_of(
        facts,
        statement,
        solver,
        _stochastic_bound(facts, step, noise, step_size, n_steps),
        descent_prediction(facts, solver, noise=fresh, error=0.0),
        noise_std=noise,
        n_passes=n_passes,
    )


def _stochastic_bound(
    facts: Facts, step: descent.Step, noise: float, step_size: float, n_steps: int
) -> float:
    """Return ``D^2 / (2 c sqrt(T)) + 2 c (R^2 + G^2) / sqrt(T) + D B`` of steps c / sqrt(t).

    The bias ``B`` is the part of the error that averaging over batches does not reduce.
    """
    scale, smoothing = (float(step.oracle.parameters[name]) for name in ("scale", "smoothing"))
    bias = facts.moment.bound * (1.0 + 1.0 / smoothing) / (2.0 * scale)
    error = facts.root_size * math.hypot(step.bias, noise)
    numerator = facts.diameter**2 / (2.0 * step_size)
    numerator += 2.0 * step_size * (facts.gradient_bound**2 + error**2)
    return numerator / math.sqrt(n_steps) + facts.diameter * facts.root_size * bias


def _step(
    facts: _Facts, n_steps: int, n_rows: int | None = None, whole_mu: float | None = None
) -> descent.Step:
    """Return a step on ``n_rows`` records, in a run of ``n_steps`` steps that share one budget."""
    n_rows = n_rows or facts.n_rows
    smoothing = facts.into(parameters.printed_smoothing)
    if facts.scale == "printed":
        scale = facts.into(parameters.printed_scale, n_rows=n_rows)
    else:
        budget = facts.mu if whole_mu is None else whole_mu
        scale = facts.into(parameters.noise_aware_scale, n_rows=n_rows, n_steps=n_steps, mu=budget)
    printed_mu = None
    truncation = {"scale": scale, "smoothing": smoothing}
    if facts.prints:
        epsilon, delta = facts.printed_terms
        terms = {"n_steps": n_steps, "epsilon": epsilon, "delta": delta}
        printed = facts.into(parameters.printed_noise_std, **terms)
        sensitivity = facts.into(parameters.sensitivity, **truncation)
        printed_mu = sensitivity * math.sqrt(n_steps) / printed
    error = facts.into(bounds.smoothed_mean_error, n_rows=n_rows, **truncation)
    return descent.Step(
        make_oracle("soft", **truncation),
        bias=error,  # with sampling
        typical_sampling=facts.sampling(n_rows),
        printed_mu=printed_mu,
        size=math.nan if facts.smoothness is None else 1.0 / facts.smoothness,
    )


def least_of(facts: Facts, moment_bound: float) -> float:
    """Return the lower bound: that for strongly convex losses if the convexity is stated.

    The paper has none of its own; those of Kamath, Liu and Zhang (2022) apply.
    """
    convex, strongly = kamath2022.convex_lower_bound, kamath2022.strongly_convex_lower_bound
    least = convex if facts.strong_convexity is None else strongly
    return facts.into(least, moment_bound=moment_bound)


def _statement(name: str, facts: Facts) -> Statement:
    """Return the statement of a theorem."""
    return statement_of(f"wang2020.{name}", facts, least_of(facts, facts.moment.bound))
