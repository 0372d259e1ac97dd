r"""Keep the privacy budget of a data set in a file that all runs share.

Each run is charged before it reads a record. A run that would exceed the cap is
refused. Pass the file with --ledger to fit, search, score, mean and describe.

[bold]Examples[/bold]

\b
  tailguard ledger create budget.sqlite --name claims-2026 \
      --epsilon 4 --delta 1e-5
  tailguard fit claims.csv --target cost --epsilon 1 --delta 1e-6 \
      --ledger budget.sqlite --out model.json
  tailguard ledger show budget.sqlite
  tailguard ledger history budget.sqlite
  tailguard ledger export budget.sqlite --out ledger.json
  tailguard ledger verify budget.sqlite --against ledger.json
"""

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import tailguard as tg
from tailguard.checks import InputError
from tailguard.cli import options
from tailguard.cli.arguments import destination, promise_of, write_text
from tailguard.cli.printing import print_plain
from tailguard.ledger.report import history_content, history_text, summary_content, summary_text

app = typer.Typer(
    help=options.page(__doc__), add_completion=False, rich_markup_mode=options.markup_mode()
)

LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.")]
Name = Annotated[
    str | None, options.typed("NAME", "Of the data set; not needed where the file holds one.")
]

AsJson = Annotated[bool, options.typed(None, "Print JSON in place of text.", "--json")]


def create(
    ledger: LedgerFile,
    *,
    name: Annotated[str, options.typed("NAME", "Of the data set, in your words.")],
    epsilon: Annotated[float | None, options.EPSILON] = None,
    delta: options.OptionalDeltaOption = None,
    pure: options.PureOption = False,
    rho: Annotated[float | None, options.typed("NUMBER", "A cap in zCDP.")] = None,
    mu: Annotated[float | None, options.typed("NUMBER", "A cap in GDP.")] = None,
    person: Annotated[
        str | None,
        options.typed("COLUMN", "The column of person keys, if all runs protect persons."),
    ] = None,
) -> None:
    """Begin a ledger with its cap, which cannot be changed.

    Examples
    --------
    >>> create(Path("budget.sqlite"), name="claims-2026", rho=0.5)
    Began ledger 'claims-2026' in budget.sqlite: zero-concentrated differential privacy with rho = \
0.5
    """
    given = [value for value in (epsilon, rho, mu) if value is not None]
    if len(given) != 1:
        raise InputError(
            f"--epsilon, --rho or --mu must be given, one of the three; got {len(given)}."
        )
    if epsilon is not None:
        cap: Any = promise_of(epsilon, delta, pure=pure)
    elif delta is not None or pure:
        raise InputError("--delta and --pure must be given with --epsilon, and it is missing.")
    else:
        cap = tg.ZCDP(rho) if rho is not None else tg.GDP(mu or 0.0)
    if os.path.exists(ledger) and name in tg.Ledger.names(ledger):
        raise InputError(f"--name must be new to {str(ledger)!r}; there is a ledger {name!r}.")
    tg.Ledger(ledger, name, guarantee=cap, person=person)
    of_persons = "" if person is None else f", for persons by {person!r}"
    print_plain(Console(), f"Began ledger {name!r} in {ledger}: {cap.describe()}{of_persons}")


def show(ledger: LedgerFile, name: Name = None, *, as_json: AsJson = False) -> None:
    """Show the cap, the charges and the remaining budget.

    With --json: "ledgers" lists an object for each ledger.

    Examples
    --------
    >>> _ = tg.Ledger("show.sqlite", "claims-2026", guarantee=tg.ZCDP(0.5))
    >>> show(Path("show.sqlite"))  # doctest: +ELLIPSIS
    Ledger 'claims-2026'
    ...
    """
    names = (name,) if name is not None else tg.Ledger.names(ledger)
    ledgers = [tg.Ledger(ledger, each) for each in names]
    if as_json:
        content = {"ledgers": [*map(summary_content, ledgers)]}
        typer.echo(json.dumps(content, indent=2))
    else:
        print_plain(Console(), "\n\n".join(map(summary_text, ledgers)))


def history(ledger: LedgerFile, name: Name = None, *, as_json: AsJson = False) -> None:
    """List every charge: its own cost, whether its run ended, and what was released for it.

    Examples
    --------
    >>> _ = tg.Ledger("history.sqlite", "claims-2026", guarantee=tg.ZCDP(0.5))
    >>> history(Path("history.sqlite"))  # doctest: +ELLIPSIS
    Ledger 'claims-2026'
    ...
    """
    opened = tg.Ledger(ledger, name)
    if as_json:
        typer.echo(json.dumps(history_content(opened), indent=2))
    else:
        print_plain(Console(), history_text(opened))


def verify(
    ledger: LedgerFile,
    name: Name = None,
    against: Annotated[
        Path | None,
        options.typed("PATH", "An earlier export of the ledger.", exists=True, dir_okay=False),
    ] = None,
) -> None:
    """Check file, chain and cap; with an earlier export, also that no line has changed since.

    Examples
    --------
    >>> _ = tg.Ledger("verify.sqlite", "claims-2026", guarantee=tg.ZCDP(0.5))
    >>> verify(Path("verify.sqlite"))  # doctest: +ELLIPSIS
    Ledger 'claims-2026' is whole: 1 line...
    """
    opened = tg.Ledger(ledger, name)
    earlier = None if against is None else _read(against)
    lines = _counted(opened.verify(earlier))
    suffix = "" if earlier is None else "; it goes on from the export"
    head = opened.head()["digest"]
    print_plain(Console(), f"Ledger {opened.name!r} is whole: {lines}, head {head}{suffix}")


def export(
    ledger: LedgerFile,
    *,
    name: Name = None,
    out: Annotated[Path, options.typed("PATH", "Where to write it (JSON).")],
) -> None:
    """Write all lines and the head as JSON; keep the file where users of the ledger cannot write.

    Examples
    --------
    >>> _ = tg.Ledger("export.sqlite", "claims-2026", guarantee=tg.ZCDP(0.5))
    >>> export(Path("export.sqlite"), out=Path("ledger.json"))
    Wrote ledger.json: 1 line of ledger 'claims-2026'
    """
    opened = tg.Ledger(ledger, name)
    exported = opened.export()
    write_text(destination(out, ledger), json.dumps(exported, indent=2) + "\n")
    lines = _counted(len(exported["lines"]))
    print_plain(Console(), f"Wrote {out}: {lines} of ledger {opened.name!r}")


def _counted(n_lines: int) -> str:
    """Return a number of lines as words."""
    return "1 line" if n_lines == 1 else f"{n_lines} lines"


def _read(path: Path) -> Any:
    """Return the content of an earlier export."""
    try:
        if not path.is_file():  # reading some devices never ends
            raise ValueError
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(
            f"--against must be a file that 'tailguard ledger export' wrote; got {str(path)!r}."
        ) from None


for command in (create, show, history, verify, export):
    app.command(**options.pages(command.__doc__))(command)
