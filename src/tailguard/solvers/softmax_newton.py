"""Several classes: noisy Newton steps of the symmetric softmax, in private units.

Each class has a score, and the scores of a record add up to zero. Units and whitening are those of
two classes. At the released shares ``p`` of the classes the curvature of the log-loss is
``diag(p) - p p'`` times the second moments of rows. The eigenvectors of ``diag(p) - p p'`` are
called contrasts. Along them, in whitened rows, a Newton step is the mean gradient divided by one
number, as for two classes. One release has the gradients of all classes, and its sensitivity does
not grow with their number.

A fit starts at the constant with the released shares. Each contrast is shrunk towards that constant
by its own noise. If the budget suffices, the fit is corrected by contributions, as for two classes
(``class_correction``); this gives intervals. Finally the fit is compared with the constant. The
constant is kept unless the mean log-loss of the fit is clearly lower. Each class keeps at least a
fixed part of its share, so no record loses more against the constant than the logarithm of that
part, and the comparison need not cut losses. If no fit could be clearly better (``class_shares``),
none is tried.

Reference
---------
Bohning 1992 (the curvature of a softmax); Avella-Medina, Bradshaw and Loh 2023, Section 4; Polyak
and Juditsky 1992; James and Stein 1961; Liu and Talwar 2019; Polyak 1964 (momentum).
"""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, require
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem, Solution
from tailguard.gate.stage import WEIGHING, WEIGHT, Stage, usable_mu
from tailguard.losses.logistic import Logistic
from tailguard.privacy.guarantees import Guarantee
from tailguard.queries.histograms import WhitenedHistogram
from tailguard.queries.softmax_gradients import SoftmaxGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.scaling.columns import columns_of
from tailguard.scaling.noisy_distribution import NoisyDistribution
from tailguard.scaling.units import LEVELS, find_units
from tailguard.solvers.class_correction import Contrasts, corrected, solution_of_classes
from tailguard.solvers.class_shares import can_win, compare_classes, count_classes, sharpened
from tailguard.solvers.newton.allocation import rounds_for, shares_for
from tailguard.solvers.newton.choices import HALF_KEPT
from tailguard.solvers.newton.clipping import (
    Clipping,
    RowNormDistribution,
    SlopeDistribution,
    choose_clip,
)
from tailguard.solvers.newton.constant import NOT_FITTED
from tailguard.solvers.newton.correction.estimate import Estimate
from tailguard.solvers.newton.covariance import RARE_LEVEL, UNSEEN_COLUMN
from tailguard.solvers.newton.newton import (
    BURN_IN,
    LARGEST_PART,
    LONGEST_STEP,
    FitSession,
    weighted_mean,
)
from tailguard.solvers.newton.outlook import (
    ESTIMAND,
    LITTLE,
    constant_hides,
    rarely_beats_constant,
    refusal,
    scales_hide,
    warning,
)
from tailguard.solvers.newton.schedule import (
    CORRECTION_OF_LIKELIHOOD,
    ROW_NORM_BINS,
    WEIGHT_SHARE,
    Shares,
    correction_releases,
    planned_stages,
    round_stages,
)
from tailguard.solvers.newton.start import EVENTS_FOR_CORRECTION, second_moments
from tailguard.solvers.newton.whitening import StepShortening, noise_level, shrunk, whiten
from tailguard.solvers.session import BEYOND_FLOATS, usable

