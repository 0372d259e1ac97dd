"""Theorems on projected descent: for convex losses, and for strongly convex ones.

For convex losses the papers choose the number of steps for the noise that they print, and without
constants. With tight noise a theorem takes, of the numbers between its rule at the printed noise
and the same rule at the noise that is really added, the one at which its own bound on the excess
risk is least.

Reference
---------
Kamath, Liu and Zhang 2022, Theorems 3.1 and 3.2; Wang and others 2020, proof of Theorem 8: the
bounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tailguard.gate.stage import usable_mu
from tailguard.papers.common.descent import (
    descent_bound,
    smooth_descent_bound,
    strongly_convex_descent_bound,
)
from tailguard.papers.common.setting import Facts
from tailguard.papers.common.statement import (
    OWN_BLOCKS,
    Statement,
    descent_prediction,
    noise_of,
    theorem_of,
)
from tailguard.papers.common.steps import (
    descent_step_size,
    printed_strongly_convex_steps,
    settled_steps,
    strongly_convex_step_size,
    worthwhile_steps,
)
from tailguard.papers.common.theorem import Theorem
from tailguard.privacy.events import Unbounded
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle

MORE_STEPS = (
    "with tight noise the number of steps lies between the rule at the printed noise and the same "
    "rule at the noise that is really added, where the theorem's own bound is least (E36)"
)


@dataclass(frozen=True)
class Step:
    """One step of a plan: its gradient, the errors of a coordinate, and its size.

    Attributes
    ----------
    oracle
        How gradients are bounded.
    bias, sampling
        What bounding and sampling take off a coordinate of the mean gradient.
    typical_sampling
        What the prediction counts, where bias and sampling are one bound together.
    printed_mu
        What all steps cost with the printed noise; None where the rules for steps and noise are
        stated in the budget itself, so that tight noise is the printed one at an exact budget.
    size
        How far a step goes, once their number is known.
    """

    oracle: Oracle
    bias: float
    sampling: float = 0.0
    typical_sampling: float | None = None
    printed_mu: float | None = None
    size: float = math.nan

    def by_root(self, facts: Facts, n_steps: int) -> "Step":
        """Return it in the size of theorems for convex losses, by the root of the steps."""
        known = {"diameter": facts.diameter, "gradient_bound": facts.gradient_bound}
        return replace(self, size=descent_step_size(**known, n_steps=n_steps))

    def error(self, facts: Facts, noise: float) -> float:
        """Return the root mean squared error of its gradient, with such noise on a coordinate."""
        return facts.root_size * math.hypot(self.bias, self.sampling, noise)


def convex_theorem(
    facts: Facts,
    statement: Statement,
    count: float,
    step_of: Callable[[int], Step],
    *,
    smooth: bool = False,
) -> Theorem:
    """Full-batch descent with the printed ``count`` of steps or, with tight noise, with more.

    It averages its points; if ``smooth`` it returns the last one, as theorems for steps of
    ``1 / smoothness`` do, and the bound is that of such steps.
    """
    n_steps = facts.steps(count)
    printed_mu = step_of(n_steps).printed_mu
    spent = facts.spent(printed_mu)
    if facts.n_steps is None and not facts.prints and printed_mu is not None:
        statement = replace(statement, deviations=(*statement.deviations, MORE_STEPS))
        n_steps = worthwhile_steps(
            lambda steps: _bound(facts, step_of(steps), steps, spent, smooth),
            printed=count,
            noise_ratio=facts.mu / printed_mu,
        )
    step = step_of(n_steps)
    noise = _noise(facts, step, n_steps, spent)
    solver = NoisyGradientDescent(
        n_steps, step_size=step.size, oracle=step.oracle, iterate="last" if smooth else "average"
    )
    error = step.typical_sampling or step.sampling
    return theorem_of(
        facts,
        statement,
        solver,
        _bound(facts, step, n_steps, spent, smooth),
        descent_prediction(facts, solver, noise=noise, error=error),
        noise_std=noise,
        n_passes=n_steps,
        spent=spent,
    )


def _noise(
    facts: Facts, step: Step, n_steps: int, spent: Guarantee, *, disjoint: bool = False
) -> float:
    """Return the noise of a coordinate of one gradient, of all records or of a block of its own."""
    mu = usable_mu(spent, n_steps * facts.n_features) / (1.0 if disjoint else math.sqrt(n_steps))
    n_rows = facts.block_rows(n_steps) if disjoint else facts.n_rows
    return noise_of(step.oracle, facts, n_rows=n_rows, mu=mu)


def _bound(facts: Facts, step: Step, n_steps: int, spent: Guarantee, smooth: bool) -> float:
    """Return the theorem's own bound on the excess risk, with the noise that is added."""
    noise = _noise(facts, step, n_steps, spent)
    error = step.error(facts, noise)
    if smooth:
        return smooth_descent_bound(
            diameter=facts.diameter,
            n_steps=n_steps,
            gradient_error=error,
            smoothness=facts.shape["smoothness"],
        )
    return descent_bound(
        diameter=facts.diameter,
        step_size=step.size,
        n_steps=n_steps,
        gradient_bound=facts.gradient_bound,
        gradient_bias=facts.root_size * step.bias,
        gradient_error=error,
    )


