r"""Describe every column of a file privately, on one budget.

It prints the number of readable cells, the mean with its interval, the standard
deviation, quantiles, shares of declared levels, and correlations. You need not
know anything about the columns.

[bold]Examples[/bold]

\b
  tailguard describe claims.csv --epsilon 1 --delta 1e-6
  tailguard describe claims.parquet --columns cost,region \
      --categorical region=north,south --by region \
      --epsilon 1 --delta 1e-6 --explain --out description.json
  tailguard describe claims.csv --quantiles 0.5,0.99 --spend quantiles=2 \
      --epsilon 1 --delta 1e-6
  tailguard describe survey.csv --weight w --weight-bound 5 \
      --epsilon 1 --delta 1e-6
  tailguard describe claims.csv --epsilon 1 --pure

An empty or unreadable cell does not affect the other cells of its row. With
--missing age=40, such a cell of age counts as 40. Undeclared levels are counted
as 'other', and empty cells as 'missing'. Every further description of the same
rows costs budget again.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

import tailguard as tg
from tailguard.cli import options
from tailguard.cli.arguments import (
    check_explain,
    destination,
    kept,
    names_of,
    numbers_of,
    options_of,
    promise_of,
    run_options,
)
from tailguard.cli.declarations import declared_schema, print_undeclared
from tailguard.cli.printing import print_plain, print_summary, tables_as_json
from tailguard.data.readers.opening import opened_table
from tailguard.progress import progress_bar

method = partial(options.typed, panel="Method")


@options.takes(*options.RUN_ON_A_TABLE)
def describe(
    file: options.TableOption,
    *,
    epsilon: options.EpsilonOption,
    delta: options.OptionalDeltaOption = None,
    pure: options.PureOption = False,
    columns: options.ColumnsOption = None,
    quantiles: Annotated[
        str | None, method("Q,Q", "Levels of the quantiles, such as 0.5,0.99.")
    ] = None,
    by: Annotated[
        str | None,
        method("A,B", "Categorical columns, to describe each combination of levels separately."),
    ] = None,
    no_correlations: Annotated[
        bool, method(None, "Do not correlate columns.", "--no-correlations")
    ] = False,
    spend: Annotated[
        list[str] | None,
        method(
            "NAME=FACTOR",
            "More or less of the budget for a statistic, such as quantiles=2; may be repeated.",
        ),
    ] = None,
    engine: options.EngineOption = "local",
    explain: options.ExplainOption = False,
    json: options.JsonOption = False,
    out: Annotated[
        Path | None, options.typed("PATH", "Where to write tables and certificate (JSON).")
    ] = None,
    **given: Any,
) -> None:
    r"""Print a private description; with --out, also write it with its certificate.

    Examples
    --------
    >>> _ = Path("claims.csv").write_text("cost" + 500 * "\n2.5\n1.5")
    >>> from tailguard.cli.app import run
    >>> budget = "--epsilon 1 --delta 1e-6"
    >>> run(f"describe claims.csv --columns cost {budget}".split())  # doctest: +ELLIPSIS
    private description, n = 1000, mode: private
    ...
    """
    guarantee = promise_of(epsilon, delta, pure=pure)
    check_explain(explain, json=json)
    table = opened_table(file, engine)
    groups = () if by is None else names_of("--by", by)
    declared = declared_schema({**given, "columns": columns, "groups": groups})
    schema = declared.settled(table.names, table.where)
    table.check_types(schema.numeric)
    arguments: dict[str, Any] = {"schema": schema, "guarantee": guarantee, "order": given["order"]}
    arguments |= {"spend": options_of(spend or []), "correlations": not no_correlations}
    if quantiles is not None:
        allowed = "numbers from 0 to 1, such as 0.5,0.99"
        arguments["q"] = numbers_of("--quantiles", quantiles, allowed)
    if groups:
        arguments["by"] = groups
    if out is not None:
        destination(out, file, given["schema"], given["ledger"], given["checkpoint"])
    print_undeclared(declared, table, "--columns", by_cell=True, json=json)
    with progress_bar():
        result = tg.describe(table, **arguments, **run_options(given))
    with kept(out, tables_as_json(result) + "\n"):
        print_summary(result, json=json)
        if explain:
            console = Console()
            print_plain(console, result.explain(console.width))
