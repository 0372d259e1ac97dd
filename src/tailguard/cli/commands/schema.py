r"""Begin a schema file, which declares the columns of a CSV or Parquet file.

Only names and types of columns are read, no cell: every column is a numeric
feature until you declare otherwise. Where a Parquet file states types, a column
of dates counts days after 2000-01-01, and one of categories is left out until
you list its levels.
Edit the file, then pass it to fit and mean with --schema, or to Python as
schema=.

[bold]Examples[/bold]

\b
  tailguard schema claims.csv --out schema.json
  tailguard schema claims.csv --target cost --drop id,date \
      --categorical region=north,south --out schema.json
  tailguard fit claims.csv --schema schema.json --epsilon 1 --delta 1e-6 \
      --out model.json
"""

from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from tailguard.cli import options
from tailguard.cli.arguments import destination, write_text
from tailguard.cli.declarations import declared_schema
from tailguard.cli.printing import print_wrapped
from tailguard.data.declarations import listing
from tailguard.data.draft import DATES, drafted
from tailguard.data.readers.opening import opened_path
from tailguard.data.schema import Schema


@options.takes(
    options.RoleOptions, options.CellOptions, options.WeightOptions, options.PersonOptions
)
def schema(
    file: options.TableOption,
    *,
    out: Annotated[Path, options.typed("PATH", "Where to write the schema (JSON).")],
    **given: Any,
) -> None:
    r"""Write the declared columns, and every other column as a numeric feature.

    Examples
    --------
    >>> _ = Path("claims.csv").write_text("age,region,cost\n30,north,2.5\n")
    >>> from tailguard.cli.app import run
    >>> run("schema claims.csv --target cost --out schema.json".split())  # doctest: +ELLIPSIS
    Wrote schema.json: age, region are numbers in it; ...
    """
    declared = declared_schema(given)
    table = opened_path(file)
    # Text stays a feature: a single cell can make text of a column of numbers.
    settled = drafted(declared, table, keep_cells=True)
    write_text(destination(out, file), settled.to_json())
    print_wrapped(Console(), _what_is_declared(out, declared, settled))


def _what_is_declared(out: Path, declared: Schema, settled: Schema) -> str:
    """Describe the draft, what types have declared in it, and how to go on."""
    dates = [name for name in settled.dates if name not in declared.dates]
    left_out = [name for name in settled.drop if name not in declared.drop]
    days = f", {listing(dates)} days after {DATES['origin']}" if dates else ""
    verb = "is" if len(left_out) == 1 else "are"
    others = f"; {listing(left_out)} {verb} left out, by type" if left_out else ""
    read_as = "is read as numbers" if len(settled.numeric) == 1 else "are numbers"
    return (
        f"Wrote {out}: {listing(settled.numeric)} {read_as} in it{days}{others}; list levels of "
        'text columns under "categorical", origin and unit of dates under "dates", or move columns '
        'to "drop", then pass the file as --schema.'
    )
