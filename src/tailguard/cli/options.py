"""The options and arguments of the commands, each written once: type, metavar and help."""

import re
from inspect import cleandoc
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any, TypeAlias

import typer

from tailguard.cli.model_file import MODELS
from tailguard.means.choice import MEANS

WIDEST = 75  # of the lines of commands as they are written
PRIVACY = "Privacy"
COLUMNS = "Columns"
MODEL = "Model"
METHOD = "Method"


def page(doc: str | None) -> str:
    r"""Return the help page of a docstring: paragraphs that the screen wraps, and lines after \b.

    What follows from ``Examples`` on in the docstring of a function is for Python alone.
    """
    text = cleandoc(doc or "").partition("\n\nExamples\n---")[0]
    paragraphs = text.replace("\\b\n", "\0").split("\n\n")
    return "\n\n".join(
        _commands(each[1:]) if each.startswith("\0") else each.replace("\n", " ")
        for each in paragraphs
    )


def _commands(lines: str) -> str:
    """Fold commands of a shell to the screen, where it is narrower than they were written for."""
    width = get_terminal_size().columns - 4  # a margin, and the sign that a line goes on
    commands = re.sub(r" \\\n +", " ", lines).split("\n") if width < WIDEST else [lines]
    how: dict[str, Any] = {
        "break_long_words": False,
        "break_on_hyphens": False,
        "subsequent_indent": "      ",
    }
    return "\n".join(
        " \\\n".join(wrap(each, width, **how)) if width < WIDEST else each for each in commands
    )


def typed(
    metavar: str | None, told: str, panel: str | None = None, *names: str, **more: Any
) -> Any:
    """Describe an option, by other names than the parameter's if given; flags have no metavar."""
    return typer.Option(*names, metavar=metavar, help=told, rich_help_panel=panel, **more)


def existing(metavar: str, told: str) -> Any:
    """Describe an argument that is the path of a file."""
    return typer.Argument(metavar=metavar, help=told, exists=True, dir_okay=False)


