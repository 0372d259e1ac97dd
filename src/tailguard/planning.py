"""Plans for a task: every method's predicted error, from public facts only.

A plan reads no record and spends no budget. Predictions compare methods under the stated facts, by
one model for all theorems; they are not guarantees.

Reference
---------
The predictions are those of :mod:`tailguard.papers` (Kamath, Liu and Zhang 2022; Tao and others
2022; Wang and others 2020; Zhao and others 2024; Xu and others 2025) and of the private means.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tailguard.checks import (
    InputError,
    check_between,
    check_choice,
    check_integer,
    check_positive,
    named_arguments,
    require,
)
from tailguard.estimators.predictions import (
    SPARSE,
    TASK_OF_MODEL,
    default_candidates,
    sparse_candidate,
)
from tailguard.gate.advice import Advice, Candidate, rows_used
from tailguard.gate.plan import Problem
from tailguard.losses.registry import LOSSES
from tailguard.means.base import MeanPlan
from tailguard.means.choice import choose
from tailguard.moments import Moment, check_moment
from tailguard.privacy.guarantees import Guarantee, resolve_guarantee
from tailguard.privacy.unit import MOST_ROWS as MOST_ROWS_USED
from tailguard.wing import wing

FACTS = (
    "strong_convexity",
    "smoothness",
    "row_limit",
    "growth_constant",
    "n_nonzero",
    "gradient_bound",
)
LARGEST_DIAMETER = 1e100  # squares then stay in the range of floats
MOST_ROWS = 2**63 - 1  # no array has more
MOST_COLUMNS = 10**6  # each has its units: a plan takes 3 seconds (measured)
# Ranges of the search for the smallest n_rows or epsilon that reaches a requested error.
SEARCHED = {"n_rows": (1.0, 1e12), "epsilon": (1e-3, 100.0)}
NO_THEOREMS = (
    "task must be 'mean' or a loss: theorems are in tailguard.papers, which is not installed; got "
    "{}."
)
TASKS = ("mean", "convex", "strongly-convex", *SPARSE, *TASK_OF_MODEL, *LOSSES)
"""What a plan can be made for: a mean, a kind of risk, an estimator, or a loss of one."""


@named_arguments
def plan(
    task: str,
    *,
    n_features: int,
    n_rows: int | None = None,
    guarantee: Guarantee | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    error: float | None = None,
    persons: int | None = None,
    rows_per_person: float | Sequence[float] | None = None,
    moment: Moment | None = None,
    diameter: float | None = None,
    **facts: float,
) -> Advice:
    """List the methods for a task with their predicted errors; no record is read.

    Parameters
    ----------
    task
        ``"mean"``; ``"convex"``, ``"strongly-convex"`` or ``"sparse"`` for a risk to be minimised;
        an estimator by the name of ``tailguard fit --model``, such as ``"linear"`` or
        ``"sparse-logistic"``; or a loss of one, such as ``"squared"``.
    n_rows, n_features
        Public sizes; an intercept counts as a feature.
    guarantee, epsilon, delta
        The promise, stated in one of the usual ways.
    error
        The predicted error to reach, instead of ``n_rows`` or ``epsilon``: the answer is the
        smallest at which a fit also beats a constant. For means and losses of the estimators.
    persons, rows_per_person
        The number of persons, instead of ``n_rows``, and a guess of the rows per person: a number,
        or several equally likely ones, such as released quantiles. Predicts each ``max_rows``.
    moment
        The moment of the records, for a mean (optional), or of the gradients.
    diameter
        The diameter of the constraint set. ``moment`` and ``diameter`` are optional for a loss of
        the estimators, and for sparse ones with ``n_nonzero``.
    facts
        Further facts that theorems need: ``smoothness``, ``strong_convexity``, ``row_limit``,
        ``growth_constant``, ``n_nonzero``, ``gradient_bound``.

    Returns
    -------
    Advice
        It has ``recommended``, ``candidates`` and ``refusals``, and prints as a table.

    Edge cases
    ----------
    An unusable method is listed with its reason. If no method can be used, an ``InputError`` is
    raised. Predictions omit the cost of counting usable records, 0.25 % of mu.

    Examples
    --------
    >>> import tailguard as tg
    >>> tg.plan("squared", n_rows=100_000, n_features=5, guarantee=tg.ZCDP(0.1)).recommended.method
    'tg.LinearRegression'
    >>> tg.plan("squared", n_rows=100_000, n_features=5, delta=1e-6, error=1e-4).guarantee.epsilon
    0.036
    """
    task = TASK_OF_MODEL.get(check_choice("task", task, TASKS), task)
    by_person = persons is not None or rows_per_person is not None
    if error is not None and not by_person:
        theorems = diameter is not None or bool(facts) or task not in ("mean", *LOSSES)
        require(not theorems, "error must not be given with facts for theorems; give n_rows.")
        sizes_given = {"n_rows": n_rows, "guarantee": guarantee, "epsilon": epsilon}
        facts_given = {"n_features": n_features, "delta": delta, "moment": moment}
        return _sufficient(task, check_positive("error", error), sizes_given, facts_given)
    promise = resolve_guarantee(epsilon=epsilon, delta=delta, guarantee=guarantee)
    if by_person:
        unsupported = (n_rows, error, moment, diameter, *facts.values())
        return _for_persons(task, n_features, persons, rows_per_person, promise, *unsupported)
    require(n_rows is not None, "n_rows must be given, or persons, or the error to reach.")
    n_rows = check_integer("n_rows", n_rows, minimum=1, maximum=MOST_ROWS)
    check_integer("n_features", n_features, minimum=1, maximum=MOST_COLUMNS)
    _check_facts(facts, moment, diameter)
    if task == "mean":
        return _mean_advice(n_rows, n_features, promise, moment)
    candidates, refusals, notes, useful_from = default_candidates(task, n_rows, n_features, promise)
    risk: str | None = "sparse" if task in SPARSE else task
    if task in LOSSES:
        risk = "convex" if moment and diameter else None
    if task in SPARSE and "n_nonzero" in facts:
        n_nonzero = int(facts["n_nonzero"])
        candidates.append(sparse_candidate(task, n_rows, n_features, promise, n_nonzero))
        risk = risk if moment and diameter else None
    if risk and (moment is None or diameter is None):
        raise InputError(
            f"{'n_nonzero=, or ' * (task in SPARSE)}moment= and diameter= must be given for task "
            f"{task!r}: a bound on a moment of the gradients, and the diameter of the set."
        )
    if risk and (papers := wing("ranking")):
        sizes = n_rows, n_features, promise
        ranking = papers.rank(risk, *sizes, moment=moment, diameter=diameter, facts=facts)
        notes += ranking.notes(alone=not candidates)
        candidates += [_of_theorem(*each) for each in ranking.theorems]
        refusals += [(f"tg.papers.{name}", why) for name, why in ranking.refusals]
    require(bool(candidates or refusals), NO_THEOREMS.format(repr(task)))
    if not candidates:
        reason = "" if task in LOSSES else "task must have a method here, and has none; "
        raise InputError(reason + refusals[0][1])
    lists = tuple(candidates), tuple(refusals), tuple(notes), useful_from
    return Advice(task, n_rows, n_features, promise, *lists)


def _for_persons(
    task: str, n_features: int, persons: int | None, guesses: Any, promise: Guarantee, *others: Any
) -> Advice:
    """Return the advice for ``persons``, with predictions for each ``max_rows``."""
    require(
        task in ("mean", *LOSSES) and all(other is None for other in others),
        "persons must be given instead of n_rows, for a mean or a loss of the estimators, without "
        "error, moment and facts for theorems.",
    )
    persons = check_integer("persons", persons, minimum=1, maximum=MOST_ROWS)
    counts = list(guesses) if isinstance(guesses, Iterable) else [guesses]
    rows = [check_between("rows_per_person", each, 1.0, float(MOST_ROWS_USED)) for each in counts]
    require(bool(rows), "rows_per_person must be a number, or a list of at least one.")
    is_mean = task == "mean"

    def advice_for(n_rows: int, guarantee: Guarantee) -> Advice:
        if is_mean:
            max_rows = MOST_ROWS_USED if n_rows == persons else None
            return _mean_advice(n_rows, n_features, guarantee, None, max_rows=max_rows)
        return plan(task, n_rows=n_rows, n_features=n_features, guarantee=guarantee)

    def noise(n_rows: int, guarantee: Guarantee) -> float:
        error = advice_for(n_rows, guarantee).recommended.predicted_error
        # The error of a mean includes the sampling error of its records.
        return math.sqrt(max(error**2 - n_features / n_rows, 0.0)) if is_mean else error

    sampling = math.sqrt(n_features / persons) if is_mean else n_features / persons / 2.0
    by_max_rows = rows_used(noise, rows, persons, promise, sampling, 0.5 if is_mean else 1.0)
    return replace(advice_for(persons, promise), by_max_rows=by_max_rows)


# Sizes on the page of `tailguard plan --html`. A page of means takes 3 seconds (measured).
SHOWN: dict[str, tuple[float, ...]] = {
    "n_features": (1, 3, 10, 30, 100),
    "n_rows": (*(base * 10**power for power in (3, 4, 5, 6) for base in (1, 3)), 10**7),
    "epsilon": (0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0),
}


def prediction_grid(
    task: str,
    *,
    n_features: int,
    delta: float,
    n_rows: int = 50_000,
    epsilon: float = 1.0,
    moment: Moment | None = None,
) -> dict[str, Any]:
    """Return predictions of ``plan`` over columns, records and epsilons, as plain data.

    A cell has the error, the index of its method and whether the fit is little more than a
    constant. If no method fits, it is None. ``start`` has the indices of the given values.
    """
    task = TASK_OF_MODEL.get(task, task)
    check_choice("task", task, ("mean", *LOSSES))
    chosen: dict[str, Any] = {"n_features": n_features, "n_rows": n_rows, "epsilon": epsilon}
    fixed: dict[str, Any] = {"task": task, "delta": delta, "moment": moment}
    check_integer("n_rows", n_rows, minimum=1, maximum=MOST_ROWS)
    best = plan(**fixed, **chosen | {"n_rows": max(SHOWN["n_rows"])})  # raises if one is invalid
    axes = {name: sorted({*values, chosen[name]}) for name, values in SHOWN.items()}
    methods: dict[str, int] = {}

    def cell(*size: float) -> list[Any] | None:
        try:
            sizes: dict[str, Any] = dict(zip(axes, size, strict=True))
            advice = plan(**fixed, **sizes)
        except InputError:  # too few records for any method
            return None
        best_method = advice.recommended
        place = methods.setdefault(best_method.method, len(methods))
        error = float(f"{best_method.predicted_error:.4g}")
        return [error, place, bool(advice.notes)]

    return {
        "task": task,
        "guarantee": {"kind": "approx", "delta": delta},
        "axes": axes,
        "start": {name: axes[name].index(value) for name, value in chosen.items()},
        "unit": best.recommended.unit,
        "cells": [
            [[cell(columns, rows, budget) for budget in axes["epsilon"]] for rows in axes["n_rows"]]
            for columns in axes["n_features"]
        ],
        "methods": [*methods],
    }


def _sufficient(
    task: str, error: float, sizes_given: Mapping[str, Any], facts: Mapping[str, Any]
) -> Advice:
    """Return the advice at the fewest records, or least epsilon, for ``error`` and a useful fit."""
    given = {name: value for name, value in sizes_given.items() if value is not None}
    name = "epsilon" if "n_rows" in given else "n_rows"
    require(
        len(given) == 1,
        "error must be given with n_rows= or epsilon=, and not with both: the answer is the other "
        f"one; got {' and '.join(f'{each}=' for each in given) or 'neither'}.",
    )

    def advice(value: float) -> Advice:
        sought: dict[str, Any] = {name: value if name == "epsilon" else round(value)}
        return plan(task, **given, **sought, **facts)

    def predicted(value: float) -> float:
        try:
            return advice(value).recommended.predicted_error
        except InputError:  # no method can be used
            return math.inf

    low, high = SEARCHED[name]
    while predicted(high) == math.inf and high > 1.0:
        high /= 2.0
    largest = advice(high)  # raises for any other invalid argument
    best = largest.recommended
    require(
        best.predicted_error <= error,
        f"error must be at least {best.predicted_error:.3g} {best.unit}, which {name} = {high:g} "
        f"reaches; got {error:g}.",
    )
    require(not largest.notes, f"{next(iter(given))} must be larger: {' '.join(largest.notes)}")
    while high > 1.002 * low and (name == "epsilon" or high > low + 1.0):
        middle = math.sqrt(low * high)
        suffices = predicted(middle) <= error and not advice(middle).notes
        low, high = (low, middle) if suffices else (middle, high)
    unit = 10.0 ** (math.floor(math.log10(high)) - 2)  # three digits, rounded up
    smallest = float(f"{math.ceil(high / unit) * unit:.3g}")
    smallest = math.ceil(smallest) if name == "n_rows" else smallest
    sufficient = advice(smallest)
    goal = f"a predicted error of at most {error:g}"
    if predicted(low) <= error:  # a smaller number would do, but for the note on useless fits
        goal = f"a fit that beats a constant; {goal} needs less"
    note = f"{name} = {smallest:,.12g} is needed for {goal}"
    return replace(sufficient, notes=(note, *sufficient.notes))


def _of_theorem(name: str, theorem: Any, excess: float) -> Candidate:
    """Return a theorem's solver as a candidate."""
    unit = "units of the risk and its gradient"
    return Candidate(f"tg.papers.{name}", excess, theorem.n_passes, theorem.noise_std, unit)


