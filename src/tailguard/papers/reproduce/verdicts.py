"""The verdicts: what a paper claims, what was measured at either noise, and whether it holds.

They are kept in a CSV, a line a claim. A run replaces the lines of the experiments that it ran.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from tailguard.papers.reproduce.experiment import Experiment, Setup
from tailguard.papers.reproduce.results import Results


@dataclass(frozen=True)
class Verdict:
    """One claim, decided as printed and with the noise that is needed, or as corrected."""

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
    """Decide every claim of an experiment; a reason is given only where one fails or cannot."""
    run = f"{results.seeds_told}, `{_command(experiment, setup)}`"
    found = []
    for claim in experiment.claims:
        printed, tight = (claim.judge(results, noise) for noise in ("printed", "tight"))
        fails = {printed.outcome, tight.outcome} & {"does not hold", "not decidable"}
        found.append(
            Verdict(
                *(experiment.name, claim.kind, experiment.source, claim.name, claim.says, run),
                *(printed.figure, printed.outcome, tight.figure, tight.outcome),
                claim.reason if fails else "",
            )
        )
    return found


def _command(experiment: Experiment, setup: Setup) -> str:
    """Return what was typed."""
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
    """Write new verdicts over those of the same experiments; return all, in the order of names."""
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
