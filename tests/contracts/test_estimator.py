"""scikit-learn's own checks on every estimator, less a short list with reasons.

The checks set ``random_state``, so they see the simulation; ``tests/estimators`` repeats what
matters with real noise.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import tailguard as tg
from support.registered import ESTIMATORS
from support.solvers import FEW_ROUNDS
from support.targets import FREE, takes_labels

VOID = "records' values never raise: a record with a missing or infinite value is void"
ONE_CELL = "one complex cell makes a whole array complex: its record is void, others are read"
DECLARED = "classes are declared by the user, never discovered in the data"
NO_WIDTH = "a list declares no width, so its entries would decide how they are read: X is never one"
OTHER_ROWS = "repeated rows are other rows: their number is public, and noise and units follow it"
UNWEIGHTED = "sparse models count all rows alike, and refuse weights in a sentence"

EXEMPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": OTHER_ROWS,
    "check_sample_weight_equivalence_on_sparse_data": OTHER_ROWS,
    "check_estimators_nan_inf": VOID,
    "check_supervised_y_no_nan": VOID,
    "check_all_zero_sample_weights_error": VOID,
    "check_complex_data": ONE_CELL,
}
CLASSIFIER_EXEMPTIONS = {
    "check_dtype_object": DECLARED,  # its second half passes objects as labels
    "check_classifiers_classes": DECLARED,
    "check_classifiers_regression_target": DECLARED,
    "check_classifier_not_supporting_multiclass": DECLARED,
}
WEIGHTS = ("pandas_series", "not_an_array", "list", "not_overwritten", "shape")
SPARSE_EXEMPTIONS = dict.fromkeys((f"check_sample_weights_{way}" for way in WEIGHTS), UNWEIGHTED)
SPARSE_EXEMPTIONS["check_classifiers_one_label_sample_weights"] = UNWEIGHTED
# These pass lists once among much else: they run on a twin that turns lists into arrays.
ON_ARRAYS = {"check_classifiers_train": NO_WIDTH, "check_regressors_train": NO_WIDTH}


def taking_lists(estimator):
    """The same estimator, of a class that turns lists into arrays before it fits."""
    kind = type(estimator)

    def fit(self, X, y):
        return kind.fit(self, *(np.asarray(a) if isinstance(a, list) else a for a in (X, y)))

    return type(kind.__name__, (kind,), {"fit": fit})(**clone(estimator).get_params(deep=False))


def options_of(name, missing):
    """Few rounds are enough, but for one estimator, which has all of its solver's own choices."""
    if name not in FREE or (name, missing) == ("LinearRegression", None):
        return {"missing": missing}
    return {"missing": missing, "solver": FEW_ROUNDS}