COUNTS, AGAIN, CHOICE = "class counts", "class counts again", "choice of fit"
# The desired precision of counts, n times the mu of their stage, and the smallest and the largest
# share of mu**2 for counts. If classes are equally frequent, the noise of counts, half a percent of
# the records, is the only error of a constant. Second counts may spend the rest of the largest
# share.
COUNTS_SIGNIFICANCE, LEAST_COUNTS, LARGEST_COUNTS = 280.0, 0.01, 0.2
CHOICE_SHARE = 0.1
# The share of mu**2 for the correction, and the n * mu from which there is a correction:
# LEAST_CORRECTED or, if that is more, CORRECTED_CUBE times the cube of ``_n_free_weights``. Losses
# by a correction, as parts of the explained loss, in the mean of 4 fits: above this limit, on four
# tables and three simulated laws, at most .0073 (six classes of drivers, 50 weights); .027 with a
# share of .55 at two thirds of the limit; .13 with .55 at 80 times the power 1.5 of the number of
# weights. Three classes with weak signals lost .05 at an n * mu of 2,000, and .004 (one of 12 fits
# .019) at 3,800.
CORRECTION_SHARE, LEAST_CORRECTED, CORRECTED_CUBE = 0.3, 3800.0, 1.0
# The unit of n * mu per weight in the number of rounds (``rounds_for``), and the most rounds.
ROUNDS_UNIT, MOST_ROUNDS = 7.0, 96
# A round with little noise repeats up to the first number times the last step, since curvature is
# lower where scores spread. With more noise it repeats less, and nothing once the squared length of
# a step's noise exceeds the second number: repeated steps add up their noise as well. With .8 and
# .5, and a fifth in ``Contrasts.at``, 28 targets lost .27, .18 and .053 of the optimum's gain at an
# epsilon of 1, 3 and 100; with the present three numbers .23, .11 and .036.
MOMENTUM, NOISIEST = 0.9, 0.1
NO_INTERVALS = "no intervals: "
RARE_CLASS = "a class is too rare to tell how far off coefficients may be"
ONLY_SHARES = "no coefficient was fitted: the budget showed no scale, and went to class counts"
NONE_CAN_WIN = (
    "no coefficient was fitted: a comparison of losses would not tell a better fit from the "
    "shares of the classes, and the budget went to class counts"
)
OVERFLOWED = "released numbers overflowed: the fit is the shares of the classes"
SHARES_KEPT = (
    "no coefficient was kept: a comparison of losses found no fit surely better than the shares of "
    "the classes"
)
SHARES_PREDICTED = (
    "predictions are the shares of the classes: a comparison of losses found no fit surely better; "
    "the coefficients shown are estimates at the centres of intervals"
)


@dataclass(frozen=True)
class SoftmaxNewton:
    """Noisy Newton steps for a target of several classes; ``LogisticRegression`` uses it.

    The solution's ``coef`` has a row for each class: its coefficients, then its intercept.

    Guarantee
    ---------
    For every input, the run spends at most the plan's event, whose total is at most the guarantee:
    each stage states its sensitivity, and every choice depends on public and released numbers only.

    Examples
    --------
    >>> import tailguard as tg
    >>> problem = Problem(tg.losses.Multinomial(3), n_rows=10_000, n_features=4, intercept=True)
    >>> SoftmaxNewton().plan(problem, tg.ApproxDP(1.0, 1e-6)).stage("choice of fit").times
    1
    """

    def plan(self, problem: Problem, guarantee: Guarantee) -> Plan:
        """Plan the stages from public numbers."""
        here = "for more than two classes by the default method."
        require(problem.intercept, f"fit_intercept=False must not be given {here}")
        require(not problem.has_offset, f"offset must be None {here}")
        require(problem.constraint is None, f"constraint must be None {here}")
        two, mu = _of_two(problem), guarantee.gaussian_mu()
        only_counts = scales_hide(two, guarantee, bulk=1.0)
        if only_counts and constant_hides(two, mu):
            raise refusal(two, guarantee)
        shares = _shares(problem, mu)
        coordinates = sum(  # the same for every mu
            stage.coordinates for stage in _stages(problem, shares, 1.0, only_counts=only_counts)
        )
        may_be_hidden = only_counts or rarely_beats_constant(two, guarantee)
        return Plan(
            solver="softmax-newton",
            problem=problem,
            guarantee=guarantee,
            stages=_stages(
                problem, shares, usable_mu(guarantee, coordinates), only_counts=only_counts
            ),
            settings={"classes": _classes(problem), "feature_bound": shares.bound},
            assumptions=("columns vary, and their scales can be told from the noise",),
            remarks=(ESTIMAND if shares.correction > 0.0 else NO_INTERVALS + LITTLE,),
            warnings=(warning(two, guarantee, constant=only_counts),) if may_be_hidden else (),
            takes_persons=True,
        )

    def run(self, plan: Plan, gate: Gate) -> Solution:
        """Carry out the plan on released answers."""
        of_two, classes = replace(plan, problem=_of_two(plan.problem)), _classes(plan.problem)
        session = FitSession(of_two, gate, _shares(plan.problem, plan.guarantee.gaussian_mu()))
        session.weigh()
        return session.noted(_carried_out(session, plan, classes))


