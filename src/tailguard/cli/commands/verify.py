r"""Check a certificate, and say what it cannot prove.

FILE is a model file, a file that 'tailguard mean', 'describe' or 'score'
wrote, a certificate as JSON, or a page that 'tailguard report' wrote. The
command recomputes what follows from the certificate's parts: totals, epsilon
at delta, whether the promise covers the reserved cost, and whether that covers
the releases. If a file states anything else, it is refused. The words of a
page are compared with its data; a page of another version of tailguard is
refused. With --ledger, the charge of the run and the releases in the ledger
are checked, too. A refused file exits with 2.

[bold]Examples[/bold]

\b
  tailguard verify model.json
  tailguard verify model.json --ledger budget.sqlite
"""

from pathlib import Path
from typing import Annotated

from rich.console import Console

import tailguard as tg
from tailguard.checks import InputError
from tailguard.cli import options
from tailguard.cli.commands.report import is_page, read_report
from tailguard.cli.printing import print_plain, print_wrapped
from tailguard.data.declarations import listing
from tailguard.ledger.store import check_regular_file
from tailguard.ledger.verification import check_certified
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.pages import certificate_facts
from tailguard.report.content import Report
from tailguard.version import __version__

SHOWN = ("mode", "promise", "reserved", "released", "ledger")


def verify(
    file: Annotated[
        Path, options.existing("FILE", "A model file, a certificate as JSON, or a report.")
    ],
    ledger: Annotated[
        Path | None, options.typed("PATH", "The ledger that its run was charged to.")
    ] = None,
) -> None:
    """Print whether the parts of a certificate agree, and what must be taken on trust.

    Examples
    --------
    >>> import numpy as np
    >>> result = tg.mean(np.arange(1000.0), epsilon=1.0, delta=1e-6)
    >>> _ = Path("certificate.json").write_text(result.certificate.to_json())
    >>> verify(Path("certificate.json"))  # doctest: +ELLIPSIS
    certificate.json: all parts of the certificate agree.
    ...
    """
    report, console = read_report(file), Console()
    certificate = report.certificate
    is_listed = None if ledger is None else _look_up(ledger, certificate)
    page_verdict = _page_verdict(file, report) if is_page(file) else None
    print_plain(console, f"{file}: all parts of the certificate agree.")
    if page_verdict is not None:
        print_wrapped(console, page_verdict)
    facts = certificate_facts(certificate.to_dict())
    for name in SHOWN:
        print_wrapped(console, f"{name}: {facts[name]}")
    if is_listed is not None:
        releases_text = "lists these releases" if is_listed else "does not list what was released"
        print_wrapped(
            console,
            f"The ledger charged this plan, so the run was no simulation, and {releases_text}.",
        )
    print_plain(console, "\nNot proven:")
    for sentence in certificate.unproven(is_listed):
        print_wrapped(console, f"- {sentence}", indent="  ")


def _look_up(path: Path, certificate: Certificate) -> bool:
    """Check a ledger and the charge in it; return whether the ledger lists the releases."""
    names = {entry.ledger for entry in certificate.ledger_entries}
    if len(names) != 1:
        named = listing(sorted(names)) if names else "none"
        raise InputError(
            f"--ledger must be left out unless the certificate names one ledger; it names {named}."
        )
    check_regular_file("--ledger", path)
    ledger = tg.Ledger(path, *names)
    ledger.verify()
    return check_certified(ledger.lines(), certificate)


def _page_verdict(path: Path, report: Report) -> str:
    """Say that a page agrees with its data; refuse one that does not, or of another version."""
    made_by = report.certificate.version
    if made_by != __version__:
        raise InputError(
            f"FILE must be a page of this version of tailguard, {__version__}, to be compared with "
            f"its data; tailguard {made_by} wrote it: verify it there, or the file it was made of."
        )
    if report.to_html() != path.read_text(encoding="utf-8"):
        raise InputError(
            "FILE must be a page whose words follow from its data; words of this page differ."
        )
    return "The page says what its data give, word by word."
