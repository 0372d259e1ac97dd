r"""Begin a schema file, which declares the columns of a CSV or Parquet file.

Only the header is read, no cell: every column is a numeric feature until you
declare otherwise. Edit the file, then pass it to fit and mean with --schema,
or to Python as schema=.

[bold]Examples[/bold]

\b
  tailguard schema claims.csv --out schema.json
  tailguard schema claims.csv --target cost --drop id,date \
      --categorical region=north,south --out schema.json
  tailguard fit claims.csv --schema schema.json --epsilon 1 --delta 1e-6 \
      --out model.json
"""

from pathlib import Path
from typing import Annotated

from rich.console import Console

from tailguard.cli import options
from tailguard.cli.arguments import destination, write_text
from tailguard.cli.declarations import column_options, declared_schema
from tailguard.cli.printing import print_wrapped
from tailguard.data.declarations import check_columns, listing
from tailguard.data.readers.opening import opened_path


def schema(
    file: options.TableOption,
    *,
    out: Annotated[Path, options.typed("PATH", "Where to write the schema (JSON).")],
    target: options.TargetOption = None,
    features: options.FeaturesOption = None,
    categorical: options.CategoricalOption = None,
    other: options.OtherOption = None,
    dates: options.DatesOption = None,
    terms: options.TermOption = None,
    drop: options.DropOption = None,
    missing: options.MissingOption = None,
    exposure: options.ExposureOption = None,
    offset: options.OffsetOption = None,
    weight: options.WeightOption = None,
    weight_bound: options.WeightBoundOption = None,
    person: options.PersonOption = None,
    max_rows: options.MaxRowsOption = None,
    classes: options.ClassesOption = None,
) -> None:
    r"""Write the declared columns, and every other column as a numeric feature.

    Examples
    --------
    >>> _ = Path("claims.csv").write_text("age,region,cost\n30,north,2.5\n")
    >>> schema(Path("claims.csv"), target="cost", out=Path("schema.json"))  # doctest: +ELLIPSIS
    Wrote schema.json: age, region are numbers in it; ...
    """
    declared = declared_schema(**column_options(locals()))
    columns = opened_path(file)
    settled = declared.settled(columns.names, columns.where)
    others = (settled.target, settled.exposure, settled.offset, settled.weight, settled.person)
    check_columns([column for column in others if column], columns.names, columns.where)
    write_text(destination(out, file), settled.to_json())
    print_wrapped(
        Console(),
        f"Wrote {out}: {listing(settled.numeric)} are numbers in it; list levels of text columns "
        'under "categorical", origin and unit of dates under "dates", or move columns to "drop", '
        "then pass the file as --schema.",
    )
