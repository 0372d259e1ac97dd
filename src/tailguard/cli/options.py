"""The options and arguments of the commands, each written once: type, metavar and help."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tailguard.cli.arguments import number, whole_number
from tailguard.cli.models import MODELS
from tailguard.means.registry import MEANS

__all__ = [
    "CalibrationOption",
    "CategoricalOption",
    "CheckpointOption",
    "ClassesOption",
    "ColumnsOption",
    "DeltaOption",
    "DropOption",
    "EngineOption",
    "EpsilonOption",
    "ExplainOption",
    "ExposureOption",
    "FeaturesOption",
    "FileOption",
    "GroupsOption",
    "InterceptOption",
    "KeepOption",
    "LedgerKeyOption",
    "LedgerNameOption",
    "LedgerOption",
    "LevelOption",
    "MeanMethodOption",
    "MeanOutOption",
    "MissingOption",
    "ModelOption",
    "ModelPathOption",
    "MomentBoundOption",
    "MomentKindOption",
    "MomentOrderOption",
    "OptionalDeltaOption",
    "OutOption",
    "PowerOption",
    "PureOption",
    "RandomStateOption",
    "ResumeOption",
    "RowIdOption",
    "SchemaPathOption",
    "TableOption",
    "TargetOption",
    "ThresholdOption",
    "UnsafeReproductionOption",
]

PRIVACY = "Privacy"
COLUMNS = "Columns"
MODEL = "Model"
METHOD = "Method"

FileOption: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", exists=True, dir_okay=False, help="CSV with a header, or Parquet."
    ),
]
TableOption: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV with a header, or Parquet: a file, a folder or a pattern in quotation marks.",
    ),
]
EngineOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What reads Parquet files: local, dask or spark, whose workers do; the same bits.",
    ),
]
ModelPathOption: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="As 'tailguard fit' wrote."),
]
OutOption: TypeAlias = Annotated[
    Path, typer.Option(metavar="PATH", help="Where to write the model file (JSON).")
]

EpsilonOption: TypeAlias = Annotated[
    float,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="Privacy loss; 1 is a common choice, less is more private.",
        rich_help_panel=PRIVACY,
    ),
]
DeltaOption: TypeAlias = Annotated[
    float,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="What epsilon may miss; choose it far below 1/rows.",
        rich_help_panel=PRIVACY,
    ),
]
RandomStateOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        parser=whole_number,
        metavar="SEED",
        help="A reproducible simulation that is NOT PRIVATE, and says so.",
        rich_help_panel=PRIVACY,
    ),
]

LedgerOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Charge the budget in this file first, as 'tailguard ledger create' began it.",
        rich_help_panel=PRIVACY,
    ),
]
LedgerNameOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The data set, where the ledger's file holds several.",
        rich_help_panel=PRIVACY,
    ),
]
LedgerKeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="KEY",
        help="A name for this run, which is charged once: started again, it is refused.",
        rich_help_panel=PRIVACY,
    ),
]

CheckpointOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Write each released answer there, so that a run that is stopped can go on.",
        rich_help_panel=PRIVACY,
    ),
]
ResumeOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the run of --checkpoint, which pays nothing twice.",
        rich_help_panel=PRIVACY,
    ),
]

SchemaPathOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="PATH",
        exists=True,
        dir_okay=False,
        help="What is declared of the columns (JSON), as 'tailguard schema' begins it.",
        rich_help_panel=COLUMNS,
    ),
]
TargetOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column to predict, unless the schema names it.",
        rich_help_panel=COLUMNS,
    ),
]
RowIdOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="A column that tells every row from all others: rows then need no order.",
        rich_help_panel=COLUMNS,
    ),
]
FeaturesOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="The feature columns; all that have no other place by default.",
        rich_help_panel=COLUMNS,
    ),
]
CategoricalOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=A,B",
        help="The levels of a categorical feature, the baseline first; may be repeated.",
        rich_help_panel=COLUMNS,
    ),
]
DropOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Columns that are left out.", rich_help_panel=COLUMNS),
]
ExposureOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="poisson: how long each row was observed.",
        rich_help_panel=COLUMNS,
    ),
]
MissingOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=NUMBER",
        help="A public constant for a column's empty or unreadable cells; may be repeated.",
        rich_help_panel=COLUMNS,
    ),
]
ClassesOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NO,YES",
        help="logistic, sparse-logistic: the two labels of the target; 0,1 by default.",
        rich_help_panel=COLUMNS,
    ),
]

ModelOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help=f"One of {', '.join(MODELS)}.", rich_help_panel=MODEL)
]
ThresholdOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="huber: where the loss turns absolute, in scales of the target; 1.345 by default.",
        rich_help_panel=MODEL,
    ),
]
LevelOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="quantile: which one; 0.5, the median, by default.",
        rich_help_panel=MODEL,
    ),
]
PowerOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="lp: the power p of the residual, from 2 to 16; 4 by default.",
        rich_help_panel=MODEL,
    ),
]
KeepOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        parser=whole_number,
        metavar="COUNT",
        help="sparse-linear, sparse-logistic: how many columns are kept; 10 by default.",
        rich_help_panel=MODEL,
    ),
]
InterceptOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--intercept/--no-intercept", help="Whether to fit a constant.", rich_help_panel=MODEL
    ),
]

OptionalDeltaOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="What epsilon may miss; choose it far below 1/rows.",
        rich_help_panel=PRIVACY,
    ),
]
PureOption: TypeAlias = Annotated[
    bool,
    typer.Option("--pure", help="Pure DP, without a delta.", rich_help_panel=PRIVACY),
]
ColumnsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Which columns; all by default.", rich_help_panel=COLUMNS),
]
MeanMethodOption: TypeAlias = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"One of auto, {', '.join(MEANS)}.", rich_help_panel=METHOD),
]
MomentOrderOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="The order of a moment that you can bound.",
        rich_help_panel=METHOD,
    ),
]
MomentBoundOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="Its bound, in the data's units to the power of the order.",
        rich_help_panel=METHOD,
    ),
]
MomentKindOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="KIND", help="One of central, raw, directional, norm.", rich_help_panel=METHOD
    ),
]
GroupsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        parser=whole_number,
        metavar="COUNT",
        help="clamped, truncated, iterative: how many groups of rows.",
        rich_help_panel=METHOD,
    ),
]
MethodOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the method, such as clip_norm=2.5; may be repeated.",
        rich_help_panel=METHOD,
    ),
]
CalibrationOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="tight, the least proved noise; paper, the printed one; numerical, for trimmed.",
        rich_help_panel=METHOD,
    ),
]
UnsafeReproductionOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--unsafe-reproduction",
        help="Allow printed noise that breaks its promise; the certificate tells the truth.",
        rich_help_panel=METHOD,
    ),
]
ExplainOption: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Say what the budget was spent on, and why so.")
]
MeanOutOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Where to write means and certificate (JSON)."),
]
