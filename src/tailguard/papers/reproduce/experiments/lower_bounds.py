"""Public algorithms on the hard instances of the papers, between lower and upper bounds."""

from collections.abc import Sequence

from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.judges import above, below
from tailguard.papers.reproduce.risk_rates.hard import LARGEST, LEAST, MOST
from tailguard.papers.reproduce.risk_rates.hard_cases import CASES, ROWS


def _cells(setup: Setup) -> Sequence[Cell]:
    return [
        case.cell(n_rows)
        for case in CASES.values()
        for n_rows in ROWS[: 1 if setup.quick else None]
    ]


def _claims(name: str, curve: str) -> tuple[Claim, ...]:
    return (
        Claim(
            f"{name}, {curve}, from below",
            "No algorithm of that privacy risks less than the lower bound.",
            above(curve, LEAST, panels=[name]),
            kind="check",
        ),
        Claim(
            f"{name}, {curve}, from above",
            "The algorithm risks at most what its theorem says.",
            below(curve, MOST, panels=[name]),
            kind="check",
        ),
    )


def experiments() -> tuple[Experiment, ...]:
    """List the one experiment on lower bounds."""
    between = [
        claim
        for name, case in CASES.items()
        for curve in case.curves
        for claim in _claims(name, curve)
    ]
    meaning = [
        Claim(
            f"{name}, upper bound",
            "The upper bound says more than that answers lie in the set.",
            below(MOST, LARGEST, panels=[name]),
            "The upper bound is vacuous here: with its constants it is above the risk of every "
            "point of the set.",
            kind="check",
        )
        for name in CASES
    ]
    found = Experiment(
        name="lower-bounds",
        source="Kamath, Tao and Xu, lower bounds",
        title="risk of public algorithms on the hard instances, between both bounds",
        axes=Axes("records", "excess risk (Tao 2: error)", log_x=True),
        cells=_cells,
        claims=(*between, *meaning),
    )
    return (found,)
