"""The theorems of Kamath, Liu and Zhang (2022) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data: every step is a private mean, and steps compose exactly.

*Needed for accuracy.* Central moments of every coordinate of the gradient, at every point of the
set, of order ``moment.order >= 2``; smooth non-negative convex losses; a gradient that vanishes at
the minimiser and is at most ``gradient_bound`` on the set.

Options of every theorem: ``gradient_bound`` (1), ``n_steps`` to replace the theorem's,
``calibration`` (``"tight"``, or ``"printed"``: noise, thresholds, groups and steps of the paper,
which measures gradients in units in which their moments are at most 1).
"""

import math
from dataclasses import replace
from functools import partial

from tailguard.checks import check_positive
from tailguard.means.formulas import FAILURE_PROBABILITY, group_count, whole_groups
from tailguard.papers.common import descent
from tailguard.papers.common.groups import (
    check_groups,
    group_count_with_probability,
    median_sensitivity,
)
from tailguard.papers.common.setting import Concentrated, Facts
from tailguard.papers.common.statement import EVERYWHERE, Statement, statement_of
from tailguard.papers.common.theorem import Theorem, theorem_on
from tailguard.papers.kamath2022 import bounds, parameters, printed
from tailguard.papers.wang2020.bounds import smoothed_mean_error
from tailguard.solvers.oracles import make_oracle


@theorem_on("central", of=Concentrated)
def convex(facts: Facts, *, groups: str | None = None) -> Theorem:
    """Descent on the clamped median of means, for convex losses.

    ``groups="uniform"`` forms as many groups as the proof needs for a bound that holds at all
    points of the set at once. ``"pointwise"`` forms as many as one point needs: far fewer, with
    less noise, but the bound is not the theorem's. None is ``"uniform"`` with printed noise and
    ``"pointwise"`` otherwise.

    *Reference.* Kamath, Liu and Zhang 2022, Theorem 5.2.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(2.0, 1.0)
    >>> theorem = convex(100_000, 10, tg.ZCDP(0.5), moment=moment, diameter=2.0)
    >>> theorem.solver.n_steps, theorem.solver.oracle.describe()
    (447, 'clamped (threshold = 33.437, n_groups = 22)')
    """
    if check_groups(groups, prints=facts.prints) == "pointwise":
        statement = _statement("convex", facts, "pointwise")
        return _convex_clamped(facts, facts.into(group_count), statement)
    count = facts.into(printed.uniform_group_count)
    return _convex_clamped(facts, count, _statement("convex", facts), uniform=True)


