"""The theorems of Kamath, Liu and Zhang (2022) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data: every step is a private mean, and steps compose exactly.

*Needed for accuracy.* Central moments of every coordinate of the gradient, at every point of the
set, of order ``moment.order >= 2``; smooth non-negative convex losses; a gradient that vanishes at
the minimiser and is at most ``gradient_bound`` on the set.

``options`` of every theorem: ``gradient_bound`` (1), ``n_steps`` in the place of the theorem's,
``calibration`` (``"tight"``, or ``"paper"`` for the printed noise) and ``unsafe_reproduction``.
"""

import math
from dataclasses import replace
from typing import Any

from tailguard.moments import Moment
from tailguard.papers.convex_theorem import Step, convex_theorem
from tailguard.papers.descent_theorem import Facts, Statement, strongly_convex_theorem
from tailguard.papers.kamath2022 import bounds
from tailguard.papers.parameters import kamath2022 as parameters
from tailguard.papers.parameters.groups import (
    group_count,
    group_count_with_probability,
    median_sensitivity,
    whole_groups,
)
from tailguard.papers.parameters.steps import descent_step_size, settled_steps
from tailguard.papers.theorem import Assumptions, Theorem
from tailguard.papers.wang2020.bounds import smoothed_mean_error
from tailguard.privacy.guarantees import Guarantee
from tailguard.solvers.oracles import Oracle, make_oracle

__all__ = ["convex", "convex_with_probability", "soft_convex", "strongly_convex"]

PAPER = "Kamath, Liu and Zhang 2022"
ASSUMPTIONS = Assumptions(
    for_privacy=("nothing: records, gradients and moments may be anything",),
    for_accuracy=(
        "the loss is convex, smooth and not negative, and the gradient of its mean vanishes at a "
        "minimiser in the set",
        "every coordinate of the gradient has the stated central moment at every point of the set",
        "the mean gradient is at most gradient_bound on the set",
    ),
)
WHOLE = "the number of steps is whole and at most 1000, the threshold at least gradient_bound (E36)"
CLAMPED = (
    "noise at the exact sensitivity of the median of an even number of groups, about a quarter of "
    "the printed one (E14), and exact composition over steps"
)
FLAT = (
    "the lower bound is that of losses that need not be flat at their minimiser: a larger class "
    "(E22)"
)
FACTOR = "the bound has the factor of the diameter that the statement drops (E17)"
CIRCLE = "the number of steps breaks the circle of error and steps (E16)"
COVERED = (
    "d log(d D n / failure_probability) groups as printed, with the hidden constant 1, where the "
    "net of the proof asks for some 24 times as many (E54)"
)
FAILURE_PROBABILITY = 0.1  # of the median of means, which sets the number of groups


def convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    **options: Any,
) -> Theorem:
    """Descent on the clamped median of means, for convex losses.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.2.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(2.0, 1.0)
    >>> theorem = convex(100_000, 10, tg.ZCDP(0.5), moment=moment, diameter=2.0)
    >>> theorem.solver.n_steps, theorem.solver.oracle.describe()
    (447, 'clamped (threshold = 33.437, n_groups = 22)')
    """
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    count = group_count(n_features=n_features, failure_probability=FAILURE_PROBABILITY)
    bound = bounds.convex_bound(**_rate_arguments(facts, moment), rho=facts.rho, diameter=diameter)
    return _convex_clamped(facts, count, _statement("Theorem 5.2", facts, moment, bound), moment)


def convex_with_probability(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    smoothness: float,
    failure_probability: float = 0.1,
    **options: Any,
) -> Theorem:
    """Run the same with so many groups that the bound holds but for ``failure_probability``.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem B.8 and Appendix B.11.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = convex_with_probability(
    ...     100_000, 10, tg.ZCDP(0.5), moment=tg.Moment(2.0, 1.0), diameter=2.0, smoothness=1.0
    ... )
    >>> theorem.solver.oracle.parameters["n_groups"]
    170
    """
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    count = group_count_with_probability(
        n_rows=n_rows,
        n_features=n_features,
        diameter=diameter,
        failure_probability=failure_probability,
    )
    unit = bounds.convex_bound_with_probability(
        n_rows=n_rows,
        n_features=n_features,
        moment_order=moment.order,
        rho=facts.rho,
        diameter=diameter,
        smoothness=smoothness,
        failure_probability=failure_probability,
    )
    statement = _statement("Theorem B.8", facts, moment, moment.scale * unit)
    statement = replace(statement, deviations=(*statement.deviations, COVERED))
    return _convex_clamped(facts, count, statement, moment)


