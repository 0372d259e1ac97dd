r"""Attack every query, mean and solver on made-up records.

For each of them, the audit tries to distinguish a worst pair of neighbours in
many runs. It prints the claimed privacy loss, a lower bound on the actual loss,
and whether the same audit detects two faults: noise of 0.8 times the right
scale, and half the right sensitivity. Records are made up, and noise follows a
seed. If a claim is disproved or a fault is not detected, the exit code is 1.
--quick takes about two minutes of one core, --all about ten.

[bold]Examples[/bold]

\b
  tailguard audit --quick
  tailguard audit --all --jobs 2
  tailguard audit --only mean
"""

from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tailguard.checks import InputError
from tailguard.cli.options import typed
from tailguard.cli.printing import print_wrapped

if TYPE_CHECKING:
    from tailguard.audit.cases import AuditResult


def audit(
    quick: Annotated[
        bool, typed(None, "Claims that need the fewest runs; the default.", "--quick")
    ] = False,
    everything: Annotated[
        bool, typed(None, "Smaller claims, public calls and all testers as well.", "--all")
    ] = False,
    only: Annotated[str | None, typed("WORD", "Rows whose name has the word.")] = None,
    jobs: Annotated[int, typed("COUNT", "How many processes.")] = 1,
) -> None:
    """Run the attacks and print a row for each; exit with code 1 if one of them fails.

    Examples
    --------
    >>> from tailguard.cli.app import run
    >>> run(["audit", "--only", "soft-mean, Laplace"])  # doctest: +ELLIPSIS
    <BLANKLINE>
    ...
    0
    """
    # The attacked code is slow to load, and other commands do not need it.
    from tailguard.audit.cases import FALSE_ALARM  # noqa: PLC0415
    from tailguard.audit.suite import LONG, QUICK, run_audit  # noqa: PLC0415

    if quick and everything:
        raise InputError("--quick must not be given with --all; they are two lists of rows.")
    if jobs < 1:
        raise InputError(f"--jobs must be at least 1; got {jobs}.")
    names = tuple(name for name in (LONG if everything else QUICK) if (only or "") in name)
    if not names:
        raise InputError(f"--only must be part of the name of a row; got {only!r}.")
    screen = Console(stderr=True)
    audits, hidden = run_audit(names, n_jobs=jobs), not screen.is_terminal
    rows = track(audits, "Attacking", len(names), console=screen, transient=True, disable=hidden)
    results = list(rows)
    console = Console(highlight=False)
    console.print(audit_table(results))
    print_wrapped(
        console,
        "NOT PRIVATE: records are made up and noise follows a seed. 'shown' is a lower confidence "
        f"bound; all of {len(results)} hold together with probability {1.0 - FALSE_ALARM:g}. "
        "'power' is the chance that noise of 0.8 times the scale is rejected; 'low power' says "
        "that it is too small for the row to prove much. Every mutant must be rejected.",
    )
    if any(not row.accepted or not all(row.mutants.values()) for row in results):
        raise typer.Exit(1)


def audit_table(results: "list[AuditResult]") -> Table:
    """Return a table with a row for each audit.

    Examples
    --------
    >>> from tailguard.audit.cases import AuditResult
    >>> row = AuditResult("a mean", "mu = 2", 2.0, 1.7, 0.999, 0.97, 1200, "threshold")
    >>> audit_table([row]).row_count
    1
    """
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("audited, and its claim", overflow="fold")
    for heading in ("shown", "share", "power", "runs", "mutants"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in results:
        mutants = f"{sum(row.mutants.values())}/{len(row.mutants)}" if row.mutants else "-"
        numbers = f"{row.shown:.3g}", f"{row.share:.0%}", f"{row.power:.2f}", f"{row.n_runs}"
        table.add_row(f"{row.name}\n  {row.claim}", *numbers, mutants, row.verdict)
    return table
