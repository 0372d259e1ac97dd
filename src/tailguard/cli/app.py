r"""Differentially private regression for heavy-tailed data.

A fit needs a file, a target and a privacy budget; no bounds, no tuning.

[bold]Start here[/bold]

\b
  tailguard demo
  tailguard schema claims.csv --target cost --out schema.json
  tailguard fit claims.csv --schema schema.json --epsilon 1 --delta 1e-6 \
      --out model.json
  tailguard verify model.json
  tailguard report model.json
  tailguard mean claims.csv --columns cost --epsilon 1 --delta 1e-6
  tailguard describe claims.csv --epsilon 1 --delta 1e-6
  tailguard predict model.json new_claims.csv --out predictions.csv

Every command explains itself: tailguard fit --help

Exit codes: 0, success; 1, an internal error, or an audit that failed; 2, a wrong
input; 3, a table of mostly unusable records; 130, an interruption.
"""

import errno
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn
from warnings import catch_warnings, simplefilter

import typer
from typer.main import get_command

from tailguard.checks import BudgetWarning, TailguardError, UnusableTableError
from tailguard.cli.commands import (
    audit,
    certificate,
    demo,
    describe,
    fit,
    ledger,
    mean,
    plan,
    predict,
    report,
    schema,
    verify,
)
from tailguard.cli.declarations import REMEDIES
from tailguard.cli.options import markup_mode, page, pages
from tailguard.data.rows.record_file import FULL_DISK_ERRORS
from tailguard.gate.record_check import unusable_sentence
from tailguard.printable import printable
from tailguard.version import __version__
from tailguard.wing import wing

# The names of options, which replace those of Python's parameters in errors.
RENAMED = {
    "bound": "moment_bound",
    "candidates": "tried",
    "fit_intercept=False": "no_intercept",
    "kind": "moment_kind",
    "moment": "moment_bound",
    "n_features": "columns",
    "n_groups": "groups",
    "n_nonzero": "keep",
    "n_rows": "rows",
    "n_tries": "tries",
    "q": "quantiles",
    "sample_weight": "weight",
    "weight": "person_weight",
}
"""Parameter in Python -> parameter of a command that does not have Python's name."""
SENTENCES = {
    r"^weight(?= must be (?:left out without person=|one of 'person'))": "person_weight",
    r"^order(?= must be (?!one of))": "moment_order",
    r"^export(?= must )": "against",
}
"""Beginning of an error -> parameter of a command, for names that have two meanings in Python."""
DECLARED_LEVELS = re.compile(r"schema=\{'categorical': \{(name|'[^']*'): \[(?:levels|\.\.\.)\]\}\}")
"""How errors write the declaration of levels in Python, with the column's name or ``name``."""
QUOTED, MATCHES_NOTHING = r"(?<!\w)'[^']*'(?!\w)", r"(?!)"


def _for_a_shell(column: str) -> str:
    """Return a quoted column as a user types it; the placeholder ``name`` becomes COLUMN."""
    return "COLUMN" if column == "name" else shlex.quote(column.strip("'"))


def options_of(command: Any, arguments: Sequence[str]) -> dict[str, str]:
    """Return the options of the called command, by the names of its parameters."""
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    longest = {option.name: max(option.opts, key=len) for option in command.params}
    return {name: option for name, option in longest.items() if option.startswith("--")}


def with_options(sentence: str, options: Mapping[str, str]) -> str:
    """Return an error with options in place of Python's parameters.

    A name of several words is replaced everywhere. A single word may be plain English, so it is
    replaced only at the beginning of a sentence or before a value. Quoted texts stay unchanged.

    Examples
    --------
    >>> options = {"max_rows": "--max-rows", "person": "--person"}
    >>> with_options("max_rows must be given beside person=: 'max_rows' is none.", options)
    "--max-rows must be given beside --person: 'max_rows' is none."
    """
    for beginning, parameter in SENTENCES.items():
        if parameter in options:
            sentence = re.sub(beginning, options[parameter], sentence)
    option_of = {name: options[own] for name, own in RENAMED.items() if own in options}
    option_of |= options
    if "categorical" in options:
        sentence = DECLARED_LEVELS.sub(
            lambda match: f"{options['categorical']} {_for_a_shell(match[1])}=A,B", sentence
        )
    names = "|".join(sorted(option_of, key=len, reverse=True)) or MATCHES_NOTHING
    subject = re.match(rf"(?:(?:{names})(?:, | and | or )?)+(?= must )", sentence)
    end = subject.end() if subject else 0

    def renamed(match: re.Match[str]) -> str:
        name, value, bare = match["name"], match["value"], match["bare"]
        is_word = name is not None and "_" not in name
        if name is None or (is_word and not value + bare and match.end() > end):
            return match[0]
        return option_of[name] + value

    value = r"(?P<value>(?:=(?=[\w'\"]))?)(?P<bare>=?)"
    whole = rf"(?<![\w./-])(?P<name>{names})(?![\w/-]|\.\w){value}"
    return re.sub(f"{QUOTED}|{whole}", renamed, sentence)