def settled_blocks(
    facts: Facts, n_groups: float, error_of: Callable[[int, int], float]
) -> tuple[int, int]:
    """Return how many steps there are and the records of each, two a group at least.

    ``error_of(n_steps, n_rows)`` is the error of a gradient of ``n_rows`` records.
    """
    most = max(1, facts.n_rows // (2 * math.ceil(n_groups)))
    n_steps = facts.n_steps or min(
        most,
        settled_steps(lambda steps: error_of(steps, max(1, facts.n_rows // steps)), **facts.shape),
    )
    return n_steps, facts.block_rows(n_steps)


def printed_blocks(facts: Facts, error: float) -> tuple[int, int]:
    """Return the same by the printed rule, whose ``error`` does not depend on the steps."""
    count = printed_strongly_convex_steps(error=error, **facts.shape)
    n_steps = facts.steps(count)
    return n_steps, facts.block_rows(n_steps)


def strongly_convex_theorem(
    facts: Facts,
    statement: Statement,
    step: Step,
    n_steps: int,
    *,
    disjoint: bool = True,
    following: tuple[float, Guarantee] | None = None,
) -> Theorem:
    """Descent with the last iterate, on ``disjoint`` blocks of records or on all.

    Steps on blocks are of ``1 / (strong_convexity + smoothness)``. ``following`` are the expected
    noise and what is spent, where the noise follows the records.
    """
    if following is None:
        spent = facts.spent(step.printed_mu)
        noise = stated = _noise(facts, step, n_steps, spent, disjoint=disjoint)
    else:
        (noise, spent), stated = following, math.nan
    bound = strongly_convex_descent_bound(
        diameter=facts.diameter,
        n_steps=n_steps,
        gradient_error=step.error(facts, noise),
        step_size=None if disjoint else step.size,
        **facts.shape,
    )
    solver = NoisyGradientDescent(
        n_steps,
        step_size=strongly_convex_step_size(**facts.shape) if disjoint else step.size,
        oracle=step.oracle,
        iterate="last",
        schedule="disjoint" if disjoint else "full",
    )
    usual = step.typical_sampling or step.sampling
    prediction = descent_prediction(facts, solver, noise=noise, error=usual)
    if disjoint:  # steps read records of their own, so that sampling is fresh as well
        statement = replace(statement, covers=OWN_BLOCKS)
        fresh = math.hypot(noise, usual)
        prediction = descent_prediction(facts, solver, noise=fresh, error=0.0)
    return theorem_of(
        facts,
        statement,
        solver,
        bound,
        prediction,
        noise_std=stated,
        n_passes=1 if disjoint else n_steps,
        spent=spent,
        cost=None if following is None else Unbounded(),
    )
