"""Write the results of a run: a CSV of every curve, and the table of all claims.

Verdicts are kept in a CSV, a line a claim. A run replaces the lines of the experiments that it ran.
"""

import csv
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import get_args

from tailguard.papers.reproduce.experiment import Experiment, Setup
from tailguard.papers.reproduce.judges import Outcome
from tailguard.papers.reproduce.results import CellLine, Results


@dataclass(frozen=True)
class Verdict:
    """One claim, decided as printed, and with tight noise or as corrected."""

    experiment: str
    kind: str
    source: str
    claim: str
    says: str
    run: str
    printed_figure: str
    printed_outcome: str
    tight_figure: str
    tight_outcome: str
    reason: str

    @property
    def outcomes(self) -> tuple[str, str]:
        """Return both outcomes, printed noise first."""
        return self.printed_outcome, self.tight_outcome


def judge_claims(experiment: Experiment, results: Results, setup: Setup) -> list[Verdict]:
    """Decide every claim of an experiment; only failed or undecidable claims have a reason."""
    run = f"{results.seeds_told}, `{_command(experiment, setup)}`"
    found = []
    for claim in experiment.claims:
        printed, tight = (claim.judge(results, noise) for noise in ("printed", "tight"))
        fails = {printed.outcome, tight.outcome} & {"does not hold", "not decidable"}
        says = f"Of ours: {claim.says}" if claim.kind == "ours" else claim.says
        found.append(
            Verdict(
                experiment.name,
                claim.kind,
                experiment.source,
                claim.name,
                says,
                run,
                printed.figure,
                printed.outcome,
                tight.figure,
                tight.outcome,
                claim.reason if fails else "",
            )
        )
    return found


def _command(experiment: Experiment, setup: Setup) -> str:
    """Return the command line of a run."""
    words = ["tailguard reproduce", experiment.name, *(["--quick"] if setup.quick else [])]
    words += ["--data DIR"] if experiment.data else []
    return " ".join(words + ([f"--seeds {setup.n_seeds}"] if setup.n_seeds else []))


def read_verdicts(path: Path) -> list[Verdict]:
    """Read the verdicts of earlier runs."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [Verdict(**row) for row in csv.DictReader(file)]


def keep_verdicts(path: Path, new: Iterable[Verdict], order: Sequence[str]) -> list[Verdict]:
    """Replace the verdicts of the same experiments; return all verdicts, ordered by names."""
    listed = list(new)
    replaced = {verdict.experiment for verdict in listed}
    kept = [each for each in read_verdicts(path) if each.experiment not in replaced]
    known = [each for each in kept + listed if each.experiment in order]
    known.sort(key=lambda verdict: order.index(verdict.experiment))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Verdict)])
        writer.writerows(astuple(verdict) for verdict in known)
    return known


CSV_COLUMNS = ("panel", "curve", "noise", "x", "seeds", "median", "low", "high", "least", "most")
PAGE = (
    "# Claims of the papers, measured",
    "Written by `tailguard reproduce`. *NON-PRIVATE simulation*: noise follows a seed, and the "
    "records are simulated or public. How a claim is decided stands on the page Reproduce. "
    "*Printed* is noise as the paper prints it, *tight* the least that keeps the same promise. "
    "Bounds and their slopes are judged *as printed* and *as corrected* by the errata.",
    "Claims of the papers are counted apart from our own, and from checks that what is proved is "
    "not contradicted, which fail only where code is wrong or a bound says nothing.",
)
KINDS = {"paper": "claims of the papers", "ours": "our own claims", "check": "checks"}
READINGS = ("as printed", "tight or corrected")  # of all experiments


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
    """Return a sentence for every reason to refuse cells."""
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
    verdicts: Sequence[Verdict], experiments: Sequence[Experiment], *, folder: Path, page: Path
) -> str:
    """Return the page of all claims, with links from ``page`` to the figures in ``folder``."""

    def link(path: Path) -> str:
        return Path(os.path.relpath(path, page.parent)).as_posix()

    parts = [*PAGE, markdown_table(("", "of", *get_args(Outcome)), _counts(verdicts))]
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
        head = ("claim", "the paper reports", *experiment.readings, "if not, why")
        parts.append(markdown_table(head, [_row(verdict) for verdict in own]))
    return "\n\n".join(parts) + "\n"


def _counts(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """Count the outcomes of each kind of claims, in both readings."""
    rows = []
    for kind, words in KINDS.items():
        own = [each.outcomes for each in verdicts if each.kind == kind]
        for reading, outcomes in zip(READINGS, zip(*own, strict=True), strict=False):
            counts = Counter(outcomes)
            shown = (str(counts[each]) for each in get_args(Outcome))
            rows.append([f"{words}, {reading}", str(len(own)), *shown])
    return rows


def _row(verdict: Verdict) -> tuple[str, ...]:
    """Show a verdict."""
    readings = zip(verdict.outcomes, (verdict.printed_figure, verdict.tight_figure), strict=True)
    shown = [words if figure == "-" else f"**{words}**: {figure}" for words, figure in readings]
    return verdict.claim, verdict.says, *shown, verdict.reason
