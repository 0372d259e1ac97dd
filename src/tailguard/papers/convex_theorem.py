"""What the theorems on descent for convex losses have in common, and how many steps they take.

The papers choose the number of steps for the noise that they print, and without constants. With
tight noise a theorem takes, of the numbers between its rule at the printed noise and the same rule
at the noise that is really added, the one at which its own bound on the excess risk is least.

Reference
---------
Kamath, Liu and Zhang 2022, Theorem 3.1; Wang and others 2020, proof of Theorem 8: the bounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tailguard.papers.descent import descent_bound, smooth_descent_bound
from tailguard.papers.descent_theorem import Facts, Statement, noise_of, resolve_spend, theorem_of
from tailguard.papers.parameters.steps import worthwhile_steps
from tailguard.papers.theorem import Theorem
from tailguard.plans.budget import usable_mu
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle

__all__ = ["Step", "convex_theorem"]

MORE_STEPS = (
    "with tight noise the number of steps lies between the rule at the printed noise and the same "
    "rule at the noise that is really added, where the theorem's own bound is least (E36)"
)


@dataclass(frozen=True)
class Step:
    """What each of so many steps is: its gradient, its size, and errors of a coordinate.

    Attributes
    ----------
    oracle, size
        How gradients are bounded, and how far a step goes.
    bias, sampling
        What bounding and sampling take off a coordinate of the mean gradient.
    typical_sampling
        What the typical excess counts, where bias and sampling are one bound together.
    printed_mu
        What all steps cost with the printed noise; None where the rules for steps and noise are
        stated in the budget itself, so that tight noise is the printed one at an exact budget.

    Examples
    --------
    >>> from tailguard.solvers.oracles import make_oracle
    >>> Step(make_oracle("clipped", clip_norm=1.0), size=0.1, bias=0.0, sampling=0.01).size
    0.1
    """

    oracle: Oracle
    size: float
    bias: float
    sampling: float
    typical_sampling: float | None = None
    printed_mu: float | None = None


def convex_theorem(
    facts: Facts,
    statement: Statement,
    count: float,
    step_of: Callable[[int], Step],
    *,
    smoothness: float | None = None,
) -> Theorem:
    """Full-batch descent with the printed ``count`` of steps or, with tight noise, with more.

    It averages its points; with ``smoothness`` it returns the last one, as theorems for steps of
    ``1 / smoothness`` do, and the prediction is that of such steps.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = tg.papers.kamath2022.convex(
    ...     10_000, 3, tg.GDP(1.0), moment=tg.Moment(2.0, 1.0), diameter=2.0
    ... )
    >>> theorem.solver.schedule, theorem.solver.iterate
    ('full', 'average')
    """
    n_steps = facts.steps(count)
    printed_mu = step_of(n_steps).printed_mu
    promise, spent = resolve_spend(facts, printed_mu)
    if facts.n_steps is None and not facts.prints and printed_mu is not None:
        statement = replace(statement, deviations=(*statement.deviations, MORE_STEPS))
        n_steps = worthwhile_steps(
            lambda steps: _predicted(facts, step_of(steps), steps, spent, smoothness),
            printed=count,
            noise_ratio=facts.mu / printed_mu,
        )
    step = step_of(n_steps)
    noise = _noise(facts, step, n_steps, spent)
    iterate = "average" if smoothness is None else "last"
    solver = NoisyGradientDescent(n_steps, step_size=step.size, oracle=step.oracle, iterate=iterate)
    error = step.typical_sampling or step.sampling
    return theorem_of(
        facts,
        statement,
        solver,
        promise,
        spent,
        _predicted(facts, step, n_steps, spent, smoothness),
        course=facts.descent(solver, noise=noise, error=error),
        noise_std=noise,
        n_passes=n_steps,
    )


def _noise(facts: Facts, step: Step, n_steps: int, spent: Guarantee) -> float:
    """Return the noise of a coordinate of one gradient, where all steps read all records."""
    mu = usable_mu(spent, n_steps * facts.n_features) / math.sqrt(n_steps)
    return noise_of(step.oracle, facts, n_rows=facts.n_rows, mu=mu)


def _predicted(
    facts: Facts, step: Step, n_steps: int, spent: Guarantee, smoothness: float | None
) -> float:
    """Return the theorem's own bound on the excess risk, with the noise that is added."""
    noise = _noise(facts, step, n_steps, spent)
    error = facts.root_size * math.hypot(step.bias, step.sampling, noise)
    if smoothness is not None:
        return smooth_descent_bound(
            diameter=facts.diameter, n_steps=n_steps, gradient_error=error, smoothness=smoothness
        )
    return descent_bound(
        diameter=facts.diameter,
        step_size=step.size,
        n_steps=n_steps,
        gradient_bound=facts.gradient_bound,
        gradient_bias=facts.root_size * step.bias,
        gradient_error=error,
    )
