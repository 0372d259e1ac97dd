"""The theorems of Zhao, Wu, Liu, Wang, Fan and Li (2024) for optimisation, each as a solver.

*Needed for privacy.* Nothing of the data: gradients are clipped in l2 norm, and steps compose
exactly. The noise does not rely on the amplification of Theorem 7.

*Needed for accuracy.* Moments of the gradient along every direction, at every point of the set, of
order at least 2; convex losses, each of them smooth; a gradient that vanishes at the minimiser.

Options of every theorem: ``n_steps`` to replace the theorem's, ``calibration``
(``"tight"``, or ``"printed"``: noise, clip norm and steps of the paper, which sets the moment, and
smoothness times diameter, to 1).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tailguard.checks import InputError, check_boolean
from tailguard.gate.plan import Problem
from tailguard.losses.squared import Squared
from tailguard.means.formulas import check_group_count
from tailguard.papers.common import descent
from tailguard.papers.common.setting import Facts
from tailguard.papers.common.statement import Statement, needed_of_batches, statement_of
from tailguard.papers.common.steps import composed_shares
from tailguard.papers.common.theorem import Theorem, theorem_on
from tailguard.papers.printed.solvers import FromTheStart
from tailguard.papers.printed.terms import stated_rho
from tailguard.papers.solvers.grouped_descent import GroupedDescent
from tailguard.papers.zhao2024 import bounds, parameters
from tailguard.solvers.oracles import Oracle, make_oracle


@theorem_on("directional", "smoothness", without=("gradient_bound",))
def convex(facts: Facts) -> Theorem:
    """Descent on clipped gradients, for convex losses.

    *Reference.* Zhao and others 2024, Theorem 4, with the clipped mean of Theorem 2.

    Examples
    --------
    >>> import tailguard as tg
    >>> rho = tg.papers.zhao2024.parameters.printed_rho(epsilon=1.0, delta=1e-5)
    >>> theorem = convex(
    ...     10_000, 10, tg.ZCDP(rho), moment=tg.Moment(2.0, 1.0, kind="directional"),
    ...     diameter=1.0, smoothness=1.0,
    ... )
    >>> theorem.solver.n_steps, theorem.solver.oracle.describe()
    (40, 'clipped (clip_norm = 63.7293)')
    """
    # Clip norm and steps follow from the printed budget too.
    rho = stated_rho(facts.guarantee, parameters.printed_rho) if facts.prints else facts.rho
    clip_norm = facts.as_printed().into(parameters.mean_clip_norm, rho=rho)
    oracle = make_oracle("clipped", clip_norm=clip_norm)
    printed_mu = math.sqrt(2.0 * rho) if facts.prints else None
    return _descent(facts, _statement("convex", facts), oracle, rho, lambda _: printed_mu)


@theorem_on("directional", "smoothness", without=("gradient_bound",))
def iterative_convex(
    facts: Facts,
    *,
    n_groups: int = 20,
    centre: str = "updates",
    level: float = 0.9,
    start: str = "median",
    shuffle: bool = False,
) -> Theorem:
    """Descent on the iterative mean of groups of clipped gradients, for convex losses.

    ``n_groups`` is not the theorem's, which exceeds the size of most data. ``centre`` is
    ``"updates"``, the paper's, or ``"median"`` or ``"geometric-median"``, equally private and
    faster. An update moves in a direction only if a part ``level`` of the groups lies ahead.
    Updates start at ``start``, the paper's c_1, which it does not specify: ``"median"``, which
    hardly needs updates, or ``"origin"``, where they stay if the groups lie around it. With
    ``shuffle`` the groups are drawn anew and in secret for every step, and count as a shuffle if
    that needs less noise: this is the part of Theorem 6 that holds. The bound does not use it.

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
    epsilon, delta = facts.printed_terms if facts.prints else facts.terms
    check_group_count(n_groups, facts.n_rows)
    clip_norm = facts.as_printed().into(parameters.iterative_clip_norm, epsilon=epsilon)
    statement = _statement("iterative_convex", facts, n_groups=n_groups)
    oracle = make_oracle(
        "iterative", clip_norm=clip_norm, n_groups=n_groups, centre=centre, level=level, start=start
    )

    def printed_mu_of(n_steps: int) -> float:
        """Return the cost of the group means of all steps, with the noise of equation (24)."""
        share, chance = composed_shares(n_steps, epsilon, delta)
        rho = parameters.printed_amplified_rho(n_groups=n_groups, epsilon=share, delta=chance)
        return math.sqrt(2.0 * rho * n_steps)

    theorem = _descent(facts, statement, oracle, epsilon**2, printed_mu_of)
    return _shuffled(facts, theorem, oracle) if check_boolean("shuffle", shuffle) else theorem


def _shuffled(facts: Facts, theorem: Theorem, oracle: Oracle) -> Theorem:
    """Return the theorem with groups that are drawn anew for every step."""
    if facts.prints:
        raise InputError("shuffle must be False for calibration='printed', whose noise is printed.")
    full: Any = theorem.solver
    known: Any = oracle.parameters
    solver = GroupedDescent(n_steps=full.n_steps, step_size=full.step_size, **known)
    stage = solver.stage(Problem(Squared(), **facts.sizes), facts.guarantee)
    return replace(
        theorem,
        solver=solver,
        noise_std=theorem.noise_std * facts.mu / math.sqrt(full.n_steps) / stage.mu,
        for_privacy=(needed_of_batches(stage),),
    )


def _statement(name: str, facts: Facts, **values: object) -> Statement:
    """Return the statement of a theorem."""
    least = facts.into(bounds.convex_lower_bound)
    return statement_of(f"zhao2024.{name}", facts, least, **values)


def _descent(
    facts: Facts,
    statement: Statement,
    oracle: Oracle,
    rho: float,
    printed_mu_of: Callable[[int], float | None],
) -> Theorem:
    """Both theorems choose steps in the same way; their step count follows from ``rho``.

    Theorem 7 has ``epsilon**2`` in the place of ``rho``. The gradient is at most smoothness times
    diameter, which the printed number of steps sets to 1.
    """
    facts = replace(facts, gradient_bound=facts.shape["smoothness"] * facts.diameter)
    clip_norm = float(oracle.parameters["clip_norm"])
    known = {"clip_norm": clip_norm, "rho": rho} | ({"gradient_bound": 1.0} if facts.prints else {})
    count = facts.into(parameters.steps, **known)
    bias = facts.into(bounds.clipping_bias, clip_norm=clip_norm)

    def step_of(n_steps: int) -> descent.Step:
        return descent.Step(
            oracle,
            bias / facts.root_size,
            facts.sampling(),
            printed_mu=printed_mu_of(n_steps),
            size=facts.into(parameters.step_size, n_steps=n_steps),
        )

    theorem = descent.convex_theorem(facts, statement, count, step_of)
    if not facts.prints:
        return theorem
    return replace(theorem, solver=FromTheStart(**vars(theorem.solver)))
