"""Real data sets from a folder of Parquet files that the repository does not contain.

Categories become indicators (all but the first level; the levels are taken as public), records with
a missing value are left out for every method alike, and a fifth of the records, drawn once, is the
test set. The population is unknown: the excess is over the best non-private fit on the test set,
and can be below zero.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from accuracy.public import paired_excess
from accuracy.risks import best_constant
from accuracy.tasks import Task, Trial, finite

SPLIT_SEED = 0
TRAIN_SHARE = 0.8


@dataclass(frozen=True)
class RealSet:
    """A file, its target, the value that counts as 1, and what may not be a feature."""

    file: str
    loss: str
    target: str
    positive: object = None
    without: tuple[str, ...] = ()


HIE_ASIDE = (
    *("outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "totadm", "inpmis", "mentvis", "mdvis"),
    *("notmdvis", "lnmeddol", "binexp", "zper", "ghindx"),
)

# T5 of the published comparison: least squares on counts, all columns in their order.
T5 = RealSet("randhie", "squared", "mdvis")

REAL_SETS = (
    RealSet("adult", "logistic", "income", ">50K", ("split", "native-country")),
    RealSet("a9a", "logistic", "label", 1, ("split",)),
    RealSet("credit_default", "logistic", "default.payment.next.month", 1, ("ID",)),
    RealSet("bank_marketing", "logistic", "term deposit", "yes", ("duration",)),
    RealSet("kc_house", "squared", "price", None, ("id", "date", "zipcode")),
    RealSet("california_housing", "squared", "median_house_value"),
    RealSet("diamonds", "squared", "price"),
    RealSet("randhie_expenditure", "squared", "meddol", None, HIE_ASIDE),
    RealSet("meps_drug_expenditure", "squared", "drugexp", None, ("ldrugexp",)),
    RealSet("fremtpl2_severity", "squared", "ClaimAmount", None, ("IDpol", "ClaimNb")),
    RealSet("wooldridge_401ksubs", "squared", "nettfa"),
    RealSet("daily_returns", "squared", "abs_ret", None, ("date", "ret")),
    RealSet("randhie", "poisson", "mdvis"),
    RealSet("bike_hour", "poisson", "cnt", None, ("instant", "dteday", "casual", "registered")),
)


@lru_cache(maxsize=2)
def read(folder, real):
    """Return (train, test), each features and target."""
    import pandas as pd  # noqa: PLC0415 - only where there is data

    table = pd.read_parquet(Path(folder) / f"{real.file}.parquet")
    table = table.drop(columns=[name for name in real.without if name in table]).dropna()
    target = table.pop(real.target)
    if real.positive is not None:
        target = target.astype(str) == str(real.positive)
    words = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    features = pd.get_dummies(table, columns=words, drop_first=True).to_numpy(float)
    features = features[:, features.std(axis=0) > 0]
    order = np.random.default_rng(SPLIT_SEED).permutation(len(features))
    y = target.to_numpy(float)
    edge = int(TRAIN_SHARE * len(order))
    return tuple((features[rows], y[rows]) for rows in (order[:edge], order[edge:]))


@lru_cache(maxsize=2)
def _trial(folder, real):
    train, test = read(folder, real)
    paired = finite(paired_excess(real.loss, train, test, intercept=True))
    constant = best_constant(real.loss, train[1].mean())
    gap = paired(np.zeros(train[0].shape[1]), constant)
    return Trial(*train, paired, gap, paired=paired)


def real_task(folder, real, name=None, suite="real"):
    """Build the task of a file; the seed drives the noise of the fits alone."""
    (features, _), _ = read(folder, real)
    return Task(
        name=name or real.file,
        suite=suite,
        loss=real.loss,
        n_rows=len(features),
        n_features=features.shape[1],
        intercept=True,
        trial=lambda _seed: _trial(folder, real),
        baseline="best non-private fit on the test set",
    )


def available(folder, sets):
    """Split sets into those whose file is in the folder and those whose file is not."""
    here = [real for real in sets if folder and (Path(folder) / f"{real.file}.parquet").exists()]
    return here, [real for real in sets if real not in here]
