"""A private score of a fitted model on rows of the user's choice."""

from hashlib import sha256
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tailguard.array_types import Features, FloatArray
from tailguard.checks import InputError, require, warn_before_spending
from tailguard.data.design import column_of
from tailguard.data.inputs import scored_inputs
from tailguard.data.matrices import check_no_path
from tailguard.estimators.arguments import check_exposure, check_target
from tailguard.losses.base import Loss
from tailguard.losses.multinomial import Multinomial
from tailguard.losses.squared import Squared
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.guarantees import Guarantee
from tailguard.summaries.released import released
from tailguard.summaries.scores.classes import ClassScoreStatistics
from tailguard.summaries.scores.score import ScoreResult, ScoreSolution, ScoreStatistics

# The guarantee of a score does not cover a model that was fitted to the same rows without privacy.
OF_A_RELEASED_MODEL = "the model is public, or was released under a promise of its own"
NOT_COUNTED = (
    "no ledger counts this score: if its rows or persons are those of the fit, the costs of both "
    "add up, and each certificate states its own run alone; give both runs one ledger (tg.Ledger, "
    "or --ledger) to count and to cap them."
)
"""The warning of a score without a ledger, as of a second fit."""
OF_A_SIMULATION = "the model is public: the run that fitted it is NOT PRIVATE and has no promise"


class PrivatelyScored:
    """Mixin of estimators that can be scored privately."""

    def private_score(
        self,
        X: Any,
        y: Any = None,
        *,
        exposure: Any = None,
        offset: Any = None,
        sample_weight: Any = None,
        weight_bound: float | None = None,
        person: Any = None,
        max_rows: int | None = None,
        weight: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        guarantee: Guarantee | None = None,
        ledger: AnyLedger | None = None,
        checkpoint: str | PathLike[str] | None = None,
        random_state: int | None = None,
    ) -> ScoreResult:
        """Return how well the model predicts these rows, privately, on a budget of its own.

        The result has the share of the deviance that predictions explain, compared with the best
        constant. This is R2 if targets are numbers and the link is not a logarithm. The result also
        has the mean deviance and, for two labels, the area under the ROC curve or, for more, the
        accuracy. Intervals of 95 % need a fourth moment; with heavier tails they are too short.
        Among mean deviances only log-loss has an interval, since the others depend on rare rows
        that noise hides. No bounds are needed: deviances above a released level count as that
        level.

        The rows may be those of the fit or others. If both share rows or persons, costs add up, and
        a ``ledger`` counts both; on its own rows a model looks too good. A model fitted to these
        rows without privacy leaks them, whatever its score is. A table in batches is refused.

        If the model protects persons, so does the score. Its intervals allow for the similarity of
        a person's rows; the interval of the area assumes that all rows of a person are alike.

        Parameters
        ----------
        X, y
            As for ``score``; ``y`` is by default the column of X that was the target of the fit.
        exposure, offset
            As for ``score``; by default those that the schema of the fit declares.
        sample_weight, weight_bound
            The weight of each row, a number per row or the name of a column of X; and the largest
            weight that counts in full; by default as in the schema of the fit. If the fit was given
            an array of weights, give one for these rows.
        person, max_rows, weight
            A key per row, or the name of a column of X; the largest number of rows of a person that
            are used; and whether each ``"person"`` or each ``"row"`` has equal weight. By default
            they are as in the fit.
        epsilon, delta, guarantee, ledger, checkpoint, random_state
            As for the estimator, but for the score alone.
        """
        check_is_fitted(self)
        model: Any = self
        y = _target_of(model, X, y)
        check_target(model, y)
        check_exposure(model, exposure)
        loss = _measure(model)
        several = (loss.n_classes or 0) > 2
        require(offset is None or not several, "offset must be None for more than two classes.")
        statistics = ClassScoreStatistics if several else ScoreStatistics
        labels = None if loss.link.scaled else model.classes_.tolist()
        facts = {"exposure": exposure, "offset": offset, "loss": loss, "labels": labels}
        facts["weighed"] = sample_weight, weight_bound
        facts |= {"schema": model.schema_, "person": person, "max_rows": max_rows, "weight": weight}
        table = scored_inputs(X, y, model._score_of, model.certificate_.unit, **facts)
        model._labels(y)  # raises for categories without declared classes
        _warn_if_not_counted(model, ledger, checkpoint, random_state)
        solved, solution, _ = released(
            table,
            lambda _: statistics.of(loss, _digest(model)),
            epsilon=epsilon,
            delta=delta,
            guarantee=guarantee,
            ledger=ledger,
            checkpoint=checkpoint,
            conditions=(_condition(model),),
            check_records=False,  # the score reports the number of usable rows
            random_state=random_state,
        )
        assert isinstance(solution, ScoreSolution)
        return ScoreResult(
            solved=solved,
            title=f"private score of {type(model).__name__}",
            explained=solution.explained,
            deviance=solution.deviance,
            auc=solution.auc if labels and not several else None,
            accuracy=solution.accuracy if several else None,
            names=_names(loss),
        )


def _target_of(model: Any, X: Any, y: Any) -> Any:
    """Return the targets: those beside X, or else the column of X that was the target of the fit.

    Without either, ``None``. The path of a file is refused.
    """
    check_no_path(X)
    if isinstance(y, str):
        raise InputError("y must be a column of targets; got a text. Names are not read there.")
    if y is not None or model.schema_ is None or model.schema_.target is None:
        return y
    return column_of(X, model.schema_.target)


def products_by_row(features: Features, coef: FloatArray) -> FloatArray:
    """Return ``features @ coef.T``; the bits of a row depend on that row alone.

    In a matrix product they also depend on its place. So a person with more rows than the one that
    she replaces would move the scores of other persons.
    """
    total = np.zeros((*coef.shape[:-1], len(features)))
    for column, weight in zip(np.ascontiguousarray(features.T), coef.T[..., None], strict=True):
        total += column * weight
    return total.T


def _warn_if_not_counted(model: Any, *counting: Any) -> None:
    """Warn of a score of a private model with no ledger, checkpoint or seed."""
    if model.certificate_.mode == "private" and all(each is None for each in counting):
        warn_before_spending(NOT_COUNTED)


def _condition(model: Any) -> str:
    """Return what must hold of the model for its score to be private."""
    return OF_A_RELEASED_MODEL if model.certificate_.mode == "private" else OF_A_SIMULATION


def _digest(model: Any) -> str:
    """Return a digest of the model's numbers, all of which are public or released."""
    numbers = (model.coef_, model.intercept_, model.score_bounds_, model.feature_bounds_)
    texts = [str(np.asarray(each, dtype=np.float64).tolist()) for each in numbers]
    return sha256(f"{texts} {model.extrapolate}".encode()).hexdigest()


def _measure(model: Any) -> Loss | Multinomial:
    """Return the loss of the deviance: the model's own if it is a likelihood, else squared."""
    loss: Loss | Multinomial = model._loss()
    return loss if loss.link.curved else Squared()


def _names(loss: Loss | Multinomial) -> tuple[str, str]:
    """Return the names of the explained share and of the mean deviance."""
    if loss.link.residual:
        return "R2", "mean squared error"
    return "D2", "mean deviance" if loss.link.log else "log-loss"
