"""Counted search: the best settings of a model, and the fitted model, for one budget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, require, shown, warn_before_spending
from tailguard.estimators.arguments import fits_of, twin
from tailguard.estimators.base import PrivateLinearModel
from tailguard.estimators.reports import model_report
from tailguard.estimators.search.plan import SearchPlan, SearchTask, find_score, plan_search
from tailguard.gate.engine import Solved, count_fit
from tailguard.gate.record_check import RecordRule
from tailguard.gate.selection import SelectionGate
from tailguard.losses.base import Loss
from tailguard.privacy.books import AnyLedger
from tailguard.privacy.guarantees import Guarantee, resolve_guarantee, weak_promise
from tailguard.privacy.tries import NumberOfTries
from tailguard.queries.admission import check_known
from tailguard.report.content import Report, Reported, Stated

Method = TypeVar("Method", bound=Callable[..., Any])

# Parameters that the search states once, for all tries.
PRIVACY = ("epsilon", "delta", "guarantee", "ledger", "random_state")
CHECKS = ("check_records", "on_unusable")
# Parameters of reading a table, which are the same for all tries.
READING = (
    *("schema", "missing", "weight_bound", "classes", "extrapolate"),
    *("person", "max_rows", "weight", "one_row_per_person"),
)
# Parameters of one fit, which tries ignore: they write no file and show no progress.
IGNORED = ("checkpoint", "verbose")


def _if_estimator_has(method: str) -> Callable[[Method], Method]:
    """Give the search a method only if its estimator has the method."""
    return available_if(lambda search: hasattr(search.estimator, method))


@dataclass(eq=False, repr=False)
class PrivateSearch(Reported, MetaEstimatorMixin, BaseEstimator):
    """Choose among settings of an estimator and fit it, under one stated budget.

    The number of tries is random and secret. Each try takes a candidate at random, fits it and
    scores it, with noise. The try with the best score is released, and nothing from any other try.

    Parameters
    ----------
    estimator
        An estimator of the library, without privacy parameters of its own.
    candidates
        A list of dicts of parameters, or a dict of lists: then every combination is a candidate.
        All have one ``target``, since a score cannot compare ``"mean"`` with ``"robust"``.
    n_tries
        The expected number of tries. With more tries, the best candidate is more likely to be
        tried, but each try has less budget.
    law
        The distribution of the number of tries: ``"geometric"``, ``"logarithmic"`` or
        ``"poisson"``.
    scoring
        The loss of ``tg.losses`` by which models are compared; by default the estimator's own.
    epsilon, delta, guarantee
        The budget of the whole search; ``guarantee`` must be a ``tg.ApproxDP``. No default.
    ledger
        A ``tg.Ledger``, which is charged once, for the whole search.
    check_records, on_unusable
        As for the estimator, whose own values are ignored: usable records are counted once, before
        all tries.
    random_state
        None draws cryptographic noise. An int switches to a reproducible simulation that is NOT
        PRIVATE; the certificate and all texts of results state this.

    Attributes
    ----------
    best_estimator_
        The model of the chosen try; ``predict`` uses it.
    best_params_, best_index_
        The candidate of the chosen try, and its place among the candidates.
    best_score_
        The noisy mean loss of the chosen try minus that of a constant, in units of the scoring loss
        for a target in private units. It was chosen as the lowest, so it is no estimate of future
        losses. With sample weights, each row counts by its weight over the bound.
    candidates_
        All candidates, in order.
    certificate_, plan_
        What was promised, spent, released and assumed; what was planned.

    Notes
    -----
    *Guarantee.* The fitted object is (epsilon, delta)-differentially private for replace-one
    neighbours with public ``n``, for every input. The protected record is a row or, if the
    estimator protects persons, all rows of a person. The guarantee covers the count, every try and
    its score. The running time of ``fit`` depends on the secret number of tries: keep it secret.

    *Edge cases.* A failed try counts as the worst. If all tries fail, ``ReleaseError`` is raised
    and the search stays charged. A solver object of your own must not store anything between runs.

    References
    ----------
    Liu and Talwar 2019; Papernot and Steinke 2022; Koskela, Redberg and Wang 2024.

    Examples
    --------
    >>> import tailguard as tg
    >>> claims = tg.datasets.insurance_claims(n_rows=5000, seed=0)
    >>> search = tg.PrivateSearch(
    ...     tg.LinearRegression(), {"alpha": [0.0, 0.1]},
    ...     n_tries=3, epsilon=2.0, delta=1e-6,
    ... )
    >>> search = search.fit(claims.features, claims.target)
    >>> search.best_params_["alpha"] in (0.0, 0.1)
    True
    >>> search.certificate_.total.epsilon <= 2.0
    True
    """

    estimator: PrivateLinearModel
    candidates: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]
    n_tries: float = 10.0
    law: str = "geometric"
    scoring: Loss | None = None
    epsilon: float | None = None
    delta: float | None = None
    guarantee: Guarantee | None = None
    ledger: AnyLedger | None = None
    check_records: bool = True
    on_unusable: str = "stop"
    random_state: int | None = None

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
        """Search privately; see the class for the guarantee.

        Parameters
        ----------
        X, y, target, columns, formula, row_id, order, exposure, offset, sample_weight, person
            As for the estimator.
        """
        guarantee = resolve_guarantee(
            epsilon=self.epsilon, delta=self.delta, guarantee=self.guarantee
        )
        tries = NumberOfTries(self.n_tries, self.law)
        model = self._checked_estimator()
        candidates = _candidates_of(self.candidates, model)
        arguments = {"target": target, "columns": columns, "formula": formula, "row_id": row_id}
        arguments |= {"order": order, "exposure": exposure, "offset": offset}
        arguments |= {"sample_weight": sample_weight, "person": person}
        table, labels, problem = model._task(X, y, **arguments)
        require(
            problem.scored is not None,
            "estimator must be a model of one score in a search; got a "
            f"{type(model).__name__} of more than two classes.",
        )
        models = [clone(model).set_params(**each) for each in candidates]
        scored_problem = replace(problem, loss=self._scoring(model))
        tasks = [
            SearchTask(each._solver(), each._problem(table), parameters)
            for each, parameters in zip(models, candidates, strict=True)
        ]
        rule = RecordRule(self.check_records, self.on_unusable)
        plan = plan_search(tasks, scored_problem, guarantee, tries, rule, table.columns)
        if self.ledger is None and self.random_state is None:
            count_fit(fits_of(self), plan.event, plan.guarantee)
        fitted = twin(self)  # a search that fails leaves the earlier one as it was
        fitted.candidates_ = candidates
        gate = SelectionGate.over(
            table,
            guarantee=plan.guarantee,
            loss=problem.loss,
            classes=labels,
            ledger=self.ledger,
            random_state=self.random_state,
        )
        best_model, solved = fitted._search(plan, gate, models, table.assumptions())
        best_model._keep_columns(X, table.schema)
        best_model._keep(solved)
        fitted.best_estimator_ = best_model
        self.__dict__ = fitted.__dict__
        return self

    def _search(
        self,
        plan: SearchPlan,
        gate: SelectionGate,
        models: list[PrivateLinearModel],
        assumed: tuple[str, ...],
    ) -> tuple[PrivateLinearModel, Solved]:
        """Reserve, search and certify; return the model of the best try, and its solution."""
        loss = plan.units.problem.scored
        assert loss is not None
        with np.errstate(all="ignore"):
            warn_before_spending(*plan.warnings, *weak_promise(plan.guarantee, gate.n_records))
            gate.check_places(plan.stages_by_place)
            gate.reserve(plan.event, coordinates=plan.coordinates)
            count_notes = () if plan.check is None else (plan.check.ask(gate),)
            score, note = find_score(plan.units, gate, loss, plan.stage)
            score = replace(score, bounded=self.estimator.extrapolate == "bounded")
            best = gate.best(plan.candidates, score, plan.selection)
            gate.settle()
        best_model = models[best.candidate].set_params(random_state=self.random_state)
        vars(best_model).pop("_fits", None)  # the search counts its own cost, once for all tries
        assumed = (*best_model._assumptions(), *assumed)
        certificate = gate.certificate(assumptions=(*assumed, *count_notes, *plan.assumptions))
        self.best_index_ = best.candidate
        self.best_params_ = self.candidates_[best.candidate]
        self.best_score_ = best.score
        self.certificate_ = certificate
        self.plan_ = plan
        self.notes_: tuple[str, ...] = (*count_notes, *(() if note is None else (note,)))
        return best_model, Solved(best.solution, certificate, assumed, count_notes)

    def _checked_estimator(self) -> PrivateLinearModel:
        """Return the estimator; refuse one of another library, or with a budget of its own."""
        if not isinstance(self.estimator, PrivateLinearModel):
            raise InputError(
                "estimator must be one of tailguard's, such as tg.LinearRegression(); "
                f"got {shown(self.estimator)}."
            )
        given = [name for name in PRIVACY if getattr(self.estimator, name) is not None]
        if given:
            raise InputError(
                f"estimator must state no {' or '.join(given)}: the search states a budget for all "
                "tries together."
            )
        return self.estimator

    def _scoring(self, model: PrivateLinearModel) -> Loss:
        """Return the loss by which models are compared."""
        if self.scoring is None:
            return model._loss()
        check_known(self.scoring)
        own = model._loss().link
        if getattr(self.scoring, "link", None) is not own:
            raise InputError(
                f"scoring must be a loss whose scores mean what those of a {type(model).__name__} "
                f"do (link {own.value!r}); got {shown(self.scoring)}."
            )
        require(
            own.residual or self.scoring.quasi_likelihood,
            "scoring must be a quasi-likelihood, whose best constant is the mean target, for a "
            f"{type(model).__name__}; got {shown(self.scoring)}.",
        )
        return self.scoring

    def predict(self, X: Any, **more: Any) -> NDArray[Any]:
        """Predict with the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, **more)

    @_if_estimator_has("predict_proba")
    def predict_proba(self, X: Any, **more: Any) -> FloatArray:
        """Return the probability of each class, by the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X, **more)

    @_if_estimator_has("decision_function")
    def decision_function(self, X: Any, **more: Any) -> FloatArray:
        """Return the score of each row, by the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X, **more)

    def score(self, X: Any, y: Any, **more: Any) -> float:
        """Score the best estimator; not private: it reads ``y`` without noise."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, **more))

    def explain(self) -> str:
        """Describe the plan and the chosen candidate."""
        check_is_fitted(self)
        settings = ", ".join(f"{name}={value!r}" for name, value in self.best_params_.items())
        lines = [self.plan_.explain(), *(f"  {note}" for note in self.notes_)]
        lines += self.certificate_.mode_lines
        return "\n".join([*lines, f"  chosen: {settings or 'the estimator as it is'}"])

    def _report(self, stated: Stated) -> Report:
        """Return the report of the best estimator, with the cost of all tries."""
        check_is_fitted(self)
        notes = (
            f"chosen among {len(self.candidates_)} settings: {self.best_params_}; intervals do not "
            "count that choice",
        )
        return model_report(self.best_estimator_, stated, notes)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of the estimator."""
        return self.estimator.__sklearn_tags__()


