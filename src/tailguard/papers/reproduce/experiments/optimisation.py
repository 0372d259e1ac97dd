"""The rates of the theorems on optimisation: excess risk against records, columns and budget."""

from collections.abc import Sequence
from functools import partial

from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.risk_rates.cases import AXES, CASES
from tailguard.papers.reproduce.risk_rates.measure import has_risk_rate, list_slopes, risk_cells
from tailguard.papers.reproduce.slopes import READINGS

SOURCES = {
    "kamath2022": "Kamath, Liu and Zhang 2022, Theorems 5.2, 5.5 and 5.7",
    "tao2022": "Tao and others 2022, Theorems 6, 7 and 10",
    "wang2020": "Wang and others 2020, Theorems 7 and 8",
    "zhao2024": "Zhao and others 2024, Theorems 4 and 7",
    "xu2025": "Xu and others 2025, Theorems 1, 2, 3, 6 and 7",
}


def _cells(paper: str, setup: Setup) -> Sequence[Cell]:
    return risk_cells(list_slopes(paper, quick=setup.quick))


def _experiment(paper: str) -> Experiment:
    says = ("falls with the records", "grows with the columns", "falls with the budget")
    return Experiment(
        name=f"optimisation-{paper}",
        source=SOURCES[paper],
        title="excess risk where privacy is what costs, and the slopes of both bounds",
        axes=Axes("size", "excess risk", log_x=True),
        cells=partial(_cells, paper),
        claims=tuple(
            Claim(
                f"{name.partition(' ')[2]}, along {axis}",
                f"The excess risk {words} as the theorem says.",
                has_risk_rate(case, axis),
                case.reason,
            )
            for name, case in CASES.items()
            if name.startswith(paper)
            for axis, words in zip(AXES, says, strict=True)
        ),
        readings=READINGS,
    )


def experiments() -> tuple[Experiment, ...]:
    """List one experiment a paper."""
    return tuple(map(_experiment, SOURCES))
