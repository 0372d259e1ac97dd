"""The estimators by name. One line here adds the contract tests, and ``tailguard fit --model``."""

from typing import Any

from tailguard.checks import class_called

ESTIMATORS = {
    "linear": "tailguard.estimators.regression:LinearRegression",
    "logistic": "tailguard.estimators.logistic:LogisticRegression",
    "huber": "tailguard.estimators.regression:HuberRegression",
    "poisson": "tailguard.estimators.log_link:PoissonRegression",
    "gamma": "tailguard.estimators.log_link:GammaRegression",
    "tweedie": "tailguard.estimators.log_link:TweedieRegression",
    "quantile": "tailguard.estimators.regression:QuantileRegression",
    "lp": "tailguard.estimators.regression:LpRegression",
    "sparse-linear": "tailguard.estimators.sparse:SparseLinearRegression",
    "sparse-logistic": "tailguard.estimators.sparse:SparseLogisticRegression",
}
"""Name -> ``"module:Class"``."""


def estimator_called(name: str) -> Any:
    """Return the class of the estimator of that name."""
    return class_called(name, ESTIMATORS, "model")
