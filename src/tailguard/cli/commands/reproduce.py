"""``tailguard reproduce``: what the papers promise, measured on simulated records."""

import csv
import io
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tailguard.cli.arguments import destination, write_text
from tailguard.cli.printing import print_wrapped
from tailguard.reproduce.cases import CASES
from tailguard.reproduce.rates import FULL, QUICK, TOLERANCE, Measured, experiments, measure_rates
from tailguard.reproduce.regimes import MOST_NUMBERS, MOST_ROWS

__all__ = ["HELP", "RATES_HELP", "app", "as_csv", "rate_table", "rates"]

HELP = "Measure on simulated records what the papers promise."
RATES_HELP = """
Measure how the errors of the private means fall with rows and grow with columns.

Slopes of log(error) on Student-t and Pareto records whose moment exists only
just, beside the slopes that the corrected theorems predict, for every method.
Nobody's records are involved. It takes a while; --quick, a minute or two.

[bold]Examples[/bold]

\b
  tailguard reproduce rates --quick
  tailguard reproduce rates --out rates.csv
"""
NOTE = (
    "NON-PRIVATE simulation: records are simulated and noise follows a seed. Slopes of log(error) "
    "in log(n) or log(d): predicted, and means over {seeds} seeds with 95 % confidence; 'agrees' "
    "is within {tolerance} of the prediction. k is the order of the moment that is bounded; "
    "budget is mu, or epsilon where the promise is pure or printed for (epsilon, delta). 'not "
    "reachable': privacy predictably dominates only on the grid that is shown, beyond {rows:.0e} "
    "rows or {numbers:.0e} numbers."
)
CSV_COLUMNS = (
    *("method", "records", "k", "axis", "first n", "last n", "first d", "last d", "points"),
    *("guarantee", "predicted", "measured", "low", "high", "verdict"),
)

app = typer.Typer(help=HELP, add_completion=False)


@app.callback()
def _several() -> None:
    """Measure on simulated records what the papers promise."""


@app.command(help=RATES_HELP)
def rates(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds, points and moments.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.csv", help="Where to write all figures.")
    ] = None,
) -> None:
    """Measure, and print a table for every method.

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> run(["reproduce", "rates", "--help"])  # doctest: +ELLIPSIS
    <BLANKLINE>
     Usage: tailguard reproduce rates [OPTIONS] ...
    """
    target = None if out is None else destination(out)
    effort, console = QUICK if quick else FULL, Console(highlight=False)
    listed = experiments(effort)
    watched = Console(stderr=True)
    with Progress(console=watched, transient=True, disable=not watched.is_terminal) as progress:
        task = progress.add_task("Simulating", total=effort.n_seeds)
        found = measure_rates(listed, n_seeds=effort.n_seeds, done=lambda: progress.advance(task))
    for name, rows in groupby(found, key=lambda each: each.regime.case.name):
        console.print(rate_table(name, list(rows)))
    note = {"seeds": effort.n_seeds, "tolerance": TOLERANCE}
    print_wrapped(console, NOTE.format(**note, rows=MOST_ROWS, numbers=MOST_NUMBERS))
    if target is not None:
        write_text(target, as_csv(found))


def rate_table(name: str, found: Sequence[Measured]) -> Table:
    """Return one method's table.

    Examples
    --------
    >>> listed = experiments(QUICK, ["soft"])[:1]
    >>> rate_table("soft", measure_rates(listed, n_seeds=2)).row_count
    1
    """
    title = f"{name} (NON-PRIVATE simulation): {CASES[name].rate.theorem}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("records", "k", "along", "budget"):
        table.add_column(heading, no_wrap=True)
    for heading in ("slope", "measured"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in found:
        regime, slope = each.regime, each.slope
        (n_rows, n_features), (last_rows, last_features) = regime.points[0], regime.points[-1]
        along = (
            f"n {_short(n_rows)}-{_short(last_rows)}, d {n_features}"
            if regime.axis == "n"
            else f"d {n_features}-{last_features}, n {_short(n_rows)}"
        )
        measured = f"{slope.mean:.2f} ± {slope.high - slope.mean:.2f}" if slope else "-"
        numbers = (f"{regime.amount:g}", f"{regime.predicted:.2f}", measured, each.verdict)
        table.add_row(each.law.name, f"{regime.order:g}", along, *numbers)
    return table


def as_csv(found: Sequence[Measured]) -> str:
    """Return all figures as text, one line for every slope.

    Examples
    --------
    >>> as_csv([])[:20]
    'method,records,k,axi'
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for each in found:
        regime, slope = each.regime, each.slope
        numbers = ("", "", "") if slope is None else (slope.mean, slope.low, slope.high)
        (n_rows, n_features), (last_rows, last_features) = regime.points[0], regime.points[-1]
        writer.writerow(
            [
                *(regime.case.name, each.law.name, regime.order, regime.axis),
                *(n_rows, last_rows, n_features, last_features, len(regime.points)),
                regime.case.guarantee(regime.amount).describe(),
                f"{regime.predicted:.4f}",
                *(number if number == "" else f"{number:.4f}" for number in numbers),
                each.verdict,
            ]
        )
    return file.getvalue()


def _short(n_rows: int) -> str:
    """Return a number of rows in few letters."""
    if n_rows > MOST_ROWS:
        return f"{n_rows:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{n_rows / 1e6:.2g}M" if n_rows >= 10**6 else f"{n_rows / 1e3:.3g}k"
