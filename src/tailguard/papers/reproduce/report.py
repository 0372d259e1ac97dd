"""What a run leaves behind: a CSV of every curve, and the table of all claims."""

import csv
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tailguard.papers.reproduce.experiment import Experiment
from tailguard.papers.reproduce.results import Results
from tailguard.papers.reproduce.store import CellLine
from tailguard.papers.reproduce.verdicts import Verdict

CSV_COLUMNS = ("panel", "curve", "noise", "x", "seeds", "median", "low", "high", "least", "most")
PAGE = (
    "# Claims of the papers, measured",
    "Written by `tailguard reproduce`. *NON-PRIVATE simulation*: noise follows a seed, and the "
    "records are simulated or public. How a claim is decided stands on the page Reproduce. "
    "*Printed* is noise as the paper prints it, *tight* the least that keeps the same promise.",
    "Of {count} claims, {told}, with tight noise.",
)
OUTCOMES = {  # of several claims
    "holds": "{count} hold",
    "does not hold": "{count} do not hold",
    "not reached at this size": "{count} are not reached at this size",
    "not run": "{count} are not run",
}
HEAD = ("claim", "the paper reports", "printed noise", "tight noise", "if not, why")


def write_curves(path: Path, results: Results) -> None:
    """Write the summary of every place of every curve."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for key in results.keys:
            for s in results.summaries(*key):
                numbers = (s.median, s.low, s.high, s.least, s.most)
                shown = (f"{number:.5g}" for number in numbers)
                writer.writerow([*key, f"{s.x:.6g}", s.n_seeds, *shown])


def refusals(lines: Iterable[CellLine]) -> list[str]:
    """Return a sentence for every reason for which cells were refused."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if line.refused and line.cell not in reasons[line.refused]:
            reasons[line.refused].append(line.cell)
    return [f"{'; '.join(cells)}: {reason}" for reason, cells in reasons.items()]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def claims_page(
    verdicts: Sequence[Verdict],
    experiments: Sequence[Experiment],
    *,
    folder: Path,
    page: Path,
) -> str:
    """Return the page of all claims, with links from ``page`` to the figures in ``folder``."""

    def link(path: Path) -> str:
        return Path(os.path.relpath(path, page.parent)).as_posix()

    outcomes = Counter(verdict.tight_outcome for verdict in verdicts)
    counted = {each: outcomes[each] for each in OUTCOMES if each in outcomes}
    told = ", ".join(OUTCOMES[each].format(count=count) for each, count in counted.items())
    parts = [part.format(count=len(verdicts), told=told or "none is decided") for part in PAGE]
    for experiment in experiments:
        own = [each for each in verdicts if each.experiment == experiment.name]
        parts.append(f"## {experiment.name}")
        of = f"{experiment.source}: {experiment.title}."
        if not own:
            parts.append(f"{of} Not run.")
            continue
        files = [(name, folder / f"{experiment.name}.{name}") for name in ("png", "csv", "md")]
        links = [f"[{name}]({link(path)})" for name, path in files if path.exists()]
        parts.append(f"{of} {own[0].run}; {', '.join(links)}.")
        parts.append(markdown_table(HEAD, [_row(verdict) for verdict in own]))
    return "\n\n".join(parts) + "\n"


def _row(verdict: Verdict) -> tuple[str, ...]:
    """Show a verdict."""
    shown = [
        outcome if figure == "-" else f"**{outcome}**: {figure}"
        for outcome, figure in (
            (verdict.printed_outcome, verdict.printed_figure),
            (verdict.tight_outcome, verdict.tight_figure),
        )
    ]
    return verdict.claim, verdict.says, *shown, verdict.reason