def _carried_out(session: FitSession, plan: Plan, classes: int) -> Solution:
    """Count the classes, and fit them if a fit could win."""
    counted = count_classes(session, classes, session.stages[COUNTS])
    if "second moments" not in session.stages:
        return _constant(plan, counted.shares, ONLY_SHARES)
    if AGAIN in session.stages:
        counted = sharpened(session, counted, session.stages[COUNTS], session.stages[AGAIN])
    detected, reason = np.zeros(session.problem.n_features, dtype=np.bool_), NONE_CAN_WIN
    if can_win(session, counted.shares, session.stages[CHOICE]):
        reason = ONLY_SHARES
        with suppress(*BEYOND_FLOATS):
            units, scales = find_units(session, columns_of(session.problem))
            detected = scales.detected[: detected.size]
    if not detected.any():
        counted = counted.joined(count_classes(session, classes, session.rest()))
        return _constant(plan, counted.shares, reason)
    session.share_out(COUNTS, AGAIN)
    rarest = float(counted.shares.min())
    events = rarest * (1.0 - rarest) * session.n_rows() * session.plan.total_mu
    enough = events >= EVENTS_FOR_CORRECTION * (session.problem.n_features + 1)
    # If the correction is dropped, the rounds get its budget.
    if "contribution rounds" in session.stages and not enough:
        session.drop(CORRECTION_OF_LIKELIHOOD)
    try:
        solution = _fitted(session, plan, units, np.append(detected, True), counted.shares)
    except BEYOND_FLOATS:
        return _constant(plan, counted.shares, OVERFLOWED)
    if not session.dropped:
        return solution
    reasons = tuple(each.replace(LITTLE, RARE_CLASS) for each in solution.reasons)
    return replace(solution, reasons=reasons, notes=(*solution.notes, NO_INTERVALS + RARE_CLASS))


def _classes(problem: Problem) -> int:
    """Return the number of classes, or refuse another loss."""
    classes = problem.by_record and problem.by_record.n_classes
    if not classes:
        raise InputError(
            "solver 'softmax-newton' needs the loss Multinomial, of several classes; got "
            f"{type(problem.loss).__name__}."
        )
    return classes


def _of_two(problem: Problem) -> Problem:
    """Return the same problem with two classes: its units and whitening are the same."""
    _classes(problem)
    return replace(problem, loss=Logistic())


def _n_free_weights(problem: Problem) -> int:
    """Return the number of weights without those of the first class."""
    return problem.size - problem.n_features - 1


def _shares(problem: Problem, mu: float) -> Shares:
    """Return the budget's shares as for two classes, but with rounds for the weights of all."""
    budget, two = problem.n_rows * mu, _of_two(problem)
    counts = min(max((COUNTS_SIGNIFICANCE / budget) ** 2, LEAST_COUNTS), LARGEST_COUNTS)
    rounds = rounds_for(problem.size, budget, ROUNDS_UNIT, MOST_ROUNDS)
    enough = budget >= max(LEAST_CORRECTED, CORRECTED_CUBE * _n_free_weights(problem) ** 3)
    shares = replace(shares_for(two, mu), rounds=rounds, sample=0, early=0)
    return replace(
        shares, constant=counts, fit_choice=CHOICE_SHARE, correction=CORRECTION_SHARE * enough
    )


