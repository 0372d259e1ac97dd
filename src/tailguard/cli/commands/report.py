r"""Write a report: one page for whoever answers for privacy.

FILE is a model file, what 'tailguard mean' or 'tailguard describe' wrote, or
a certificate as JSON. The page says what is promised and to whom, what an
attacker can learn, the results with their intervals, and where the budget
went; it works out the totals again where it is opened, and asks for nothing
from elsewhere. It holds nothing that is not public or released. --form
registry writes a draft of a record for OpenDP's deployments registry, --form
nist what NIST SP 800-226 asks, as JSON.

[bold]Examples[/bold]

\b
  tailguard report model.json
  tailguard report model.json --dataset "Claims of 2026" --date 2026-11-26 \
      --curator "Example Insurance" --out report.html
  tailguard report model.json --form registry
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tailguard.checks import InputError, check_choice
from tailguard.cli import options
from tailguard.cli.arguments import destination, write_text
from tailguard.cli.printing import print_plain
from tailguard.cli.reported_file import is_page, read_report
from tailguard.report.content import Report, Stated


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


FORMS: dict[str, tuple[str, Callable[[Report], str]]] = {
    "page": (".html", Report.to_html),
    "registry": (".registry.json", lambda made: _json(made.to_registry())),
    "nist": (".nist.json", lambda made: _json(made.to_nist())),
}
"""What may be written, with the ending of its file."""


def report(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="A model file, means, a description, or a certificate as JSON.",
        ),
    ],
    out: Annotated[
        Path | None, options.typed("PATH", "Where to write it; beside FILE by default.")
    ] = None,
    dataset: Annotated[
        str | None, options.typed("TEXT", "What the data are, in your words.")
    ] = None,
    date: Annotated[str | None, options.typed("TEXT", "When it was made or published.")] = None,
    curator: Annotated[str | None, options.typed("TEXT", "Who answers for the data.")] = None,
    form: Annotated[
        str, options.typed("NAME", f"What is written: one of {', '.join(FORMS)}.")
    ] = "page",
) -> None:
    """Write the page.

    Examples
    --------
    >>> import numpy as np
    >>> import tailguard as tg
    >>> result = tg.mean(np.arange(1000.0), epsilon=1.0, delta=1e-6)
    >>> _ = Path("certificate.json").write_text(result.certificate.to_json())
    >>> report(Path("certificate.json"))
    certificate.html
    """
    if is_page(file):
        raise InputError(f"FILE must be no report yet; got {str(file)!r}.")
    ending, written = FORMS[check_choice("--form", form, FORMS)]
    out = destination(file.with_suffix(ending) if out is None else out, file)
    made = read_report(file, Stated(dataset=dataset, date=date, curator=curator))
    write_text(out, written(made))
    print_plain(Console(), str(out))
