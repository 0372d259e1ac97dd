r"""Show the certificate of a model file, for the person responsible for privacy.

It states the promise and whom it protects, the releases and their total cost,
and assumptions for accuracy. With --json, it has all the numbers from which
anybody can recompute the total.

[bold]Examples[/bold]

\b
  tailguard certificate model.json
  tailguard certificate model.json --json > certificate.json
"""

from typing import Annotated

import typer
from rich.console import Console

from tailguard.cli import options
from tailguard.cli.model_file import load_model
from tailguard.cli.printing import print_plain


def certificate(
    model: options.ModelPathOption,
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
    stated = load_model(model).certificate_
    if json:
        typer.echo(stated.to_json())
    else:
        print_plain(Console(), stated.to_text())
