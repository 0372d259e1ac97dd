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
from tailguard.estimators.arguments import row_weights, warn_of_score
from tailguard.estimators.base import PrivateLinearModel
from tailguard.gate.engine import Solved, Solver
from tailguard.losses.logistic import Logistic
from tailguard.losses.multinomial import Multinomial
from tailguard.solvers.softmax_newton import SoftmaxNewton

ASSUMED = (0, 1)  # the note classes_assumed(2) names them


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, PrivateLinearModel):
    """Private logistic regression of two classes or more.

    Parameters
    ----------
    classes
        The labels, all text or all numbers. You must declare them, since discovering them in the
        data would be a release. With None, labels are read as the numbers 0 and 1, which a note
        says: any other text makes its row void, and categories are refused.
    alpha
        The ridge: ``alpha`` times half the squared length of ``coef_`` is added to the mean loss.
        scikit-learn's ``C`` for ``n`` records is ``1 / (n * alpha)``. It costs no budget. For more
        than two classes it must be 0.
    {shared_parameters}

    Attributes
    ----------
    {shared_attributes}
    classes_
        The declared labels as an array.

    Notes
    -----
    *Guarantee.* As for ``LinearRegression``.

    *More than two classes.* The scores of a row add up to zero, and its probabilities are
    proportional to their exponentials. ``coef_`` has a row per class, and ``intercept_`` a number
    per class. Intervals, tests and tables compare each class with the first: ``coef_std_`` and
    ``coef_noise_std_`` have a row for every class except the first, with names such as
    ``"high: age"``. If a fit does not surely beat the shares of the classes, it predicts these
    shares, and ``notes_`` says so.

    *Edge cases.* A record whose label is not declared is void, and no message names it. A label
    and a class are the same if they are equal as text or as numbers. A row with a missing value and
    no constant in ``missing`` has the score and probabilities NaN; ``predict`` returns the first
    class for it, and ``score`` counts that as its prediction. If a label is not declared, ``score``
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
    """The largest number of classes; None for any number."""

    def _loss(self) -> Any:  # a loss of one score, or of one score per class
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
        """Return the classes that the parameter or the schema declares, or None."""
        schema = self._given_schema()
        return self.classes if schema is None else schema.classes

    def _declared(self) -> tuple[Any, ...]:
        classes = self._classes()
        if classes is None:
            return ASSUMED
        declared = label_list(classes)
        are_labels = all(np.ndim(label) == 0 and isinstance(label, Hashable) for label in declared)
        if not are_labels or not 2 <= len(set(declared)) == len(declared):
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
        n_classes = len(self.classes_)
        if n_classes > 2:
            for name in ("coef", "coef_noise_std", "coef_std"):
                values, intercept = getattr(self, f"{name}_"), name.replace("coef", "intercept")
                setattr(self, f"{name}_", values[:, :-1])
                setattr(self, f"{intercept}_", values[:, -1])

    def _score_of(self, X: Any, *, interval: Any = None, **more: Any) -> FloatArray:
        check_is_fitted(self)
        for name, value in (("interval", interval), ("offset", more.get("offset"))):
            if value is not None and len(self.classes_) > 2:
                raise InputError(f"{name} must be None for more than two classes.")
        return super()._score_of(X, interval=interval, **more)

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the score of each row: the log-odds of the second class.

        With more than two classes, there is a column of scores for each class.
        """
        return self._score_of(X, offset=offset)

    def predict_proba(
        self, X: Any, *, offset: Any = None, interval: str | None = None, level: float = 0.95
    ) -> FloatArray:
        """Return the probability of each class, one row per record.

        ``interval="mean"`` returns both ends of an interval of the second class's probability
        instead, as ``predict`` of ``LinearRegression``. It needs a model of two classes.
        """
        score = self._score_of(X, offset=offset, interval=interval, level=level)
        probabilities = self._loss().mean(score)
        return (
            probabilities
            if interval or probabilities.ndim == 2
            else np.column_stack([1.0 - probabilities, probabilities])
        )

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """Return the most probable class of each row; a row with a missing value gets the first."""
        places = self._predicted_places(X, offset)
        return self.classes_[places]

    def _predicted_places(self, X: Any, offset: Any) -> NDArray[np.intp]:
        """Return the place of the most probable class of each row."""
        score = self._score_of(X, offset=offset)
        if score.ndim == 1:
            return (score > 0).astype(np.intp)
        return np.where(np.isnan(score).any(axis=1), 0, score.argmax(axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the share of correct predictions, which is not private: ``y`` gets no noise."""
        warn_of_score(self)
        predicted = self._predicted_places(X, offset)
        if self._classes() is None:
            check_plain_labels(y)
        places = to_vector(encode_labels(y, self.classes_.tolist()), n_rows=len(predicted))
        return float(
            np.average(places == predicted, weights=row_weights(sample_weight, len(predicted)))
        )

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that there are two classes by default, and that scores may be poor."""
        tags = super().__sklearn_tags__()
        classes: Any = self.classes
        tags.classifier_tags.multi_class = np.size(classes) > 2
        tags.classifier_tags.poor_score = True
        return tags
