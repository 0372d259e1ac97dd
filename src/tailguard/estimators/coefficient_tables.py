"""The methods of a fitted model on its coefficients: intervals, tests, tables and files."""

from collections.abc import Mapping
from itertools import cycle
from os import PathLike
from typing import Any, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tailguard.array_types import FloatArray
from tailguard.checks import InputError
from tailguard.data.declarations import OTHER, listing
from tailguard.data.missing import missing_constants
from tailguard.data.schema import Schema
from tailguard.estimators.model_file import model_text
from tailguard.estimators.reports import model_report
from tailguard.estimators.summary import (
    NO_RECORDS,
    UNSEEN,
    coefficient_rows,
    missing_cells,
    note_line,
    summary_html,
    summary_table,
)
from tailguard.estimators.wald import Contrasts, JointTest, intervals, joint_test, wald_test
from tailguard.gate.plan import NOT_ESTIMATED
from tailguard.report.content import Report, Reported, Stated, write_file
from tailguard.solvers.newton.covariance import RARE_LEVEL


class CoefficientTables(Reported):
    """Mixin of estimators that have coefficients."""

    schema_: Schema | None
    missing: Mapping[str | int, float] | None
    n_features_in_: int
    notes_: tuple[str, ...]
    _stored_plan: str

    def conf_int(self, level: float = 0.95) -> FloatArray:
        """Return a confidence interval per coefficient, the intercept last: sampling and noise.

        One row of low and high per coefficient, from the normal distribution. They are of what the
        fit without privacy would give on these records, features held within ``feature_bounds_``;
        of fits that are not corrected records that reach far count less, as ``summary`` says. They
        also cover what another sample of records would change. Standard errors are
        of numbers that the fit was charged for, so asking costs nothing more. Not covered: the
        choice of clip levels, and shrinkage. NaN, with the reason in ``reasons_``, where the budget
        is too small for the number of coefficients, or where noise or heavy columns hide how far
        off a coefficient may be; and for coefficients that were not estimated.
        """
        check_is_fitted(self)
        return intervals(self, level)

    @property
    def covariance_(self) -> FloatArray | None:
        """Covariance of the coefficients, the intercept last; NaN where no interval holds.

        None where the solver pays for no sampling variance.
        """
        root: FloatArray | None = getattr(self, "_covariance_root", None)
        return None if root is None else np.asarray(root @ root.T)

    @overload
    def wald_test(self) -> FloatArray: ...
    @overload
    def wald_test(self, contrasts: Contrasts) -> JointTest: ...
    def wald_test(self, contrasts: Contrasts | None = None) -> FloatArray | JointTest:
        """Return z and p-value of the test that a coefficient is zero, the intercept last.

        Two-sided, of the coefficient that ``conf_int`` is of, from the same standard errors, and
        NaN where that is.

        Parameters
        ----------
        contrasts
            Tests instead that all of these are zero: names of coefficients or of categorical
            columns, which stand for their levels that were estimated; combinations such as
            ``{"age": 1.0, "tenure": -1.0}``; a list of them; or an array with a column per
            coefficient, the intercept last. The answer has ``estimate`` and ``std`` of each
            contrast, and ``statistic``, ``df`` and ``p`` of the joint test.
        """
        check_is_fitted(self)
        return wald_test(self) if contrasts is None else joint_test(self, contrasts)

    def summary(self) -> str:
        """Return coefficients, their noise, intervals and tests in the user's units, as text.

        A coefficient is what its interval lies about, ``interval_center_`` where there is one.
        """
        check_is_fitted(self)
        return summary_table(self)

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: of a fitted model, its summary as a page."""
        if hasattr(self, "certificate_"):
            return summary_html(self)
        return str(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what a notebook shows, by the type of its text."""
        html = getattr(self, "_repr_html_", None)  # which scikit-learn's display option hides
        return {"text/plain": repr(self)} | ({} if html is None else {"text/html": html()})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a JSON file, which ``tg.load`` and the command line read."""
        check_is_fitted(self)
        write_file(path, model_text(self))

    def coef_frame(self, level: float = 0.95) -> Any:
        """Return the table of ``summary`` as a pandas DataFrame, one row per coefficient.

        Its columns are ``coefficient``, ``noise_std``, ``std``, ``low``, ``high``, ``z``, ``p`` and
        ``reason``: a coefficient that was not estimated is NaN, and the reason says why.

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
        model: Any = self
        rows = coefficient_rows(model)
        nothing = np.full((len(rows), 2), np.nan)
        known = model.coef_std_ is not None
        reach, tests = (intervals(model, level), wald_test(model)) if known else (nothing, nothing)
        std = np.append(model.coef_std_, model.intercept_std_) if known else nothing[:, 0]
        return pandas.DataFrame(
            {
                "coefficient": [value for _, value, _ in rows],
                "noise_std": [noise for _, _, noise in rows],
                "std": std[: len(rows)],
                "low": reach[:, 0],
                "high": reach[:, 1],
                "z": tests[:, 0],
                "p": tests[:, 1],
                "reason": list(model.reasons_) or [""] * len(rows),
            },
            index=[name for name, _, _ in rows],
        )

    def _report(self, stated: Stated) -> Report:
        """Return the report of the fit."""
        check_is_fitted(self)
        return model_report(self, stated)

    def _constants(self) -> dict[int, float]:
        """Return what stands for missing cells of a matrix; a schema's are filled as it is read."""
        if self.schema_ is not None:
            return {}
        return missing_constants(self.missing, self.n_features_in_, self._names())

    def _names(self) -> tuple[str, ...] | None:
        """Return the names of the coefficients, where the columns had names."""
        if self.schema_ is not None:
            return self.schema_.coefficient_names
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def explain(self) -> str:
        """Describe what the budget was spent on, what error to expect, and what was decided."""
        check_is_fitted(self)
        declared = missing_cells(self)
        lines = [f"  stands for missing cells: {declared}"] if declared else []
        lines += [f"  {note_line(note)}" for note in self.notes_]
        return "\n".join([self._plan_text(), *lines]).rstrip()

    def _plan_text(self) -> str:
        """Return what the budget was spent on; of a model from a file, as it was written."""
        return self.plan_.explain() if hasattr(self, "plan_") else str(self._stored_plan)


def unseen_others(
    schema: Schema | None, reasons: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return reasons and a note if no records of undeclared levels were counted."""
    if schema is None or not reasons:
        return reasons, ()
    names = schema.coefficient_names
    others = {f"{column}={OTHER}": column for column in schema.categorical}
    unseen = f"{NOT_ESTIMATED}: {RARE_LEVEL}"
    # Of several classes a reason for each column comes once a class, those of intercepts last.
    named = zip(cycle(names), reasons, strict=False)
    places = {
        place: others[name]
        for place, (name, reason) in enumerate(named)
        if name in others and reason == unseen
    }
    if not places:
        return reasons, ()
    corrected = tuple(NO_RECORDS if place in places else each for place, each in enumerate(reasons))
    note = (
        f"{UNSEEN}{listing([*dict.fromkeys(places.values())])} that were not declared: "
        "predictions for these are the baseline's"
    )
    return corrected, (note,)