# Nothing printed to stderr depends on the values of records, except through released numbers. So
# the message of an internal error is constant.
INTERNAL_ERROR = (
    "tailguard stopped on an internal error; TAILGUARD_DEBUG=1 shows the traceback, "
    "which may show records."
)

UNPRINTABLE = FULL_DISK_ERRORS | {errno.EIO, errno.EBADF}  # typer itself ends at a closed pipe
"""Errors of a screen or a file that takes no output."""
UNPRINTED = (
    "the output must go where it can be printed; it was not: {}; if a run has ended, its answer is "
    "in the file of --out"
)

INTERRUPTION = 130
"""The exit code of typer after an interruption: 128, and 2 for the signal SIGINT."""
INTERRUPTED = (
    "Interrupted: a charge in a ledger stays, and a run with --checkpoint can go on with --resume "
    "at no further cost."
)

app = typer.Typer(
    help=page(__doc__),
    rich_markup_mode=markup_mode(),
    context_settings={"help_option_names": ["--help", "-h"]},
    add_completion=False,
    suggest_commands=False,  # an error must be one sentence
    pretty_exceptions_enable=False,  # they print local variables, which may be records
)
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "fit": fit.fit,
    "search": fit.search,
    "predict": predict.predict,
    "score": predict.score,
    "schema": schema.schema,
    "mean": mean.estimate_means,
    "describe": describe.describe,
    "plan": plan.list_methods,
    "certificate": certificate.certificate,
    "report": report.report,
    "verify": verify.verify,
    "audit": audit.audit,
}
if papers := wing("reproduce.command"):
    COMMANDS["reproduce"] = papers.reproduce
for name, command in COMMANDS.items():
    has_own_help = command in (fit.search, predict.score)
    documented = command if has_own_help else sys.modules[command.__module__]
    app.command(name, **pages(documented.__doc__))(command)
app.add_typer(ledger.app, name="ledger", short_help=pages(ledger.__doc__)["short_help"])


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"tailguard {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Define the options that belong to no command."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Examples
    --------
    >>> run(["--version"]) == 0  # doctest: +ELLIPSIS
    tailguard ...
    True
    """
    with catch_warnings():
        simplefilter("always", BudgetWarning)
        warnings.showwarning = _print_warning
        return _run(arguments)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one sentence on one line."""
    typer.echo(f"Warning: {printable(' '.join(str(message).split()))}", err=True)


@cache
def _commands() -> Any:
    """Return the tree of all commands; building it takes longer than most commands."""
    return get_command(app)


def _run(arguments: Sequence[str]) -> int:
    """Run one command; any failure becomes one sentence and an exit code."""
    try:
        # The result is None or the code of typer.Exit, such as 130 after an interruption.
        code = _commands().main(
            list(arguments) or ["--help"], prog_name="tailguard", standalone_mode=False
        )
    except typer.TyperException as error:
        _drop_far_guesses(error)
        message = f"{error.format_message().rstrip('.')}{_nearest_command(error, arguments)}"
        return _print_error(f"{message}; see {_help_command(error)}", code=2)
    except UnusableTableError as error:
        return _print_error(unusable_sentence(error.records, error.columns, REMEDIES), code=3)
    except TailguardError as error:
        return _print_error(with_options(str(error), options_of(_commands(), arguments)), code=2)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in UNPRINTABLE:
            return _print_error(UNPRINTED.format(os.strerror(error.errno)), code=2)
        if os.environ.get("TAILGUARD_DEBUG") == "1":
            raise
        return _print_error(INTERNAL_ERROR, code=1)
    if code == INTERRUPTION:
        typer.echo(INTERRUPTED, err=True)
    return int(code or 0)


def _drop_far_guesses(error: Any) -> None:
    """Drop suggestions that differ much from the misspelt option, such as --out for --bounds."""
    if guesses := getattr(error, "possibilities", None):
        # Compare without the dashes, which all options have.
        names = {guess.lstrip("-"): guess for guess in guesses}
        close = get_close_matches(error.option_name.lstrip("-"), names, cutoff=0.6)
        error.possibilities = [names[name] for name in close]


def _nearest_command(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Return the suggestion for a misspelt command; nothing for any other error."""
    context: Any = getattr(error, "ctx", None)
    commands = getattr(context and context.command, "commands", ())
    if not commands:
        return ""
    # A group of commands has no options with values, so its next argument is the command.
    typed = "".join(arguments[len(context.command_path.split()) - 1 :][:1])
    close = () if typed in commands else get_close_matches(typed.lower(), commands, n=1)
    return f" (Possible commands: {close[0]})" if close else ""


def _help_command(error: typer.TyperException) -> str:
    """Return the command line that prints the help of the misused command."""
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'tailguard'} --help"


def _print_error(message: str, *, code: int) -> int:
    """Print one sentence on one line."""
    sentence = printable(" ".join(message.split()))
    typer.echo(f"Error: {sentence.rstrip('.')}.", err=True)
    return code


def main() -> NoReturn:
    """Run the command in ``sys.argv``.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch("sys.argv", ["tailguard", "--version"]):
    ...     main()
    Traceback (most recent call last):
    SystemExit: 0
    """
    if isinstance(sys.stdout, TextIOWrapper):  # a letter that it lacks must not lose an answer
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))
