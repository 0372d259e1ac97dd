"""The options and arguments of the commands, each written once: type, metavar and help."""

import re
from functools import partial
from inspect import cleandoc
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any

import typer

from tailguard.estimators.registry import ESTIMATORS
from tailguard.means.choice import MEANS

WIDEST = 75  # characters of the longest command line in a help page


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
    metavar: str | None, text: str, *names: str, panel: str | None = None, **more: Any
) -> Any:
    """Describe an option; ``names`` replace the parameter's name, and flags have no metavar."""
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


privacy = partial(typed, panel="Privacy")
columns = partial(typed, panel="Columns")
model = partial(typed, panel="Model")
method = partial(typed, panel="Method")


def existing(metavar: str, text: str) -> Any:
    """Describe an argument that is the path of a file."""
    return typer.Argument(metavar=metavar, help=text, exists=True, dir_okay=False)


FileOption = Annotated[Path, existing("FILE", "CSV with a header, or Parquet.")]
TableOption = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV with a header, or Parquet: a file, a folder or a pattern in quotation marks.",
    ),
]
EngineOption = Annotated[
    str,
    typed(
        "NAME", "Where Parquet files are read: local, dask or spark; the results are the same bits."
    ),
]
ModelPathOption = Annotated[Path, existing("MODEL", "A file that 'tailguard fit' wrote.")]
OutOption = Annotated[Path, typed("PATH", "Where to write the model file (JSON).")]
EPSILON = privacy("NUMBER", "Privacy loss; 1 is a common choice, less is more private.")
EpsilonOption = Annotated[float, EPSILON]
DELTA = privacy("NUMBER", "Slack in probability beyond epsilon; choose it far below 1/rows.")
DeltaOption = Annotated[float, DELTA]
OptionalDeltaOption = Annotated[float | None, DELTA]
RandomStateOption = Annotated[
    int | None, privacy("SEED", "A reproducible simulation that is NOT PRIVATE, and says so.")
]
LedgerOption = Annotated[
    Path | None,
    privacy("PATH", "Charge the budget in this file first; 'tailguard ledger create' makes one."),
]
LedgerNameOption = Annotated[
    str | None, privacy("NAME", "The data set, if the ledger's file holds several.")
]
LedgerKeyOption = Annotated[
    str | None,
    privacy("KEY", "A name for this run, which is charged once: started again, it is refused."),
]
CheckpointOption = Annotated[
    Path | None,
    privacy("PATH", "Write each released answer there, so that a run that is stopped can go on."),
]
ResumeOption = Annotated[
    bool, privacy(None, "Go on with the run of --checkpoint, which pays nothing twice.", "--resume")
]
CheckRecordsOption = Annotated[
    bool,
    privacy(
        None,
        "Whether to count usable records first, for 1/200 of the squared budget.",
        "--check-records/--no-check-records",
    ),
]
OnUnusableOption = Annotated[
    str, privacy("stop|fit", "If most records cannot be used: stop early, or fit anyway.")
]
SchemaPathOption = Annotated[
    Path | None,
    columns(
        "PATH",
        "Declarations of the columns (JSON); 'tailguard schema' begins such a file.",
        "--schema",
        exists=True,
        dir_okay=False,
    ),
]
TargetOption = Annotated[
    str | None, columns("COLUMN", "The column to predict, unless the schema names it.")
]
RowIdOption = Annotated[
    str | None,
    columns("COLUMN", "A column with a different value in every row: rows then need no order."),
]
OrderOption = Annotated[
    str, columns("file|any", "'any' if rows have neither an order nor a --row-id.")
]
FeaturesOption = Annotated[
    str | None,
    columns("A,B,C", "The feature columns; by default all columns without another role."),
]
CategoricalOption = Annotated[
    list[str] | None,
    columns(
        "COLUMN=A,B", "The levels of a categorical feature, the baseline first; may be repeated."
    ),
]
OtherOption = Annotated[
    str | None,
    columns("level|void", "Whether undeclared levels share one level or make the row void."),
]
DatesOption = Annotated[
    list[str] | None,
    columns(
        "COLUMN=ORIGIN,UNIT", "A column of dates, such as issued=2020-01-01,days; may be repeated."
    ),
]
TermOption = Annotated[
    list[str] | None,
    columns(
        "TERM",
        "A term of the model, such as 'log1p(income)', age:region, or ... for all other columns; "
        "may be repeated. By default each feature is one term.",
        "--term",
    ),
]
FormulaOption = Annotated[
    str | None,
    columns("FORMULA", "Target and terms, such as 'cost ~ age + C(region)'; needs formulaic."),
]
DropOption = Annotated[
    list[str] | None, columns("A,B,C", "Columns that are left out; may be repeated.")
]
ExposureOption = Annotated[
    str | None, columns("COLUMN", "poisson, gamma, tweedie: how long each row was observed.")
]
OffsetOption = Annotated[str | None, columns("COLUMN", "A number added to the score of each row.")]
WeightOption = Annotated[
    str | None, columns("COLUMN", "How much each row counts; needs --weight-bound.")
]
WeightBoundOption = Annotated[
    float | None, columns("NUMBER", "The largest weight that counts in full; larger ones are cut.")
]
PersonOption = Annotated[
    str | None,
    columns(
        "COLUMN",
        "The column of person keys: all rows of a person are protected together; needs --max-rows.",
    ),
]
MaxRowsOption = Annotated[
    int | None, columns("NUMBER", "The most rows of one person that are used.")
]
PersonWeightOption = Annotated[
    str, columns("person|row", "Whether each person counts once, or each used row.")
]
MissingOption = Annotated[
    list[str] | None,
    columns(
        "COLUMN=VALUE",
        "A public number or level for a column's empty or unreadable cells; may be repeated.",
    ),
]
ClassesOption = Annotated[
    str | None,
    columns(
        "NO,YES", "The labels of the target: two for sparse-logistic, two or more for logistic."
    ),
]
ModelOption = Annotated[str, model("NAME", f"One of {', '.join(ESTIMATORS)}.")]
ThresholdOption = Annotated[
    float | None,
    model(
        "NUMBER",
        "huber: the residual above which the loss is absolute, in scales of the target; 1.345 by "
        "default.",
    ),
]
LevelOption = Annotated[
    float | None, model("NUMBER", "quantile: its level; 0.5, the median, by default.")
]
PowerOption = Annotated[
    float | None,
    model(
        "NUMBER",
        "lp: the power of the residual, from 2 to 16; 4 by default. tweedie: the power of the mean "
        "in the variance, from 1 to 2; 1.5 by default.",
    ),
]
AlphaOption = Annotated[
    float | None,
    model(
        "NUMBER",
        "linear, logistic, poisson, gamma, tweedie: the ridge penalty, times half the squared "
        "coefficients; none by default.",
    ),
]
KeepOption = Annotated[
    int | None,
    model("COUNT", "sparse-linear, sparse-logistic: how many columns are kept; 10 by default."),
]
InterceptOption = Annotated[
    bool, model(None, "Whether to fit a constant.", "--intercept/--no-intercept")
]
PureOption = Annotated[bool, privacy(None, "Pure DP, without a delta.", "--pure")]
ColumnsOption = Annotated[str | None, columns("A,B,C", "Which columns; all by default.")]
MeanMethodOption = Annotated[str, method("NAME", f"One of auto, {', '.join(MEANS)}.")]
MomentOrderOption = Annotated[
    float | None, method("NUMBER", "The order of a moment that you can bound.")
]
MomentBoundOption = Annotated[
    float | None, method("NUMBER", "Its bound, in the data's units to the power of the order.")
]
MomentKindOption = Annotated[str, method("KIND", "One of central, raw, directional, norm.")]
GroupsOption = Annotated[
    int | None, method("COUNT", "clamped, truncated, iterative: how many groups of rows.")
]
MethodOption = Annotated[
    list[str] | None,
    method(
        "NAME=VALUE", "An option of the method, such as clip_norm=2.5; may be repeated.", "--option"
    ),
]
ExplainOption = Annotated[
    bool, typed(None, "Print what the budget was spent on, and why.", "--explain")
]
LevelsOption = Annotated[
    str | None, method("Q,Q", "Levels of the quantiles, such as 0.5,0.99.", "--quantiles")
]
ByOption = Annotated[
    str | None,
    method("A,B", "Categorical columns, to describe each combination of levels separately."),
]
CorrelationsOption = Annotated[
    bool, method(None, "Whether to correlate columns.", "--correlations/--no-correlations")
]
SpendOption = Annotated[
    list[str] | None,
    method(
        "NAME=FACTOR",
        "More or less of the budget for a statistic, such as quantiles=2; may be repeated.",
    ),
]
DescribeOutOption = Annotated[
    Path | None, typed("PATH", "Where to write tables and certificate (JSON).")
]
MeanOutOption = Annotated[
    Path | None, typed("PATH", "Where to write means and certificate (JSON).")
]
ScoredTargetOption = Annotated[
    str | None, columns("COLUMN", "The column to predict; that of the fit by default.")
]
ScoredWeightOption = Annotated[
    str | None,
    columns(
        "person|row", "Whether each person counts once, or each row; by default as in the fit."
    ),
]
ScoreOutOption = Annotated[
    Path | None, typed("PATH", "Where to write table and certificate (JSON).")
]