def _check_facts(facts: Mapping[str, float], moment: Moment | None, diameter: float | None) -> None:
    for name, value in facts.items():
        if name not in FACTS:
            raise InputError(f"{name} must not be given; theorems take {', '.join(FACTS)}.")
        check_positive(name, value)
        if name == "n_nonzero":
            check_integer(name, value, minimum=1)
    if moment is not None:
        check_moment("moment", moment)
    if diameter is not None:
        check_positive("diameter", diameter)
        if diameter > LARGEST_DIAMETER:
            raise InputError(f"diameter must be at most {LARGEST_DIAMETER:g}; got {diameter:g}.")


def _mean_advice(
    n_rows: int,
    n_features: int,
    guarantee: Guarantee,
    moment: Moment | None,
    *,
    max_rows: int | None = None,
) -> Advice:
    """Return the method that ``tg.mean`` chooses, and its other methods."""
    problem = Problem(None, n_rows, n_features, moment=moment, max_rows=max_rows)
    choice = choose("auto", problem, guarantee)
    refusals = tuple((_mean_name(name), reason) for name, reason in choice.refusals)
    candidates = tuple(_of_mean(each, moment) for each in (choice.plan, *choice.others))
    return Advice("mean", n_rows, n_features, guarantee, candidates, refusals)


def _mean_name(method: str, more: str = "") -> str:
    return f"tg.mean(method={method!r}{more})"


def _of_mean(mean_plan: MeanPlan, moment: Moment | None) -> Candidate:
    error, size = mean_plan.expected, mean_plan.problem.n_features
    left_out = moment is not None and mean_plan.problem.moment is None
    name = _mean_name(mean_plan.solver, ", moment=None" if left_out else "")
    passes = sum(stage.times for stage in mean_plan.stages)
    return Candidate(name, error.total, passes, error.noise / math.sqrt(size), mean_plan.unit)
