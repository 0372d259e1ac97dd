"""Table I of Zhao and others (2024) and Table 1 of Xu and others (2025), filled by the code.

Every row is a bound of ``tailguard.papers`` as a function of rows, columns and epsilon, with the
constants that it has there; the logarithms that a table leaves out are left out. What is shown are
its values and its slopes where sizes are so large that only the leading terms are left. A rate is
held to the lower bound as printed, and as corrected.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tailguard.means.formulas import put_into, tail_power
from tailguard.papers import kamath2022, wang2020, xu2025, zhao2024
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.judges import NOT_RUN, Decision, Judge, Outcome
from tailguard.papers.reproduce.report import markdown_table
from tailguard.papers.reproduce.results import Point, Results
from tailguard.papers.reproduce.slopes import READINGS, TOLERANCE, fit_slope
from tailguard.papers.xu2025 import quoted
from tailguard.privacy.guarantees import ApproxDP

DELTA = 1e-6
ORDER = 2.0  # of the moments: the worst that all rows allow
# Round figures, the same for all rows.
FACTS = {"delta": DELTA, "failure_probability": 0.01, "diameter": 2.0, "moment_order": ORDER}
FACTS |= {"strong_convexity": 1.0, "smoothness": 1.0}
# Panel -> sizes: rows, columns and epsilon; slopes are those between the last two, at sizes where
# privacy is what costs.
GRIDS = {
    "along n": [(10**power, 10, 0.01) for power in (5, 6, 7, 8)],
    "along d": [(10**8, 10**power, 0.01) for power in (0, 1, 2, 3)],
    "along epsilon": [(10**8, 10, 10.0**power) for power in (-3.5, -3.0, -2.5, -2.0)],
}
LOWER, QUOTED = "lower bound", "lower bound, as quoted"


@dataclass(frozen=True)
class _Row:
    """One line of a table: its name, the bound as printed and as built, and what that is told."""

    name: str
    printed: str
    bound: Callable[..., float]
    told: Mapping[str, float] = field(default_factory=dict)

    def value(self, n_rows: int, n_features: int, epsilon: float) -> float:
        """Return the bound, of the facts that its formula names."""
        rho = ApproxDP(epsilon, DELTA).gaussian_mu() ** 2 / 2.0
        sizes = {"n_rows": n_rows, "n_features": n_features, "epsilon": epsilon, "rho": rho}
        return put_into(self.bound, {**FACTS, **sizes}.get, **self.told)


def _soft(*, n_rows: int, n_features: int, rho: float, diameter: float) -> float:
    """Return the least bound over the balance, on a grid as fine as figures are shown."""
    told: dict[str, Any] = {"n_rows": n_rows, "n_features": n_features, "rho": rho}
    balances = (0.5 + 0.1 * step for step in range(16))
    return min(
        kamath2022.soft_convex_bound(**told, diameter=diameter, balance=balance)
        for balance in balances
    )


def _over_batches(
    *, n_rows: int, n_features: int, moment_order: float, epsilon: float, diameter: float
) -> float:
    """Return what is left of Theorem 7: Theorem 6 with noise over batches (E47, E65)."""
    cost = math.sqrt(n_features) / (n_rows * epsilon)
    return diameter * (1.0 / math.sqrt(n_rows) + math.pow(tail_power(cost, moment_order), 0.75))


KAMATH = "Kamath and others 2022, Theorem 5.2"
CLIPPING, ITERATIVE = "Zhao and others 2024, clipping", "Zhao and others 2024, iterative"
QUOTED_RATE = "sqrt(d/n) + sqrt(d) (sqrt(d) / (eps n))^(1 - 1/p)"
ZHAO_ROWS = (
    _Row("Wang and others 2020, Theorem 8", "(d^3 / (eps^2 n))^(1/3)", wang2020.convex_bound),
    _Row(
        KAMATH,
        "d / sqrt(n) + sqrt(d) (d^(3/2) / (eps n))^(1 - 1/p)",
        kamath2022.convex_bound,
    ),
    _Row(
        "Kamath and others 2022, Theorem 5.5",
        "min over q: d^((3 - q)/2) / sqrt(n) + d^((1 + q)/2) / sqrt(eps n)",
        _soft,
    ),
    _Row(
        CLIPPING,
        "sqrt(d/n) + sqrt(d) (sqrt(d) / (eps n))^(1 - 1/p) + d^(3/2 - 1/p) / n^(1 - 1/p)",
        zhao2024.convex_bound,
        {"nats": 1.0},
    ),
    _Row(ITERATIVE, QUOTED_RATE, zhao2024.iterative_convex_bound, {"nats": 1.0}),
    _Row(QUOTED, QUOTED_RATE, kamath2022.convex_lower_bound),
    _Row(
        LOWER,
        "not printed: moments in every direction instead of those of coordinates",
        zhao2024.convex_lower_bound,
    ),
)
GROWTHS = (2.0, 4.0)  # of strongly convex risks and of fourth powers: those of the figures
XU_PRINTED = "(r (1/sqrt(n) + (sqrt(d) / (eps n))^((k-1)/k)))^(theta/(theta-1))"
XU_LEFT = "Xu and others 2025, Theorem 7, what is left"
BASSILY, LOWY = "Bassily and others 2019", "Lowy and Razaviyayn 2023"
LOWY_RATE = "1/sqrt(n) + (sqrt(d) / (eps n))^((k-1)/k)"
XU, XU_THEOREMS = (
    "Xu and others 2025, ",
    {"Theorem 2": xu2025.tsybakov_bound, "Theorem 7": xu2025.accelerated_tsybakov_bound},
)
XU_ROWS = (
    _Row(f"{BASSILY}, convex", "1/sqrt(n) + sqrt(d) / (eps n)", quoted.lipschitz_bound),
    _Row(
        f"{BASSILY}, strongly convex",
        "1/n + d / (eps n)^2",
        quoted.lipschitz_strongly_convex_bound,
    ),
    _Row(
        KAMATH,
        "d / sqrt(n) + d^2 / (eps n) (eps n / d^(3/2))^(1/k)",
        kamath2022.convex_bound,
    ),
    _Row(
        "Kamath and others 2022, Theorem 5.7",
        "d / n + d (sqrt(d) / (eps n))^(2 (k-1)/k)",
        kamath2022.strongly_convex_bound,
    ),
    *(
        _Row(
            f"Asi and others 2021, Su and others 2022, theta = {growth:g}",
            "(1/sqrt(n) + sqrt(d) / (eps n))^(theta/(theta-1))",
            quoted.lipschitz_tsybakov_bound,
            {"growth": growth},
        )
        for growth in GROWTHS
    ),
    _Row(f"{LOWY}, large Lipschitz", f"R ({LOWY_RATE})", quoted.norm_bound),
    _Row(
        f"{LOWY}, no Lipschitz",
        "r (1/sqrt(n) + max((sqrt(d) / (r^(1/4) eps n))^(4(k-1)/(5k-1)), (...)^((k-1)/k)))",
        quoted.norm_bound_unlipschitz,
    ),
    _Row(
        f"{LOWY}, strongly convex",
        "R^2 (1/n + (sqrt(d) / (eps n))^(2 (k-1)/k))",
        quoted.norm_strongly_convex_bound,
    ),
    *(
        _Row(f"{name}, theta = {growth:g}", XU_PRINTED, bound, {"growth": growth})
        for bounds in (
            {f"{XU}{name}": bound for name, bound in XU_THEOREMS.items()},
            {LOWER: xu2025.tsybakov_lower_bound},
        )
        for growth in GROWTHS
        for name, bound in bounds.items()
    ),
    _Row(XU_LEFT, f"not printed: D ({LOWY_RATE.replace('(k-1)/k', '3(k-1)/(4k)')})", _over_batches),
)


def _cells(rows: Sequence[_Row], _setup: Setup) -> list[Cell]:
    return [_cell(row) for row in rows]


def _cell(row: _Row) -> Cell:
    def measure(_seed: int) -> list[Point]:
        return [
            Point(panel, row.name, "-", float(sizes[axis]), row.value(*sizes))
            for axis, (panel, grid) in enumerate(GRIDS.items())
            for sizes in grid
        ]

    return Cell(row.name, measure)


def _last_slope(results: Results, panel: str, name: str) -> float:
    found = results.curve(panel, name, "-")
    ends = list(found)[-2:]
    return fit_slope(ends, [found[x][0] for x in ends])


def _has_rate_of(printed: tuple[str, str], corrected: tuple[str, str]) -> Judge:
    """Judge whether two bounds have the same slopes at the largest sizes of all grids."""

    def judge(results: Results, reading: str) -> Decision:
        if not results.panels:
            return NOT_RUN
        pair = printed if reading == "printed" else corrected
        pairs = [
            tuple(_last_slope(results, panel, each) for each in pair) for panel in results.panels
        ]
        shown = ", ".join(
            f"{own:.2f} and {its:.2f} {panel}"
            for panel, (own, its) in zip(results.panels, pairs, strict=True)
        )
        same = all(math.isclose(own, its, abs_tol=TOLERANCE) for own, its in pairs)
        return Decision("holds" if same else "does not hold", f"slopes {shown}")

    return judge


def _grows_slower(name: str, *others: str) -> Judge:
    """Judge whether a bound grows slower with the columns than every other one."""

    def judge(results: Results, _noise: str) -> Decision:
        panel = "along d"
        if panel not in results.panels:
            return NOT_RUN
        own, least = (
            min(_last_slope(results, panel, each) for each in names) for names in ((name,), others)
        )
        outcome: Outcome = "holds" if own < least else "does not hold"
        return Decision(outcome, f"slope {own:.2f} against {least:.2f} or more")

    return judge


def _table(rows: Sequence[_Row], results: Results) -> str:
    """Return the table: what is printed, the value at the first sizes, and all slopes."""
    first = next(iter(GRIDS))
    n_rows, n_features, epsilon = GRIDS[first][0]
    value = f"at n = {n_rows:,}, d = {n_features}, epsilon = {epsilon:g}"
    shown = []
    for row in rows:
        values = results.curve(first, row.name, "-")
        slopes = [f"{_last_slope(results, panel, row.name):.2f}" for panel in GRIDS]
        shown.append((row.name, f"`{row.printed}`", f"{values[min(values)][0]:.3g}", *slopes))
    head = ("bound", "as printed, logarithms aside", value, *(f"slope {name}" for name in GRIDS))
    told = (
        f"Moments of order {ORDER:g}, delta = {DELTA:g}, diameter {FACTS['diameter']:g}. Hidden "
        "constants are 1, so that values of an upper and a lower bound may cross."
    )
    return f"{told}\n\n{markdown_table(head, shown)}\n"


def _optimal(words: str, name: str, where: str = "") -> Claim:
    return Claim(
        f"{words} is optimal",
        f"{words} has the rate of the lower bound{where}.",
        _has_rate_of((name, QUOTED), (name, LOWER)),
        "the quoted lower bound is of moments of coordinates; for moments in every direction, "
        "which the method needs, what is proved is less by the root of d (E51)",
    )


def _xu_claim(name: str, growth: float) -> Claim:
    own, lower = (f"{each}, theta = {growth:g}" for each in (f"{XU}{name}", LOWER))
    corrected = XU_LEFT if name == "Theorem 7" else own
    return Claim(
        f"{name} is optimal, theta = {growth:g}",
        f"{name} has the rate of the lower bound.",
        _has_rate_of((own, lower), (corrected, lower)),
        "the proof has the distance to the minimiser where the algorithm has the diameter (E65): "
        "what is left is Theorem 6, with noise over batches (E47)",
    )


def experiments() -> tuple[Experiment, ...]:
    """List both tables."""
    axes = Axes("size", "bound on the excess risk", log_x=True)
    return (
        Experiment(
            "zhao2024-table",
            "Zhao and others 2024, Table I",
            "bounds for convex losses",
            axes,
            partial(_cells, ZHAO_ROWS),
            (
                Claim(
                    "clipping improves",
                    "Simple clipping has a better rate in d than the methods before it.",
                    _grows_slower(CLIPPING, *(row.name for row in ZHAO_ROWS[:3])),
                ),
                _optimal("Simple clipping", CLIPPING, " for epsilon below 1/sqrt(d)"),
                _optimal("Iterative updating", ITERATIVE),
            ),
            table=partial(_table, ZHAO_ROWS),
            readings=READINGS,
        ),
        Experiment(
            "xu2025-table",
            "Xu and others 2025, Table 1",
            "bounds under the noise condition of Tsybakov",
            axes,
            partial(_cells, XU_ROWS),
            tuple(_xu_claim(name, growth) for growth in GROWTHS for name in XU_THEOREMS),
            table=partial(_table, XU_ROWS),
            readings=READINGS,
        ),
    )
