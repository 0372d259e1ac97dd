"""Options and arguments of the commands: their types, metavars and help texts.

Options that several commands share are attributes of a class here. ``@takes(PersonOptions)`` adds
the options of that class to a command, which receives them in ``**given``.
"""

import re
from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, cleandoc, get_annotations, signature
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Annotated, Any, Literal

import typer

WIDEST = 75  # the most characters in an example command of a help page
NARROWEST = 60  # columns of a screen on which tables of options have room for whole names


def markup_mode() -> Literal["rich"] | None:
    """Return how typer draws help pages: in tables, which narrow screens have no room for."""
    return "rich" if get_terminal_size().columns >= NARROWEST else None


def page(doc: str | None) -> str:
    r"""Return the help page of a docstring; it joins the lines of a paragraph.

    It keeps lines after \b, the mark of the examples of shell commands. It omits the section
    ``Examples`` of a function's docstring, which is for Python.
    """
    text = cleandoc(doc or "").partition("\n\nExamples\n---")[0]
    mark = ""
    if markup_mode() is None:
        text, mark = re.sub(r"\[/?bold\]", "", text), "\b\n"
    paragraphs = text.replace("\\b\n", "\0").split("\n\n")
    return "\n\n".join(
        mark + _commands(each[1:]) if each.startswith("\0") else each.replace("\n", " ")
        for each in paragraphs
    )


def pages(doc: str | None) -> dict[str, Any]:
    """Return the help page of a docstring, and its first sentence for the list of commands."""
    text = page(doc)
    return {"help": text, "short_help": text.partition("\n\n")[0]}


def _commands(lines: str) -> str:
    """Fold shell commands to a screen narrower than ``WIDEST``."""
    width = get_terminal_size().columns - 4  # a margin and the backslash
    if width >= WIDEST:
        return lines
    commands = re.sub(r" \\\n +", " ", lines).split("\n")
    whole_words = TextWrapper(width, subsequent_indent="      ", break_long_words=False)
    whole_words.break_on_hyphens = False
    return "\n".join(" \\\n".join(whole_words.wrap(each)) for each in commands)


