"""All rows of ``tailguard audit``: every query, mean and solver of the registries, and summaries.

The false alarm is for all rows together (Bonferroni): at most one audit of a thousand refutes a
true claim.

Reference
---------
Bonferroni 1936 (several tests at once). Each row cites its own.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.audit.black_box import audit
from tailguard.audit.cases import FALSE_ALARM, AuditResult, Case
from tailguard.audit.of_queries import (
    OF_CELLS,
    PURE_QUERIES,
    choice_case,
    pure_case,
    pure_cells_case,
    query_case,
    sample_aggregate_case,
    trimmed_case,
)
from tailguard.audit.of_runs import (
    block_case,
    describe_case,
    examples_of,
    mean_case,
    newton_case,
    private_mean_case,
    solver_case,
    trimmed_mean_case,
)
from tailguard.audit.one_run import audit_one_run
from tailguard.audit.testers import TESTERS
from tailguard.audit.worst_pairs import WORST_PAIRS
from tailguard.estimators.mean import mean
from tailguard.estimators.regression import LinearRegression
from tailguard.means.choice import MEANS
from tailguard.privacy.guarantees import GDP
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent
from tailguard.solvers.registry import SOLVERS
from tailguard.wing import wing

PAPERS = wing("audits")

WEAK_CLAIMS = (0.5, 1.0)
"""Claims in mu, smaller than in the quick audit; they need 3 to 12 times as many runs."""

TESTER_RUNS = 2_000
"""Runs of a public call. At the false alarm of one row of 88, a learned threshold has power 0.98
with 1500 runs, and 0.99 or more with this number (measured)."""

ONE_RUN_DELTA = 1e-8
"""The delta at which the audit by one run tests a claim. A part of its p-value grows with delta: at
the false alarm of one row of 88, it proves nothing at 1e-5, and 0.10, 0.17 and 0.16 of the claim at
1e-7, 1e-8 and 1e-9 (measured with a thousand canaries)."""

CASES: dict[str, Callable[[], Case]] = {
    **{f"query {name}": partial(query_case, name) for name in WORST_PAIRS},
    "query peeled-step, choice": choice_case,
    "query trimmed-mean": trimmed_case,
    "query sample-aggregate": sample_aggregate_case,
    **{f"query {name}, Laplace": partial(pure_case, name) for name in PURE_QUERIES},
    **{f"query {name}, Laplace": partial(pure_cells_case, name) for name in OF_CELLS},
    **{f"mean {name}": partial(mean_case, name) for name in examples_of(MEANS)},
    "mean trimmed": trimmed_mean_case,
    "mean clipped, in private units": private_mean_case,
    **{f"solver {name}": partial(solver_case, name) for name in examples_of(SOLVERS)},
    **({} if PAPERS is None else PAPERS.CASES),
    "solver hard-thresholding": partial(solver_case, "hard-thresholding"),
    "solver sample-and-aggregate": block_case,
    "solver whitened-newton": newton_case,
    "summary describe": describe_case,
    "summary describe, by groups": partial(describe_case, by_groups=True),
}
"""The rows of the quick audit."""

WEAKER: dict[str, Callable[[], Case]] = {
    **{
        f"query {name} at mu = {mu:g}": partial(query_case, name, mu)
        for name in WORST_PAIRS
        for mu in WEAK_CLAIMS
    },
    **{f"query {name}, Laplace at 1": partial(pure_case, name, 1.0) for name in PURE_QUERIES},
    **{f"query {name}, Laplace at 1": partial(pure_cells_case, name, 1.0) for name in OF_CELLS},
    "query trimmed-mean at rho = 0.6": partial(trimmed_case, 0.6),
    "solver whitened-newton at mu = 0.5": partial(newton_case, 0.5),
}
"""More rows of the long audit, with smaller claims."""


def by_tester(tester: str, *, false_alarm: float) -> AuditResult:
    """Audit ``tg.mean`` as a user would, by one of the testers."""
    high = np.zeros(40)
    high[0] = 1e9
    options: dict[str, Any] = {"guarantee": GDP(2.5), "method": "clipped", "clip_norm": 1.0}
    return audit(
        lambda seed: partial(mean, **options, random_state=seed),
        (-high, high), tester=tester, n_runs=TESTER_RUNS, false_alarm=false_alarm,
    )  # fmt: skip


def one_step(*, false_alarm: float) -> AuditResult:
    """Audit ``tg.LinearRegression`` with a single step, which releases only coefficients."""
    X, low = np.zeros((60, 1)), np.zeros(60)
    X[0], low[0] = 1.0, -1e9
    solver = NoisyGradientDescent(n_steps=1, clip_norm=1.0, step_size=1.0)
    return audit(
        lambda seed: LinearRegression(guarantee=GDP(2.5), solver=solver, random_state=seed),
        ((X, low), (X, -low)),
        false_alarm=false_alarm,
    )


def fits(*, false_alarm: float) -> AuditResult:
    """Audit whole fits of ``tg.LinearRegression`` by their coefficients and intercept.

    With the default method, coefficients prove less than half of the budget (docs/audits.md). So
    this row detects numbers that bypass the gate, but not noise that is somewhat too small. The row
    of the solver observes all releases.
    """
    row = np.arange(200)
    X = np.where(row % 2, 1.0, -1.0)[:, None] * (1.0 + 0.4 * (row * 7 % 200) / 200)[:, None]
    y = X[:, 0] + np.where(row // 2 % 2, 1.0, -1.0)
    low, high = (np.append(end, y[1:]) for end in (-1e9, 1e9))
    return audit(
        lambda seed: LinearRegression(guarantee=GDP(2.5), random_state=seed),
        ((X, low), (X, high)),
        false_alarm=false_alarm,
    )


def one_run(*, false_alarm: float) -> AuditResult:
    """Audit a mean of a thousand columns by one run with a thousand canaries."""
    canaries = np.eye(1000)

    def fit(X: FloatArray, *, seed: int) -> FloatArray:
        result = mean(X, guarantee=GDP(2.0), method="clipped", clip_norm=1.0, random_state=seed)
        return -np.asarray(result.value)  # column i is nonzero in record i only

    return audit_one_run(
        fit, (canaries,), (-canaries,), claim=GDP(2.0), delta=ONE_RUN_DELTA,
        false_alarm=false_alarm,
    )  # fmt: skip


PUBLIC: dict[str, Callable[..., AuditResult]] = {
    "tg.mean, in one run": one_run,
    "tg.LinearRegression, one step, by its coefficients": one_step,
    "tg.LinearRegression, by its coefficients": fits,
    **{f"tg.mean, by {tester}": partial(by_tester, tester) for tester in TESTERS},
}
"""More rows of the long audit: public calls."""

QUICK = tuple(CASES)
LONG = (*CASES, *WEAKER, *PUBLIC)


def audit_row(name: str, *, false_alarm: float) -> AuditResult:
    """Audit one row by its name."""
    if name in PUBLIC:
        return replace(PUBLIC[name](false_alarm=false_alarm), name=name)
    return {**CASES, **WEAKER}[name]().audit(name, false_alarm=false_alarm)


def run_audit(names: tuple[str, ...] = QUICK, *, n_jobs: int = 1) -> Iterator[AuditResult]:
    """Audit rows, and yield their results in the order of ``names``."""
    if not names:
        return
    row = partial(audit_row, false_alarm=FALSE_ALARM / len(names))
    if n_jobs == 1:
        yield from map(row, names)
        return
    with ProcessPoolExecutor(min(n_jobs, len(names)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(row, names)