def soft_convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    balance: float | None = None,
    noise_variance: float = 1.0,
    **options: Any,
) -> Theorem:
    """Descent on the smoothed soft truncation, for convex losses with second moments.

    ``balance`` is the paper's q; None takes the one that makes both terms of its bound equal.
    ``noise_variance`` is the variance of the multiplicative noise that smooths the truncation.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.5 and Algorithm 4.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(2.0, 1.0)
    >>> theorem = soft_convex(100_000, 10, tg.ZCDP(0.5), moment=moment, diameter=2.0)
    >>> theorem.solver.oracle.describe()
    'soft (scale = 64.842, smoothing = 1)'
    """
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    moment, smoothing = moment.convert("central").at_order(2.0), 1.0 / noise_variance
    sizes: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features, "rho": facts.rho}
    if balance is None:
        balance = parameters.soft_balance(n_features=n_features, rho=facts.rho)
    shape: dict[str, Any] = {"diameter": diameter, "balance": balance, "moment_bound": moment.bound}
    threshold = max(parameters.soft_threshold(**sizes, **shape), facts.gradient_bound)
    count = parameters.soft_steps(**sizes, threshold=threshold, gradient_bound=facts.gradient_bound)
    error = smoothed_mean_error(
        n_rows=n_rows,
        moment_bound=moment.with_mean(facts.gradient_bound).bound,
        scale=threshold,
        smoothing=smoothing,
        failure_probability=FAILURE_PROBABILITY,
    )
    printed_rho = parameters.printed_soft_noise_rho(rho=facts.rho, smoothing=smoothing)
    statement = _statement("Theorem 5.5", facts, moment, bounds.soft_convex_bound(**sizes, **shape))
    exact = (
        "noise at the exact bound of the truncation; the printed noise spends up to 16/9 of rho, "
        "and keeps its promise only for a noise_variance of at least 0.7557 (E13)"
    )

    def step_of(n_steps: int) -> Step:
        return Step(
            make_oracle("soft", scale=threshold, smoothing=smoothing),
            _step_size(facts, n_steps),
            bias=error,
            sampling=0.0,  # counted in the error of the truncation
            typical_sampling=moment.scale / math.sqrt(n_rows),
            printed_mu=math.sqrt(2.0 * printed_rho),
        )

    statement = replace(statement, deviations=(WHOLE, FLAT), noise_deviations=(exact,))
    return convex_theorem(facts, statement, count, step_of)


