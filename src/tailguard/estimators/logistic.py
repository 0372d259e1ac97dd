"""Binary logistic regression with declared classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from tailguard.array_types import FloatArray
from tailguard.checks import InputError, shown
from tailguard.data.labels import check_plain_labels, classes_assumed, encode_labels, label_list
from tailguard.data.matrices import to_vector
from tailguard.estimators.base import PrivateLinearModel
from tailguard.estimators.cost_warnings import warn_of_score
from tailguard.estimators.scored import row_weights
from tailguard.gate.engine import Solved
from tailguard.losses.base import Loss
from tailguard.losses.logistic import Logistic

ASSUMED = (0, 1)  # what classes_assumed(2) says


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, PrivateLinearModel):
    """Private binary logistic regression.

    Parameters
    ----------
    classes
        The two labels, both text or both numbers, declared by the user: discovering them in the
        data would be a release. None takes a column of numbers or booleans as 0 and 1, says so, and
        refuses labels of any other type.
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to the mean loss.
        scikit-learn's ``C`` for ``n`` records is ``1 / (n * alpha)``. It costs no budget.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}
    classes_
        The declared labels as an array.

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``.

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

    classes: tuple[Any, Any] | None = None
    alpha: float = 0.0

    def _loss(self) -> Loss:
        return Logistic()

    def _labels(self, y: Any) -> tuple[Any, Any]:
        if self._classes() is None:
            check_plain_labels(y)
        return self._declared()

    def _classes(self) -> Any:
        """Return the classes as they were declared, directly or in the schema, if they were."""
        schema = self._given_schema()
        return self.classes if schema is None else schema.classes

    def _declared(self) -> tuple[Any, Any]:
        classes = self._classes()
        if classes is None:
            return ASSUMED
        declared = label_list(classes)
        labels = all(np.ndim(label) == 0 for label in declared)
        if len(declared) != 2 or not labels or declared[0] == declared[1]:
            more = (
                f" For more classes use tg.minimize with tg.losses.Multinomial({len(declared)}), "
                "targets 0, 1, 2 and so on, a constraint and solver='noisy-gradient-descent'."
            )
            raise InputError(
                f"classes must be two different labels, such as (0, 1); got {shown(classes)}."
                + (more if len(declared) > 2 else "")
            )
        return declared[0], declared[1]

    def _assumptions(self) -> tuple[str, ...]:
        return (classes_assumed(2),) if self._classes() is None else ()

    def _keep(self, solved: Solved) -> None:
        super()._keep(solved)
        self.classes_ = np.array(self._declared())

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the score of each row: the log-odds of the second class."""
        return self._score_of(X, offset=offset)

    def predict_proba(
        self, X: Any, *, offset: Any = None, interval: str | None = None, level: float = 0.95
    ) -> FloatArray:
        """Return the probability of each class, one row per record.

        ``interval="mean"`` gives low and high of the second class's probability instead, as
        ``predict`` of ``LinearRegression`` does of its prediction.
        """
        score = self._score_of(X, offset=offset, interval=interval, level=level)
        if interval is not None:
            return self._loss().mean(score)
        second = self._loss().mean(score)
        return np.column_stack([1.0 - second, second])

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Return the more probable class of each row; a row with a missing value gets the first."""
        chosen = (self._score_of(X, offset=offset) > 0).astype(int)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the share of right predictions; not private: it reads ``y`` without noise."""
        warn_of_score(self)
        chosen = self._score_of(X, offset=offset) > 0
        if self._classes() is None:
            check_plain_labels(y)
        places = to_vector(encode_labels(y, self.classes_.tolist()), n_rows=len(chosen))
        return float(np.average(places == chosen, weights=row_weights(sample_weight, len(chosen))))

    def __sklearn_tags__(self) -> Tags:
        """Say that there are two classes and that a small budget need not score well."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
