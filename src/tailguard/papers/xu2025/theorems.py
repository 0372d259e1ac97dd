"""The theorems of Xu, Ding, Xiang, Xu and Wang (2025), each as a solver.

*Needed for privacy.* For Theorems 1 to 3 a loss of one score with a bound on its clipped curvature,
and rows that are shrunk to ``row_limit``. Other losses are refused, since one record moves their
clipped minimisers further than the paper claims. For Theorems 6 and 7 nothing.

*Needed for accuracy.* Moments of the norm of the gradient, of order at least 4 in Theorems 1 to 3
(the paper's ``2 k``) and at least 2 in Theorems 6 and 7, at every point of a bounded set; convex
losses, and for the theorems with ``growth`` a risk that grows like the power ``growth`` of the
distance from its minimiser.

Options of every theorem: ``clip_norm`` to replace the theorem's, ``calibration`` (``"tight"``, or
``"printed"``: noise, rounds, clip norms and steps of the paper); of Theorems 6 and 7 also
``n_steps``.
"""

from dataclasses import replace
from typing import Any

from tailguard.checks import InputError, check_boolean, check_finite, shown
from tailguard.papers.common.theorem import Theorem, theorem_on
from tailguard.papers.solvers.doubling_accelerated import DoublingAccelerated
from tailguard.papers.solvers.localised import Localised
from tailguard.papers.solvers.permuted_accelerated import PermutedAccelerated
from tailguard.papers.solvers.phased_growth import DoublingLocalised, ShrinkingLocalised
from tailguard.papers.xu2025 import parameters
from tailguard.papers.xu2025.setting import (
    DoubledNorms,
    Norms,
    accelerated_theorem,
    localised_theorem,
)


@theorem_on("norm", "row_limit", of=DoubledNorms)
def localised(facts: DoubledNorms) -> Theorem:
    """Localised noisy clipped descent, for convex losses.

    ``schedule="printed"`` is the paper's: phases down to one record, with clip norms, eta and
    penalties as printed, for ``exponent`` p and ``lipschitz_bound`` (None: the largest that the
    theorem admits), with certified minimisers. ``"steps"`` has the steps of Algorithm 2 in place of
    certified minimisers, at least ``(n / 2) ** 2`` in the first phase. None is ``"steps"`` with
    printed noise, and ``"practical"`` otherwise.

    *Reference.* Xu and others 2025, Theorem 1 and Algorithm 3.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(4.0, 1.0, kind="norm")
    >>> theorem = localised(
    ...     10_000, 10, tg.ApproxDP(1.0, 1e4**-1.1), moment=moment, diameter=2.0, row_limit=4.0
    ... )
    >>> round(theorem.solver.clip_norm, 2), theorem.n_passes
    (30.45, 1.0)
    """
    n_rows = facts.n_rows
    solver = Localised(**facts.localised_options(n_rows))
    if solver.schedule == "practical":
        solver = replace(solver, step_parameter=facts.eta(n_rows))
    return localised_theorem(facts, "localised", facts.least, solver, facts.risk(n_rows))


@theorem_on("norm", "row_limit", of=DoubledNorms)
def tsybakov(facts: DoubledNorms, *, growth: float = 2.0, growth_constant: float = 1.0) -> Theorem:
    """Localised descent in shrinking balls, for risks of growth at least 2.

    The algorithm does not use ``growth``; the bound does. ``schedule``, ``exponent`` and
    ``lipschitz_bound`` are those of :func:`localised`.

    *Reference.* Xu and others 2025, Theorem 2 and Algorithm 4.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(4.0, 1.0, kind="norm")
    >>> theorem = tsybakov(
    ...     10_000, 10, tg.ApproxDP(1.0, 1e-5), moment=moment, diameter=2.0, row_limit=4.0
    ... )
    >>> type(theorem.solver).__name__
    'ShrinkingLocalised'
    """
    if check_finite("growth", growth) < 2.0:
        raise InputError(
            f"growth must be a number of at least 2 for Theorem 2; got {shown(growth)}: take "
            "tg.papers.xu2025.unknown_growth."
        )
    size = facts.n_rows // parameters.shrinking_phases(n_rows=facts.n_rows)
    solver = ShrinkingLocalised(radius=facts.diameter, **facts.localised_options(size))
    bound = facts.grown(facts.risk(size), growth, growth_constant)
    return localised_theorem(facts, "tsybakov", facts.least_growing(growth), solver, bound)


