from tailguard import baselines, datasets, losses, papers, sets, solvers
from tailguard.audit.black_box import audit
from tailguard.audit.cases import AuditResult
from tailguard.checks import (
    BudgetError,
    BudgetWarning,
    InputError,
    QueryError,
    ReleaseError,
    TailguardError,
)
from tailguard.estimators.huber import HuberRegression
from tailguard.estimators.linear import LinearRegression
from tailguard.estimators.logistic import LogisticRegression
from tailguard.estimators.lp import LpRegression
from tailguard.estimators.mean import MeanResult, mean
from tailguard.estimators.poisson import PoissonRegression
from tailguard.estimators.quantile import QuantileRegression
from tailguard.estimators.sparse import SparseLinearRegression, SparseLogisticRegression
from tailguard.ledger import Ledger
from tailguard.moments import Moment
from tailguard.planning import plan
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP
from tailguard.schema.schema import Schema
from tailguard.search import PrivateSearch
from tailguard.solvers.minimize import minimize
from tailguard.version import __version__

__all__ = [
    "GDP",
    "ZCDP",
    "ApproxDP",
    "AuditResult",
    "BudgetError",
    "BudgetWarning",
    "Certificate",
    "HuberRegression",
    "InputError",
    "Ledger",
    "LinearRegression",
    "LogisticRegression",
    "LpRegression",
    "MeanResult",
    "Moment",
    "PoissonRegression",
    "PrivateSearch",
    "PureDP",
    "QuantileRegression",
    "QueryError",
    "ReleaseError",
    "Schema",
    "SparseLinearRegression",
    "SparseLogisticRegression",
    "TailguardError",
    "__version__",
    "audit",
    "baselines",
    "datasets",
    "losses",
    "mean",
    "minimize",
    "papers",
    "plan",
    "sets",
    "solvers",
]