def _stages(problem: Problem, shares: Shares, mu: float, *, only_counts: bool) -> tuple[Stage, ...]:
    """Plan every release, or with ``only_counts`` the weight of records and class counts."""
    classes, height = _classes(problem), problem.n_features + 1
    weighed = WEIGHT_SHARE * problem.has_weights
    counts = 1.0 - weighed if only_counts else shares.constant
    square, bins = height * (height + 1) // 2, ROW_NORM_BINS.count
    releases = [
        (WEIGHT, WEIGHING, weighed, 2),
        (COUNTS, "how many records each class has", counts, classes),
        (AGAIN, "the same where a class is rare", LARGEST_COUNTS - shares.constant, classes),
        ("row norms", "norms of rows", shares.row_norms, bins),
        ("second moments", "second moments of the columns", shares.second_moments, square),
        ("whitened row norms", "norms of whitened rows", shares.whitened_row_norms, bins),
        (CHOICE, "whether the fit, half of it or its constant is kept", shares.fit_choice, 2),
    ][: 2 if only_counts else None]
    planned = [(name, purpose, share, 1, size) for name, purpose, share, size in releases]
    if only_counts:
        return tuple(planned_stages(planned, mu))
    width = _n_free_weights(problem)
    planned += correction_releases(width, shares.correction, curved=True, sampled=False)
    stages = planned_stages(planned, mu) + shares.units_stages(_of_two(problem), mu)
    purpose = "gradients of all classes, for a Newton step each"
    return (*stages, *round_stages(shares, stages, mu, problem.size, purpose))


def _fitted(
    session: FitSession, plan: Plan, units: Units, detected: FloatArray, frequencies: FloatArray
) -> Solution:
    """Whiten rows, take the rounds, and choose between the fit, half of it and its constant."""
    view = View(None, units, np.diag(detected.astype(np.float64)), bound=session.shares.bound)
    moments, noise_std = second_moments(session, view)
    used = np.flatnonzero(detected)
    whitening = whiten(moments[np.ix_(used, used)], noise_level(noise_std, used.size), curved=True)
    view = view.through(np.eye(detected.size)[:, used] @ whitening.matrix)
    lengths = WhitenedHistogram(view, "length", ROW_NORM_BINS)
    counts, noise_std = session.histograms(lengths, None, session.stages["whitened row norms"])
    distribution = NoisyDistribution.of(counts, ROW_NORM_BINS, noise_std)
    rows = RowNormDistribution(distribution, whitening.effective_dim)
    if not rows.seen:
        note = "no coefficient was fitted: noise hid how long records are"
        return _constant(plan, frequencies, note)
    contrasts = Contrasts.at(frequencies)
    # The gradient of all classes has sqrt(2) times the norm of that of two. Each contrast has its
    # own noise. Where scores spread, curvature is lower (the law of total variance), so noise costs
    # more than this error counts, and no larger limit is preferred.
    clipping = choose_clip(
        rows,
        SlopeDistribution.of_likelihood(math.sqrt(2.0) * contrasts.mean_noise),
        n_rows=session.n_rows(), mu=session.rounds_mu(0), evenness=session.evenness, misfit=0.0,
    )  # fmt: skip
    start = np.outer(contrasts.start, np.linalg.pinv(view.matrix)[:, -1])
    contrast_weights, noise = _take_rounds(session, view, clipping, contrasts, start)
    weights_of = np.kron(contrasts.basis, view.matrix)
    constant, weights = (
        (weights_of @ each.ravel()).reshape(len(frequencies), -1)
        for each in (start, contrast_weights)
    )
    geometry = (session, view, frequencies, whitening, clipping)
    weights, estimate = corrected(*geometry, weights, weights_of * noise.ravel())
    candidates = usable(np.array([constant, weights, (constant + weights) / 2.0]))
    return _kept(session, plan, view, frequencies, candidates, estimate)


