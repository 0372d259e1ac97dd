"""scikit-learn's own checks on every estimator, less a short list with reasons.

The checks set ``random_state``, so they see the simulation; ``tests/estimators`` repeats what
matters with real noise.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import tailguard as tg
from tailguard import estimators

VOID = "records' values never raise: a record with a missing or infinite value is void"
SCHEMA = "types are judged, never values: a column of objects is refused even if all are numbers"
DECLARED = "classes are declared by the user, never discovered in the data"

EXEMPTIONS = {
    "check_estimators_nan_inf": VOID,
    "check_supervised_y_no_nan": VOID,
    "check_dtype_object": SCHEMA,
}
CLASSIFIER_EXEMPTIONS = {
    "check_classifiers_classes": DECLARED,
    "check_classifiers_regression_target": DECLARED,
    "check_classifier_not_supporting_multiclass": DECLARED,
}


def cases():
    filled = ("LinearRegression", "LogisticRegression")
    for name, missing in [(name, None) for name in estimators.__all__] + [
        (name, {0: 1.0}) for name in filled
    ]:
        model = getattr(estimators, name)(guarantee=tg.GDP(100.0), random_state=0, missing=missing)
        exempt = EXEMPTIONS | (CLASSIFIER_EXEMPTIONS if name.endswith("LogisticRegression") else {})
        for estimator, check in estimator_checks_generator(model, legacy=True):
            if check.func.__name__ not in exempt:
                yield pytest.param(estimator, check, id=f"{name}-{missing}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(cases()))
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_exemptions_name_checks_that_exist():
    model = tg.LogisticRegression(guarantee=tg.GDP(1.0), random_state=0)
    names = {check.func.__name__ for _, check in estimator_checks_generator(model, legacy=True)}
    assert names >= set(EXEMPTIONS | CLASSIFIER_EXEMPTIONS) - {"check_estimators_nan_inf"}