@theorem_on("central", "smoothness", of=Concentrated)
def convex_with_probability(facts: Facts, *, failure_probability: float = 0.1) -> Theorem:
    """Descent as in :func:`convex`, with groups for a bound that holds with high probability.

    ``failure_probability`` is the chance that the bound fails.

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
    count = facts.into(group_count_with_probability, failure_probability=failure_probability)
    return _convex_clamped(facts, count, _statement("convex_with_probability", facts))


@theorem_on("central", of=Concentrated, orders=(2.0, 2.0))
def soft_convex(
    facts: Facts, *, balance: float | None = None, noise_variance: float = 1.0
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
    check_positive("noise_variance", noise_variance)
    reach, smoothing = facts.gradient_bound, 1.0 / noise_variance
    if balance is None:
        balance = facts.into(parameters.soft_balance)
    threshold = facts.as_printed().into(parameters.soft_threshold, balance=balance)
    threshold = _above_mean(facts, threshold)
    count = facts.into(parameters.soft_steps, threshold=threshold)
    error = facts.into(
        smoothed_mean_error,
        moment_bound=facts.moment.with_mean(reach).bound,
        scale=threshold,
        smoothing=smoothing,
        failure_probability=FAILURE_PROBABILITY,
    )
    printed_rho = facts.into(parameters.printed_soft_noise_rho, smoothing=smoothing)
    step = descent.Step(
        make_oracle("soft", scale=threshold, smoothing=smoothing),
        bias=error,  # with sampling
        typical_sampling=facts.sampling(),
        printed_mu=math.sqrt(2.0 * printed_rho),
    )
    statement = _statement("soft_convex", facts)
    return descent.convex_theorem(facts, statement, count, partial(step.by_root, facts))


@theorem_on("central", "strong_convexity", "smoothness", of=Concentrated)
def strongly_convex(facts: Facts) -> Theorem:
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
    threshold, count, n_steps = (_printed_blocks if facts.prints else _settled_blocks)(facts)
    step = _clamped(facts, threshold, count, facts.block_rows(n_steps))
    assert step.printed_mu is not None  # the paper prints it
    step = replace(step, printed_mu=step.printed_mu / math.sqrt(n_steps))  # of one block
    least = facts.into(bounds.strongly_convex_lower_bound)
    statement = statement_of("kamath2022.strongly_convex", facts, least)
    return descent.strongly_convex_theorem(facts, statement, step, n_steps)


def _settled_blocks(facts: Facts) -> tuple[float, float, int]:
    """Return threshold, groups before rounding and steps, if every block has all of rho."""
    count = facts.into(group_count)
    n_steps = descent.settled_blocks(
        facts, count, lambda _, n_rows: facts.into(bounds.mean_bound, n_rows=n_rows)
    )
    return facts.into(parameters.strongly_convex_threshold, n_steps=n_steps), count, n_steps


def _printed_blocks(facts: Facts) -> tuple[float, float, int]:
    """Return the same as printed: blocks share rho, and have their own chance of failure."""
    units = facts.as_printed()
    n_steps = descent.printed_blocks(facts, units.into(bounds.mean_bound))
    share = facts.rho / n_steps  # of a block
    threshold = units.into(parameters.strongly_convex_threshold, rho=share, n_steps=n_steps)
    chance = facts.into(printed.printed_strongly_convex_chance, n_steps=n_steps)
    return threshold, facts.into(group_count, failure_probability=chance), n_steps


def _convex_clamped(
    facts: Facts, groups: float, statement: Statement, *, uniform: bool = False
) -> Theorem:
    """Theorems 5.2 and B.8, which differ only in the number of groups."""
    threshold = facts.as_printed().into(parameters.convex_threshold)
    step = _clamped(facts, threshold, groups, facts.n_rows)
    n_groups = int(step.oracle.parameters["n_groups"])
    if uniform and n_groups >= groups:
        # Chebyshev's inequality for a group that fails with chance 1/10.
        spread = facts.sampling(facts.n_rows // n_groups) * math.sqrt(10.0)
        step = replace(step, sampling=spread, typical_sampling=step.sampling)
        statement = replace(statement, covers=EVERYWHERE)
    threshold = float(step.oracle.parameters["threshold"])
    count = facts.into(parameters.convex_steps, threshold=threshold)
    return descent.convex_theorem(facts, statement, count, partial(step.by_root, facts))


def _clamped(facts: Facts, threshold: float, count: float, n_rows: int) -> descent.Step:
    """Return a step on ``n_rows`` records, without its size.

    The printed noise is for a sensitivity of 12 thresholds times groups over rows in every
    coordinate, with the printed number of groups, which is not whole.
    """
    threshold = _above_mean(facts, threshold)
    beyond = max(0.0, facts.gradient_bound - threshold)  # extra bias of a mean beyond the threshold
    n_groups = whole_groups(count, n_rows=n_rows)
    move = median_sensitivity(value_range=6.0, n_rows=n_rows, n_groups=n_groups)
    known = {"threshold": threshold, "mean_bound": facts.gradient_bound - beyond}
    return descent.Step(
        make_oracle("clamped", threshold=threshold, n_groups=n_groups),
        bias=facts.into(bounds.clamping_bias, **known) + beyond,
        sampling=facts.sampling(n_rows),
        printed_mu=facts.mu * move * n_rows / (12.0 * count),
    )


def _above_mean(facts: Facts, threshold: float) -> float:
    """Return the threshold, at least the bound on the mean; or the printed threshold."""
    return threshold if facts.prints else max(threshold, facts.gradient_bound)


def _statement(name: str, facts: Facts, *cases: str) -> Statement:
    """Return the statement of a theorem for convex losses."""
    return statement_of(f"kamath2022.{name}", facts, facts.into(bounds.convex_lower_bound), *cases)