def _take_rounds(
    session: FitSession, view: View, clipping: Clipping, contrasts: Contrasts, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Take the rounds; return whitened weights, a row per contrast, and their noise."""
    rounds, last_phase = session.shares.rounds, len(session.shares.rounds) - 1
    query = SoftmaxGradients(view, len(contrasts.basis), clipping.row_limit)
    to_step = contrasts.basis.T / clipping.curvature
    shortening = StepShortening(np.eye(start.size))
    position, move = start.ravel(), np.zeros(start.size)
    steps: list[tuple[FloatArray, FloatArray, float]] = []
    phases = ((phase, count - k) for phase, count in enumerate(rounds) for k in range(count))
    for phase, rounds_left in phases:
        stage = session.round(phase, rounds_left if phase == last_phase else 0)
        weights = contrasts.basis @ position.reshape(start.shape) @ view.matrix.T
        gradient = (to_step @ session.ask(query, usable(weights), stage)).ravel()
        noise_std = session.noise_of(query, stage)
        noise_std *= contrasts.mean_noise / clipping.curvature
        shortening = shortening.after(position, gradient, noise_std)
        newton = -shortening.matrix @ gradient
        newton *= min(1.0, LONGEST_STEP / max(float(np.linalg.norm(newton)), 1e-300))
        steps.append((position, position + newton, noise_std))
        variance = start.size * noise_std**2
        part = min(LARGEST_PART, LARGEST_PART**2 / variance)
        precision = np.array([noise for *_, noise in steps]) ** -2.0
        # Take the step if it moves further than the average of all steps would.
        if part > precision[-1] / precision.sum():
            move = MOMENTUM * max(1.0 - variance / NOISIEST, 0.0) * move + part * newton
            position = position + move
        else:
            move, position = 0.0 * move, _averaged(steps, contrasts, start)[0].ravel()
    return _averaged(steps, contrasts, start)


def _averaged(
    steps: list[tuple[FloatArray, FloatArray, float]], contrasts: Contrasts, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Average the later steps; shrink each contrast towards the constant by its own noise."""
    starts, ends, noises = map(np.array, zip(*steps[int(BURN_IN * len(steps)) :], strict=True))
    mean, noise_std = weighted_mean(starts, ends, noises)
    rest = mean.reshape(start.shape) - start
    noise = noise_std * contrasts.noise / contrasts.mean_noise
    variances = rest.shape[1] * noise**2
    kept = [shrunk(*each) for each in zip(rest, variances, strict=True)]
    share = np.array(kept)[:, None]
    return start + share * rest, np.broadcast_to(share * noise[:, None], rest.shape)


def _kept(
    session: FitSession, plan: Plan, view: View, frequencies: FloatArray, weights: FloatArray,
    estimate: Estimate | None,
) -> Solution:  # fmt: skip
    """Keep the fit if its mean loss is clearly below that of the constant.

    The half-way point between constant and fit is kept instead if its loss is clearly below that of
    the fit, or if the fit's loss is not clearly below that of the constant. The choice does not
    change the estimand of intervals.
    """
    stage, units = session.stages[CHOICE], view.units
    query, margin = compare_classes(session, view, frequencies, stage)
    differences = session.ask(query, weights, stage)
    left_out = np.asarray(~view.matrix.any(axis=1))[:-1]
    levels = {*chain(*session.problem.levels)} if LEVELS in session.stages else {}
    unseen = [
        "" if not out else RARE_LEVEL if column in levels else UNSEEN_COLUMN
        for column, out in enumerate(left_out)
    ]
    bounds = view.bound * np.where(left_out, math.inf, units.scale)
    bounds = np.column_stack([units.center - bounds, units.center + bounds])
    if not differences.min() < -margin:
        constant = _constant(plan, frequencies, SHARES_KEPT)
        if estimate is None or not estimate.settled:
            return constant
        note = SHARES_PREDICTED
        solution = solution_of_classes(plan, constant.coef, estimate, units, unseen, note)
        return replace(solution, feature_bounds=bounds)
    half = bool(differences[0] > min(-margin, differences[1] + margin))
    coef = np.array([np.append(*units.coefficients(each)) for each in weights[1 + half]])
    solution = solution_of_classes(plan, coef, estimate, units, unseen, *[HALF_KEPT] * half)
    return replace(solution, feature_bounds=bounds, score_bounds=query.score_bounds)


def _constant(plan: Plan, frequencies: FloatArray, note: str) -> Solution:
    """Return the solution that predicts the shares of the classes."""
    n_features, scores = plan.problem.n_features, np.log(frequencies)
    coef = np.column_stack([np.zeros((len(frequencies), n_features)), scores - scores.mean()])
    units = Units.raw(n_features, intercept=True)
    return solution_of_classes(plan, coef, None, units, [NOT_FITTED] * n_features, note)
