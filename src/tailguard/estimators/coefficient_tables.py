"""The methods of a fitted model on its coefficients: intervals, tests, tables and files."""

from collections.abc import Mapping
from itertools import cycle
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.data.declarations import OTHER, listing
from tailguard.data.missing import missing_constants
from tailguard.data.schema import Schema
from tailguard.estimators.contrasts import Contrasts, JointTest, joint_test
from tailguard.estimators.model_file import model_text
from tailguard.estimators.reports import model_report
from tailguard.estimators.summary import (
    NO_RECORDS,
    UNSEEN,
    coefficient_columns,
    missing_cells,
    note_line,
    summary_html,
    summary_table,
)
from tailguard.estimators.wald import intervals, wald_test
from tailguard.gate.plan import NOT_ESTIMATED
from tailguard.privacy.certificate import Certificate
from tailguard.report.content import Report, Reported, Stated, write_file
from tailguard.solvers.newton.covariance import RARE_LEVEL

# What has the answer here -> attributes of fitted models of other packages.
ELSEWHERE = {
    "coef_frame()": "params coefficients bse tvalues pvalues",
    "summary()": "summary2 summary_frame",
    "covariance_": "cov_params vcov normalized_cov_params",
    "conf_int()": "confint",
    "wald_test(contrasts)": "f_test t_test wald_test_terms",
    "predict(X, interval='mean')": "get_prediction predict_interval",
    "private_score(X, y)": "rsquared rsquared_adj prsquared aic bic llf deviance pseudo_rsquared",
    "predict(X)": "fittedvalues fitted",
    "certificate_.n_rows": "nobs n_samples_",
}


