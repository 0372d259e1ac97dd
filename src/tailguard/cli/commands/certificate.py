r"""Show the certificate of a result, for the person responsible for privacy.

FILE is a model file, a file that 'tailguard mean', 'describe' or 'score' wrote,
or a report. Its certificate states the promise and whom it protects, the
releases and their total cost, and assumptions for accuracy. With --json, it has
all the numbers from which anybody can recompute the total.

[bold]Examples[/bold]

\b
  tailguard certificate model.json
  tailguard certificate model.json --json > certificate.json
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tailguard.cli import options
from tailguard.cli.commands.report import read_report
from tailguard.cli.printing import print_plain


def certificate(
    file: Annotated[
        Path, options.existing("FILE", "A model file, the file of another result, or a report.")
    ],
    json: Annotated[bool, options.typed(None, "As JSON.", "--json")] = False,
) -> None:
    """Print the certificate.

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> run(["certificate", "--help"])  # doctest: +ELLIPSIS
    <BLANKLINE>
     Usage: tailguard certificate [OPTIONS] ...
    """
    stated = read_report(file).certificate
    if json:
        typer.echo(stated.to_json())
    else:
        print_plain(Console(), stated.to_text())