@theorem_on("norm", "row_limit", of=DoubledNorms)
def unknown_growth(
    facts: DoubledNorms,
    *,
    growth_bound: float = 2.0,
    growth_constant: float = 1.0,
    shrinks: bool | None = None,
) -> Theorem:
    """Localised descent in doubling rounds, for risks of any growth above ``growth_bound > 1``.

    ``shrinks`` halves the radius from round to round, as printed; None does so with printed noise.
    ``schedule``, ``exponent`` and ``lipschitz_bound`` are those of :func:`localised`.

    *Reference.* Xu and others 2025, Theorem 3 and Algorithm 5.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(4.0, 1.0, kind="norm")
    >>> theorem = unknown_growth(
    ...     10_000, 10, tg.ApproxDP(1.0, 1e-5), moment=moment, diameter=2.0, row_limit=4.0
    ... )
    >>> type(theorem.solver).__name__, theorem.solver.growth_bound
    ('DoublingLocalised', 2.0)
    """
    shrinks = facts.prints if shrinks is None else check_boolean("shrinks", shrinks)
    printed = facts.schedule_taken != "practical"
    sizes = facts.round_sizes(growth_bound, printed=printed)
    options = facts.localised_options(sizes[-1])
    solver = DoublingLocalised(
        growth_bound=growth_bound, radius=facts.diameter, shrinks=shrinks, **options
    )
    lower = facts.least_growing(growth_bound)
    bound = facts.doubling_risk(sizes, growth_bound, growth_constant)
    cases = ("shrinking",) if shrinks else ()
    return localised_theorem(facts, "unknown_growth", lower, solver, bound, *cases)


@theorem_on("norm", "smoothness", of=Norms)
def accelerated(facts: Norms) -> Theorem:
    """Accelerated descent over secret random batches, for convex losses.

    *Reference.* Xu and others 2025, Theorem 6 and Algorithm 6.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(2.0, 1.0, kind="norm")
    >>> theorem = accelerated(
    ...     10_000, 10, tg.ApproxDP(1.0, 1e-5), moment=moment, diameter=2.0, smoothness=1.0
    ... )
    >>> theorem.solver.n_steps, theorem.n_passes
    (7, 1.0)
    """
    solver = PermutedAccelerated(
        n_steps=facts.batches(facts.n_rows), **_accelerated_options(facts, facts.n_rows)
    )
    return accelerated_theorem(facts, "accelerated", facts.least, solver)


@theorem_on("norm", "smoothness", of=Norms)
def accelerated_growth(
    facts: Norms, *, growth: float = 2.0, growth_constant: float = 1.0
) -> Theorem:
    """Accelerated descent in doubling phases, for risks of growth above 1.

    *Reference.* Xu and others 2025, Theorem 7 and Algorithm 7.

    Examples
    --------
    >>> import tailguard as tg
    >>> moment = tg.Moment(2.0, 1.0, kind="norm")
    >>> theorem = accelerated_growth(
    ...     10_000, 10, tg.ApproxDP(1.0, 1e-5), moment=moment, diameter=2.0, smoothness=1.0
    ... )
    >>> type(theorem.solver).__name__, theorem.n_passes
    ('DoublingAccelerated', 1.0)
    """
    sizes = facts.round_sizes(growth, printed=facts.prints)
    solver = DoublingAccelerated(
        growth_bound=growth,
        phase_steps=tuple(map(facts.batches, sizes)),
        phase_clip_norms=tuple(map(facts.clip_norm_of, sizes)),
        **_accelerated_options(facts, sizes[-1]),
    )
    lower = facts.least_growing(growth)

    def reach(risk: float) -> float:
        return facts.reach(risk, growth, growth_constant)

    return accelerated_theorem(facts, "accelerated_growth", lower, solver, reach)


def _accelerated_options(facts: Norms, n_rows: int) -> dict[str, Any]:
    """Return the parameters of accelerated solvers, calibration included."""
    more = {"smoothness": facts.shape["smoothness"], "calibration": facts.calibration}
    return facts.solver_options(n_rows) | more
