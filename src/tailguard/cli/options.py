"""The options and arguments of the commands, each written once: type, metavar and help."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from tailguard.cli.arguments import number, whole_number
from tailguard.cli.models import MODELS
from tailguard.means.choice import MEANS

PRIVACY = "Privacy"
COLUMNS = "Columns"
MODEL = "Model"
METHOD = "Method"


def page(doc: str | None) -> str:
    r"""Return the help page that a command's module has for its docstring.

    Examples
    --------
    >>> page(r"One line.\b")
    'One line.\x08'
    """
    return (doc or "").replace(r"\b", "\b")  # typer leaves the lines after it as they are


def typed(metavar: str, told: str, panel: str | None = None, *names: str, **more: Any) -> Any:
    """Describe an option that takes what is typed, by other names than the parameter's if given.

    Examples
    --------
    >>> typed("NAME", "Which one.").metavar
    'NAME'
    """
    return typer.Option(*names, metavar=metavar, help=told, rich_help_panel=panel, **more)


def numeric(told: str, panel: str | None = None) -> Any:
    """Describe an option that takes a number.

    Examples
    --------
    >>> numeric("How much.").parser("0.5")
    0.5
    """
    return typed("NUMBER", told, panel, parser=number)


def counted(told: str, panel: str | None = None, *names: str, metavar: str = "COUNT") -> Any:
    """Describe an option that takes a whole number.

    Examples
    --------
    >>> counted("How many.").parser("7")
    7
    """
    return typed(metavar, told, panel, *names, parser=whole_number)


def flag(name: str, told: str, panel: str | None = None) -> Any:
    """Describe an option that is given or not.

    Examples
    --------
    >>> flag("--json", "As JSON.").help
    'As JSON.'
    """
    return typer.Option(name, help=told, rich_help_panel=panel)


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
    typed(
        "NAME", "What reads Parquet files: local, dask or spark, whose workers do; the same bits."
    ),
]
ModelPathOption: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="As 'tailguard fit' wrote."),
]
OutOption: TypeAlias = Annotated[Path, typed("PATH", "Where to write the model file (JSON).")]
EpsilonOption: TypeAlias = Annotated[
    float, numeric("Privacy loss; 1 is a common choice, less is more private.", PRIVACY)
]
DELTA = numeric("What epsilon may miss; choose it far below 1/rows.", PRIVACY)
DeltaOption: TypeAlias = Annotated[float, DELTA]
OptionalDeltaOption: TypeAlias = Annotated[float | None, DELTA]
RandomStateOption: TypeAlias = Annotated[
    int | None,
    counted("A reproducible simulation that is NOT PRIVATE, and says so.", PRIVACY, metavar="SEED"),
]
LedgerOption: TypeAlias = Annotated[
    Path | None,
    typed(
        "PATH",
        "Charge the budget in this file first, as 'tailguard ledger create' began it.",
        PRIVACY,
    ),
]
LedgerNameOption: TypeAlias = Annotated[
    str | None, typed("NAME", "The data set, where the ledger's file holds several.", PRIVACY)
]
LedgerKeyOption: TypeAlias = Annotated[
    str | None,
    typed(
        "KEY", "A name for this run, which is charged once: started again, it is refused.", PRIVACY
    ),
]
CheckpointOption: TypeAlias = Annotated[
    Path | None,
    typed(
        "PATH",
        "Write each released answer there, so that a run that is stopped can go on.",
        PRIVACY,
    ),
]
ResumeOption: TypeAlias = Annotated[
    bool, flag("--resume", "Go on with the run of --checkpoint, which pays nothing twice.", PRIVACY)
]
CheckRecordsOption: TypeAlias = Annotated[
    bool,
    flag(
        "--check-records/--no-check-records",
        "Whether to count usable records first, for a 200th of the budget's square.",
        PRIVACY,
    ),
]
OnUnusableOption: TypeAlias = Annotated[
    str,
    typed(
        "stop|fit", "Where most records cannot be used: stop early, or spend all the same.", PRIVACY
    ),
]
SchemaPathOption: TypeAlias = Annotated[
    Path | None,
    typed(
        "PATH",
        "What is declared of the columns (JSON), as 'tailguard schema' begins it.",
        COLUMNS,
        "--schema",
        exists=True,
        dir_okay=False,
    ),
]
TargetOption: TypeAlias = Annotated[
    str | None, typed("COLUMN", "The column to predict, unless the schema names it.", COLUMNS)
]
RowIdOption: TypeAlias = Annotated[
    str | None,
    typed(
        "COLUMN", "A column that tells every row from all others: rows then need no order.", COLUMNS
    ),
]
OrderOption: TypeAlias = Annotated[
    str,
    typed("file|any", "'any' where rows have no order and no --row-id.", COLUMNS),
]
FeaturesOption: TypeAlias = Annotated[
    str | None,
    typed("A,B,C", "The feature columns; all that have no other place by default.", COLUMNS),
]
CategoricalOption: TypeAlias = Annotated[
    list[str] | None,
    typed(
        "COLUMN=A,B",
        "The levels of a categorical feature, the baseline first; may be repeated.",
        COLUMNS,
    ),
]
DropOption: TypeAlias = Annotated[str | None, typed("A,B,C", "Columns that are left out.", COLUMNS)]
ExposureOption: TypeAlias = Annotated[
    str | None, typed("COLUMN", "poisson: how long each row was observed.", COLUMNS)
]
MissingOption: TypeAlias = Annotated[
    list[str] | None,
    typed(
        "COLUMN=NUMBER",
        "A public constant for a column's empty or unreadable cells; may be repeated.",
        COLUMNS,
    ),
]
ClassesOption: TypeAlias = Annotated[
    str | None,
    typed(
        "NO,YES",
        "logistic, sparse-logistic: the two labels of the target; 0,1 by default.",
        COLUMNS,
    ),
]
ModelOption: TypeAlias = Annotated[str, typed("NAME", f"One of {', '.join(MODELS)}.", MODEL)]
ThresholdOption: TypeAlias = Annotated[
    float | None,
    numeric(
        "huber: where the loss turns absolute, in scales of the target; 1.345 by default.", MODEL
    ),
]
LevelOption: TypeAlias = Annotated[
    float | None, numeric("quantile: which one; 0.5, the median, by default.", MODEL)
]
PowerOption: TypeAlias = Annotated[
    float | None, numeric("lp: the power p of the residual, from 2 to 16; 4 by default.", MODEL)
]
KeepOption: TypeAlias = Annotated[
    int | None,
    counted("sparse-linear, sparse-logistic: how many columns are kept; 10 by default.", MODEL),
]
InterceptOption: TypeAlias = Annotated[
    bool, flag("--intercept/--no-intercept", "Whether to fit a constant.", MODEL)
]
PureOption: TypeAlias = Annotated[bool, flag("--pure", "Pure DP, without a delta.", PRIVACY)]
ColumnsOption: TypeAlias = Annotated[
    str | None, typed("A,B,C", "Which columns; all by default.", COLUMNS)
]
MeanMethodOption: TypeAlias = Annotated[
    str, typed("NAME", f"One of auto, {', '.join(MEANS)}.", METHOD)
]
MomentOrderOption: TypeAlias = Annotated[
    float | None, numeric("The order of a moment that you can bound.", METHOD)
]
MomentBoundOption: TypeAlias = Annotated[
    float | None, numeric("Its bound, in the data's units to the power of the order.", METHOD)
]
MomentKindOption: TypeAlias = Annotated[
    str, typed("KIND", "One of central, raw, directional, norm.", METHOD)
]
GroupsOption: TypeAlias = Annotated[
    int | None, counted("clamped, truncated, iterative: how many groups of rows.", METHOD)
]
MethodOption: TypeAlias = Annotated[
    list[str] | None,
    typed(
        "NAME=VALUE",
        "An option of the method, such as clip_norm=2.5; may be repeated.",
        METHOD,
        "--option",
    ),
]
ExplainOption: TypeAlias = Annotated[
    bool, flag("--explain", "Say what the budget was spent on, and why so.")
]
MeanOutOption: TypeAlias = Annotated[
    Path | None, typed("PATH", "Where to write means and certificate (JSON).")
]
