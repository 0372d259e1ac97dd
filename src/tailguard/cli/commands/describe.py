r"""Describe every column of a file privately, on one budget.

Cells that can be read, mean with interval, standard deviation, quantiles,
shares of declared levels, and correlations. You need to know nothing about the
columns.

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

An empty or unreadable cell leaves the other cells of its row alone; with
--missing age=40 such a cell of age counts as 40 instead. Levels that are not
declared are counted as 'other', and empty cells as 'missing'. Every further
description of the same rows spends again.
"""

import json
from typing import Any

from rich.console import Console

import tailguard as tg
from tailguard.cli import options
from tailguard.cli.arguments import (
    destination,
    names_of,
    numbers_of,
    options_of,
    promise_of,
    run_options,
    tables_as_json,
    write_text,
)
from tailguard.cli.declarations import column_options, declared_schema, tell_undeclared
from tailguard.cli.printing import print_plain
from tailguard.data.readers.opening import opened_table
from tailguard.progress import progress_bar


def describe(
    file: options.TableOption,
    *,
    epsilon: options.EpsilonOption,
    delta: options.OptionalDeltaOption = None,
    pure: options.PureOption = False,
    columns: options.ColumnsOption = None,
    categorical: options.CategoricalOption = None,
    drop: options.DropOption = None,
    missing: options.MissingOption = None,
    schema: options.SchemaPathOption = None,
    weight: options.WeightOption = None,
    weight_bound: options.WeightBoundOption = None,
    person: options.PersonOption = None,
    max_rows: options.MaxRowsOption = None,
    row_id: options.RowIdOption = None,
    order: options.OrderOption = "file",
    quantiles: options.LevelsOption = None,
    by: options.ByOption = None,
    correlations: options.CorrelationsOption = True,
    spend: options.SpendOption = None,
    engine: options.EngineOption = "local",
    explain: options.ExplainOption = False,
    out: options.DescribeOutOption = None,
    ledger: options.LedgerOption = None,
    ledger_name: options.LedgerNameOption = None,
    ledger_key: options.LedgerKeyOption = None,
    checkpoint: options.CheckpointOption = None,
    resume: options.ResumeOption = False,
    check_records: options.CheckRecordsOption = True,
    on_unusable: options.OnUnusableOption = "stop",
    random_state: options.RandomStateOption = None,
) -> None:
    r"""Print a private description, and write it with its certificate if asked to.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("claims.csv").write_text("cost" + 500 * "\n2.5\n1.5")
    >>> file = Path("claims.csv")
    >>> describe(file, columns="cost", epsilon=1.0, delta=1e-6)  # doctest: +ELLIPSIS
    private description, n = 1000, mode: private
    ...
    """
    given = locals()
    guarantee = promise_of(epsilon, delta, pure=pure)
    table = opened_table(file, engine)
    declared = declared_schema(schema, **column_options(given))
    settled = declared.settled(table.names, table.where)
    table.check_types(settled.numeric)
    asked: dict[str, Any] = {"schema": settled, "guarantee": guarantee, "order": order}
    asked |= {"spend": options_of(spend or []), "correlations": correlations}
    if quantiles is not None:
        asked["q"] = numbers_of("--quantiles", quantiles, "numbers from 0 to 1, such as 0.5,0.99")
    if by is not None:
        asked["by"] = names_of("--by", by)
    out = None if out is None else destination(out, file, schema, ledger, checkpoint)
    tell_undeclared(Console(), declared, table, "--columns", by_cell=True)
    with progress_bar():
        result = tg.describe(table, **asked, **run_options(given))
    if out is not None:
        write_text(out, json.dumps(tables_as_json(result), indent=2) + "\n")
    console = Console()
    print_plain(console, result.to_text(console.width))
    if explain:
        print_plain(console, result.explain(console.width))
