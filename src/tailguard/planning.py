"""What can be done for a task, and how well: every method's prediction, from public facts alone.

Nothing is read and nothing is spent. Predictions compare methods under the stated facts, on one
model for all theorems, and are no promise.

Reference
---------
The predictions are those of :mod:`tailguard.papers` (Kamath, Liu and Zhang 2022; Tao and others
2022; Wang and others 2020; Zhao and others 2024; Xu and others 2025) and of the private means.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailguard.checks import InputError, check_choice, check_integer, check_positive, require
from tailguard.estimators.registry import ESTIMATORS
from tailguard.gate.plan import Problem
from tailguard.losses.base import Loss, RecordLoss
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.means.base import MeanPlan
from tailguard.means.choice import choose
from tailguard.moments import Moment, check_moment
from tailguard.privacy.guarantees import Guarantee, resolve_guarantee
from tailguard.solvers.limits import typical_curvature
from tailguard.solvers.registry import make_solver, solver_for
from tailguard.wing import wing

FACTS = (
    *("strong_convexity", "smoothness", "row_limit", "growth_constant", "n_nonzero"),
    "gradient_bound",
)
PRIVATE_UNITS = "private units, of columns of unit scale; privacy noise only"
LARGEST_DIAMETER = 1e100  # so that squares are in the range of floats
MOST_ROWS = 2**63 - 1  # more are in no array
MOST_COLUMNS = 10**6  # each has its units: a plan takes 3 seconds (measured)
TASKS = ("mean", "convex", "strongly-convex", "sparse", *LOSSES)
"""What a plan can be made for: a mean, a kind of risk, or a loss of the estimators."""


@dataclass(frozen=True)
class Candidate:
    """One method and what it is expected to achieve.

    Attributes
    ----------
    method
        The public name to call.
    predicted_error
        Error of a mean in l2 norm, or excess risk.
    n_passes
        How often every record is read.
    noise_std
        Noise on every coordinate of a step, or of the answer; NaN where it follows the records.
    unit
        In which units error and noise are.

    Examples
    --------
    >>> Candidate("tg.mean", 0.1, n_passes=1.0, noise_std=0.01, unit="your units").to_dict()["unit"]
    'your units'
    """

    method: str
    predicted_error: float
    n_passes: float
    noise_std: float
    unit: str

    def to_dict(self) -> dict[str, float | str | None]:
        """Return it as plain data; a number that is not known is None."""
        numbers = {"predicted_error": self.predicted_error, "noise_std": self.noise_std}
        known = {name: x if math.isfinite(x) else None for name, x in numbers.items()}
        return {"method": self.method, "n_passes": self.n_passes, "unit": self.unit, **known}


@dataclass(frozen=True)
class Advice:
    """All candidates, the best first, and why others are not possible.

    Attributes
    ----------
    task, n_rows, n_features, guarantee
        What was asked.
    candidates
        The recommended one first, the others by predicted error.
    refusals
        Method and reason.
    notes
        What a reader should know before taking any of them.

    Examples
    --------
    >>> import tailguard as tg
    >>> advice = plan("mean", n_rows=100_000, n_features=10, epsilon=1.0, delta=1e-6)
    >>> advice.recommended.method
    "tg.mean(method='clipped')"
    """

    task: str
    n_rows: int
    n_features: int
    guarantee: Guarantee
    candidates: tuple[Candidate, ...]
    refusals: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def recommended(self) -> Candidate:
        """The method to take."""
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "task": self.task,
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "guarantee": self.guarantee.to_dict(),
            "recommended": self.recommended.method,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "not_possible": [{"method": name, "reason": why} for name, why in self.refusals],
            "notes": [*self.notes],
        }

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_text(self) -> str:
        """Return a table and the refusals."""
        width = max(len(candidate.method) for candidate in self.candidates)
        lines = [
            f"{self.task}: {self.guarantee.describe()}, n = {self.n_rows}, d = {self.n_features}",
            "No record was read. Errors are predictions of what is typical, not bounds.",
            "",
            f"  {'method':{width}} {'error':>9} {'passes':>7} {'noise':>9}",
        ]
        for candidate in self.candidates:
            mark = "*" if candidate is self.recommended else " "
            lines.append(
                f"{mark} {candidate.method:{width}} {_shown_cell(candidate.predicted_error)} "
                f"{candidate.n_passes:7g} {_shown_cell(candidate.noise_std)}"
            )
        lines += ["", f"* recommended. Error and noise are in {self.recommended.unit}"]
        lines[-1] += self._other_units()
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  {method} is not possible: {reason}" for method, reason in self.refusals]
        return "\n".join(lines)

    def _other_units(self) -> str:
        others = {candidate.unit for candidate in self.candidates} - {self.recommended.unit}
        return f"; of the others in {', '.join(sorted(others))}." if others else "."

    def __str__(self) -> str:
        """Return the table."""
        return self.to_text()


def plan(
    task: str,
    *,
    n_rows: int,
    n_features: int,
    guarantee: Guarantee | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    moment: Moment | None = None,
    diameter: float | None = None,
    **facts: float,
) -> Advice:
    """List the methods for a task with what each is expected to achieve; no record is read.

    Parameters
    ----------
    task
        ``"mean"``; ``"convex"``, ``"strongly-convex"`` or ``"sparse"`` for a risk to be minimised;
        or a loss of the estimators, such as ``"squared"`` or ``"logistic"``.
    n_rows, n_features
        Public sizes; an intercept counts as a feature.
    guarantee, epsilon, delta
        The promise, stated in one of the usual ways.
    moment
        Of the records for a mean, which can do without, or of the gradients.
    diameter
        Of the constraint set; for a loss of the estimators, and for ``"sparse"`` with
        ``n_nonzero``, both may be left out.
    facts
        What theorems ask besides: ``smoothness``, ``strong_convexity``, ``row_limit``,
        ``growth_constant``, ``n_nonzero``, ``gradient_bound``.

    Returns
    -------
    Advice
        ``recommended``, ``candidates`` and ``refusals``; prints as a table.

    Edge cases
    ----------
    A method that cannot be used is listed with its reason. If there is none that can, that is an
    ``InputError``. Predictions leave out the count of usable records, which takes .25 % of mu.

    Examples
    --------
    >>> import tailguard as tg
    >>> tg.plan("squared", n_rows=100_000, n_features=5, guarantee=tg.ZCDP(0.1)).recommended.method
    'tg.LinearRegression'
    """
    check_choice("task", task, TASKS)
    promise = resolve_guarantee(epsilon=epsilon, delta=delta, guarantee=guarantee)
    check_integer("n_rows", n_rows, minimum=1, maximum=MOST_ROWS)
    check_integer("n_features", n_features, minimum=1, maximum=MOST_COLUMNS)
    _check_facts(facts)
    if moment is not None:
        check_moment("moment", moment)
    if diameter is not None:
        check_positive("diameter", diameter)
        if diameter > LARGEST_DIAMETER:
            raise InputError(f"diameter must be at most {LARGEST_DIAMETER:g}; got {diameter:g}.")
    if task == "mean":
        return _mean_advice(n_rows, n_features, promise, moment)
    found: list[Candidate] = []
    refusals: list[tuple[str, str]] = []
    notes: list[str] = []
    if task in LOSSES:
        found, refusals, notes = _default(task, n_rows, n_features, promise)
        kind = "convex" if moment and diameter else None
    else:
        kind = task
    if task == "sparse" and "n_nonzero" in facts:
        kept = int(facts["n_nonzero"])
        found.append(_sparse_candidate(n_rows, n_features, promise, kept))
        kind = kind if moment and diameter else None
    if kind and (moment is None or diameter is None):
        raise InputError(
            f"{'n_nonzero, or ' * (task == 'sparse')}moment and diameter must be given for task "
            f"{task!r}, such as moment=tg.Moment(2.0, 1.0, kind='norm') and diameter=2.0."
        )
    if kind and (papers := wing("ranking")):
        sizes = n_rows, n_features, promise
        ranking = papers.rank(kind, *sizes, moment=moment, diameter=diameter, facts=facts)
        notes += ranking.notes(alone=not found)
        found += [_of_theorem(*each) for each in ranking.found]
        refusals += [(f"tg.papers.{name}", why) for name, why in ranking.refusals]
    require(
        bool(found or refusals),
        "task must be 'mean' or a loss: theorems are in tailguard.papers, which is not installed; "
        f"got {task!r}.",
    )
    if not found:
        missing = "" if task in LOSSES else "task must have a method here, and has none; "
        raise InputError(missing + refusals[0][1])
    return Advice(task, n_rows, n_features, promise, tuple(found), tuple(refusals), tuple(notes))


def _of_theorem(name: str, theorem: Any, excess: float) -> Candidate:
    unit = "units of the risk and its gradient"
    noise = theorem.noise_std
    return Candidate(f"tg.papers.{name}", excess, theorem.n_passes, noise, unit)


def _check_facts(facts: Mapping[str, float]) -> None:
    for name, value in facts.items():
        if name not in FACTS:
            raise InputError(f"{name} must not be given; theorems ask for {', '.join(FACTS)}.")
        check_positive(name, value)
        if name == "n_nonzero":
            check_integer(name, value, minimum=1)


def _mean_advice(
    n_rows: int, n_features: int, guarantee: Guarantee, moment: Moment | None
) -> Advice:
    """Return the public mean's own choice and its other methods."""
    problem = Problem(None, n_rows, n_features, moment=moment)
    choice = choose("auto", problem, guarantee)
    plans = (choice.plan, *choice.others)
    refusals = tuple((_mean_name(name), reason) for name, reason in choice.refusals)
    candidates = tuple(_of_mean(each, moment) for each in plans)
    return Advice("mean", n_rows, n_features, guarantee, candidates, refusals)


