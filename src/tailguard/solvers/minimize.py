"""Private minimisation of any loss over any set: the general form of the estimators."""

from os import PathLike
from typing import Any

from tailguard.checks import InputError, check_boolean, check_methods, named_arguments
from tailguard.data.design import Offset, offset_given, takes_off
from tailguard.data.inputs import Inputs, read_inputs
from tailguard.data.labels import check_plain_labels, classes_assumed, n_labels
from tailguard.gate import Gate
from tailguard.gate.engine import Solved, Solver, run
from tailguard.gate.plan import Problem
from tailguard.gate.record_check import RecordRule
from tailguard.losses.base import Loss, RecordLoss
from tailguard.losses.compiled import Gradient
from tailguard.losses.record_gradient import RecordGradient
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.guarantees import Guarantee, resolve_guarantee
from tailguard.queries.admission import check_known
from tailguard.sets.base import ConstraintSet, check_set
from tailguard.solvers.registry import plan_for, planned_guarantee


@named_arguments
def minimize(
    loss: Loss | RecordLoss | Gradient,
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    columns: Any = None,
    row_id: str | None = None,
    order: str = "file",
    epsilon: float | None = None,
    delta: float | None = None,
    guarantee: Guarantee | None = None,
    constraint: ConstraintSet | None = None,
    intercept: bool = False,
    exposure: Any = None,
    offset: Any = None,
    sample_weight: Any = None,
    weight_bound: float | None = None,
    person: Any = None,
    max_rows: int | None = None,
    weight: str = "person",
    classes: Any = None,
    solver: str | Solver = "auto",
    ledger: AnyLedger | None = None,
    checkpoint: str | PathLike[str] | None = None,
    check_records: bool = True,
    on_unusable: str = "stop",
    random_state: int | None = None,
) -> Solved:
    """Minimise the mean loss over the records, privately.

    Parameters
    ----------
    loss
        A loss of ``tg.losses``, or your own gradient of ONE record ``(w, x, y) -> array``, in
        plain Python or compiled with ``numba.njit``. It must keep no state between calls.
    X, y, target, columns, row_id, order
        Numeric columns and, if the loss has one, a target; or a source that is read in batches,
        with the names of its columns, as for ``LinearRegression``.
    epsilon, delta, guarantee
        The privacy parameters. There is no default.
    constraint
        The set of allowed weights, in the user's units. If there is no constraint and the loss has
        a score, the method of the estimators is used, in privately released units.
    intercept
        Whether a constant is fitted, for losses of a score. The constraint applies to it as the
        last weight.
    exposure, offset, sample_weight, weight_bound, person, max_rows, weight, classes
        As for ``PoissonRegression`` and ``LogisticRegression``. If no classes are declared, the
        labels of a loss of k classes are 0 to k - 1.
    solver, ledger, checkpoint, check_records, on_unusable, random_state
        As for ``LinearRegression``.

    Returns
    -------
    Solved
        With ``coef``, ``intercept``, ``plan``, ``notes`` and ``certificate``.

    Guarantee
    ---------
    For every input, the result is private at the stated guarantee, for replace-one neighbours with
    public ``n``.

    Edge cases
    ----------
    Your gradient gets a copy of one record. If it raises an exception or returns a wrong shape, the
    record is void.
    There is no vectorised form, since it could mix records.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> data = tg.datasets.heavy_tailed_linear(n_rows=2000, n_features=3, seed=0)
    >>> solved = tg.minimize(
    ...     tg.losses.Huber(1.0), data.features, data.target,
    ...     guarantee=tg.ApproxDP(1.0, 1e-6), constraint=tg.sets.L2Ball(2.0),
    ... )
    >>> bool(np.linalg.norm(solved.coef) <= 2.0 + 1e-9)
    True
    """
    requested = resolve_guarantee(epsilon=epsilon, delta=delta, guarantee=guarantee)
    planned = planned_guarantee(solver, requested, ledger)
    stated = _stated(loss)
    if y is None and target is None and stated.needs_target:
        raise InputError(f"y must be given: {stated!r} compares a score with a target.")
    _check_offset(stated, offset_given(exposure, offset))
    if constraint is not None:
        check_set("constraint", constraint)
    options: dict[str, Any] = {"target": target, "columns": columns}
    options |= {"row_id": row_id, "order": order}
    options |= {"exposure": exposure, "offset": offset, "sample_weight": sample_weight}
    persons = {"keys": person, "max_rows": max_rows, "weight": weight}
    table = read_inputs(X, y, **options, weight_bound=weight_bound, persons=persons)
    assumed = _assumed(stated, table, classes)
    problem = _problem(stated, table, constraint, check_boolean("intercept", intercept))
    chosen_solver, plan, check = RecordRule(check_records, on_unusable).plan(
        lambda rest: plan_for(solver, problem, rest), planned, problem, table.columns
    )
    gate = Gate.over(
        table,
        guarantee=planned,
        loss=problem.loss,
        classes=classes,
        ledger=ledger,
        checkpoint=checkpoint,
        random_state=random_state,
    )
    return run(chosen_solver, plan, gate, assumptions=(*assumed, *table.assumptions()), check=check)


def _check_offset(stated: Loss | RecordLoss, given: Offset | None) -> None:
    """Refuse an exposure or offset if the loss has no score to add it to."""
    if given is not None and not hasattr(stated, "slope"):
        raise InputError(
            f"{given.role} must be None for a loss known one record at a time, which has no "
            "score to add it to."
        )


def _problem(
    loss: Loss | RecordLoss, table: Inputs, constraint: ConstraintSet | None, intercept: bool
) -> Problem:
    """Return the public facts of a fit."""
    return Problem(
        loss,
        table.n_records,
        table.n_features,
        intercept=intercept,
        constraint=constraint,
        has_offset=table.offset is not None and not takes_off(loss),
        has_weights=table.has_weights,
        max_rows=table.max_rows,
    )


def _assumed(loss: Loss | RecordLoss, table: Inputs, classes: Any) -> tuple[str, ...]:
    """Return the note on undeclared labels; refuse labels that need a declaration."""
    if loss.n_classes is None:
        return ()
    if classes is not None:
        if n_labels(classes) > loss.n_classes:
            raise InputError(
                f"classes must be at most {loss.n_classes} labels for {loss!r}; got "
                f"{n_labels(classes)}."
            )
        return ()
    for labels in table.targets:
        check_plain_labels(labels)
    return (classes_assumed(loss.n_classes),)


def _stated(loss: Loss | RecordLoss | Gradient) -> Loss | RecordLoss:
    """Return the loss; wrap a bare gradient."""
    expected = "a loss of tg.losses, or a function (weights, features, target) -> gradient"
    check_methods("loss", loss, (), expected)
    if callable(loss):
        return RecordGradient(loss)
    check_known(loss)
    return loss
