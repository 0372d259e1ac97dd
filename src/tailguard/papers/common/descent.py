"""Projected descent on any oracle of known bias and error: its excess risk, and its theorems.

Kamath, Liu and Zhang (2022), Section 3, bound the excess risk by the bias and error of the private
mean of gradients; Tao and others (2022) and Zhao and others (2024) use the same argument. For
convex losses the papers choose the number of steps for their printed noise, and without constants.
With tight noise the number lies between the paper's rule at the printed noise and the same rule at
the noise that is really added; the theorem takes the one that minimises its own bound on the excess
risk.

*Needed for privacy.* What the oracle needs: descent is post-processing.

*Needed for accuracy.* Convex smooth losses on a bounded set. The bias must hold at all points of
the set at once, since the points depend on the records.

Reference
---------
Kamath, Liu and Zhang 2022, Theorems 3.1 and 3.2; Wang and others 2020, proof of Theorem 8: the
bounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tailguard.checks import check_finite
from tailguard.gate.stage import BUDGET_MARGIN, usable_mu
from tailguard.means.base import amount_of
from tailguard.means.formulas import check_facts
from tailguard.papers.common import steps
from tailguard.papers.common.setting import Facts
from tailguard.papers.common.statement import (
    OWN_BLOCKS,
    Statement,
    descent_prediction,
    noise_of,
    theorem_of,
)
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.printed.terms import share_with_rounding
from tailguard.privacy.events import Gaussian, Unbounded
from tailguard.privacy.guarantees import GDP, Guarantee
from tailguard.queries.units import Units
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.oracles import Oracle


def descent_bound(
    *,
    diameter: float,
    step_size: float,
    n_steps: int,
    gradient_bound: float,
    gradient_bias: float,
    gradient_error: float,
) -> float:
    """Excess risk of projected descent on any gradient oracle, averaged over its iterates.

    ``D^2 / (2 eta T) + eta (R^2 + G^2) + D B`` for ``T`` steps of size ``eta``, diameter ``D``,
    gradient bound ``R``, and the oracle's bias ``B`` (at all points at once) and root mean squared
    error ``G``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 3.1; Zhao and others 2024, Lemma 3, with
    smoothness times diameter as the gradient bound.

    Examples
    --------
    >>> oracle = {"gradient_bound": 1.0, "gradient_bias": 0.01, "gradient_error": 1.0}
    >>> round(descent_bound(diameter=2.0, step_size=0.1, n_steps=400, **oracle), 3)
    0.27
    """
    check_facts(diameter=diameter, step_size=step_size, n_steps=n_steps)
    check_facts(gradient_bound=gradient_bound)
    check_finite("gradient_bias", gradient_bias)
    check_finite("gradient_error", gradient_error)
    noise = step_size * (gradient_bound**2 + gradient_error**2)
    return diameter**2 / (2.0 * step_size * n_steps) + noise + diameter * gradient_bias


def smooth_descent_bound(
    *, diameter: float, n_steps: int, gradient_error: float, smoothness: float
) -> float:
    """Excess risk of projected descent with steps of ``1 / smoothness``, on average over points.

    ``b D^2 / (2 T) + D G`` for smoothness ``b``: an error ``G`` of the gradient costs at most the
    diameter ``D`` times ``G``.

    *Reference.* Wang and others 2020, proof of Theorem 8, for any gradient error ``G`` along the
    way.

    Examples
    --------
    >>> run = {"diameter": 2.0, "n_steps": 20, "gradient_error": 0.1}
    >>> smooth_descent_bound(smoothness=1.0, **run)
    0.30000000000000004
    """
    check_facts(diameter=diameter, n_steps=n_steps, smoothness=smoothness)
    check_finite("gradient_error", gradient_error)
    return smoothness * diameter**2 / (2.0 * n_steps) + diameter * gradient_error


def strongly_convex_descent_bound(
    *,
    diameter: float,
    n_steps: int,
    gradient_error: float,
    strong_convexity: float,
    smoothness: float,
    step_size: float | None = None,
) -> float:
    """Excess risk of descent on strongly convex losses, with all constants.

    ``(b / 2) (2 r^(2T) D^2 + 2 G^2 / ((1 - r)^2 (a + b)^2))`` for strong convexity ``a``,
    smoothness ``b`` and the contraction ``r`` of steps of ``1 / (a + b)``. For another
    ``step_size`` h up to ``2 / (a + b)`` the distance shrinks by ``1 - h a``, and the bound is
    ``(b / 2) (2 (1 - h a)^(2T) D^2 + 2 (G / a)^2)``.

    *Correction.* The paper's first display bounds the distance and not the risk, and its sum lacks
    a term; summing the geometric series avoids its factor ``T``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 3.2.

    Examples
    --------
    >>> shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    >>> run = {"diameter": 2.0, "n_steps": 19, "gradient_error": 0.1}
    >>> round(strongly_convex_descent_bound(**run, **shape), 4)
    0.0837
    """
    check_facts(diameter=diameter, n_steps=n_steps)
    check_finite("gradient_error", gradient_error)
    if step_size is not None:
        left = (1.0 - step_size * strong_convexity) ** n_steps * diameter
        return float(smoothness * (left**2 + (gradient_error / strong_convexity) ** 2))
    shrink = steps.contraction(strong_convexity=strong_convexity, smoothness=smoothness)
    floor = gradient_error / ((1.0 - shrink) * (strong_convexity + smoothness))
    return float(smoothness * ((shrink**n_steps * diameter) ** 2 + floor**2))


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
        Errors of a coordinate of the mean gradient: clipping bias and sampling error.
    typical_sampling
        The sampling error of the prediction, if the theorem bounds bias and sampling together.
    printed_mu
        The cost of all steps with the printed noise. None if the paper states its rules for steps
        and noise in the budget itself: tight noise is then the printed one at an exact budget.
    size
        The step size; NaN until the number of steps is known.
    """

    oracle: Oracle
    bias: float
    sampling: float = 0.0
    typical_sampling: float | None = None
    printed_mu: float | None = None
    size: float = math.nan

    def by_root(self, facts: Facts, n_steps: int) -> "Step":
        """Return the step with size ``diameter / (gradient_bound sqrt(n_steps))``."""
        known = {"diameter": facts.diameter, "gradient_bound": facts.gradient_bound}
        return replace(self, size=steps.descent_step_size(**known, n_steps=n_steps))

    def error(self, facts: Facts, noise: float) -> float:
        """Return the root mean squared error of its gradient, with ``noise`` on each coordinate."""
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

    It averages its points. If ``smooth`` it returns the last one, as theorems for steps of
    ``1 / smoothness`` do; the stated bound, :func:`smooth_descent_bound`, is that of the average.
    """
    n_steps = facts.steps(count)
    printed_mu = step_of(n_steps).printed_mu
    spent = _spent(facts, step_of(n_steps), n_steps)
    if facts.n_steps is None and not facts.prints and printed_mu is not None:
        statement = replace(statement, deviations=(*statement.deviations, MORE_STEPS))
        n_steps = steps.worthwhile_steps(
            lambda n: _bound(facts, step_of(n), n, spent, smooth),
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


def _spent(facts: Facts, step: Step, n_steps: int, *, disjoint: bool = False) -> Guarantee:
    """Return the guarantee, or what the printed noise of all steps costs, rounding included."""
    if not facts.prints or step.printed_mu is None:
        return facts.spent()
    root = 1.0 if disjoint else math.sqrt(n_steps)
    n_rows = facts.block_rows(n_steps) if disjoint else facts.n_rows
    query = step.oracle.query(None, Units.raw(facts.n_features, intercept=False))
    ideal = Gaussian(step.printed_mu / root)
    spent = share_with_rounding(query, n_rows, facts.n_features, ideal)
    # ``_noise`` subtracts the margin again.
    return GDP(amount_of(spent) * root / (1.0 - BUDGET_MARGIN))


def _noise(
    facts: Facts, step: Step, n_steps: int, spent: Guarantee, *, disjoint: bool = False
) -> float:
    """Return the noise of a coordinate of one gradient, of all records or of a disjoint block."""
    n_rows = facts.block_rows(n_steps) if disjoint else facts.n_rows
    query = step.oracle.query(None, Units.raw(facts.n_features, intercept=False))
    size = query.sensitivity(n_rows, facts.n_features).size
    mu = usable_mu(spent, n_steps * size) / (1.0 if disjoint else math.sqrt(n_steps))
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


def settled_blocks(facts: Facts, n_groups: float, error_of: Callable[[int, int], float]) -> int:
    """Solve for the number of steps on disjoint blocks; each group keeps at least two records.

    ``error_of(n_steps, n_rows)`` is the error of a gradient of ``n_rows`` records.
    """

    def error(n_steps: int) -> float:
        return error_of(n_steps, max(1, facts.n_rows // n_steps))

    most = max(1, facts.n_rows // (2 * math.ceil(n_groups)))
    return facts.n_steps or min(most, steps.settled_steps(error, **facts.shape))


def printed_blocks(facts: Facts, error: float) -> int:
    """Return the printed number of steps, for an ``error`` that does not depend on that number."""
    return facts.steps(steps.printed_strongly_convex_steps(error=error, **facts.shape))


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

    On blocks the step size is ``1 / (strong_convexity + smoothness)``. ``following`` has the
    expected noise and the budget spent, if the noise depends on the records.
    """
    if following is None:
        spent = _spent(facts, step, n_steps, disjoint=disjoint)
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
        step_size=steps.strongly_convex_step_size(**facts.shape) if disjoint else step.size,
        oracle=step.oracle,
        iterate="last",
        schedule="disjoint" if disjoint else "full",
    )
    usual = step.typical_sampling or step.sampling
    if disjoint:  # each step reads new records, so its sampling error is independent too
        statement = replace(statement, covers=OWN_BLOCKS)
        noise, usual = math.hypot(noise, usual), 0.0
    return theorem_of(
        facts,
        statement,
        solver,
        bound,
        descent_prediction(facts, solver, noise=noise, error=usual),
        noise_std=stated,
        n_passes=1 if disjoint else n_steps,
        spent=spent,
        cost=None if following is None else Unbounded(),
    )
