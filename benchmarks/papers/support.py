"""Support recovery on Student-t columns: SparseLinearRegression, and the theorem's threshold."""

from dataclasses import asdict, dataclass

import numpy as np

import tailguard as tg
from accuracy.lines import append, read

N_ROWS, N_FEATURES, N_NONZERO, TAIL, EPSILON, DELTA = 20_000, 1000, 5, 3.0, 1.0, 1e-6
SEEDS = tuple(range(1000, 1010))
DEFAULT, THEOREM = "SparseLinearRegression, defaults", "Tao 2022, Theorem 10 (B and T as printed)"
# Student-t(3) columns: variance 3, and as a public bound on a coordinate of the gradient's second
# moment ten times that of the columns.
COLUMN_VARIANCE = TAIL / (TAIL - 2.0)
MOMENT = tg.Moment(2.0, 10.0 * COLUMN_VARIANCE, kind="raw")


@dataclass(frozen=True)
class Recovery:
    """How many of the true columns one fit found, among as many as there are."""

    method: str
    seed: int
    found: int

    @property
    def exact(self):
        return self.found == N_NONZERO


def design(seed, n_rows=N_ROWS, n_features=N_FEATURES):
    """Student-t(3) columns and noise, weights of 1 and -1 on a random support."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(TAIL, size=(n_rows, n_features))
    support = np.sort(rng.choice(n_features, N_NONZERO, replace=False))
    y = X[:, support] @ rng.choice([-1.0, 1.0], N_NONZERO) + rng.standard_t(TAIL, n_rows)
    return X, y, support


def theorem(n_rows=N_ROWS, n_features=N_FEATURES):
    """Return Theorem 10 with the number of kept columns set to the true one."""
    return tg.papers.tao2022.sparse(
        n_rows,
        n_features,
        tg.ApproxDP(EPSILON, DELTA),
        moment=MOMENT,
        diameter=2.0 * N_NONZERO**0.5,
        n_nonzero=N_NONZERO,
        n_kept=N_NONZERO,
        strong_convexity=COLUMN_VARIANCE,
        smoothness=COLUMN_VARIANCE,
    )


def recover(seed, **sizes):
    """Fit both ways on one sample."""
    X, y, support = design(seed, **sizes)
    for name, options in (
        (DEFAULT, {}),
        (THEOREM, {"solver": theorem(*X.shape), "fit_intercept": False}),
    ):
        model = tg.SparseLinearRegression(
            n_nonzero=N_NONZERO, epsilon=EPSILON, delta=DELTA, random_state=seed, **options
        ).fit(X, y)
        yield Recovery(name, seed, len(np.intersect1d(model.support_, support)))


def kept(path):
    """Read what was found before."""
    return [Recovery(**line) for line in read(path)]


def keep(path, recoveries):
    """Write down what was found, and return it."""
    found = list(recoveries)
    with path.open("a") as out:
        append(out, [asdict(each) for each in found])
    return found
