"""What the commands print: coefficients beside their privacy noise, and long texts unwrapped."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tailguard.estimators.summary import (
    NOISE_NOTE,
    coefficient_cells,
    coefficient_rows,
    note_line,
    shown_rows,
    summary_notes,
)
from tailguard.printable import printable, printable_lines
from tailguard.privacy.certificate.pages import WIDTH


def coefficient_table(
    names: Sequence[str], model: Any, truth: Sequence[float] | None = None
) -> Table:
    """Return coefficients, their noise, and intervals and tests or, for simulated data, the truth.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    >>> model = model.fit(np.arange(1000.0)[:, None], np.arange(1000.0))
    >>> coefficient_table(["age"], model).row_count
    2
    """
    rows = coefficient_rows(model)
    # The columns of a file have their own names; an intercept keeps the one that it has.
    labels = [*names, *(name for name, _, _ in rows[len(names) :])]
    headers, cells = coefficient_cells(model, 4, truth)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    for header in headers:
        table.add_column(header, justify="right")
    for row in shown_rows(model):
        table.add_row(escape(printable(labels[row])), *cells[row])
    return table


def print_wrapped(console: Console, text: str) -> None:
    """Print a paragraph, wrapped to the screen and no wider than a certificate.

    Examples
    --------
    >>> print_wrapped(Console(), "delta = [1e-6]")
    delta = [1e-6]
    """
    width = min(console.width, WIDTH)
    print_plain(console, fill(text, width, break_on_hyphens=False, break_long_words=False))


def print_note(console: Console) -> None:
    """Print what the noise column leaves out.

    Examples
    --------
    >>> print_note(Console())  # doctest: +ELLIPSIS
    privacy noise: ...
    """
    print_wrapped(console, NOISE_NOTE)


def print_findings(console: Console, model: Any) -> None:
    """Print what the columns of a model's table say, and what the fit decided on the way.

    Both are made of released numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> model = tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0)
    >>> print_findings(Console(), model.fit(np.arange(1000.0)[:, None], np.arange(1000.0)))
    ... # doctest: +ELLIPSIS
    privacy noise: ...
    decided on released numbers: ...
    """
    for note in summary_notes(model):
        print_wrapped(console, note)
    for note in model.notes_:
        print_wrapped(console, note_line(note))


def print_plain(console: Console, text: str) -> None:
    """Print a text as it is: no markup, no colours, no new line breaks.

    Examples
    --------
    >>> print_plain(Console(), "delta = [1e-6]")
    delta = [1e-6]
    """
    console.print(printable_lines(text), markup=False, highlight=False, soft_wrap=True)
