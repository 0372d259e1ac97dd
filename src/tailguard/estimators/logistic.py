"""Logistic regression with declared classes, two or more."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, shown
from tailguard.data.labels import check_plain_labels, classes_assumed, encode_labels, label_list
from tailguard.data.matrices import to_vector
from tailguard.estimators.base import PrivateLinearModel
from tailguard.estimators.scored import row_weights, warn_of_score
from tailguard.gate.engine import Solved, Solver
from tailguard.losses.logistic import Logistic
from tailguard.losses.multinomial import Multinomial
from tailguard.solvers.softmax_newton import SoftmaxNewton

ASSUMED = (0, 1)  # what classes_assumed(2) says


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, PrivateLinearModel):
    """Private logistic regression of two classes or more.

    Parameters
    ----------
    classes
        The labels, all text or all numbers, declared by the user: discovering them in the data
        would be a release. None takes a column of numbers or booleans as 0 and 1, says so, and
        refuses labels of any other type.
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to the mean loss.
        scikit-learn's ``C`` for ``n`` records is ``1 / (n * alpha)``. It costs no budget. 0 alone
        with more than two classes.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}
    classes_
        The declared labels as an array.

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``.

    *More than two classes.* All scores of a row add up to zero and probabilities are in proportion
    to their exponentials. ``coef_`` has a row a class, ``intercept_`` a number a class. Intervals,
    tests and tables are of each class less the first: ``coef_std_`` and ``coef_noise_std_`` have a
    row for each class but that, and names are such as ``"high: age"``. A fit that does not surely
    beat the shares of the classes is these shares, and says so in ``notes_``.

    *Edge cases.* A record whose label is not declared is void, and no message names it. Where
    classes are numbers, text counts as the number that it spells. A row with a missing value and no
    constant in ``missing`` has the score and probabilities NaN; ``predict`` must name a class and
    names the first, and ``score`` counts that as the prediction. Of a label that is not declared it
    counts the prediction as wrong.

    Examples
    --------
    >>> import tailguard as tg
    >>> data = tg.datasets.heavy_tailed_logistic(n_rows=2000, n_features=3, seed=0)
    >>> model = tg.LogisticRegression(epsilon=1.0, delta=1e-6).fit(data.features, data.target)
    >>> model.predict_proba(data.features).shape
    (2000, 2)
    """

    classes: Sequence[Any] | None = None
    alpha: float = 0.0

    most_classes: ClassVar[int | None] = None
    """How many classes it takes; None for any number."""

    def _loss(self) -> Any:  # of one score, or of several
        classes = self._declared()
        return Logistic() if len(classes) == 2 else Multinomial(len(classes))

    def _solver(self) -> str | Solver:
        several = len(self._declared()) > 2
        return SoftmaxNewton() if several and self.solver == "auto" else super()._solver()

    def _labels(self, y: Any) -> tuple[Any, ...]:
        if self._classes() is None:
            check_plain_labels(y)
        return self._declared()

    def _classes(self) -> Any:
        """Return the classes as they were declared, directly or in the schema, if they were."""
        schema = self._given_schema()
        return self.classes if schema is None else schema.classes

    def _declared(self) -> tuple[Any, ...]:
        classes = self._classes()
        if classes is None:
            return ASSUMED
        declared = label_list(classes)
        labels = all(np.ndim(label) == 0 and isinstance(label, Hashable) for label in declared)
        if not labels or not 2 <= len(set(declared)) == len(declared):
            raise InputError(
                f"classes must be different labels, two at least, such as (0, 1); got "
                f"{shown(classes)}."
            )
        if len(declared) > (self.most_classes or len(declared)):
            raise InputError(
                f"classes must be two labels for a {type(self).__name__}, or more for "
                f"LogisticRegression; got {shown(classes)}."
            )
        return tuple(declared)

    def _assumptions(self) -> tuple[str, ...]:
        return (classes_assumed(2),) if self._classes() is None else ()

    def _keep(self, solved: Solved) -> None:
        super()._keep(solved)
        self.classes_ = np.array(self._declared())
        classes = len(self.classes_)
        if classes > 2:
            for name in ("coef", "coef_noise_std", "coef_std"):
                found, beside = getattr(self, f"{name}_"), name.replace("coef", "intercept")
                setattr(self, f"{name}_", found[:, :-1])
                setattr(self, f"{beside}_", found[:, -1])

    def _score_of(self, X: Any, *, interval: Any = None, **more: Any) -> FloatArray:
        check_is_fitted(self)
        for name, value in (("interval", interval), ("offset", more.get("offset"))):
            if value is not None and len(self.classes_) > 2:
                raise InputError(f"{name} must be None for more than two classes.")
        return super()._score_of(X, interval=interval, **more)

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the score of each row: the log-odds of the second class.

        With more than two classes a column of scores each.
        """
        return self._score_of(X, offset=offset)

    def predict_proba(
        self, X: Any, *, offset: Any = None, interval: str | None = None, level: float = 0.95
    ) -> FloatArray:
        """Return the probability of each class, one row per record.

        ``interval="mean"`` gives low and high of the second class's probability instead, as
        ``predict`` of ``LinearRegression`` does of its prediction; of two classes alone.
        """
        score = self._score_of(X, offset=offset, interval=interval, level=level)
        found = self._loss().mean(score)
        return found if interval or found.ndim == 2 else np.column_stack([1.0 - found, found])

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Return the most probable class of each row; a row with a missing value gets the first."""
        chosen = self._chosen(X, offset)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def _chosen(self, X: Any, offset: Any) -> NDArray[np.intp]:
        """Return the place of the most probable class of each row."""
        score = self._score_of(X, offset=offset)
        if score.ndim == 1:
            return (score > 0).astype(np.intp)
        return np.where(np.isnan(score).any(axis=1), 0, score.argmax(axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the share of right predictions; not private: it reads ``y`` without noise."""
        warn_of_score(self)
        chosen = self._chosen(X, offset)
        if self._classes() is None:
            check_plain_labels(y)
        places = to_vector(encode_labels(y, self.classes_.tolist()), n_rows=len(chosen))
        return float(np.average(places == chosen, weights=row_weights(sample_weight, len(chosen))))

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that classes are two by default, and scores of small budgets poor."""
        tags = super().__sklearn_tags__()
        classes: Any = self.classes
        tags.classifier_tags.multi_class = np.size(classes) > 2
        tags.classifier_tags.poor_score = True
        return tags
