"""The theorems of Tao, Wu, Cheng and Wang (2022) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data: gradients are truncated, and steps compose exactly.

*Needed for accuracy.* Raw moments of every coordinate of the gradient, at every point of the set,
of order at most 2 and above 1 (of a higher one its consequence for order 2 is used); smooth convex
losses; a gradient that vanishes at the minimiser and is at most ``gradient_bound`` on the set.

``options`` of every theorem: ``gradient_bound`` (1), ``n_steps`` in the place of the theorem's,
``calibration`` (``"tight"``, or ``"paper"`` for the printed noise) and ``unsafe_reproduction``.
"""

import math
from typing import Any, cast

from tailguard.checks import check_integer
from tailguard.losses.squared import Squared
from tailguard.moments import Moment
from tailguard.papers.convex_theorem import Step, convex_theorem
from tailguard.papers.descent_theorem import (
    Facts,
    Statement,
    noise_of,
    strongly_convex_theorem,
    theorem_of,
)
from tailguard.papers.facts import check_facts
from tailguard.papers.parameters import tao2022 as parameters
from tailguard.papers.parameters.groups import group_count, median_sensitivity, whole_groups
from tailguard.papers.parameters.steps import descent_step_size, settled_steps
from tailguard.papers.tao2022 import bounds
from tailguard.papers.theorem import Assumptions, Theorem
from tailguard.papers.typical import Descent
from tailguard.plans.problem import Problem
from tailguard.privacy.guarantees import Guarantee, PureDP
from tailguard.solvers.hard_thresholding import HardThresholding
from tailguard.solvers.oracles import Oracle, make_oracle
from tailguard.solvers.peeling_stage import PeelingStage

__all__ = ["convex", "sparse", "strongly_convex"]

