"""Public algorithms on the hard instances of the papers, between lower and upper bounds."""

from collections.abc import Sequence
from functools import partial

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


_check = partial(Claim, kind="check")
VACUOUS = (
    "The upper bound is vacuous here: with its constants it is above the risk of every point of "
    "the set."
)


def _between(name: str, curve: str) -> list[Claim]:
    least = "No algorithm of that privacy risks less than the lower bound."
    most = "The algorithm risks at most what its theorem says."
    return [
        _check(f"{name}, {curve}, from below", least, above(curve, LEAST, panels=[name])),
        _check(f"{name}, {curve}, from above", most, below(curve, MOST, panels=[name])),
    ]


def _meaning(name: str) -> Claim:
    says = "The upper bound says more than that answers lie in the set."
    return _check(f"{name}, upper bound", says, below(MOST, LARGEST, panels=[name]), VACUOUS)


def experiments() -> tuple[Experiment, ...]:
    """List the one experiment on lower bounds."""
    places = ((name, curve) for name, case in CASES.items() for curve in case.curves)
    between = [claim for place in places for claim in _between(*place)]
    found = Experiment(
        name="lower-bounds",
        source="Kamath, Tao and Xu, lower bounds",
        title="risk of public algorithms on the hard instances, between both bounds",
        axes=Axes("records", "excess risk (Tao 2: error)", log_x=True),
        cells=_cells,
        claims=(*between, *map(_meaning, CASES)),
    )
    return (found,)