FileOption: TypeAlias = Annotated[Path, existing("FILE", "CSV with a header, or Parquet.")]
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
ModelPathOption: TypeAlias = Annotated[Path, existing("MODEL", "As 'tailguard fit' wrote.")]
OutOption: TypeAlias = Annotated[Path, typed("PATH", "Where to write the model file (JSON).")]
EPSILON = typed("NUMBER", "Privacy loss; 1 is a common choice, less is more private.", PRIVACY)
EpsilonOption: TypeAlias = Annotated[float, EPSILON]
DELTA = typed("NUMBER", "What epsilon may miss; choose it far below 1/rows.", PRIVACY)
DeltaOption: TypeAlias = Annotated[float, DELTA]
OptionalDeltaOption: TypeAlias = Annotated[float | None, DELTA]
RandomStateOption: TypeAlias = Annotated[
    int | None,
    typed("SEED", "A reproducible simulation that is NOT PRIVATE, and says so.", PRIVACY),
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
    bool,
    typed(
        None, "Go on with the run of --checkpoint, which pays nothing twice.", PRIVACY, "--resume"
    ),
]
CheckRecordsOption: TypeAlias = Annotated[
    bool,
    typed(
        None,
        "Whether to count usable records first, for a 200th of the budget's square.",
        PRIVACY,
        "--check-records/--no-check-records",
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
OtherOption: TypeAlias = Annotated[
    str | None,
    typed("level|void", "Whether levels that were not declared share one, or void a row.", COLUMNS),
]
DatesOption: TypeAlias = Annotated[
    list[str] | None,
    typed(
        "COLUMN=ORIGIN,UNIT",
        "A column of dates, such as issued=2020-01-01,days; may be repeated.",
        COLUMNS,
    ),
]
TermOption: TypeAlias = Annotated[
    list[str] | None,
    typed(
        "TERM",
        "What coefficients stand for, such as 'log1p(income)', age:region, or ... for all other "
        "columns; may be repeated. Each feature as it is by default.",
        COLUMNS,
        "--term",
    ),
]
FormulaOption: TypeAlias = Annotated[
    str | None,
    typed(
        "FORMULA", "Target and terms, such as 'cost ~ age + C(region)'; needs formulaic.", COLUMNS
    ),
]
DropOption: TypeAlias = Annotated[
    list[str] | None, typed("A,B,C", "Columns that are left out; may be repeated.", COLUMNS)
]
ExposureOption: TypeAlias = Annotated[
    str | None, typed("COLUMN", "poisson, gamma, tweedie: how long each row was observed.", COLUMNS)
]
OffsetOption: TypeAlias = Annotated[
    str | None, typed("COLUMN", "What is added to the score of each row.", COLUMNS)
]
WeightOption: TypeAlias = Annotated[
    str | None, typed("COLUMN", "How much each row counts; needs --weight-bound.", COLUMNS)
]
WeightBoundOption: TypeAlias = Annotated[
    float | None,
    typed("NUMBER", "The largest weight that counts in full; larger ones are cut.", COLUMNS),
]
PersonOption: TypeAlias = Annotated[
    str | None,
    typed(
        "COLUMN",
        "Tells persons apart, all of whose rows are protected together; needs --max-rows.",
        COLUMNS,
    ),
]
MaxRowsOption: TypeAlias = Annotated[
    int | None, typed("NUMBER", "How many rows of a person are used at most.", COLUMNS)
]
PersonWeightOption: TypeAlias = Annotated[
    str,
    typed("person|row", "Whether each person counts once, or each used row of her alike.", COLUMNS),
]
MissingOption: TypeAlias = Annotated[
    list[str] | None,
    typed(
        "COLUMN=VALUE",
        "A public number or level for a column's empty or unreadable cells; may be repeated.",
        COLUMNS,
    ),
]
ClassesOption: TypeAlias = Annotated[
    str | None,
    typed(
        "NO,YES",
        "logistic, sparse-logistic: the labels of the target, of sparse-logistic two.",
        COLUMNS,
    ),
]
ModelOption: TypeAlias = Annotated[str, typed("NAME", f"One of {', '.join(MODELS)}.", MODEL)]
ThresholdOption: TypeAlias = Annotated[
    float | None,
    typed(
        "NUMBER",
        "huber: where the loss turns absolute, in scales of the target; 1.345 by default.",
        MODEL,
    ),
]
LevelOption: TypeAlias = Annotated[
    float | None, typed("NUMBER", "quantile: which one; 0.5, the median, by default.", MODEL)
]
PowerOption: TypeAlias = Annotated[
    float | None,
    typed(
        "NUMBER",
        "lp: the power p of the residual, from 2 to 16; 4 by default. tweedie: that of the mean "
        "which the variance follows, from 1 to 2; 1.5 by default.",
        MODEL,
    ),
]
AlphaOption: TypeAlias = Annotated[
    float | None,
    typed(
        "NUMBER",
        "linear, logistic, poisson, gamma, tweedie: the ridge, which counts half the squared "
        "coefficients beside the mean loss; none by default.",
        MODEL,
    ),
]
KeepOption: TypeAlias = Annotated[
    int | None,
    typed(
        "COUNT", "sparse-linear, sparse-logistic: how many columns are kept; 10 by default.", MODEL
    ),
]
InterceptOption: TypeAlias = Annotated[
    bool, typed(None, "Whether to fit a constant.", MODEL, "--intercept/--no-intercept")
]
PureOption: TypeAlias = Annotated[bool, typed(None, "Pure DP, without a delta.", PRIVACY, "--pure")]
ColumnsOption: TypeAlias = Annotated[
    str | None, typed("A,B,C", "Which columns; all by default.", COLUMNS)
]
MeanMethodOption: TypeAlias = Annotated[
    str, typed("NAME", f"One of auto, {', '.join(MEANS)}.", METHOD)
]
MomentOrderOption: TypeAlias = Annotated[
    float | None, typed("NUMBER", "The order of a moment that you can bound.", METHOD)
]
MomentBoundOption: TypeAlias = Annotated[
    float | None,
    typed("NUMBER", "Its bound, in the data's units to the power of the order.", METHOD),
]
MomentKindOption: TypeAlias = Annotated[
    str, typed("KIND", "One of central, raw, directional, norm.", METHOD)
]
GroupsOption: TypeAlias = Annotated[
    int | None, typed("COUNT", "clamped, truncated, iterative: how many groups of rows.", METHOD)
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
    bool, typed(None, "Say what the budget was spent on, and why so.", None, "--explain")
]
LevelsOption: TypeAlias = Annotated[
    str | None, typed("Q,Q", "Levels of the quantiles, such as 0.5,0.99.", METHOD, "--quantiles")
]
ByOption: TypeAlias = Annotated[
    str | None, typed("A,B", "Categorical columns: each group of their levels by itself.", METHOD)
]
CorrelationsOption: TypeAlias = Annotated[
    bool, typed(None, "Whether to correlate columns.", METHOD, "--correlations/--no-correlations")
]
SpendOption: TypeAlias = Annotated[
    list[str] | None,
    typed(
        "NAME=FACTOR",
        "More or less of the budget for a statistic, such as quantiles=2; may be repeated.",
        METHOD,
    ),
]
DescribeOutOption: TypeAlias = Annotated[
    Path | None, typed("PATH", "Where to write tables and certificate (JSON).")
]
MeanOutOption: TypeAlias = Annotated[
    Path | None, typed("PATH", "Where to write means and certificate (JSON).")
]
