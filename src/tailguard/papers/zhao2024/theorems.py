"""The theorems of Zhao, Wu, Liu, Wang, Fan and Li (2024) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data: gradients are clipped in l2 norm, and steps compose
exactly. The amplification of Theorem 7 is not counted on.

*Needed for accuracy.* Moments of the gradient along every direction, at every point of the set, of
order at least 2; convex losses, each of them smooth; a gradient that vanishes at the minimiser.

``options`` of every theorem: ``n_steps`` in the place of the theorem's, ``calibration``
(``"tight"``, or ``"paper"`` for the printed noise) and ``unsafe_reproduction``.
"""

import math
from collections.abc import Callable
from typing import Any

from tailguard.moments import Moment
from tailguard.papers.convex_theorem import Step, convex_theorem
from tailguard.papers.descent_theorem import Facts, Statement
from tailguard.papers.facts import check_facts
from tailguard.papers.parameters import zhao2024 as parameters
from tailguard.papers.theorem import Assumptions, Theorem
from tailguard.papers.zhao2024 import bounds
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.means.iterative import check_group_count
from tailguard.solvers.oracles import Oracle, make_oracle

__all__ = ["convex", "iterative_convex"]

PAPER = "Zhao and others 2024"
ASSUMPTIONS = Assumptions(
    for_privacy=("nothing: records, gradients and moments may be anything",),
    for_accuracy=(
        "every single loss is convex and smooth with the stated smoothness (E39), and the gradient "
        "of their mean vanishes at a minimiser in the set",
        "the gradient has the stated moment along every direction at every point of the set",
    ),
)
UNITS = "clip norm, steps and step size carry moment, diameter and smoothness (E38)"
SCALED = "the lower bound is that of laws within the moments, without a factor sqrt(d) (E51)"
AMPLIFIED = (
    "noise of disjoint groups, without the amplification of Theorem 6, which is false for fixed "
    "groups and a loss below some 50 000 of them (E40)"
)
WHOLE = "the number of steps is whole, at least 1 and at most 1000 (E36)"


def convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    smoothness: float,
    **options: Any,
) -> Theorem:
    """Descent on clipped gradients, for convex losses.

    *Reference.* Zhao and others 2024, Theorem 4, with the clipped mean of Theorem 2.

    Examples
    --------
    >>> import tailguard as tg
    >>> rho = tg.papers.parameters.zhao2024.printed_rho(epsilon=1.0, delta=1e-5)
    >>> theorem = convex(
    ...     10_000, 10, tg.ZCDP(rho), moment=tg.Moment(2.0, 1.0, kind="directional"),
    ...     diameter=1.0, smoothness=1.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.oracle.describe()
    (40, 'clipped (clip_norm = 63.7293)')
    """
    facts = _facts(n_rows, n_features, guarantee, diameter, smoothness, options)
    known = _rate_arguments(facts, moment)
    rho = facts.rho
    if facts.prints:  # clip norm and steps follow from the printed budget too
        epsilon, delta = facts.printed_terms
        rho = parameters.printed_rho(epsilon=epsilon, delta=delta)
    clip_norm = parameters.mean_clip_norm(**known, rho=rho)
    statement = Statement(
        f"{PAPER}, Theorem 4",
        bounds.convex_bound(**known, rho=facts.rho, diameter=diameter),
        bounds.convex_lower_bound(**known, rho=facts.rho, diameter=diameter),
        ASSUMPTIONS,
        (UNITS, WHOLE, SCALED),
        ("exact composition; the printed budget is half of it at (1, 1e-5)",),
    )
    oracle = make_oracle("clipped", clip_norm=clip_norm)

    def printed_mu_of(_n_steps: int) -> float | None:
        return math.sqrt(2.0 * rho) if facts.prints else None

    return _descent(facts, statement, known, oracle, clip_norm, smoothness, rho, printed_mu_of)


