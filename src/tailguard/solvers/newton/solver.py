"""The default method: private units, whitening, chosen clip levels and damped Newton steps.

The user declares no bounds and tunes nothing. Public numbers determine the whole schedule.
Decisions during the run use only released numbers. If these show that a stage is useless, it is
skipped.
``docs/default-stages.md`` lists the releases of each loss.

Reference
---------
Avella-Medina, Bradshaw and Loh 2023, Section 4 (noisy Newton's method for M-estimators); Wang 2018
(noised second moments); Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023 (fully adaptive
Gaussian composition).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tailguard.checks import check_choice, check_methods, require
from tailguard.gate import Gate
from tailguard.gate.engine import SolverExample
from tailguard.gate.plan import Plan, Problem, Solution, ridge_setting
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.units import Units
from tailguard.scaling.columns import ColumnScales, columns_of
from tailguard.scaling.units import find_units
from tailguard.solvers.newton import outlook
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.choices import choose_fit
from tailguard.solvers.newton.constant import (
    CONSTANT_ONLY,
    constant_of_hidden_amounts,
    constant_plan,
    constant_solution,
    fall_back_to_constant,
    keep_constant_only,
    run_constant_plan,
)
from tailguard.solvers.newton.correction.correct import correct
from tailguard.solvers.newton.correction.total import calibrate_total
from tailguard.solvers.newton.covariance import solution
from tailguard.solvers.newton.debiasing import debias
from tailguard.solvers.newton.newton import FitSession, averaged, settled, step
from tailguard.solvers.newton.schedule import TOTAL, Shares, stages_for
from tailguard.solvers.newton.start import release_row_norms, start, start_phase
from tailguard.solvers.newton.state import Fit
from tailguard.solvers.session import BEYOND_FLOATS, SAMPLED


@dataclass(frozen=True)
class WhitenedNewton:
    """Noisy Newton steps on privately whitened rows with privately chosen clip levels.

    Parameters
    ----------
    target
        ``"mean"``: the fit of a squared or log-link loss converges to the optimum of the loss, the
        conditional mean, as ``n * mu`` grows. ``"robust"``: clip levels are chosen for the least
        variance, and the bias that clipping causes for skewed residuals stays.
    shares
        Shares of the budget; None chooses them by the loss and the budget.

    Guarantee
    ---------
    For every input, the run spends at most the plan's event, whose total is at most the guarantee:
    each stage states its sensitivity, and every choice depends on public and released numbers only.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Squared(), n_rows=10_000, n_features=4, intercept=True)
    >>> plan = WhitenedNewton().plan(problem, tg.ApproxDP(1.0, 1e-6))
    >>> plan.stage("rounds of phase 4").times
    16
    """

    target: str = "mean"
    shares: Shares | None = None

    example: ClassVar[SolverExample] = SolverExample(None, intercept=True, skips=True)

    def __post_init__(self) -> None:
        """Check the public parameters."""
        check_choice("target", self.target, ("mean", "robust"))
        if self.shares is not None:
            check_methods("shares", self.shares, vars(Shares), "Shares or None").check()

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Plan the stages from public numbers."""
        outlook.check_problem(problem)
        default_shares = self.shares is None
        if default_shares and outlook.scales_hide(problem, guarantee, bulk=1.0):
            return constant_plan(problem, guarantee, self.target)
        shares = self.shares_of(problem, guarantee)
        require(
            not (problem.link.scaled and shares.balanced),
            "shares must have balanced=False, as balanced=True needs a logistic loss.",
        )
        require(
            shares.sample <= problem.n_rows,
            f"shares.sample must be at most the number of records, {problem.n_rows}; got "
            f"{shares.sample}.",
        )
        has_start = problem.intercept or problem.has_offset
        require(
            shares.constant > 0.0 or not (problem.link.curved and has_start),
            "shares must have constant > 0 for a likelihood with an intercept or offsets.",
        )
        mu = outlook.mu_of_fit(problem, guarantee, shares)
        remarks, warnings = [outlook.meaning_of_error(problem)], []
        if shares.correction > 0.0:
            remarks.append(outlook.ESTIMAND)
        elif default_shares:
            why = outlook.why_no_interval(problem, guarantee, robust=self.target == "robust")
            remarks.append(f"no intervals: {why}")
        if default_shares and outlook.rarely_beats_constant(problem, guarantee):
            warnings.append(outlook.warning(problem, guarantee, constant=False))
        return Plan(
            solver="whitened-newton",
            problem=problem,
            guarantee=guarantee,
            stages=stages_for(problem, shares, mu),
            settings={
                "target": self.target,
                "predicted_privacy_error": outlook.predicted_error(problem, mu),
                "feature_bound": shares.bound,
                **({SAMPLED: shares.sample} if shares.sample else {}),
                **ridge_setting(problem),
            },
            assumptions=outlook.assumptions(problem, mu),
            remarks=tuple(remarks),
            warnings=tuple(warnings),
            takes_persons=True,
        )

    def shares_of(self, problem: Problem, guarantee: Guarantee) -> Shares:
        """Return the shares for these public facts."""
        if self.shares is not None:
            return self.shares
        return shares_for(problem, guarantee.gaussian_mu(), robust=self.target == "robust")

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry out the plan on released answers."""
        if CONSTANT_ONLY in plan.settings:
            return run_constant_plan(plan, gate)
        session = FitSession(plan, gate, self.shares_of(plan.problem, plan.guarantee))
        session.weigh()
        return session.noted(_carried_out(session))


def _carried_out(session: FitSession) -> Solution:
    """Measure the columns and fit them, or only a constant if noise hides them."""
    plan, columns = session.plan, columns_of(session.plan.problem)
    overflowed = "released numbers overflowed: the fit is "
    try:
        units, scales = find_units(session, columns)
    except BEYOND_FLOATS:
        return constant_solution(plan, 0.0, f"{overflowed}a constant")
    target_hides = columns.residual and not scales.detected[columns.n_features]
    columns_hide = not (columns.intercept or scales.detected[: columns.n_features].any())
    if target_hides or columns_hide:
        hidden = "the target" if target_hides else "any column"
        note = f"no coefficient was fitted: the budget showed no scale of {hidden}"
        return constant_solution(plan, units.target_center, note)
    amounts = columns.target and plan.problem.link.log and not session.loss.canonical
    if amounts and columns.intercept and not scales.detected[columns.n_features]:
        return constant_of_hidden_amounts(session, scales)
    last = None
    try:
        for fit in fits(session, units, scales):
            last = fit
    except BEYOND_FLOATS:
        last = last and last.noted(f"{overflowed}the last one before that")
    if last is None:
        return constant_solution(plan, units.target_center, f"{overflowed}a constant")
    return solution(session, last)


def fits(session: FitSession, units: Units, scales: ColumnScales) -> Iterator[Fit]:
    """Yield the fit after each part of the method, so that the last one survives an overflow."""
    fit = start(session, units, scales)
    yield fit
    if session.problem.link.residual:
        fit = release_row_norms(session, fit)
        if not fit.clipping.rows.seen:
            fit = keep_constant_only(fit)
        yield fit
    last_phase = len(session.shares.rounds) - 1
    for phase, count in enumerate(session.shares.rounds):
        phase_fit = start_phase(session, fit, phase)
        if phase_fit is None:
            yield fall_back_to_constant(session, fit)
            return
        yield (fit := phase_fit)
        rounds_left, last = count, phase == last_phase
        while rounds_left:  # the last phase also gets the budget of skipped stages and rounds
            yield (fit := step(session, fit, rounds_left=rounds_left * last))
            rounds_left -= 1
            if last and session.shares.sample and settled(fit):  # fewer passes are enough
                rounds_left = math.ceil(rounds_left / 4)
    yield (fit := averaged(fit))
    improvements = {"debiasing": debias, "contribution rounds": correct}
    improvements |= {TOTAL: calibrate_total, "choice of fit": choose_fit}
    for stage, improve in improvements.items():
        if stage in session.stages:
            yield (fit := improve(session, fit))
    if fit.is_constant and not any("no coefficient" in note for note in fit.notes):
        yield fit.noted("noise hid every slope: the fit has only its constant")
