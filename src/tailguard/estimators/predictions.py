"""Predictions for the default methods of the estimators, from public sizes; no record is read.

Reference
---------
The predictions are those of the plans of :mod:`tailguard.solvers` (for sparse models Tao, Wu, Cheng
and Wang 2022, Algorithm 5).
"""

import math
from dataclasses import replace
from functools import lru_cache

from tailguard.checks import InputError
from tailguard.estimators.registry import ESTIMATORS
from tailguard.gate.advice import Candidate
from tailguard.gate.plan import Problem
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.privacy.guarantees import Guarantee
from tailguard.scaling.required_records import rounded
from tailguard.solvers.limits import typical_curvature
from tailguard.solvers.newton.outlook import useful_rows
from tailguard.solvers.registry import make_solver, solver_for

PRIVATE_UNITS = "private units, of columns of unit scale; privacy noise only"
TASK_OF_MODEL = {"linear": "squared", "sparse-linear": "sparse"} | {
    model: loss
    for model in ESTIMATORS
    if (loss := model.replace("-", "_")) != model and loss in LOSSES
}
"""Names of estimators whose task is called otherwise."""
MODEL_OF_TASK = {task: model for model, task in TASK_OF_MODEL.items()}
SPARSE = {"sparse": "squared", "sparse-logistic": "logistic"}
"""Tasks of sparse models, and their losses."""

_useful_rows = lru_cache(maxsize=100)(useful_rows)  # it does not depend on n_rows


def default_candidates(
    name: str, n_rows: int, n_features: int, guarantee: Guarantee
) -> tuple[list[Candidate], list[tuple[str, str]], list[str], int | None]:
    """Return candidates, refusals and notes of a loss's default method, which needs no bounds.

    The last value is the number of records from which it beats a constant, or None.
    """
    if name not in LOSSES:
        return [], [], [], None
    loss = make_loss(name)
    method = _estimator_of(name) or f"tg.minimize({loss!r}, ...)"
    columns = max(1, n_features - 1)
    problem = Problem(loss, n_rows, columns, intercept=n_features > 1)
    try:
        fit_plan = solver_for("auto", problem).plan(problem, guarantee)
    except InputError as refusal:
        return [], [(method, str(refusal))], [], None
    fewest = _useful_rows(replace(problem, n_rows=1), guarantee)
    note = f"below about {rounded(fewest)} records the default fit is little more than a constant."
    useful_from = None if math.isinf(fewest) else int(fewest)
    if "predicted_privacy_error" not in fit_plan.settings:  # the plan fits only a constant
        return [], [(method, f"n_rows or the budget must be larger: {note}")], [], useful_from
    assert problem.scored is not None  # named losses have a scored form
    error = float(fit_plan.settings["predicted_privacy_error"])
    excess = error**2 / (2.0 * typical_curvature(problem.scored))
    passes = sum(stage.times for stage in fit_plan.stages)
    candidate = Candidate(method, excess, passes, error / math.sqrt(problem.size), PRIVATE_UNITS)
    return [candidate], [], [note] * (n_rows < fewest), useful_from


def _estimator_of(task: str) -> str | None:
    """Return the public name of the estimator of a task, or None if there is none."""
    model = MODEL_OF_TASK.get(task, task)
    return f"tg.{ESTIMATORS[model].partition(':')[2]}" if model in ESTIMATORS else None


def sparse_candidate(
    task: str, n_rows: int, n_features: int, guarantee: Guarantee, n_nonzero: int
) -> Candidate:
    """Return the default of the sparse estimators; it finds supports that theorems miss."""
    problem = Problem(make_loss(SPARSE[task]), n_rows, n_features)
    fit_plan = make_solver("hard-thresholding", n_nonzero=n_nonzero).plan(problem, guarantee)
    settings = fit_plan.settings
    largest, step = float(settings["largest_noise"]), float(settings["step_size"])
    passes = sum(stage.times for stage in fit_plan.stages)
    assert problem.scored is not None  # both losses have a scored form
    excess = typical_curvature(problem.scored) * n_nonzero * largest**2 / 2.0
    method = str(_estimator_of(task))
    return Candidate(method, excess, passes, largest / step, PRIVATE_UNITS)
