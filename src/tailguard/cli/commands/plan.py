r"""List methods for a task, with predicted errors, passes over the data and noise.

No record is read and no budget is spent. TASK is one of
{tasks}.

--html writes one page, plan.html, with sliders over columns, records and
epsilon, for a mean and the models of 'tailguard fit'.

The theorems of the papers need a moment of the gradients and the diameter of
the set; a mean and the models of 'tailguard fit' do not.

[bold]Examples[/bold]

\b
  tailguard plan mean --rows 100000 --columns 10 --epsilon 1 --delta 1e-6
  tailguard plan linear --columns 10 --epsilon 1 --delta 1e-6 --error 0.01
  tailguard plan linear --columns 10 --delta 1e-6 --html
  tailguard plan linear --columns 10 --epsilon 1 --delta 1e-6 \
      --persons 20000 --rows-per-person 1,3,12
  tailguard plan convex --rows 100000 --columns 5 --epsilon 1 --delta 1e-6 \
      --moment-bound 5 --diameter 2 --smoothness 1
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tailguard.checks import require
from tailguard.cli import options
from tailguard.cli.arguments import destination, numbers_of, write_text
from tailguard.cli.printing import print_folded
from tailguard.moments import Moment
from tailguard.planning import TASKS, prediction_grid
from tailguard.planning import plan as plan_of
from tailguard.report.plan_page import plan_page

__doc__ = (__doc__ or "").replace("{tasks}", ", ".join(TASKS))
OUT_ALONE = "--out must be given with --html, as the path of its page; redirect any other output."
HTML_ALONE = "--html must be given without --json, --error, --persons and the facts for theorems."

fact = partial(options.typed, panel="What is publicly known")


class TheoremOptions:
    """Facts that theorems of the papers need."""

    smoothness: Annotated[float | None, fact("NUMBER", "The largest curvature.")] = None
    strong_convexity: Annotated[float | None, fact("NUMBER", "The least curvature.")] = None
    row_limit: Annotated[float | None, fact("NUMBER", "A bound on the norm of rows.")] = None
    gradient_bound: Annotated[
        float | None, fact("NUMBER", "A bound on the mean gradient's norm.")
    ] = None
    growth_constant: Annotated[
        float | None, fact("NUMBER", "Growth of the risk over squared distance.")
    ] = None
    n_nonzero: Annotated[int | None, fact("COUNT", "sparse: weights kept.", "--keep")] = None


@options.takes(TheoremOptions)
def list_methods(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task.")],
    columns: Annotated[int, fact("COUNT", "How many columns; an intercept counts.")],
    delta: options.DeltaOption,
    rows: Annotated[int | None, fact("COUNT", "How many rows.")] = None,
    epsilon: Annotated[float | None, options.EPSILON] = None,
    persons: Annotated[int | None, fact("COUNT", "How many persons, instead of --rows.")] = None,
    rows_per_person: Annotated[str | None, fact("A,B", "Guesses of a person's rows.")] = None,
    error: Annotated[
        float | None, fact("NUMBER", "Instead of --rows or --epsilon: the error to reach.")
    ] = None,
    moment_bound: Annotated[
        float | None, fact("NUMBER", "A bound on a moment of the records or of the gradients.")
    ] = None,
    moment_order: Annotated[float, fact("NUMBER", "The order of that moment.")] = 2.0,
    moment_kind: Annotated[str, fact("KIND", "norm, directional, raw or central.")] = "norm",
    diameter: Annotated[float | None, fact("NUMBER", "Of the constraint set.")] = None,
    json: Annotated[bool, options.typed(None, "As JSON.", "--json")] = False,
    html: Annotated[bool, options.typed(None, "As a page with sliders.", "--html")] = False,
    out: Annotated[
        Path | None,
        options.typed("PATH", "The page's path for --html; plan.html by default."),
    ] = None,
    **given: Any,
) -> None:
    """Print the methods.

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> run("plan mean --rows 10000 --columns 2 --epsilon 1 --delta 1e-6".split())
    ... # doctest: +ELLIPSIS
    mean: (epsilon, delta)-differential privacy with epsilon = 1 and delta = ...
    """
    facts = {name: value for name, value in given.items() if value is not None}
    kind: Any = moment_kind  # Moment checks the word
    moment = None if moment_bound is None else Moment(moment_order, moment_bound, kind=kind)
    sizes: dict[str, Any] = {"n_features": columns, "delta": delta, "n_rows": rows}
    sizes |= {"epsilon": epsilon, "moment": moment}
    require(html or out is None, OUT_ALONE)
    if html:
        others = (*facts.values(), json or None, diameter, error, persons, rows_per_person)
        require(all(other is None for other in others), HTML_ALONE)
        page = destination(Path("plan.html") if out is None else out)
        given_sizes = {name: value for name, value in sizes.items() if value is not None}
        write_text(page, plan_page(prediction_grid(task, **given_sizes)))
        typer.echo(f"Wrote {page}. No record was read.")
        return
    facts |= {"persons": persons, "error": error, "diameter": diameter}
    if rows_per_person is not None:
        facts["rows_per_person"] = numbers_of(
            "--rows-per-person", rows_per_person, "numbers, such as 1,3,12"
        )
    advice = plan_of(task, **sizes, **facts)
    if json:
        typer.echo(advice.to_json())
    else:
        print_folded(Console(), advice.to_text())