def iterative_convex(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    *,
    moment: Moment,
    diameter: float,
    smoothness: float,
    n_groups: int = 20,
    centre: str = "updates",
    **options: Any,
) -> Theorem:
    """Descent on the iterative mean of groups of clipped gradients, for convex losses.

    ``n_groups`` is not the theorem's, which is larger than most data are; ``centre`` is
    ``"updates"``, the paper's, or ``"median"`` or ``"geometric-median"``, as private and quicker.

    *Reference.* Zhao and others 2024, Theorem 7 and Algorithm 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> theorem = iterative_convex(
    ...     10_000, 10, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 1.0, kind="directional"),
    ...     diameter=1.0, smoothness=1.0,
    ... )
    >>> theorem.solver.n_steps, round(theorem.solver.oracle.parameters["clip_norm"], 2)
    (316, 177.83)
    """
    facts = _facts(n_rows, n_features, guarantee, diameter, smoothness, options)
    known, (epsilon, delta) = _rate_arguments(facts, moment), facts.terms
    check_group_count(n_groups, n_rows)
    clip_norm = parameters.iterative_clip_norm(**known, epsilon=epsilon)
    statement = Statement(
        f"{PAPER}, Theorem 7",
        bounds.iterative_convex_bound(**known, epsilon=epsilon, delta=delta, diameter=diameter),
        bounds.convex_lower_bound(**known, rho=facts.rho, diameter=diameter),
        ASSUMPTIONS,
        (
            f"{n_groups} groups, where the proof needs 800 log(n^d) of them (E41)",
            "the direction points from the centre to the mean, and the last centre is examined too "
            "(E42)",
            UNITS,
            WHOLE,
            SCALED,
        ),
        (AMPLIFIED,),
    )
    oracle = make_oracle("iterative", clip_norm=clip_norm, n_groups=n_groups, centre=centre)

    def printed_mu_of(n_steps: int) -> float:
        return _printed_group_mu(facts, n_groups, n_steps)

    budget = epsilon**2
    return _descent(facts, statement, known, oracle, clip_norm, smoothness, budget, printed_mu_of)


def _facts(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    diameter: float,
    smoothness: float,
    options: dict[str, Any],
) -> Facts:
    """Return the facts; the gradient is at most smoothness times diameter."""
    check_facts(smoothness=smoothness, diameter=diameter)
    reach = smoothness * diameter
    return Facts(n_rows, n_features, guarantee, diameter, gradient_bound=reach, **options)


def _rate_arguments(facts: Facts, moment: Moment) -> dict[str, Any]:
    """Return sizes and moments, as the bounds name them."""
    moment = moment.convert("directional", n_features=facts.n_features)
    return {
        "n_rows": facts.n_rows,
        "n_features": facts.n_features,
        "moment_order": moment.order,
        "moment_bound": moment.bound,
    }


def _descent(
    facts: Facts,
    statement: Statement,
    known: dict[str, Any],
    oracle: Oracle,
    clip_norm: float,
    smoothness: float,
    rho: float,
    printed_mu_of: Callable[[int], float | None],
) -> Theorem:
    """Both theorems choose steps alike; ``rho`` is what their step count is worked out from."""
    count = parameters.steps(
        n_rows=facts.n_rows,
        n_features=facts.n_features,
        clip_norm=clip_norm,
        rho=rho,
        gradient_bound=facts.gradient_bound,
    )
    bias = bounds.clipping_bias(
        n_features=facts.n_features,
        moment_order=known["moment_order"],
        clip_norm=clip_norm,
        moment_bound=known["moment_bound"],
    )
    sampling = known["moment_bound"] ** (1.0 / known["moment_order"]) / math.sqrt(facts.n_rows)

    def step_of(n_steps: int) -> Step:
        return Step(
            oracle,
            parameters.step_size(n_steps=n_steps, smoothness=smoothness),
            bias / facts.root_size,
            sampling,
            printed_mu=printed_mu_of(n_steps),
        )

    return convex_theorem(facts, statement, count, step_of)


def _printed_group_mu(facts: Facts, n_groups: int, n_steps: int) -> float:
    """Return what the group means of all steps cost, with the noise of equation (24) in each."""
    epsilon, delta = facts.printed_terms if facts.prints else facts.terms
    share = epsilon / (2.0 * math.sqrt(2.0 * n_steps * math.log(2.0 / delta)))
    rho = parameters.printed_amplified_rho(
        n_groups=n_groups, epsilon=share, delta=delta / (2.0 * n_steps)
    )
    return math.sqrt(2.0 * rho * n_steps)
