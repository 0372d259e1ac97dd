"""The experiments of Wang, Xiao, Devadas and Xu (2020, Section 6 and Appendix C).

Errors are distances from the optimum over its length. Tasks and methods, with all our choices, are
those of :mod:`tailguard.papers.reproduce.tasks.wang`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tailguard.array_types import FloatArray
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.judges import COMPARABLE, above, below, falls, spreads_more
from tailguard.papers.reproduce.results import Point
from tailguard.papers.reproduce.tasks import wang
from tailguard.papers.reproduce.tasks.fits import PlannedFit, Task
from tailguard.papers.reproduce.tasks.optimum import OPTIMUM, ZERO, Objective, minimise_over
from tailguard.papers.reproduce.tasks.public_sets import read_adult

PAPER = "Wang and others 2020"
FEW_STEPS = 20  # of a quick run, and of Algorithm 3 alone
N_STEPS = 50  # not stated; Algorithm 4 has converged by then
KAPPAS = (1.0, 4.0, 16.0)  # not stated

Judged = Callable[[FloatArray], float]  # from weights to the measured error
Drawn = tuple[FloatArray, FloatArray, Judged]  # features, target, and the error of weights


def _drawn(task: Task, n_rows: int, n_features: int, seed: int) -> Drawn:
    data = wang.draw(task.name, n_rows, n_features, seed)
    return data.features, data.target.astype(np.float64), partial(wang.distance, task, data)


def _figure_1(setup: Setup) -> list[Cell]:
    """Error against iteration: a panel a task and epsilon."""
    n_rows, n_steps = (10_000, FEW_STEPS) if setup.quick else (50_000, N_STEPS)
    cells = []
    for task in (wang.RIDGE, wang.LOGISTIC):
        drawn = partial(_drawn, task, n_rows, wang.N_FEATURES)
        for method in wang.curves_of(n_steps, n_rows, by_theorem=task is wang.RIDGE):
            for epsilon in wang.EPSILONS:
                panel = f"{task.name}, epsilon = {epsilon:g}"
                fit = method.fit_for(task, n_rows, wang.N_FEATURES, epsilon)
                cells.append(_iterations(panel, method, fit, drawn, f", n = {n_rows}"))
    return cells


def _iterations(
    panel: str,
    method: wang.Method,
    fit: Callable[[], PlannedFit],
    drawn: Callable[[int], Drawn],
    where: str = "",
) -> Cell:
    """Measure the error of every point on the way."""

    def measure(seed: int) -> list[Point]:
        X, y, error = drawn(seed)
        return [
            Point(panel, method.curve, method.noise, step, error(weights))
            for step, weights in method.path(fit().run(X, y, seed=seed).trace)
        ]

    return Cell(f"{panel}, {method.curve}, {method.noise}{where}", measure)


def _figure_2(setup: Setup) -> list[Cell]:
    """Test risk against iteration on Adult."""
    assert setup.data is not None
    adult, n_steps = read_adult(setup.data), FEW_STEPS if setup.quick else N_STEPS
    cells = []
    for task, scale, shift in ((wang.RIDGE, 2.0, -1.0), (wang.LOGISTIC, 1.0, 0.0)):
        y, y_test = scale * adult.y + shift, scale * adult.y_test + shift
        risk = Objective.of_records(task.loss, adult.X_test, y_test).value
        trained = Objective.of_records(task.loss, adult.X, y)
        best = risk(minimise_over(trained, task.constraint, adult.X.shape[1]))

        def drawn(_seed: int, y: FloatArray = y, risk: Judged = risk) -> Drawn:
            return adult.X, y, risk

        for epsilon in wang.EPSILONS:
            panel = f"{task.name}, epsilon = {epsilon:g}"
            levels = {OPTIMUM: best, ZERO: risk(np.zeros(adult.X.shape[1]))}
            cells += [_level(panel, name, (1.0, n_steps), levels[name]) for name in levels]
            for method in wang.curves_of(n_steps, adult.n_rows, by_theorem=False):
                fit = method.fit_for(task, adult.n_rows, adult.X.shape[1], epsilon)
                cells.append(_iterations(panel, method, fit, drawn))
    return cells


def _level(panel: str, curve: str, places: Sequence[float], value: float) -> Cell:
    """Return a horizontal line."""

    def measure(_seed: int) -> list[Point]:
        return [Point(panel, curve, "-", x, value) for x in places]

    return Cell(f"{panel}, {curve}", measure)


def _sizes(places: Sequence[tuple[int, int, float]]) -> list[Cell]:
    """Measure the final error on batches, for rows, columns and the place on the axis."""
    cells = []
    for task in (wang.RIDGE, wang.LOGISTIC):
        for n_rows, n_features, x in places:
            for epsilon in wang.EPSILONS:
                method = wang.Method(f"epsilon = {epsilon:g}", "tight", wang.batches)
                cells.append(_final(task, method, (n_rows, n_features), epsilon, x))
            method = wang.Method(wang.BATCH_RGD, "-", wang.batches)
            cells.append(_final(task, method, (n_rows, n_features), 1.0, x))
    return cells


def _final(
    task: Task, method: wang.Method, sizes: tuple[int, int], epsilon: float, x: float
) -> Cell:
    fit = method.fit_for(task, *sizes, epsilon)

    def measure(seed: int) -> list[Point]:
        X, y, error = _drawn(task, *sizes, seed)
        found = error(fit().run(X, y, seed=seed).coef)
        return [Point(task.name, method.curve, method.noise, x, found)]

    place = f"n = {sizes[0]}, d = {sizes[1]}, x = {x:g}"
    return Cell(f"{task.name}, {method.curve}, {method.noise}, {place}", measure)


def _figure_3(setup: Setup) -> list[Cell]:
    n_rows, widths = (20_000, (10, 50)) if setup.quick else (100_000, (10, 30, 50))
    return _sizes([(n_rows, width, float(width)) for width in widths])


def _figure_4(setup: Setup) -> list[Cell]:
    counts = (20_000, 100_000) if setup.quick else (20_000, 50_000, 100_000)
    return _sizes([(n_rows, 20, float(n_rows)) for n_rows in counts])


def _kappas(setup: Setup) -> list[Cell]:
    """Measure the final errors of Algorithm 3 against the width of its range, at epsilon 1."""
    n_rows = 5_000 if setup.quick else 10_000
    stated, cells = wang.as_stated(FEW_STEPS, n_rows), []
    for task in (wang.RIDGE, wang.LOGISTIC):
        cells.append(_level(task.name, ZERO, KAPPAS, 1.0))  # as far off as the optimum is long
        for kappa in KAPPAS:
            call = partial(wang.trimmed, kappa, **stated)
            methods = (
                wang.Method(wang.ALGORITHM_3, "tight", call),
                wang.Method(wang.ALGORITHM_3, "printed", partial(call, **wang.AS_PRINTED)),
            )
            sizes = n_rows, wang.N_FEATURES
            cells += [_final(task, method, sizes, 1.0, kappa) for method in methods]
    return cells


LITTLE_NOISE = "at epsilon = 1 the numerically proved smooth scale leaves hardly any noise"


def _poor(curve: str, says: str, reason: str) -> Claim:
    return Claim(f"{curve} is poor", says, above(curve, wang.ALGORITHM_4, at="end"), reason)


def _on_iterations(zero: str = "") -> list[Claim]:
    """List what is claimed of Figures 1 and 2; ``zero`` is what losses are compared with."""
    says = "Algorithm 3 performs poorly (read as: its error stays above that of Algorithm 4)."
    varies = Claim(
        "variation",
        "Algorithm 3 varies more than Algorithm 4.",
        spreads_more(wang.ALGORITHM_3, wang.ALGORITHM_4),
        LITTLE_NOISE,
    )
    claims = [varies, _poor(wang.ALGORITHM_3, says, LITTLE_NOISE)]
    noise = "noise outweighs sampling at small epsilon; the paper shows no numbers"
    for curve, rival in ((wang.ALGORITHM_4, wang.RGD), (wang.BATCHES, wang.BATCH_RGD)):
        times = f"at most {COMPARABLE:g} times"
        read = f"{rival}, gains over {zero} {times} as much" if zero else f"{times} its error"
        judge = below(curve, rival, factor=COMPARABLE, at="end", zero=zero)
        says = f"{curve} is comparable to {rival} (read as: {read})."
        claims.append(Claim(f"{curve} is comparable", says, judge, noise))
    return claims


def experiments() -> tuple[Experiment, ...]:
    """List Figures 1 to 4, which 5 and 6 show with bands, and the range of Algorithm 3."""
    says = "the same holds for Algorithm 3 with a smooth scale and its theorem's steps."
    reason = "the repaired trimmed mean needs less noise than soft truncation at its printed scale"
    by_theorem = replace(_poor(wang.THEOREM_5, says, reason), kind="ours")
    curves = [f"epsilon = {epsilon:g}" for epsilon in wang.EPSILONS]
    fewer = falls(*curves, rises=True)
    columns = Claim("columns", "The error falls as the number of columns decreases.", fewer)
    rows = Claim("rows", "The error falls as records are added.", falls(*curves))
    falling = below("epsilon = 1", "epsilon = 0.1")
    on_epsilon = Claim("epsilon", "The error falls as epsilon grows.", falling)
    on_kappa = Claim(
        "kappa",
        "Algorithm 3 is sensitive to kappa (read as: 1.1 times or more).",
        falls(wang.ALGORITHM_3, rises=True, factor=1.1, bar=ZERO),
        "noise drives the weights to the edge of the ball, whatever kappa is",
    )
    # fmt: off
    return (
        Experiment("wang2020-1", f"{PAPER}, Figures 1 and 5",
                   "ridge with lognormal and logistic with log-logistic noise, n = 50,000, d = 10",
                   Axes("iteration", "error", band="extremes"), _figure_1,
                   (*_on_iterations(), by_theorem)),
        Experiment("wang2020-2", f"{PAPER}, Figures 2 and 6",
                   "ridge and logistic on 28,000 records of Adult, 8 public columns",
                   Axes("iteration", "test risk", log_y=False, band="extremes"), _figure_2,
                   tuple(_on_iterations(ZERO)),
                   data=("adult",)),
        Experiment("wang2020-3", f"{PAPER}, Figure 3",
                   "stochastic Algorithm 4 against the number of columns, n = 100,000",
                   Axes("columns", "error"), _figure_3, (columns, on_epsilon)),
        Experiment("wang2020-4", f"{PAPER}, Figure 4",
                   "stochastic Algorithm 4 against the number of records, d = 20",
                   Axes("records", "error"), _figure_4, (rows, on_epsilon)),
        Experiment("wang2020-kappa", f"{PAPER}, Section 6",
                   "Algorithm 3 against the width kappa of its range, epsilon = 1, n = 10,000",
                   Axes("kappa", "error", log_x=True), _kappas, (on_kappa,)),
    )
    # fmt: on
