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

WIDEST = 75  # characters of the longest command line in a help page
PRIVACY = "Privacy"
COLUMNS = "Columns"
MODEL = "Model"
METHOD = "Method"


def page(doc: str | None) -> str:
    r"""Return the help page of a docstring: paragraphs are wrapped, lines after \b are not.

    The section ``Examples`` of a function's docstring is left out: it is for Python.
    """
    text = cleandoc(doc or "").partition("\n\nExamples\n---")[0]
    paragraphs = text.replace("\\b\n", "\0").split("\n\n")
    return "\n\n".join(
        _commands(each[1:]) if each.startswith("\0") else each.replace("\n", " ")
        for each in paragraphs
    )


def _commands(lines: str) -> str:
    """Fold shell commands to a screen narrower than ``WIDEST``."""
    width = get_terminal_size().columns - 4  # a margin and the backslash
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
    metavar: str | None, text: str, panel: str | None = None, *names: str, **more: Any
) -> Any:
    """Describe an option; ``names`` replace the parameter's name, and flags have no metavar."""
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


def existing(metavar: str, text: str) -> Any:
    """Describe an argument that is the path of a file."""
    return typer.Argument(metavar=metavar, help=text, exists=True, dir_okay=False)


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
        "NAME", "Where Parquet files are read: local, dask or spark; the results are the same bits."
    ),
]
ModelPathOption: TypeAlias = Annotated[Path, existing("MODEL", "As 'tailguard fit' wrote.")]
OutOption: TypeAlias = Annotated[Path, typed("PATH", "Where to write the model file (JSON).")]
EPSILON = typed("NUMBER", "Privacy loss; 1 is a common choice, less is more private.", PRIVACY)
EpsilonOption: TypeAlias = Annotated[float, EPSILON]
DELTA = typed("NUMBER", "Slack in probability beyond epsilon; choose it far below 1/rows.", PRIVACY)
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
        "Charge the budget in this file first; 'tailguard ledger create' makes one.",
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
        "Whether to count usable records first, for 1/200 of the squared budget.",
        PRIVACY,
        "--check-records/--no-check-records",
    ),
]
OnUnusableOption: TypeAlias = Annotated[
    str,
    typed("stop|fit", "If most records cannot be used: stop early, or fit all the same.", PRIVACY),
]
SchemaPathOption: TypeAlias = Annotated[
    Path | None,
    typed(
        "PATH",
        "Declarations of the columns (JSON); 'tailguard schema' begins such a file.",
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
        "COLUMN", "A column with a different value in every row: rows then need no order.", COLUMNS
    ),
]
OrderOption: TypeAlias = Annotated[
    str,
    typed("file|any", "'any' if rows have neither an order nor a --row-id.", COLUMNS),
]
FeaturesOption: TypeAlias = Annotated[
    str | None,
    typed("A,B,C", "The feature columns; by default all columns without another role.", COLUMNS),
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
    typed("level|void", "Whether undeclared levels share one level or make the row void.", COLUMNS),
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
        "A term of the model, such as 'log1p(income)', age:region, or ... for all other columns; "
        "may be repeated. By default each feature is one term.",
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
    str | None, typed("COLUMN", "A number added to the score of each row.", COLUMNS)
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
        "The column of person keys: all rows of a person are protected together; needs --max-rows.",
        COLUMNS,
    ),
]
MaxRowsOption: TypeAlias = Annotated[
    int | None, typed("NUMBER", "The most rows of one person that are used.", COLUMNS)
]
PersonWeightOption: TypeAlias = Annotated[
    str,
    typed("person|row", "Whether each person counts once, or each used row.", COLUMNS),
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
        "The labels of the target: two for sparse-logistic, two or more for logistic.",
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
    float | None, typed("NUMBER", "quantile: its level; 0.5, the median, by default.", MODEL)
]
PowerOption: TypeAlias = Annotated[
    float | None,
    typed(
        "NUMBER",
        "lp: the power of the residual, from 2 to 16; 4 by default. tweedie: the power of the mean "
        "in the variance, from 1 to 2; 1.5 by default.",
        MODEL,
    ),
]
AlphaOption: TypeAlias = Annotated[
    float | None,
    typed(
        "NUMBER",
        "linear, logistic, poisson, gamma, tweedie: the ridge penalty, times half the squared "
        "coefficients; none by default.",
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
    bool, typed(None, "Say what the budget was spent on, and why.", None, "--explain")
]
LevelsOption: TypeAlias = Annotated[
    str | None, typed("Q,Q", "Levels of the quantiles, such as 0.5,0.99.", METHOD, "--quantiles")
]
ByOption: TypeAlias = Annotated[
    str | None,
    typed("A,B", "Categorical columns, to describe each combination of levels separately.", METHOD),
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
