"""Measure how fast the excess risk of each theorem falls; compare with theorem and lower bound.

Reference
---------
Kamath, Liu and Zhang 2022; Tao and others 2022; Wang and others 2020; Zhao and others 2024; Xu and
others 2025: the theorems of :data:`tailguard.papers.reproduce.risk_cases.CASES`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tailguard.papers.instances.heavy_laws import ParetoLaw
from tailguard.papers.reproduce import judges, risk_cases
from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.results import Point, Results

UPPER, LOWER = "slope of the theorem", "slope of the lower bound"


# Verdicts of slopes, the worst first. A claim on moments of several orders gets its worst verdict.
ORDERED: tuple[judges.Outcome, ...] = (
    "does not hold",
    "not reached at this size",
    "better than the theorem",
    "holds",
)


@dataclass(frozen=True)
class RiskSlope:
    """One measured slope: a theorem along an axis, at an order of the moment."""

    case: risk_cases.RiskCase
    axis: risk_cases.Axis
    order: float
    n_points: int = 4  # of the grid, which is about a decade long

    @property
    def panel(self) -> str:
        """The panel that shows it."""
        return f"{self.case.name}, along {self.axis}"

    @property
    def curve(self) -> str:
        """Its curve in the panel."""
        return f"k = {self.order:g}"

    @property
    def sizes(self) -> tuple[float, ...]:
        """Records, columns or mu along the grid."""
        low, high = self.case.span(self.axis)
        places = np.geomspace(low, high, self.n_points)
        return tuple(float(f"{x:.3g}") if self.axis == "mu" else float(round(x)) for x in places)

    def predicted(self, bound: str, reading: str = "tight") -> float:
        """Return the slope of the theorem or of the lower bound, corrected or as printed."""
        case, upper = self.case, bound == UPPER
        tight, printed = (case.upper, case.printed) if upper else (case.lower, case.printed_lower)
        slopes = printed if reading == "printed" and printed else tight
        return float(getattr(slopes(1.0 - 1.0 / self.order), self.axis))

    @property
    def drawn(self) -> dict[str, float]:
        """Curve -> slope: one of each bound, or two if it is corrected along the axis."""
        lines: dict[str, float] = {}
        for bound in (UPPER, LOWER):
            slopes = self.predicted(bound, "printed"), self.predicted(bound)
            same = slopes[0] == slopes[1]
            names = [bound] if same else [f"{bound}, {each}" for each in ("printed", "corrected")]
            lines |= dict(zip(names, slopes, strict=False))
        return lines


def list_slopes(paper: str, *, quick: bool) -> list[RiskSlope]:
    """List the slopes of a paper: every theorem and axis, and along n every order."""
    return [
        RiskSlope(case, axis, order, n_points=3 if quick else 4)
        for case in risk_cases.CASES.values()
        if case.name.startswith(paper) and case.reached
        for axis in risk_cases.AXES
        for order in case.orders[: None if axis == "n" and not quick else 1]
    ]


def has_risk_rate(case: risk_cases.RiskCase, axis: risk_cases.Axis) -> judges.Judge:
    """Judge whether the slope of the excess risk along an axis is the theorem's.

    The claim holds within the tolerance of the theorem's slope. It does not hold if the risk falls
    more slowly, or grows faster. If the risk does better, it does not reach the theorem's worst
    case. Both readings measure with tight noise: one compares with the printed slope, the other
    with the corrected slope.
    """

    def judge(results: Results, reading: str) -> judges.Decision:
        if not case.reached:
            needs = f"from {case.rows_needed():.0e} records on, at mu = {case.base[2]:g}"
            return judges.Decision("not run", f"needs {needs}")
        shown, verdicts = [], set()
        for order in case.orders:
            slope = RiskSlope(case, axis, order)
            curve = results.curve(slope.panel, slope.curve, "tight")
            if len(curve) < 2:
                continue
            fitted, stated = judges.slope_of(curve), slope.predicted(UPPER, reading)
            verdicts.add(_verdict(fitted, stated))
            shown.append(
                f"{fitted.mean:.2f} ± {fitted.high - fitted.mean:.2f} of {stated:.2f}, lower bound "
                f"{slope.predicted(LOWER, reading):.2f} (k = {order:g})"
            )
        worst_first = [each for each in ORDERED if each in verdicts]
        if not worst_first:
            return judges.NOT_RUN
        words = "seeds do not tell: " if worst_first[0] == "not reached at this size" else ""
        if axis == "n":
            shown.append(f"at mu = 1 from n = {case.spans[0][0] * case.base[2]:.0e}")
        return judges.Decision(worst_first[0], words + "; ".join(shown))

    return judge


def _verdict(fitted: judges.FittedSlope, stated: float) -> judges.Outcome:
    """Compare slopes; the claim is "not reached" if only the interval has the theorem's slope."""
    if fitted.near(stated):
        return "holds"
    if fitted.low <= stated <= fitted.high:
        return "not reached at this size"
    return "does not hold" if fitted.mean > stated else "better than the theorem"


def risk_cell(slope: RiskSlope) -> Cell:
    """Return the cell of a slope; both bounds pass through the middle of the measurements."""

    def measure(seed: int) -> list[Point]:
        case, order = slope.case, slope.order
        law = ParetoLaw(order * (2.0 if case.doubled else 1.0))
        theorems = [case.theorem(slope.axis, size, order=order) for size in slope.sizes]
        risks = [case.task.excess(theorem, law, seed) for theorem in theorems]
        places = np.log(slope.sizes)
        points = [
            Point(slope.panel, slope.curve, "tight", size, risk)
            for size, risk in zip(slope.sizes, risks, strict=True)
        ]
        for name, power in slope.drawn.items() if order == case.orders[0] else ():
            line = np.exp(power * (places - places.mean()) + np.mean(np.log(risks)))
            points += [
                Point(slope.panel, name, "-", size, float(height))
                for size, height in zip(slope.sizes, line, strict=True)
            ]
        return points

    return Cell(f"{slope.panel}, {slope.curve}", measure)


SOURCES = {
    "kamath2022": "Kamath, Liu and Zhang 2022, Theorems 5.2, 5.5 and 5.7",
    "tao2022": "Tao and others 2022, Theorems 6, 7 and 10",
    "wang2020": "Wang and others 2020, Theorems 7 and 8",
    "zhao2024": "Zhao and others 2024, Theorems 4 and 7",
    "xu2025": "Xu and others 2025, Theorems 1 to 3 (our practical schedule), 6 and 7",
}


def _cells(paper: str, setup: Setup) -> Sequence[Cell]:
    return [risk_cell(slope) for slope in list_slopes(paper, quick=setup.quick)]


def _experiment(paper: str) -> Experiment:
    says = ("falls with the records", "grows with the columns", "falls with the budget")
    claims = tuple(
        Claim(
            f"{name.partition(' ')[2]}, along {axis}",
            f"The excess risk {words} as the theorem says.",
            has_risk_rate(case, axis),
            case.reason,
        )
        for name, case in risk_cases.CASES.items()
        if name.startswith(paper)
        for axis, words in zip(risk_cases.AXES, says, strict=True)
    )
    title = "excess risk where privacy is what costs, and the slopes of both bounds"
    axes, cells = Axes("size", "excess risk", log_x=True), partial(_cells, paper)
    name, source = f"optimisation-{paper}", SOURCES[paper]
    return Experiment(name, source, title, axes, cells, claims, readings=judges.READINGS)


def experiments() -> tuple[Experiment, ...]:
    """List one experiment a paper."""
    return tuple(map(_experiment, SOURCES))