def _mean_name(method: str, more: str = "") -> str:
    return f"tg.mean(method={method!r}{more})"


def _of_mean(found: MeanPlan, moment: Moment | None) -> Candidate:
    error, size = found.expected, found.problem.n_features
    left_out = moment is not None and found.problem.moment is None
    name = _mean_name(found.solver, ", moment=None" if left_out else "")
    passes = sum(stage.times for stage in found.stages)
    noise = error.noise / math.sqrt(size)
    return Candidate(name, error.total, passes, noise, found.unit)


def _default(
    name: str, n_rows: int, n_features: int, guarantee: Guarantee
) -> tuple[list[Candidate], list[tuple[str, str]], list[str]]:
    """Return what the estimators do by default, which needs no public bound; or why it is nothing.

    A note comes with it.
    """
    loss = make_loss(name)
    method = _fitted_by(name, loss)
    columns = max(1, n_features - 1)
    problem = Problem(loss, n_rows, columns, intercept=n_features > 1)
    # docs/quickstart.md: 110 times the root of the columns, target included, over mu.
    least = 110.0 * math.sqrt(n_features) / guarantee.gaussian_mu()
    shows = f"below {least:.3g} records the budget shows no scales"
    note = f"{shows}: the default fit is then a constant."
    try:
        planned = solver_for("auto", problem).plan(problem, guarantee)
    except InputError as refused:
        return [], [(method, str(refused))], []
    if "predicted_privacy_error" not in planned.settings:  # a constant alone is planned
        return [], [(method, f"n_rows or the budget must be larger: {note}")], []
    assert problem.scored is not None  # as of every loss with a name
    error = float(planned.settings["predicted_privacy_error"])
    excess = error**2 / (2.0 * typical_curvature(problem.scored))
    passes = sum(stage.times for stage in planned.stages)
    noise = error / math.sqrt(problem.size)
    found = Candidate(method, excess, passes, noise, PRIVATE_UNITS)
    return [found], [], [note] * (n_rows < least)


def _fitted_by(name: str, loss: Loss | RecordLoss) -> str:
    """Return the public name that fits a loss: of the estimator that is called after it, if any."""
    place = ESTIMATORS.get("linear" if name == "squared" else name)
    return f"tg.{place.partition(':')[2]}" if place else f"tg.minimize({loss!r}, ...)"


def _sparse_candidate(
    n_rows: int, n_features: int, guarantee: Guarantee, n_nonzero: int
) -> Candidate:
    """Return what the sparse estimators do by default, which finds supports that theorems miss."""
    problem = Problem(make_loss("squared"), n_rows, n_features)
    planned = make_solver("hard-thresholding", n_nonzero=n_nonzero).plan(problem, guarantee)
    settings = planned.settings
    largest, step = float(settings["largest_noise"]), float(settings["step_size"])
    passes = sum(stage.times for stage in planned.stages)
    excess = n_nonzero * largest**2 / 2.0
    return Candidate("tg.SparseLinearRegression", excess, passes, largest / step, PRIVATE_UNITS)


def _shown_cell(value: float) -> str:
    return f"{value:9.3g}" if math.isfinite(value) else f"{'-':>9}"