PAPER = "Tao, Wu, Cheng and Wang 2022"
PRIVACY = ("nothing: records, gradients and moments may be anything",)
ASSUMPTIONS = Assumptions(
    for_privacy=PRIVACY,
    for_accuracy=(
        "the loss is convex and smooth, and the gradient of its mean vanishes at a minimiser in "
        "the set",
        "every coordinate of the gradient has the stated raw moment at every point of the set",
        "the mean gradient is at most gradient_bound on the set",
    ),
)
SPARSE_ASSUMPTIONS = Assumptions(
    for_privacy=PRIVACY,
    for_accuracy=(
        "the risk is strongly convex and smooth over sparse weights, with the stated constants",
        "every coordinate of the gradient has the stated raw moment at sparse weights",
        "a minimiser has at most n_nonzero entries",
    ),
)
UNITS = "the threshold carries the moment, without which its units are wrong (E26, E37)"
WHOLE = "the number of steps is whole and at most 1000 (E36)"
TIGHT = (
    "exact composition and the exact sensitivity of an even number of groups, for less noise than "
    "printed: by advanced composition, or for a single step by the classic rule (E14, E27)"
)
PEELED = (
    "the largest entries are chosen with the least noise of an exact accounting, 3 to 6 times less "
    "than printed (E28)"
)
SPARSE_DEVIATIONS = (
    "log(n) times the condition number of steps, where the proof has 24 times as many (E29)",
    "the number of steps is whole, and leaves 50 records a step (E36)",
)
CONCENTRATED = "the lower bound is proved for zCDP and pure DP, not for (epsilon, delta) (E23)"
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
    """Descent on the truncated median of means, for convex losses.

    *Reference.* Tao and others 2022, Theorem 6.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(2.0, 1.0, kind="raw")
    >>> theorem = convex(100_000, 10, tg.ApproxDP(1.0, 1e-5), moment=moment, diameter=2.0)
    >>> theorem.solver.n_steps, theorem.solver.oracle.describe()
    (316, 'truncated (threshold = 56.2341, n_groups = 22)')
    """
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    known, epsilon = _rate_arguments(facts, moment), facts.terms[0]
    threshold = parameters.convex_threshold(**known, epsilon=epsilon)
    count = parameters.convex_steps(
        n_rows=n_rows,
        n_features=n_features,
        threshold=threshold,
        gradient_bound=facts.gradient_bound,
        epsilon=epsilon,
    )
    statement = Statement(
        f"{PAPER}, Theorem 6",
        bounds.convex_bound(**known, epsilon=epsilon, diameter=diameter),
        bounds.convex_lower_bound(**known, rho=facts.rho) * diameter / 2.0,  # of the unit ball
        ASSUMPTIONS,
        (UNITS, WHOLE, CONCENTRATED),
        (TIGHT,),
    )
    oracle = _truncated(threshold, n_features, n_rows)
    bias, sampling = _truncated_error(known, threshold, n_rows)

    def step_of(n_steps: int) -> Step:
        size = descent_step_size(
            diameter=diameter, gradient_bound=facts.gradient_bound, n_steps=n_steps
        )
        printed_mu = _printed_mu(facts, oracle, n_steps, n_rows)
        return Step(oracle, size, bias, sampling, printed_mu=printed_mu)

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
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    known, epsilon = _rate_arguments(facts, moment), facts.terms[0]
    shape: dict[str, Any] = {"strong_convexity": strong_convexity, "smoothness": smoothness}
    count = group_count(n_features=n_features, failure_probability=FAILURE_PROBABILITY)

    def error_of(steps: int) -> float:
        """Return the predicted error of one gradient, for so many steps."""
        threshold = parameters.strongly_convex_threshold(**known, epsilon=epsilon, n_steps=steps)
        rows = max(1, n_rows // steps)
        oracle = _truncated(threshold, n_features, rows)
        noise = noise_of(oracle, facts, n_rows=rows, mu=facts.mu)
        return facts.root_size * math.hypot(*_truncated_error(known, threshold, rows), noise)

    most = max(1, n_rows // (2 * math.ceil(count)))
    n_steps = facts.n_steps or min(settled_steps(error_of, **shape), most)
    block_rows = facts.block_rows(n_steps)
    threshold = parameters.strongly_convex_threshold(**known, epsilon=epsilon, n_steps=n_steps)
    statement = Statement(
        f"{PAPER}, Theorem 7",
        bounds.strongly_convex_bound(**known, **shape, epsilon=epsilon, diameter=diameter),
        bounds.strongly_convex_lower_bound(**known, rho=facts.rho),
        ASSUMPTIONS,
        (
            "the threshold is that of Lemma 20, from which the rate follows (E26)",
            "every step reads a block of its own, as its budget asks (E25)",
            "the number of steps breaks the circle of error and steps (E16)",
            CONCENTRATED,
        ),
        (TIGHT,),
    )
    oracle = _truncated(threshold, n_features, block_rows)
    bias, sampling = _truncated_error(known, threshold, block_rows)
    printed = _printed_mu(facts, oracle, 1, block_rows) if facts.prints else None
    return strongly_convex_theorem(
        facts,
        statement,
        oracle=oracle,
        n_steps=n_steps,
        bias=bias,
        sampling=sampling,
        printed_mu=printed,
        **shape,
    )


def sparse(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    n_nonzero: int,
    strong_convexity: float,
    smoothness: float,
    n_kept: int | None = None,
    **options: Any,
) -> Theorem:
    """Sparse descent over disjoint blocks, by peeling, for few of many weights.

    ``n_kept`` entries survive a step; None takes the theorem's multiple of ``n_nonzero``. The
    printed noise needs no ``unsafe_reproduction``: it keeps its promise, and wastes half of it.

    *Reference.* Tao and others 2022, Theorem 10 and Algorithm 5. For defaults that find a support
    in practice take ``tg.solvers.HardThresholding`` as it is.

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
    facts = Facts(n_rows, n_features, guarantee, diameter, **options)
    known, (epsilon, delta) = _rate_arguments(facts, moment), facts.terms
    check_facts(strong_convexity=strong_convexity, smoothness=smoothness)
    condition = max(1.0, smoothness / strong_convexity)
    if n_kept is None:
        n_kept = parameters.sparse_width(
            n_features=n_features, n_nonzero=n_nonzero, condition=condition
        )
    n_kept = min(check_integer("n_kept", n_kept, minimum=n_nonzero), n_features)
    most = max(1, n_rows // 50)
    n_steps = facts.steps(math.ceil(condition * math.log(n_rows)), maximum=min(most, 1000))
    facts.block_rows(n_steps)  # refuses more steps than records
    chances: dict[str, Any] = {"failure_probability": FAILURE_PROBABILITY, "delta": delta}
    threshold = parameters.sparse_threshold(
        **known, n_kept=n_kept, n_steps=n_steps, smoothness=smoothness, epsilon=epsilon, **chances
    )
    pure = isinstance(guarantee, PureDP)
    lower = (
        bounds.sparse_lower_bound_pure(**known, n_nonzero=n_nonzero, epsilon=epsilon)
        if pure
        else bounds.sparse_lower_bound(**known, n_nonzero=n_nonzero, rho=facts.rho)
    )
    statement = Statement(
        f"{PAPER}, Theorem 10",
        bounds.sparse_bound(**known, n_nonzero=n_nonzero, epsilon=epsilon, **chances),
        lower,
        SPARSE_ASSUMPTIONS,
        (*SPARSE_DEVIATIONS, CONCENTRATED),
        (PEELED,),
    )
    solver = HardThresholding(
        n_nonzero=n_kept,
        n_steps=n_steps,
        threshold=threshold,
        step_size=2.0 / (3.0 * smoothness),
        feature_scale=1.0,
        target_scale=1.0,
        calibration=facts.calibration,
    )
    shape = {"strong_convexity": strong_convexity, "smoothness": smoothness}
    return _sparse_theorem(facts, known, statement, solver, **shape)


def _sparse_theorem(
    facts: Facts,
    known: dict[str, Any],
    statement: Statement,
    solver: HardThresholding,
    *,
    strong_convexity: float,
    smoothness: float,
) -> Theorem:
    """Predict what sparse descent achieves; the largest of all noises decides what is kept."""
    assert solver.n_nonzero is not None  # the theorem states all of them
    assert solver.n_steps is not None
    assert solver.threshold is not None
    assert solver.step_size is not None
    block_rows = facts.block_rows(solver.n_steps)
    noise = _peeling_noise(facts, solver, solver.threshold, block_rows)
    bias, sampling = _truncated_error(known, solver.threshold, block_rows)
    fresh = math.log(facts.n_features) * math.hypot(noise, sampling)
    shrink = 1.0 - 2.0 / 3.0 * min(1.0, strong_convexity / smoothness)
    left = shrink ** (2 * solver.n_steps) * facts.diameter**2
    error = (math.hypot(bias, fresh) / strong_convexity) ** 2
    root = math.sqrt(solver.n_nonzero)
    steps = solver.n_steps, solver.step_size
    course = Descent(facts.diameter / 2.0, *steps, noise=root * fresh, error=0.0, last=True)
    return theorem_of(
        facts,
        statement,
        solver,
        facts.guarantee,
        facts.guarantee,
        smoothness * (left + solver.n_nonzero * error),
        course=course,
        noise_std=noise,
        n_passes=1,
    )


def _rate_arguments(facts: Facts, moment: Moment) -> dict[str, Any]:
    """Return sizes and moments, as the bounds name them."""
    moment = moment.convert("raw", n_features=facts.n_features)
    moment = moment.at_order(min(moment.order, 2.0))
    return {
        "n_rows": facts.n_rows,
        "n_features": facts.n_features,
        "moment_order": moment.order,
        "moment_bound": moment.bound,
    }


def _truncated(threshold: float, n_features: int, n_rows: int) -> Oracle:
    count = group_count(n_features=n_features, failure_probability=FAILURE_PROBABILITY)
    return make_oracle(
        "truncated", threshold=threshold, n_groups=whole_groups(count, n_rows=n_rows)
    )


def _truncated_error(known: dict[str, Any], threshold: float, n_rows: int) -> tuple[float, float]:
    """Return bias and sampling error of one coordinate, ``u / B^v`` and ``sqrt(B^(1-v) u / n)``."""
    order, bound = known["moment_order"], known["moment_bound"]
    variance = threshold ** (2.0 - order) * bound
    return bound / threshold ** (order - 1.0), math.sqrt(variance / n_rows)


def _printed_mu(facts: Facts, oracle: Oracle, n_steps: int, n_rows: int) -> float:
    """Return what so many steps on so many records cost with the printed noise."""
    epsilon, delta = facts.printed_terms if facts.prints else facts.terms
    threshold, n_groups = float(oracle.parameters["threshold"]), int(oracle.parameters["n_groups"])
    move = median_sensitivity(value_range=2.0 * threshold, n_rows=n_rows, n_groups=n_groups)
    count = group_count(n_features=facts.n_features, failure_probability=FAILURE_PROBABILITY)
    printed_move = 2.0 * threshold * min(count, n_groups) / n_rows
    if n_steps > 1:
        ratio = parameters.printed_step_noise_over_sensitivity(
            n_steps=n_steps, epsilon=epsilon, delta=delta
        )
    else:
        ratio = parameters.classic_noise_over_sensitivity(epsilon=epsilon, delta=delta)
    return math.sqrt(n_steps) * move / (printed_move * ratio)


def _peeling_noise(
    facts: Facts, solver: HardThresholding, threshold: float, block_rows: int
) -> float:
    """Return the noise of a chosen entry, in the units of the gradient, as the plan has it."""
    problem = Problem(Squared(), facts.n_rows, facts.n_features)
    descent = cast(PeelingStage, solver.plan(problem, facts.guarantee).stage("descent"))
    return 2.0 * threshold / block_rows * descent.noise_over_sensitivity
