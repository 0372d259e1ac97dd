"""The rates of the private means in rows and columns, of all papers: what each theorem predicts."""

from collections.abc import Sequence

from tailguard.papers.reproduce.experiment import Axes, Cell, Claim, Experiment, Setup
from tailguard.papers.reproduce.mean_rates.cases import CASES
from tailguard.papers.reproduce.mean_rates.measure import has_rate, list_slopes, rate_cells
from tailguard.papers.reproduce.mean_rates.regimes import Axis


def _cells(setup: Setup) -> Sequence[Cell]:
    return rate_cells(list_slopes(quick=setup.quick))


def experiments() -> tuple[Experiment, ...]:
    """List the one experiment on means.

    Examples
    --------
    >>> [len(experiment.claims) for experiment in experiments()]
    [18]
    """
    axes: tuple[tuple[Axis, str, str], ...] = (
        ("n", "falls with the rows", "n^-(1 - 1/k)"),
        ("d", "grows with the columns", "the root of d times the cost of privacy"),
    )
    rates = Experiment(
        name="rates",
        source="All papers, theorems on means",
        title="error of every private mean where privacy is what costs",
        axes=Axes("size", "error", log_x=True),
        cells=_cells,
        claims=tuple(
            Claim(
                f"{name}, along {axis}",
                f"{case.rate.theorem}: the error {says}, as {law}.",
                has_rate(name, axis),
                kind="ours" if case.rate.derived else "paper",
            )
            for name, case in CASES.items()
            for axis, says, law in axes
        ),
        n_quick_seeds=3,
    )
    return (rates,)