class CoefficientTables(Reported):
    """Mixin of estimators that have coefficients."""

    stated_in_titles: ClassVar[tuple[str, ...]] = ()
    """Parameters that say what is fitted: a summary without them could not be understood."""

    schema_: Schema | None
    missing: Mapping[str | int, float] | None
    n_features_in_: int
    notes_: tuple[str, ...]
    certificate_: Certificate
    _stored_plan: str

    def conf_int(self, level: float = 0.95) -> FloatArray:
        """Return the confidence interval of each coefficient, the intercept last.

        A row has the lower and the upper end, by the normal distribution. The estimand is the fit
        without privacy on these records, with features held within ``feature_bounds_``; if a fit is
        not corrected, extreme records count less, as ``summary`` says. Intervals also cover the
        change that another sample of records would make. They cost nothing more, since the fit was
        charged for the numbers in the standard errors. They count neither the choice of clip levels
        nor shrinkage. An interval is NaN, with the reason in ``reasons_``, if the coefficient was
        not estimated, if the budget is too small for the number of coefficients, or if noise or
        heavy columns hide the error of the coefficient.
        """
        check_is_fitted(self)
        return intervals(self, level)

    if not TYPE_CHECKING:  # a type checker would allow any name

        def __getattr__(self, name: str) -> Any:
            """Refuse a name that there is not; say where other packages' attributes are found."""
            if hasattr(type(self), name):  # a property that lacks another attribute
                return object.__getattribute__(self, name)
            ours = [our for our, words in ELSEWHERE.items() if name in words.split()]
            advice = f": see {ours[0]}" if ours else ""
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{advice}",
                name=name,
                obj=self,
            )

    @property
    def covariance_(self) -> FloatArray | None:
        """Covariance of the coefficients, the intercept last; NaN if there is no interval.

        It is None if the solver does not pay for a sampling variance.
        """
        root: FloatArray | None = getattr(self, "_covariance_root", None)
        return None if root is None else np.asarray(root @ root.T)

    @overload
    def wald_test(self) -> FloatArray: ...
    @overload
    def wald_test(self, contrasts: Contrasts) -> JointTest: ...
    def wald_test(self, contrasts: Contrasts | None = None) -> FloatArray | JointTest:
        """Return z and the two-sided p-value of each coefficient, the intercept last.

        The test is of a coefficient of zero, with the estimand and standard errors of ``conf_int``.
        If the interval is NaN, so is the test.

        Parameters
        ----------
        contrasts
            What to test instead, jointly for zero: the name of a coefficient; the name of a
            categorical column, for all of its estimated levels, or of any column, for all classes
            if there are more than two; a combination such as
            ``{"age": 1.0, "tenure": -1.0}``; a list of these; or an array with a column per
            coefficient, the intercept last. The answer has ``estimate`` and ``std`` of each
            contrast, and ``statistic``, ``df`` and ``p`` of the joint test.
        """
        check_is_fitted(self)
        return wald_test(self) if contrasts is None else joint_test(self, contrasts)

    def summary(self) -> str:
        """Return coefficients, their noise, intervals and tests in the user's units, as text.

        The table shows the centre of each interval: ``interval_center_`` if the fit has one.
        """
        check_is_fitted(self)
        return summary_table(self)

    def _repr_html_inner(self) -> str:
        """Return the HTML that a notebook shows; for a fitted model, its summary."""
        if hasattr(self, "certificate_"):
            return summary_html(self)
        return str(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the texts that a notebook shows, by their type."""
        html = getattr(self, "_repr_html_", None)  # None if scikit-learn's display is "text"
        return {"text/plain": repr(self)} | ({} if html is None else {"text/html": html()})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a JSON file, which ``tg.load`` and the command line read."""
        check_is_fitted(self)
        write_file(path, model_text(self))

    def coef_frame(self, level: float = 0.95) -> Any:
        """Return the table of ``summary`` as a pandas DataFrame, one row per coefficient.

        Its columns are ``coefficient``, ``noise_std``, ``std``, ``low``, ``high``, ``z``, ``p`` and
        ``reason``. If a coefficient was not estimated, it is NaN, and ``reason`` says why.

        Examples
        --------
        >>> import tailguard as tg
        >>> X = np.random.default_rng(0).standard_normal((1000, 2)) * [1.0, 0.0]
        >>> model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(X, X[:, 0])
        >>> frame = model.coef_frame()
        >>> frame.coefficient.notna().tolist(), frame.reason["x1"]
        ([True, False, True], 'not estimated: the budget did not show its column')
        """
        check_is_fitted(self)
        try:
            import pandas  # noqa: PLC0415 (not needed elsewhere)
        except ImportError:
            raise InputError("coef_frame needs pandas: pip install pandas.") from None
        names, columns = coefficient_columns(self, level)
        return pandas.DataFrame(columns, index=names)

    def _report(self, stated: Stated) -> Report:
        """Return the report of the fit."""
        check_is_fitted(self)
        return model_report(self, stated)

    def _constants(self) -> dict[int, float]:
        """Return constants for missing cells of a matrix; a schema fills in its own constants."""
        if self.schema_ is not None:
            return {}
        return missing_constants(self.missing, self.n_features_in_, self._names())

    def _names(self) -> tuple[str, ...] | None:
        """Return the names of the coefficients; None if the columns had no names."""
        if self.schema_ is not None:
            return self.schema_.coefficient_names
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def explain(self) -> str:
        """Describe how the budget was spent, the expected error, and decisions of the fit."""
        check_is_fitted(self)
        declared = missing_cells(self)
        lines = [f"  stands for missing cells: {declared}"] if declared else []
        lines += [f"  {note_line(note)}" for note in self.notes_]
        lines += self.certificate_.mode_lines
        return "\n".join([self._plan_text(), *lines]).rstrip()

    def _plan_text(self) -> str:
        """Return the text of the plan; for a model from a file, the stored text."""
        return self.plan_.explain() if hasattr(self, "plan_") else str(self._stored_plan)


def unseen_others(
    schema: Schema, reasons: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return reasons and notes; both say if no records with undeclared levels were counted."""
    if not reasons:
        return reasons, ()
    names = schema.coefficient_names
    column_of_name = {f"{column}={OTHER}": column for column in schema.categorical}
    no_records = f"{NOT_ESTIMATED}: {RARE_LEVEL}"
    # For more than two classes, reasons list all columns class by class, then the intercepts.
    reason_of_name = zip(cycle(names), reasons, strict=False)
    column_of_place = {
        place: column_of_name[name]
        for place, (name, reason) in enumerate(reason_of_name)
        if name in column_of_name and reason == no_records
    }
    if not column_of_place:
        return reasons, ()
    corrected = tuple(
        NO_RECORDS if place in column_of_place else each for place, each in enumerate(reasons)
    )
    note = (
        f"{UNSEEN}{listing([*dict.fromkeys(column_of_place.values())])} that were not declared: "
        "predictions for these are the baseline's"
    )
    return corrected, (note,)