def takes(*groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of ``groups`` to the signature of a command; typer reads the signature."""
    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(group, name), annotation=annotation)
        for group in groups
        for name, annotation in get_annotations(group).items()
    ]

    def extend(command: Any) -> Callable[..., None]:
        own = signature(command).parameters.values()
        parameters = [*(each for each in own if each.kind != Parameter.VAR_KEYWORD), *shared]
        command.__signature__ = Signature(parameters)
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return extend


def typed(
    metavar: str | None, text: str, *names: str, panel: str | None = None, **more: Any
) -> Any:
    """Describe an option; ``names`` replace the parameter's name. Flags have no metavar."""
    return typer.Option(*names, metavar=metavar or "", help=text, rich_help_panel=panel, **more)


privacy = partial(typed, panel="Privacy")
columns = partial(typed, panel="Columns")


def existing(metavar: str, text: str) -> Any:
    """Describe an argument that is the path of a file."""
    return typer.Argument(metavar=metavar, help=text, exists=True, dir_okay=False)


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
ExposureOption = Annotated[
    str | None, columns("COLUMN", "poisson, gamma, tweedie: how long each row was observed.")
]
OffsetOption = Annotated[str | None, columns("COLUMN", "A number added to the score of each row.")]
ColumnsOption = Annotated[str | None, columns("A,B,C", "Which columns; all by default.")]
PureOption = Annotated[bool, privacy(None, "Pure DP, without a delta.", "--pure")]
ExplainOption = Annotated[
    bool, typed(None, "Print what the budget was spent on, and why.", "--explain")
]
JsonOption = Annotated[bool, typed(None, "Print what --out writes, in place of tables.", "--json")]


class RoleOptions:
    """The target and the features of a model."""

    target: Annotated[
        str | None, columns("COLUMN", "The column to predict, unless the schema names it.")
    ] = None
    features: Annotated[
        str | None,
        columns("A,B,C", "The feature columns; by default all columns without another role."),
    ] = None
    terms: Annotated[
        list[str] | None,
        columns(
            "TERM",
            "A term of the model, such as 'log1p(income)', age:region, or ... for all other "
            "columns; may be repeated. By default each feature is one term.",
            "--term",
        ),
    ] = None
    exposure: ExposureOption = None
    offset: OffsetOption = None
    classes: Annotated[
        str | None,
        columns(
            "NO,YES", "The labels of the target: two for sparse-logistic, two or more for logistic."
        ),
    ] = None
    other: Annotated[
        str | None,
        columns("level|void", "Whether undeclared levels share one level or make the row void."),
    ] = None


class CellOptions:
    """How cells are read."""

    categorical: Annotated[
        list[str] | None,
        columns(
            "COLUMN=A,B",
            "The levels of a categorical feature, the baseline first; may be repeated.",
        ),
    ] = None
    dates: Annotated[
        list[str] | None,
        columns(
            "COLUMN=VALUE",
            "Origin and unit of a column of dates; may be repeated: day=2020-01-01,days",
        ),
    ] = None
    drop: Annotated[
        list[str] | None, columns("A,B,C", "Columns that are left out; may be repeated.")
    ] = None
    missing: Annotated[
        list[str] | None,
        columns(
            "COLUMN=VALUE",
            "A public number or level for a column's empty or unreadable cells; may be repeated.",
        ),
    ] = None


class WeightOptions:
    """Weights of rows."""

    weight: Annotated[
        str | None, columns("COLUMN", "How much each row counts; needs --weight-bound.")
    ] = None
    weight_bound: Annotated[
        float | None,
        columns("NUMBER", "The largest weight that counts in full; larger ones are cut."),
    ] = None


class PersonOptions:
    """Persons with several rows."""

    person: Annotated[
        str | None,
        columns(
            "COLUMN",
            "The column of person keys: all rows of a person are protected together; needs "
            "--max-rows.",
        ),
    ] = None
    max_rows: Annotated[
        int | None, columns("NUMBER", "The most rows of one person that are used.")
    ] = None


class RowOptions:
    """The schema of a file, and the order of its rows."""

    schema: Annotated[
        Path | None,
        columns(
            "PATH",
            "Declarations of the columns (JSON); 'tailguard schema' begins such a file.",
            exists=True,
            dir_okay=False,
        ),
    ] = None
    row_id: Annotated[
        str | None,
        columns("COLUMN", "A column with a different value in every row: rows then need no order."),
    ] = None
    order: Annotated[
        str, columns("file|any", "'any' if rows have neither an order nor a --row-id.")
    ] = "file"


class CheckpointOptions:
    """The file of a run that can be resumed."""

    checkpoint: Annotated[
        Path | None,
        privacy(
            "PATH", "Write each released answer there, so that a run that is stopped can go on."
        ),
    ] = None
    resume: Annotated[
        bool,
        privacy(None, "Go on with the run of --checkpoint, never of a copy.", "--resume"),
    ] = False


class CheckOptions:
    """The count of usable records before a run."""

    no_check_records: Annotated[
        bool,
        privacy(
            None,
            "Skip the count of usable records, which takes 1/200 of the squared budget.",
            "--no-check-records",
        ),
    ] = False
    on_unusable: Annotated[
        str, privacy("WORD", "'stop' early, or 'fit' anyway, if most records cannot be used.")
    ] = "stop"


class ChargeOptions:
    """The ledger that a run is charged to, or the seed of a simulation."""

    ledger: Annotated[
        Path | None,
        privacy(
            "PATH", "Charge the budget in this file first; 'tailguard ledger create' makes one."
        ),
    ] = None
    ledger_name: Annotated[
        str | None, privacy("NAME", "The data set, if the ledger's file holds several.")
    ] = None
    ledger_key: Annotated[
        str | None,
        privacy("KEY", "A name for this run, which is charged once: started again, it is refused."),
    ] = None
    random_state: Annotated[
        int | None, privacy("SEED", "A reproducible simulation that is NOT PRIVATE, and says so.")
    ] = None


RUN_ON_A_TABLE = (
    CellOptions,
    WeightOptions,
    PersonOptions,
    RowOptions,
    CheckpointOptions,
    CheckOptions,
    ChargeOptions,
)
"""The options of commands that read a table of records, in the order of their help."""
