"""The theorems of Tao, Wu, Cheng and Wang (2022) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data: gradients are truncated, and steps compose exactly.

*Needed for accuracy.* Raw moments of every coordinate of the gradient, at every point of the set,
of an order above 1 and at most 2 (a moment of a higher order is converted to order 2); smooth
convex losses; a gradient that vanishes at the minimiser and is at most ``gradient_bound`` on the
set.

Options of every theorem: ``gradient_bound`` (1), ``n_steps`` to replace the theorem's,
``calibration`` (``"tight"``, or ``"printed"``: noise, thresholds, groups and steps of the paper).
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

from tailguard.checks import check_integer
from tailguard.gate.plan import Problem
from tailguard.losses.squared import Squared
from tailguard.means.base import noise_std_of
from tailguard.means.formulas import FAILURE_PROBABILITY, group_count, whole_groups
from tailguard.papers.common import descent
from tailguard.papers.common.groups import check_groups, median_sensitivity
from tailguard.papers.common.prediction import descent_excess
from tailguard.papers.common.setting import Facts
from tailguard.papers.common.statement import EVERYWHERE, noise_of, statement_of, theorem_of
from tailguard.papers.common.theorem import Theorem, theorem_on
from tailguard.papers.printed.solvers import PrintedHardThresholding
from tailguard.papers.tao2022 import bounds, lower, parameters, printed
from tailguard.privacy.guarantees import PureDP
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units
from tailguard.solvers.hard_thresholding import HardThresholding
from tailguard.solvers.oracles import make_oracle


@theorem_on("raw", orders=(1.0, 2.0))
def convex(facts: Facts, *, groups: str | None = None) -> Theorem:
    """Descent on the truncated median of means, for convex losses.

    ``groups`` are enough for one point or for all at once, as in
    :func:`tailguard.papers.kamath2022.convex`.

    *Reference.* Tao and others 2022, Theorem 6.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(2.0, 1.0, kind="raw")
    >>> theorem = convex(100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=moment, diameter=2.0)
    >>> theorem.solver.n_steps, theorem.solver.oracle.describe()
    (316, 'truncated (threshold = 56.2341, n_groups = 22)')
    """
    epsilon, delta = facts.printed_terms if facts.prints else facts.terms
    uniform = check_groups(groups, prints=facts.prints) == "uniform"
    threshold = facts.as_printed().into(parameters.convex_threshold)
    count = facts.into(parameters.convex_steps, threshold=threshold, epsilon=epsilon)
    least = facts.into(lower.convex_lower_bound) * facts.diameter / 2.0  # that of the unit ball
    cases = () if uniform else ("pointwise",)
    statement = statement_of("tao2022.convex", facts, least, *cases)
    wanted = facts.into(printed.uniform_group_count if uniform else group_count)
    step = _truncated(facts, threshold, facts.n_rows, wanted)
    n_groups = int(step.oracle.parameters["n_groups"])
    if uniform and n_groups >= wanted:
        spread = facts.into(bounds.deviation_bound, n_rows=facts.n_rows // n_groups)
        step = replace(step, sampling=spread, typical_sampling=step.sampling)
        statement = replace(statement, covers=EVERYWHERE)

    def step_of(n_steps: int) -> descent.Step:
        ratio = parameters.printed_step_noise_over_sensitivity(
            n_steps=n_steps, epsilon=epsilon, delta=delta
        )
        mu = math.sqrt(n_steps) * _printed_mu(facts, step, facts.n_rows, wanted, ratio)
        return replace(step.by_root(facts, n_steps), printed_mu=mu)

    return descent.convex_theorem(facts, statement, count, step_of)


@theorem_on("raw", "strong_convexity", "smoothness", orders=(1.0, 2.0))
def strongly_convex(facts: Facts) -> Theorem:
    """Descent on the truncated median of means over disjoint blocks, for strongly convex losses.

    *Reference.* Tao and others 2022, Theorem 7, with the threshold of Lemma 20.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = strongly_convex(
    ...     100_000, 3, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 1.0, kind="raw"),
    ...     diameter=2.0, strong_convexity=1.0, smoothness=2.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.schedule, theorem.solver.iterate
    (3, 'disjoint', 'last')
    """
    wanted = facts.into(group_count)

    def step_of(n_steps: int, n_rows: int) -> descent.Step:
        return _truncated(facts, _block_threshold(facts, n_steps), n_rows, wanted)

    def error_of(n_steps: int, n_rows: int) -> float:
        """Return the predicted error of one gradient."""
        step = step_of(n_steps, n_rows)
        noise = noise_of(step.oracle, facts, n_rows=n_rows, mu=facts.mu)
        return step.error(facts, noise)

    if not facts.prints:
        n_steps = descent.settled_blocks(facts, wanted, error_of)
        step = step_of(n_steps, facts.block_rows(n_steps))
    else:
        epsilon, delta = facts.printed_terms
        n_steps = descent.printed_blocks(facts, facts.into(bounds.mean_bound))
        block_rows = facts.block_rows(n_steps)
        ratio = parameters.classic_noise_over_sensitivity(epsilon=epsilon, delta=delta)
        step = step_of(n_steps, block_rows)
        step = replace(step, printed_mu=_printed_mu(facts, step, block_rows, wanted, ratio))
    least = facts.into(lower.strongly_convex_lower_bound)
    statement = statement_of("tao2022.strongly_convex", facts, least)
    return descent.strongly_convex_theorem(facts, statement, step, n_steps)


@theorem_on("raw", "strong_convexity", "smoothness", orders=(1.0, 2.0), in_ball=False)
def sparse(facts: Facts, *, n_nonzero: int, n_kept: int | None = None) -> Theorem:
    """Sparse descent over disjoint blocks, by peeling, for few of many weights.

    A step keeps ``n_kept`` entries; None takes the theorem's multiple of ``n_nonzero``. The printed
    noise keeps its promise, and wastes half of it.

    *Reference.* Tao and others 2022, Theorem 10 and Algorithm 5. The defaults of
    ``tg.solvers.HardThresholding`` find a support in practice.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = sparse(
    ...     100_000, 1000, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 1.0, kind="raw"),
    ...     diameter=2.0, n_nonzero=5, n_kept=20, strong_convexity=1.0, smoothness=1.0,
    ... )
    >>> theorem.solver.n_steps, round(theorem.solver.threshold, 2)
    (12, 6.85)
    """
    check_integer("n_nonzero", n_nonzero, minimum=1)
    smoothness = facts.shape["smoothness"]
    condition = max(1.0, smoothness / facts.shape["strong_convexity"])
    if n_kept is None:
        n_kept = facts.into(parameters.sparse_width, n_nonzero=n_nonzero, condition=condition)
    n_kept = min(check_integer("n_kept", n_kept, minimum=n_nonzero), facts.n_features)
    most = min(max(1, facts.n_rows // 50), 1000)
    n_steps = facts.steps(math.ceil(condition * math.log(facts.n_rows)), maximum=most)
    facts.block_rows(n_steps)  # refuses more steps than records
    known = {"n_kept": n_kept, "n_steps": n_steps, "failure_probability": FAILURE_PROBABILITY}
    threshold = facts.into(parameters.sparse_threshold, **known)
    pure = isinstance(facts.guarantee, PureDP)
    formula = lower.sparse_lower_bound_pure if pure else lower.sparse_lower_bound
    least = facts.into(formula, n_nonzero=n_nonzero)
    knobs: dict[str, Any] = {"n_nonzero": n_kept, "threshold": threshold, "n_steps": n_steps}
    knobs |= {"step_size": 2.0 / (3.0 * smoothness), "feature_scale": 1.0, "target_scale": 1.0}
    knobs |= {"feature_limit": 1e100, "choice_share": 0.0}  # neither is in the paper
    printed = partial(PrintedHardThresholding, asked=facts.guarantee)
    solver = (printed if facts.prints else HardThresholding)(**knobs)
    return _sparse_theorem(facts, least, solver)


def _sparse_theorem(facts: Facts, least: float, solver: Any) -> Theorem:
    """Build the theorem of sparse descent; the largest of all noises decides which entries stay."""
    steps = {"n_steps": solver.n_steps, "step_size": solver.step_size}
    n_kept, threshold = solver.n_nonzero, solver.threshold
    block_rows = facts.block_rows(solver.n_steps)
    strong_convexity, smoothness = facts.shape["strong_convexity"], facts.shape["smoothness"]
    asked = solver.plan(Problem(Squared(), **facts.sizes), facts.guarantee).stages[0].asked
    units = Units.raw(facts.n_features, intercept=False)
    query = PeeledStep(Squared(), units, threshold, solver.step_size, n_kept)
    noise = noise_std_of(query, block_rows, facts.n_features, asked) / solver.step_size
    bias, sampling = _truncated_error(facts, threshold, block_rows)
    fresh = math.log(facts.n_features) * math.hypot(noise, sampling)
    shrink = 1.0 - 2.0 / 3.0 * min(1.0, strong_convexity / smoothness)
    left = shrink ** (2 * solver.n_steps) * facts.diameter**2
    error = (math.hypot(bias, fresh) / strong_convexity) ** 2
    excess = partial(
        descent_excess,
        distance=facts.diameter / 2.0,
        noise=math.sqrt(n_kept) * fresh,
        error=0.0,
        last=True,
        **steps,
    )
    bound = smoothness * (left + n_kept * error)
    statement = statement_of("tao2022.sparse", facts, least)
    return theorem_of(facts, statement, solver, bound, excess, noise_std=noise, n_passes=1)


def _block_threshold(facts: Facts, n_steps: int) -> float:
    """Return the threshold of Corollary 1 on a block, or the one that Theorem 7 prints."""
    if facts.prints:  # (u n epsilon / (d^(3/2) sqrt(T)))^(1/(1+v))
        share = facts.terms[0] / math.sqrt(n_steps)
        return facts.into(parameters.convex_threshold, epsilon=share)
    return facts.into(parameters.strongly_convex_threshold, n_steps=n_steps)


def _truncated(facts: Facts, threshold: float, n_rows: int, wanted: float) -> descent.Step:
    """Return a step on ``n_rows`` records in the wanted number of groups."""
    n_groups = whole_groups(wanted, n_rows=n_rows)
    oracle = make_oracle("truncated", threshold=threshold, n_groups=n_groups)
    return descent.Step(oracle, *_truncated_error(facts, threshold, n_rows))


def _truncated_error(facts: Facts, threshold: float, n_rows: int) -> tuple[float, float]:
    """Return bias and sampling error of one coordinate, ``u / B^v`` and ``sqrt(B^(1-v) u / n)``."""
    order, bound = facts.moment.order, facts.moment.bound
    variance = threshold ** (2.0 - order) * bound
    return bound / threshold ** (order - 1.0), math.sqrt(variance / n_rows)


def _printed_mu(
    facts: Facts, step: descent.Step, n_rows: int, wanted: float, ratio: float
) -> float:
    """Return the cost of a step on ``n_rows`` records with noise of ``ratio`` sensitivities.

    The printed sensitivity has groups over rows, for the printed number of groups, which is not
    whole.
    """
    n_groups = int(step.oracle.parameters["n_groups"])
    move = median_sensitivity(value_range=2.0, n_rows=n_rows, n_groups=n_groups)
    return move * n_rows / (2.0 * wanted * ratio)
