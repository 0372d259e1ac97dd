r"""Check a certificate, and say what it cannot prove.

FILE is a model file, what 'tailguard mean --out' wrote, or a certificate
as JSON. All that follows from its parts is worked out anew: totals, epsilon
at delta, whether the promise covers what was reserved and whether that covers
the releases. A file that states anything else is refused. With --ledger its
charge is looked up, too, and the releases that the ledger lists.

[bold]Examples[/bold]

\b
  tailguard verify model.json
  tailguard verify model.json --ledger budget.sqlite
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import tailguard as tg
from tailguard.checks import InputError
from tailguard.cli import options
from tailguard.cli.model_file import KEY as MODEL
from tailguard.cli.model_file import load_model
from tailguard.cli.printing import print_plain, print_wrapped
from tailguard.ledger.verification import check_certified
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.certificate import read_json
from tailguard.privacy.certificate.pages import certificate_facts

SHOWN = ("mode", "promise", "reserved", "released", "ledger")


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="A model file, or a certificate as JSON.",
        ),
    ],
    ledger: Annotated[
        Path | None, options.typed("PATH", "The ledger that its run was charged to.")
    ] = None,
) -> None:
    """Print that its parts agree, and what must be taken on trust.

    Examples
    --------
    >>> import numpy as np
    >>> result = tg.mean(np.arange(1000.0), epsilon=1.0, delta=1e-6)
    >>> _ = Path("certificate.json").write_text(result.certificate.to_json())
    >>> verify(Path("certificate.json"))  # doctest: +ELLIPSIS
    certificate.json: all parts of the certificate agree.
    ...
    """
    certificate, console = certificate_in(file), Console()
    settled = None if ledger is None else _look_up(ledger, certificate)
    print_plain(console, f"{file}: all parts of the certificate agree.")
    facts = certificate_facts(certificate.to_dict())
    for name in SHOWN:
        print_wrapped(console, f"{name}: {facts[name]}")
    if settled is not None:
        listed = "lists these releases" if settled else "does not list what was released"
        print_wrapped(
            console, f"The ledger charged this plan, as it does no simulation, and {listed}."
        )
    print_plain(console, "\nNot proven:")
    for sentence in certificate.unproven(settled):
        print_wrapped(console, f"- {sentence}")


def certificate_in(path: Path) -> Certificate:
    """Return the certificate that a file holds, whose parts agree.

    Examples
    --------
    >>> _ = Path("other.json").write_text("{}")
    >>> certificate_in(Path("other.json"))
    Traceback (most recent call last):
    tailguard.checks.InputError: FILE must be a model file, what 'tailguard mean --out' wrote or a \
certificate as JSON; got 'other.json'.
    """
    wanted = (
        "FILE must be a model file, what 'tailguard mean --out' wrote or a certificate as JSON; "
        f"got {str(path)!r}"
    )
    try:
        content: Any = read_json(path.read_text(encoding="utf-8")) if path.is_file() else None
    except InputError as error:
        raise InputError(f"{wanted}: {error}") from None
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not {"certificate", "guarantee"} & {*content}:
        raise InputError(f"{wanted}.")
    if MODEL in content:
        return load_model(path).estimator.certificate_  # type: ignore[no-any-return]
    return Certificate.from_dict(content.get("certificate", content))


def _look_up(path: Path, certificate: Certificate) -> bool:
    """Find its charge in a ledger, which is checked as a whole; say whether releases are listed."""
    names = {entry.ledger for entry in certificate.ledger_entries}
    if len(names) != 1:
        raise InputError("--ledger must be one that the certificate names; it names none.")
    ledger = tg.Ledger(path, *names)
    ledger.verify()
    return check_certified(ledger.lines(), certificate)
