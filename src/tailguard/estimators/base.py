"""The base of all estimators: from arguments to a plan, a certificate and coefficients."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from tailguard.array_types import Features, FloatArray
from tailguard.checks import InputError, check_boolean, check_choice, require
from tailguard.data.columns import doubled
from tailguard.data.design import design_matrix, takes_off, with_declared, with_offset
from tailguard.data.frames import check_in_memory
from tailguard.data.inputs import Inputs, read_inputs
from tailguard.data.matrices import check_no_path, dense_pieces, to_features
from tailguard.data.missing import filled
from tailguard.data.schema import Declared, Schema
from tailguard.estimators.arguments import (
    CountedFits,
    check_exposure,
    check_target,
    fits_of,
    twin,
    with_shared,
)
from tailguard.estimators.coefficient_tables import CoefficientTables, unseen_others
from tailguard.estimators.private_score import PrivatelyScored, products_by_row
from tailguard.estimators.wald import score_intervals
from tailguard.gate import Gate
from tailguard.gate.engine import Solved, Solver, count_fit, run
from tailguard.gate.plan import INTERCEPT, Plan, Problem, check_ridge
from tailguard.gate.record_check import RecordRule
from tailguard.losses.base import Loss
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed
from tailguard.privacy.guarantees import Guarantee, resolve_guarantee
from tailguard.progress import progress_bar
from tailguard.sets.base import ConstraintSet
from tailguard.solvers.registry import plan_for, planned_guarantee

EXTRAPOLATIONS = ("bounded", "linear")
"""The treatment of a feature beyond the bounds of the fit, in predictions."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearModel(CountedFits, CoefficientTables, PrivatelyScored, BaseEstimator):
    """Base of the estimators of a linear score.

    A subclass defines its loss. It is a dataclass; its fields are the parameters that scikit-learn
    expects in a constructor. A record with a missing or infinite value is void: it adds nothing to
    the fit but is counted. ``missing`` declares constants for missing values instead.

    Parameters
    ----------
    epsilon, delta
        The privacy parameters. There is no default.
    guarantee
        Instead of them: ``tg.ApproxDP``, ``tg.ZCDP`` or ``tg.GDP``.
    fit_intercept
        Whether to fit a constant.
    missing
        Column name or number -> a public constant for its missing cells, in fits and predictions.
    schema
        Declarations of a table's columns: a ``tg.Schema``, a dict or the path of a JSON file.
    weight_bound
        The largest ``sample_weight`` that counts in full, chosen without looking at the rows;
        larger ones are cut.
    person, max_rows, weight
        The column of person keys: all rows of a person are then protected together; None protects
        single rows. The most rows used of one person, chosen without looking at the rows. Whether
        each ``"person"`` counts once, or each used ``"row"``.
    one_row_per_person
        True states that no person has two rows; the certificate repeats it.
    extrapolate
        ``"bounded"``: a prediction cuts each feature to ``feature_bounds_``, as the fit did, and
        stays within ``score_bounds_``; ``"linear"``: it reads features as they are.
    solver
        ``"auto"``, a name from the solver registry, or a solver object.
    ledger
        A ``tg.Ledger`` that is charged before the fit reads a record.
    checkpoint
        Path of a file to which each answer is written before the fit goes on: if the process
        stops, the same fit continues from there when it is started again, and pays nothing twice.
    check_records, on_unusable
        Whether a fit begins with a count of usable records, at .5 % of its squared mu. If surely
        under half are usable, ``"stop"`` spends 2 % of the squared mu to find the column to blame,
        and raises ``tg.UnusableTableError``; ``"fit"`` continues and adds a note.
    verbose
        Whether a fit shows its progress on a terminal or in a notebook.
    random_state
        None draws cryptographic noise. An int switches to a reproducible simulation that is NOT
        PRIVATE; its certificate, texts and reports state this, its predictions and pictures do not.

    Attributes
    ----------
    coef_, intercept_
        The released coefficients, in the user's units.
    feature_bounds_
        Bounds of each feature; ``coef_`` is a slope within them. None if features are not cut.
    score_bounds_
        Least and largest score of a prediction. Without exposures both are finite for Gamma and
        Tweedie, the largest for Poisson. With several classes, those of log-probabilities.
    coef_noise_std_, intercept_noise_std_
        Predicted standard deviation of the privacy noise of each, given the choices made on noisy
        histograms; NaN for coefficients that were not estimated. If there is an
        ``interval_center_``, it is the noise of that centre.
    coef_std_, intercept_std_
        Standard deviation from sampling and privacy noise together, which ``conf_int`` uses.
    covariance_
        Covariance of the coefficients, the intercept last, from sampling and privacy noise; NaN for
        coefficients without an interval, None if the solver releases no sampling variance.
    interval_center_
        The centre of the intervals, the intercept last, if it is not ``coef_``.
    reasons_
        The reason why each coefficient, the intercept last, has no interval or was not estimated;
        empty if it has an interval.
    notes_
        Assumptions about columns and labels, how many records are usable, and decisions of the fit.
    certificate_, plan_
        The promise, costs, releases and assumptions; the plan.
    schema_
        The schema with the names of its features; None without a schema.
    """

    epsilon: float | None = None
    delta: float | None = None
    guarantee: Guarantee | None = None
    fit_intercept: bool = True
    missing: Mapping[str | int, float] | None = None
    schema: Declared | None = None
    weight_bound: float | None = None
    person: str | None = None
    max_rows: int | None = None
    weight: str = "person"
    one_row_per_person: bool = False
    extrapolate: str = "bounded"
    solver: str | Solver = "auto"
    ledger: AnyLedger | None = None
    checkpoint: str | PathLike[str] | None = None
    check_records: bool = True
    on_unusable: str = "stop"
    verbose: bool = False
    random_state: int | None = None

    takes_exposure: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Complete the subclass's docstring."""
        super().__init_subclass__(**options)
        if cls.__doc__ and PrivateLinearModel.__doc__:
            cls.__doc__ = with_shared(cls.__doc__, PrivateLinearModel.__doc__)

    def _solver(self) -> str | Solver:
        """Return the solver that the estimator's parameters ask for."""
        return self.solver

    def _loss(self) -> Loss:
        """Return the loss that the estimator minimises."""
        raise TypeError(f"{type(self).__name__} must define _loss.")

    def _constraint(self) -> ConstraintSet | None:
        """Return the set of allowed weights, in the user's units; None leaves it to the solver."""
        return None

    def _given_schema(self) -> Schema | None:
        """Return the schema, completed by the declarations among the parameters, or None."""
        if self.schema is None:
            return None
        classes = getattr(self, "classes", None)
        schema = Schema.of(self.schema).with_declared(missing=self.missing, classes=classes)
        if schema.classes is not None and not hasattr(self, "classes"):
            raise InputError(f"classes must not be declared for a {type(self).__name__}.")
        return schema

    def _labels(self, y: Any) -> tuple[Any, ...] | None:
        """Return the labels that targets are compared with; None if targets are numbers."""
        return None

    def _assumptions(self) -> tuple[str, ...]:
        """Return assumptions about the records that follow from the parameters."""
        return ()

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        columns: Any = None,
        formula: str | None = None,
        row_id: str | None = None,
        order: str = "file",
        exposure: Any = None,
        offset: Any = None,
        sample_weight: Any = None,
        person: Any = None,
    ) -> Self:
        """Fit privately; see the class for the guarantee.

        Parameters
        ----------
        X
            Numeric columns: a NumPy array, a sparse matrix of SciPy, or a pandas, polars or pyarrow
            table; or the path of a file, a folder or a pattern of Parquet files, or another source
            that is read in batches.
        y
            One number per row, or one label per row for a logistic model: a typed column, or any
            sequence if ``classes`` are given. None takes the column of X that ``target`` or the
            schema names.
        target, columns
            The name of the target column, and a list of the names of the features; by default all
            other columns.
        formula
            Target and features as in ``"cost ~ age + C(region) + log1p(income)"``, with the levels
            of a schema.
        row_id
            The name of a column with a different value in every row: the rows then need no order.
        order
            ``"any"`` if rows have neither an order nor a ``row_id``, for methods that use no order.
        exposure, offset, sample_weight
            How long each row was observed, for log links; a number added to its score; its weight,
            which needs a ``weight_bound``. Each is one number per row or the name of a column, by
            default as the schema declares.
        person
            A key per row that identifies its person, or the name of a column of keys, by default
            that of the estimator or the schema; needs ``max_rows``.
        """
        solver = self._solver()
        rule = RecordRule(self.check_records, self.on_unusable)
        asked = resolve_guarantee(epsilon=self.epsilon, delta=self.delta, guarantee=self.guarantee)
        guarantee = planned_guarantee(self.solver, asked, self.ledger)
        arguments = {"target": target, "columns": columns, "formula": formula, "row_id": row_id}
        arguments |= {"order": order, "exposure": exposure, "offset": offset}
        arguments |= {"sample_weight": sample_weight, "person": person}
        table, labels, problem = self._task(X, y, **arguments)
        planned_solver, plan, check = rule.plan(
            lambda left: plan_for(solver, problem, left), guarantee, problem, table.columns
        )
        gate = Gate.over(
            table,
            guarantee=guarantee,
            loss=problem.loss,
            classes=labels,
            ledger=self.ledger,
            checkpoint=self.checkpoint,
            random_state=self.random_state,
        )
        if self.ledger is None and self.checkpoint is None and self.random_state is None:
            event = plan.event if check is None else Composed((check.event, plan.event))
            count_fit(fits_of(self), event, guarantee)  # may warn
        fitted = twin(self)  # a run that fails leaves the earlier fit as it was
        fitted._keep_columns(X, table.schema)
        assumed = (*self._assumptions(), *table.assumptions(bound=self.weight_bound))
        with progress_bar(check_boolean("verbose", self.verbose)):
            fitted._keep(run(planned_solver, plan, gate, assumptions=assumed, check=check))
        self.__dict__ = fitted.__dict__
        return self

    def _task(
        self, X: Any, y: Any, **arguments: Any
    ) -> tuple[Inputs, tuple[Any, ...] | None, Problem]:
        """Return the table, the labels of its target if any, and the problem, without its rows."""
        if isinstance(y, str) or (isinstance(X, str) and "~" in X):
            raise InputError(
                "y must be a column of numbers or labels: formulas and names are not read there. A "
                "column of X is named as in fit(X, target='cost'), a formula is given as in fit(X, "
                "formula='cost ~ age')."
            )
        check_choice("extrapolate", self.extrapolate, EXTRAPOLATIONS)
        schema = self._given_schema()
        check_exposure(self, arguments["exposure"], schema.exposure if schema else None)
        arguments = with_declared(arguments, schema, self.weight_bound)
        if not (self.person is None or isinstance(self.person, str)):
            raise InputError(
                "person must be the name of a column; give keys beside X: fit(X, y, person=keys)."
            )
        keys = arguments.pop("person", None)
        persons = {"keys": self.person if keys is None else keys, "max_rows": self.max_rows}
        persons |= {"weight": self.weight, "one_row_per_person": self.one_row_per_person}
        table = read_inputs(X, y, schema=schema, missing=self.missing, persons=persons, **arguments)
        for column in table.targets or (None,):  # without a target, an error
            check_target(self, column)
            labels = self._labels(column)
        if labels is not None:
            table = replace(table, target_role="labels")
        return table, labels, self._problem(table)

    def _problem(self, table: Inputs) -> Problem:
        """Return the problem of the fit: its public facts."""
        require(
            INTERCEPT not in (table.names or ()) or not self.fit_intercept,
            f"X must have no feature called {INTERCEPT!r}, which names the constant in tables: "
            "rename the column, or leave it out. For a fit without a constant, set "
            "fit_intercept=False.",
        )
        loss = self._loss()
        return Problem(
            loss,
            table.n_records,
            table.n_features,
            intercept=check_boolean("fit_intercept", self.fit_intercept),
            constraint=self._constraint(),
            has_offset=table.offset is not None and not takes_off(loss),
            has_weights=table.has_weights,
            max_rows=table.max_rows,
            levels=() if table.schema is None else table.schema.level_columns,
            ridge=check_ridge(getattr(self, "alpha", 0.0)),
        )

    def _keep(self, solved: Solved) -> None:
        """Store the results."""
        solution = solved.solution
        self.coef_: FloatArray = solution.coef
        self.intercept_: Any = solution.intercept
        self.feature_bounds_: FloatArray | None = solution.feature_bounds
        self.score_bounds_: FloatArray = np.array(solution.score_bounds)
        self.plan_: Plan = solution.plan
        self.certificate_: Certificate = solved.certificate
        self.coef_noise_std_ = solution.coef_noise_std
        self.intercept_noise_std_: Any = solution.intercept_noise_std
        self.coef_std_ = solution.coef_std
        self.interval_center_ = solution.center
        self.intercept_std_: Any = solution.intercept_std
        self._covariance_root = solution.covariance_root
        self._residual_shares = solution.residual_shares
        self._residual_center = solution.residual_center
        self.reasons_, self.notes_ = solution.reasons, solved.notes
        if self.schema_ is not None:
            self.reasons_, unseen = unseen_others(self.schema_, solution.reasons)
            self.notes_ = (*self.notes_, *unseen)

    def _keep_columns(self, X: Any, schema: Schema | None) -> None:
        """Store the fitted columns, for predictions from other tables."""
        self.schema_: Schema | None = schema
        if schema is None:
            validate_data(self, X, skip_check_array=True)
        else:
            self.feature_names_in_ = np.array(schema.features, dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)

    def _score_of(
        self,
        X: Any,
        *,
        exposure: Any = None,
        offset: Any = None,
        interval: str | None = None,
        level: float = 0.95,
    ) -> FloatArray:
        """Return the score of each row, or its interval; by default at an offset of zero."""
        check_is_fitted(self)
        check_exposure(self, exposure)
        pieces = self._features_of(X)
        if interval is None:
            score = np.concatenate([self._score_of_piece(piece) for piece in pieces])
        else:
            score = score_intervals(self, pieces, interval, level)
        return with_offset(score, X, exposure, offset)

    def _features_of(self, X: Any) -> Iterator[Features]:
        """Yield the features of predictions, some rows at a time."""
        check_is_fitted(self)
        check_no_path(X)
        check_in_memory(X)
        if self.schema_ is None:
            features = to_features(X)
            validate_data(self, X, skip_check_array=True, reset=False)
        else:
            features = design_matrix(X, self.schema_)
        check_choice("extrapolate", self.extrapolate, EXTRAPOLATIONS)
        for piece in dense_pieces(features):
            cells = doubled(filled(piece, self._constants()))  # in double precision
            if self.extrapolate == "bounded" and self.feature_bounds_ is not None:
                bounded = np.clip(cells, *self.feature_bounds_.T)
                # As in the fit, an infinite cell counts as missing.
                cells = np.where(np.isfinite(cells), bounded, np.nan)
            yield cells

    def _score_of_piece(self, features: Features) -> FloatArray:
        with np.errstate(all="ignore"):
            score: FloatArray = products_by_row(features, self.coef_) + self.intercept_
        bounded = self.extrapolate == "bounded"
        return self._loss().bounded(score, *self.score_bounds_) if bounded else score

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that answers are random and that NaN is no error."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True  # read as numbers, cell by cell
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
