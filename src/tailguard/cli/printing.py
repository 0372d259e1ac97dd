"""Printing by the commands: coefficients, notes, summaries, wrapped and plain texts."""

import math
from json import dumps
from textwrap import fill
from typing import Any

import typer
from rich.console import Console

from tailguard.estimators.summary import (
    HEADERS,
    coefficient_cells,
    declared_lines,
    in_table,
    note_line,
    shown_rows,
    summary_notes,
    table_lines,
)
from tailguard.printable import folded, printable_lines
from tailguard.privacy.certificate.pages import WIDTH
from tailguard.summaries.results import COLUMNS, SummaryResult


def print_coefficients(console: Console, model: Any) -> None:
    """Print coefficients, errors, intervals and tests, and the notes that explain them."""
    rows = coefficient_cells(model)
    lines = table_lines([rows[row] for row in shown_rows(model)], HEADERS, console.width)
    print_plain(console, "\n".join(["", *lines, ""]))
    for note in summary_notes(model):
        print_wrapped(console, note)


def print_wrapped(console: Console, text: str, indent: str = "") -> None:
    """Print a paragraph, wrapped to the width of the screen or, if smaller, of a certificate.

    ``indent`` begins every line but the first.
    """
    width = min(console.width, WIDTH)
    whole: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}
    print_plain(console, fill(text, width, subsequent_indent=indent, **whole))


def print_folded(console: Console, text: str) -> None:
    """Print lines; fold those wider than the screen."""
    print_plain(console, folded(text, console.width))


def print_declared(console: Console, model: Any) -> None:
    """Print constants for missing cells, assumptions, and the number of usable records."""
    for line in declared_lines(model):
        print_wrapped(console, line)


def print_notes(console: Console, model: Any) -> None:
    """Print the notes of a fit, except those that other functions, or the title, have printed."""
    for note in model.notes_:
        is_printed = note in declared_lines(model) or note in model.certificate_.unit.notes
        if not is_printed and not in_table(model, note):
            print_wrapped(console, note_line(note))


def print_plain(console: Console, text: str) -> None:
    """Print a text without markup, colours or new line breaks."""
    console.print(printable_lines(text), markup=False, highlight=False, soft_wrap=True)


def print_summary(result: SummaryResult, *, json: bool) -> None:
    """Print a summary as tables, or as JSON."""
    console = Console()
    if json:
        typer.echo(tables_as_json(result))
    else:
        print_plain(console, result.to_text(console.width))


def tables_as_json(result: SummaryResult) -> str:
    """Return the tables of a summary as JSON; NaN and infinity become null."""
    content = {
        "title": result.title,
        "tables": [
            {
                "title": table.title or COLUMNS,  # the title of a table without its own
                "header": list(table.header),
                "rows": [
                    [
                        None if isinstance(cell, float) and not math.isfinite(cell) else cell
                        for cell in row
                    ]
                    for row in table.rows
                ],
            }
            for table in result.tables()
        ],
        "notes": list(result.notes),
        "certificate": result.certificate.to_dict(),
    }
    return dumps(content, indent=2)
