from tailguard.estimators.huber import HuberRegression
from tailguard.estimators.linear import LinearRegression
from tailguard.estimators.logistic import LogisticRegression
from tailguard.estimators.lp import LpRegression
from tailguard.estimators.poisson import PoissonRegression
from tailguard.estimators.quantile import QuantileRegression
from tailguard.estimators.sparse import SparseLinearRegression, SparseLogisticRegression

__all__ = [
    "HuberRegression",
    "LinearRegression",
    "LogisticRegression",
    "LpRegression",
    "PoissonRegression",
    "QuantileRegression",
    "SparseLinearRegression",
    "SparseLogisticRegression",
]