def _candidates_of(given: Any, model: PrivateLinearModel) -> list[dict[str, Any]]:
    """Return the candidates as a list; refuse parameters that a try must not change."""
    allowed_types = (
        "candidates must be a list of dicts of parameters, or a dict with a list of values for each"
    )
    try:
        if isinstance(given, Mapping):
            candidates = list(ParameterGrid({name: list(values) for name, values in given.items()}))
        else:
            candidates = [dict(each) for each in given]
    except (TypeError, ValueError):  # a list of values may be empty
        raise InputError(f"{allowed_types}, and not empty; got {shown(given)}.") from None
    if not candidates:
        raise InputError(f"{allowed_types}, and not empty; got {shown(given)}.")
    allowed = sorted(set(model.get_params(deep=False)) - {*PRIVACY, *CHECKS, *READING, *IGNORED})
    for name in (name for each in candidates for name in each):
        if name not in allowed:
            raise InputError(
                f"candidates must name parameters among {', '.join(map(repr, allowed))}; "
                f"got {shown(name)}."
            )
    targets = {str(each.get("target", getattr(model, "target", None))) for each in candidates}
    require(
        len(targets) == 1,
        "candidates must have the same target: 'mean' and 'robust' estimate different numbers, and "
        "a score cuts large losses, so it prefers 'robust' whichever predicts the mean better.",
    )
    return candidates
