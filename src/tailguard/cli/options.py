"""The options and arguments of the commands, each written once: type, metavar and help."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tailguard.cli.arguments import number, whole_number
from tailguard.cli.models import MODELS

__all__ = [
    "Categorical",
    "Classes",
    "Delta",
    "Epsilon",
    "Exposure",
    "Features",
    "File",
    "Intercept",
    "Level",
    "Model",
    "ModelPath",
    "Out",
    "Power",
    "RandomState",
    "Target",
    "Threshold",
]

PRIVACY = "Privacy"
COLUMNS = "Columns"
MODEL = "Model"

File: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", exists=True, dir_okay=False, help="CSV with a header, or Parquet."
    ),
]
ModelPath: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="As 'tailguard fit' wrote."),
]
Out: TypeAlias = Annotated[
    Path, typer.Option(metavar="PATH", help="Where to write the model file (JSON).")
]

Epsilon: TypeAlias = Annotated[
    float,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="Privacy loss; 1 is a common choice, less is more private.",
        rich_help_panel=PRIVACY,
    ),
]
Delta: TypeAlias = Annotated[
    float,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="What epsilon may miss; choose it far below 1/rows.",
        rich_help_panel=PRIVACY,
    ),
]
RandomState: TypeAlias = Annotated[
    int | None,
    typer.Option(
        parser=whole_number,
        metavar="SEED",
        help="A reproducible simulation that is NOT PRIVATE, and says so.",
        rich_help_panel=PRIVACY,
    ),
]

Target: TypeAlias = Annotated[
    str, typer.Option(metavar="COLUMN", help="The column to predict.", rich_help_panel=COLUMNS)
]
Features: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="The feature columns; all but target and exposure by default.",
        rich_help_panel=COLUMNS,
    ),
]
Categorical: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=A,B",
        help="The levels of a categorical feature, the baseline first; may be repeated.",
        rich_help_panel=COLUMNS,
    ),
]
Exposure: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="poisson: how long each row was observed.",
        rich_help_panel=COLUMNS,
    ),
]
Classes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NO,YES",
        help="logistic: the two labels of the target; 0,1 by default.",
        rich_help_panel=COLUMNS,
    ),
]

Model: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help=f"One of {', '.join(MODELS)}.", rich_help_panel=MODEL)
]
Threshold: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="huber: where the loss turns absolute, in scales of the target; 1.345 by default.",
        rich_help_panel=MODEL,
    ),
]
Level: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="quantile: which one; 0.5, the median, by default.",
        rich_help_panel=MODEL,
    ),
]
Power: TypeAlias = Annotated[
    float | None,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="lp: the power p of the residual, at least 2; 4 by default.",
        rich_help_panel=MODEL,
    ),
]
Intercept: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--intercept/--no-intercept", help="Whether to fit a constant.", rich_help_panel=MODEL
    ),
]
