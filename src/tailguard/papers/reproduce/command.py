r"""Run the experiments of the papers, and decide what they claim.

Each leaves a CSV, a figure and its verdicts; claims.md has all verdicts.
What was run is not run again. Nobody's records are involved: they are
simulated, or public sets that --data has. --quick is a glance.

[bold]Examples[/bold]

\b
  tailguard reproduce --list
  tailguard reproduce rates --quick
  tailguard reproduce xu2025 --data sets --out figures
  tailguard reproduce all --quick
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tailguard.checks import InputError
from tailguard.cli.arguments import destination, write_text
from tailguard.cli.options import typed
from tailguard.cli.printing import print_wrapped
from tailguard.papers.reproduce import report
from tailguard.papers.reproduce.experiment import Experiment, Setup
from tailguard.papers.reproduce.figure import draw_figure
from tailguard.papers.reproduce.results import Results
from tailguard.papers.reproduce.runner import (
    all_experiments,
    check_data,
    find_experiments,
    run_experiment,
)


def reproduce(
    experiment: Annotated[
        str | None, typer.Argument(metavar="EXPERIMENT", help="One of --list, a paper, or all.")
    ] = None,
    quick: Annotated[bool, typed(None, "Fewer seeds and smaller sizes.", "--quick")] = False,
    data: Annotated[Path | None, typed("DIR", "Folder with public sets as Parquet.")] = None,
    out: Annotated[Path, typed("DIR", "Where figures and figures' numbers go.")] = Path(
        "reproduced"
    ),
    table: Annotated[
        Path | None, typed("FILE.md", "The table of claims; DIR/claims.md by default.")
    ] = None,
    seeds: Annotated[int | None, typed("N", "Seeds, where others are wanted.", min=1)] = None,
    jobs: Annotated[int, typed("N", "How many processes.", min=1)] = 1,
    listed: Annotated[bool, typed(None, "Only list what there is.", "--list")] = False,
) -> None:
    """Run experiments, judge their claims and write the results."""
    console = Console(highlight=False)
    if listed:
        console.print(_list_of(all_experiments()))
        return
    if experiment is None:
        raise InputError("EXPERIMENT must be all, or a name that --list shows; got none.")
    chosen, setup = find_experiments(experiment), Setup(quick, _folder(data), seeds)
    runnable = _runnable(chosen, setup, console)
    out.mkdir(parents=True, exist_ok=True)
    page = destination(table or out / "claims.md", out / "claims.csv")
    for each in runnable:
        verdicts = _run_one(each, setup, out, jobs, console)
        known = all_experiments()
        kept = report.keep_verdicts(out / "claims.csv", verdicts, [other.name for other in known])
        write_text(page, report.claims_page(kept, known, folder=out, page=page))
    print_wrapped(console, f"Figures are in {out}, all claims in {page}.")


def verdict_table(experiment: Experiment, verdicts: Sequence[report.Verdict]) -> Table:
    """Return the verdicts of one experiment."""
    title = f"{experiment.name} (NON-PRIVATE simulation): {experiment.source}"
    rows = ((each.claim, *each.outcomes) for each in verdicts)
    return _table(("claim", *experiment.readings), rows, title=title, title_justify="left")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], **options: Any) -> Table:
    table = Table(*head, box=box.SIMPLE_HEAD, **options)
    for row in rows:
        table.add_row(*row)
    return table


def _run_one(
    experiment: Experiment, setup: Setup, out: Path, jobs: int, console: Console
) -> list[report.Verdict]:
    """Run one experiment, and write and print its results."""
    watched = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = not watched.is_terminal
    with Progress(
        *columns, TimeElapsedColumn(), console=watched, transient=True, disable=hidden
    ) as progress:
        task = progress.add_task(experiment.name, total=None)
        lines = run_experiment(
            experiment,
            setup,
            out,
            n_jobs=jobs,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    results = Results(point for line in lines for point in line.points)
    report.write_curves(out / f"{experiment.name}.csv", results)
    if experiment.table is not None:
        write_text(out / f"{experiment.name}.md", experiment.table(results))
    for sentence in report.refusals(lines):
        print_wrapped(console, f"Not run: {sentence}")
    try:
        draw_figure(out / f"{experiment.name}.png", experiment, results)
    except InputError as missing:  # the numbers are written without it
        print_wrapped(console, f"No figure: {missing}")
    verdicts = report.judge_claims(experiment, results, setup)
    console.print(verdict_table(experiment, verdicts))
    print_wrapped(
        console,
        "NON-PRIVATE simulation: noise follows a seed, and records are simulated or public. "
        f"{experiment.name}: {results.seeds_told}, figures in {out / experiment.name}.csv.",
    )
    return verdicts


def _folder(data: Path | None) -> Path | None:
    """Refuse a data folder that does not exist."""
    if data is not None and not data.is_dir():
        raise InputError(f"--data must be a folder; got {str(data)!r}.")
    return data


def _runnable(chosen: Sequence[Experiment], setup: Setup, console: Console) -> Sequence[Experiment]:
    """Leave out experiments without data, and print why; refuse if none is left."""
    runnable = []
    for each in chosen:
        try:
            check_data(each, setup)
        except InputError as missing:
            if len(chosen) == 1:
                raise
            print_wrapped(console, f"Not run: {missing}")
        else:
            runnable.append(each)
    return runnable


def _list_of(experiments: Sequence[Experiment]) -> Table:
    """Return a table of names, sources and needed data."""
    rows = ((each.name, each.source, ", ".join(each.data) or "-") for each in experiments)
    return _table(("experiment", "source", "needs"), rows)