def strongly_convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    strong_convexity: float,
    smoothness: float,
    **options: Any,
) -> Theorem:
    """Descent on the clamped median of means over disjoint blocks, for strongly convex losses.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.7.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = strongly_convex(
    ...     100_000, 3, tg.ZCDP(0.5), moment=tg.Moment(2.0, 1.0), diameter=2.0,
    ...     strong_convexity=1.0, smoothness=2.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.iterate
    (15, 'last')
    """
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    known = _rate_arguments(facts, moment)
    shape: dict[str, Any] = {"strong_convexity": strong_convexity, "smoothness": smoothness}
    count = group_count(n_features=n_features, failure_probability=FAILURE_PROBABILITY)

    def error_of(steps: int) -> float:
        """Return the rate of one gradient's error, for so many steps."""
        block = {**known, "n_rows": max(1, n_rows // steps)}
        return bounds.mean_bound(**block, rho=facts.rho)

    most = max(1, n_rows // (2 * math.ceil(count)))
    n_steps = facts.n_steps or min(settled_steps(error_of, **shape), most)
    block_rows = facts.block_rows(n_steps)
    threshold = max(
        parameters.strongly_convex_threshold(**known, rho=facts.rho, n_steps=n_steps),
        facts.gradient_bound,
    )
    bound = bounds.strongly_convex_bound(**known, **shape, rho=facts.rho, diameter=diameter)
    lower = bounds.strongly_convex_lower_bound(
        **known, rho=facts.rho, strong_convexity=strong_convexity
    )
    statement = _statement("Theorem 5.7", facts, moment, bound)
    full = "every step spends all of rho, since it reads a block of its own (E15)"
    statement = replace(
        statement,
        lower_bound=lower,
        deviations=(WHOLE, CIRCLE),
        noise_deviations=(CLAMPED, full),
    )
    oracle = _clamped(threshold, count, block_rows)
    bias, sampling = _clamped_error(facts, moment, threshold, block_rows)
    printed_mu = _printed_mu(facts, oracle, count, block_rows)
    return strongly_convex_theorem(
        facts,
        statement,
        oracle=oracle,
        n_steps=n_steps,
        bias=bias,
        sampling=sampling,
        printed_mu=printed_mu / math.sqrt(n_steps),  # of one block
        **shape,
    )


def _convex_clamped(facts: Facts, groups: float, statement: Statement, moment: Moment) -> Theorem:
    """Theorems 5.2 and B.8 differ in the number of groups alone."""
    sizes: dict[str, Any] = {
        "n_rows": facts.n_rows,
        "n_features": facts.n_features,
        "rho": facts.rho,
    }
    threshold = max(
        parameters.convex_threshold(
            **sizes,
            moment_order=moment.order,
            moment_bound=moment.bound,
            diameter=facts.diameter,
        ),
        facts.gradient_bound,
    )
    count = parameters.convex_steps(
        **sizes, threshold=threshold, gradient_bound=facts.gradient_bound
    )
    oracle = _clamped(threshold, groups, facts.n_rows)
    bias, sampling = _clamped_error(facts, moment, threshold, facts.n_rows)
    printed_mu = _printed_mu(facts, oracle, groups, facts.n_rows)

    def step_of(n_steps: int) -> Step:
        return Step(oracle, _step_size(facts, n_steps), bias, sampling, printed_mu=printed_mu)

    return convex_theorem(facts, statement, count, step_of)


def _printed_mu(facts: Facts, oracle: Oracle, count: float, n_rows: int) -> float:
    """Return what all steps cost with the printed noise.

    It is that of a sensitivity of 12 thresholds times groups over rows in every coordinate. Groups
    are counted before they are rounded up, but never more of them than there are.
    """
    n_groups = int(oracle.parameters["n_groups"])
    move = median_sensitivity(value_range=6.0, n_rows=n_rows, n_groups=n_groups)
    return facts.mu * move * n_rows / (12.0 * min(count, n_groups))


def _clamped(threshold: float, count: float, n_rows: int) -> Oracle:
    return make_oracle("clamped", threshold=threshold, n_groups=whole_groups(count, n_rows=n_rows))


def _clamped_error(
    facts: Facts, moment: Moment, threshold: float, n_rows: int
) -> tuple[float, float]:
    """Return bias and sampling error of one coordinate."""
    bias = bounds.clamping_bias(
        moment_order=moment.order,
        moment_bound=moment.bound,
        threshold=threshold,
        mean_bound=facts.gradient_bound,
    )
    return bias, moment.scale / math.sqrt(n_rows)


def _rate_arguments(facts: Facts, moment: Moment) -> dict[str, Any]:
    """Return sizes and moments, as the bounds name them."""
    moment = moment.convert("central", n_features=facts.n_features)
    return {
        "n_rows": facts.n_rows,
        "n_features": facts.n_features,
        "moment_order": moment.order,
        "moment_bound": moment.bound,
    }


def _step_size(facts: Facts, n_steps: int) -> float:
    return descent_step_size(
        diameter=facts.diameter, gradient_bound=facts.gradient_bound, n_steps=n_steps
    )


def _statement(theorem: str, facts: Facts, moment: Moment, bound: float) -> Statement:
    """Return what a theorem for convex losses says."""
    lower = bounds.convex_lower_bound(
        **_rate_arguments(facts, moment), rho=facts.rho, diameter=facts.diameter
    )
    deviations = (WHOLE, FACTOR, FLAT)
    return Statement(f"{PAPER}, {theorem}", bound, lower, ASSUMPTIONS, deviations, (CLAMPED,))