# What a class takes from its base, which reads tables, weights and names for all of its losses: one
# class of a base is checked for it. A constant for missing cells changes nothing else.
OF_THE_BASE = {
    *("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    *("check_estimator_sparse_tag", "check_readonly_memmap_input", "check_array_api_input"),
    *("check_sample_weights_pandas_series", "check_sample_weights_not_an_array"),
    *("check_sample_weights_list", "check_sample_weights_shape"),
    "check_sample_weights_not_overwritten",
    *("check_n_features_in", "check_n_features_in_after_fitting", "check_pipeline_consistency"),
    *("check_dtype_object", "check_estimators_dtypes", "check_f_contiguous_array_estimator"),
    *("check_regressor_data_not_an_array", "check_classifier_data_not_an_array"),
    *("check_fit1d", "check_fit2d_1sample", "check_fit2d_1feature", "check_fit2d_predict1d"),
    *("check_estimators_empty_data_messages", "check_methods_sample_order_invariance"),
    *("check_methods_subset_invariance", "check_requires_y_none", "check_supervised_y_2d"),
}


def adds_only_a_loss(kind):
    """Whether a class has nothing but its loss and parameters beside those of its base."""
    own = {name for name in vars(kind) if not name.startswith(("__", "_abc_"))}
    return own <= {"_loss", *kind().get_params()} | {n for n in own if n.endswith("_request")}


def checked_for_their_base():
    """The first class of every base, and every class that has methods of its own."""
    first = {}
    for name, kind in ESTIMATORS.items():
        first.setdefault(kind.__mro__[1] if adds_only_a_loss(kind) else kind, name)
    return {*first.values()}


# They fit two or four classes, where three are declared, and expect a score for each that came.
OF_THE_DATA = {
    "check_estimator_sparse_array": DECLARED,
    "check_estimator_sparse_matrix": DECLARED,
    "check_classifiers_train": DECLARED,
    "check_decision_proba_consistency": DECLARED,
}


def several_classes():
    """The checks of a classifier whose more than two classes are declared."""
    options = {"guarantee": tg.GDP(100.0), "random_state": 0, "weight_bound": 10.0}
    model = tg.LogisticRegression(classes=(0, 1, 2), **options)
    for estimator, check in estimator_checks_generator(model, legacy=True):
        checked = check.func.__name__
        if checked not in EXEMPTIONS | CLASSIFIER_EXEMPTIONS | OF_THE_DATA:
            yield pytest.param(estimator, check, id=f"several-{checked}")


def cases():
    yield from several_classes()
    whole = checked_for_their_base()
    filled = ("LinearRegression", "LogisticRegression")
    for name, missing in [(name, None) for name in ESTIMATORS] + [
        (name, {0: 1.0}) for name in filled
    ]:
        options = {"guarantee": tg.GDP(100.0), "random_state": 0, **options_of(name, missing)}
        options["weight_bound"] = 10.0  # the checks weigh rows by small whole numbers
        model = ESTIMATORS[name](**options)
        exempt = EXEMPTIONS | (CLASSIFIER_EXEMPTIONS if takes_labels(ESTIMATORS[name]) else {})
        exempt |= SPARSE_EXEMPTIONS if name.startswith("Sparse") else {}
        for estimator, check in estimator_checks_generator(model, legacy=True):
            checked = check.func.__name__
            of_the_base = checked in OF_THE_BASE
            wanted = of_the_base if missing else name in whole or not of_the_base
            if wanted and checked not in exempt:
                tested = taking_lists(estimator) if checked in ON_ARRAYS else estimator
                yield pytest.param(tested, check, id=f"{name}-{missing}-{checked}")


@pytest.mark.parametrize(("estimator", "check"), list(cases()))
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_the_exemptions_name_checks_that_exist():
    model = tg.LogisticRegression(guarantee=tg.GDP(1.0), random_state=0)
    names = {check.func.__name__ for _, check in estimator_checks_generator(model, legacy=True)}
    exempt = {*EXEMPTIONS, *CLASSIFIER_EXEMPTIONS, *SPARSE_EXEMPTIONS, *OF_THE_DATA}
    assert checked_for_their_base() >= {"LinearRegression", "LogisticRegression"}
    assert names >= exempt - {"check_estimators_nan_inf"}
    model = tg.LinearRegression(guarantee=tg.GDP(1.0), random_state=0)
    names |= {check.func.__name__ for _, check in estimator_checks_generator(model, legacy=True)}
    assert names >= {*ON_ARRAYS, *OF_THE_BASE}


@pytest.mark.long
def test_lists_are_taken_as_targets():
    X, y = np.eye(20)[:, :2], np.arange(20.0) % 2
    for name in ESTIMATORS:
        model = ESTIMATORS[name](guarantee=tg.GDP(100.0), random_state=0)
        if takes_labels(ESTIMATORS[name]):
            model.set_params(classes=(0, 1))
        of_list, of_array = (clone(model).fit(X, target).coef_ for target in (y.tolist(), y))
        np.testing.assert_array_equal(of_list, of_array)


def test_a_complex_cell_makes_its_record_void_and_no_other():
    X, y = np.eye(60)[:, :2] + 0.5, np.arange(60.0)
    strange, void = X.astype(complex), X.copy()
    strange[7, 1], void[7, 1] = 1j, np.nan
    fits = [tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0) for _ in range(2)]
    coefs = [
        fit.fit(features, y).coef_ for fit, features in zip(fits, (strange, void), strict=True)
    ]
    np.testing.assert_array_equal(*coefs)
