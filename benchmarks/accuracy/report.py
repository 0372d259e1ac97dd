"""The table, as Markdown and CSV."""

import csv
from dataclasses import asdict, fields

import numpy as np

from accuracy.cells import NON_PRIVATE, OURS, RIVAL, Summary, coverage, family_coverage, summarise
from accuracy.local_oracle import local_oracle
from accuracy.peers import budget

TITLES = {
    "public": "Public tasks T1 to T5",
    "laboratory": "L1, L3, L4, T5s, with the local asymptotic oracle",
    "consistency": "T5s at growing n",
    "real": "Real data sets",
    "tables": "Real tables, ours by its own predictions",
    "evaluation": "Evaluation family",
    "former": "Former evaluation family",
    "training": "Training family",
}

HEAD = """# Accuracy of a default fit, and of what one could use instead

Written by `make bench-accuracy`; [the page on it](../../../docs/accuracy.md) says what is compared.
Excess risk over the population optimum (real data and T5: over the best non-private fit on the test
set), mean over seeds, in thousandths of what predicting a constant loses: 1000 is as bad as a
constant. Oracle-tuned peers chose their setting on test risk, for free.
"""


SUMMARY_HEAD = (
    "suite",
    "tailguard",
    "cells",
    "ours / oracle-tuned DP-GD, median",
    "90th percentile",
    "the same, DP-GD tuned on the other seeds",
    "90th percentile",
    "ours / non-private, median",
    "at most 1.25 x best oracle-tuned + 1 %",
    "above twice that",
    "against untuned or given scales: better / even / worse",
    "ours / local oracle, median",
)
CELL_HEAD = (
    *("task", "loss", "n", "d", "epsilon", "ours", "ours / oracle-tuned DP-GD"),
    *("oracle-tuned DP-GD", "best oracle-tuned", "best given scales", "best untuned"),
    *("non-private", "local oracle"),
)
CSV_HEAD = (
    *("suite", "task", "loss", "n", "d", "epsilon", "method", "tuning", "seeds", "mean"),
    *("quartile_1", "median", "quartile_3", "paired_mean", "constant_gap"),
)

QUARTILES = (0.25, 0.5, 0.75)


def add_oracles(cells):
    """Put the local asymptotic oracle into the cells of the laboratory."""
    for cell in cells:
        if cell.suite == "laboratory":
            cell.oracle = local_oracle(cell.task, budget(cell.epsilon, float(cell.n) ** -1.1))


def number(value):
    """Three digits, and no sign of more than there is."""
    if value is None or np.isnan(value):
        return ""
    if np.isinf(value):
        return "fails"
    if abs(value) >= 1e4:
        return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:.3g}"


def markdown(head, rows):
    """Join a head and rows into a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def summary_table(summaries):
    """One row a suite."""
    return markdown(SUMMARY_HEAD, [summary_row(one) for one in summaries])


def summary_row(one):
    """Ratios, shares and counts of a suite."""
    return [
        *(TITLES[one.suite], one.library, one.cells),
        *map(number, (one.ratio_median, one.ratio_p90)),
        *map(number, (one.elsewhere_median, one.elsewhere_p90, one.ratio_non_private)),
        *(f"{one.level:.0%}", one.far),
        f"{one.untuned_won} / {one.untuned_even} / {one.untuned_lost}",
        number(one.oracle_median),
    ]


def suite_table(cells):
    """One row a cell: ours, the rival, the best of each tuning."""
    return markdown(CELL_HEAD, [cell_row(cell) for cell in cells])


def cell_row(cell):
    """Figures of a cell, in thousandths of the constant's excess."""
    unit = 1000.0 / cell.gap
    best = [cell.best(tuning) for tuning in ("oracle-tuned", "given scales", "untuned")]
    return [
        *(cell.task, cell.loss, cell.n, cell.d, f"{cell.epsilon:g}"),
        number(cell.mean(OURS) * unit),
        number(cell.ratio()),
        number(cell.mean(RIVAL) * unit),
        *(
            f"{number(cell.mean(name) * unit)} ({name.split(',')[0]})" if name else ""
            for name in best
        ),
        number(cell.mean(NON_PRIVATE) * unit),
        number(cell.oracle * unit) if cell.oracle else "",
    ]


def coverage_line(lines):
    """Say how often intervals held the truth, where the fits have intervals."""
    share, intervals, fits = coverage(lines)
    if not fits:
        return "No fit had confidence intervals."
    return (
        f"95 % intervals at epsilon >= 1, n >= 20000: {share:.1%} of {intervals} "
        f"coefficients in {fits} fits."
    )


def family_table(lines):
    """One row a family: how many coefficients have an interval, and how many of these hold."""
    rows = [
        [letter, whole, f"{given / whole:.0%}", f"{held / max(given, 1):.1%}"]
        for letter, (whole, given, held) in family_coverage(lines).items()
    ]
    return [markdown(["family", "coefficients", "given", "hold"], rows)] if len(rows) > 1 else []


def write(folder, lines, cells):
    """Write ``accuracy.md`` and ``accuracy.csv``; return the summaries."""
    add_oracles(cells)
    suites = [name for name in TITLES if any(cell.suite == name for cell in cells)]
    of = {name: [cell for cell in cells if cell.suite == name] for name in suites}
    summaries = [summarise(name, of[name]) for name in suites]
    summaries = [one for one in summaries if one.cells]  # a suite may have been run without peers
    parts = [HEAD, summary_table(summaries)]
    for name in suites:
        own = [line for line in lines if line["suite"] == name]
        parts += [f"## {TITLES[name]}", coverage_line(own), *family_table(own)]
        parts += [suite_table(of[name])]
    parts += _failures(lines)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "accuracy.md").write_text("\n\n".join(parts) + "\n")
    _write_summary(folder / "summary.csv", summaries)
    with (folder / "accuracy.csv").open("w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(CSV_HEAD)
        for cell in cells:
            rows.writerows(_csv_rows(cell))
    return summaries


def _csv_rows(cell):
    facts = [cell.suite, cell.task, cell.loss, cell.n, cell.d, cell.epsilon]
    for method, values in cell.excess.items():
        figures = [np.mean(values), *np.quantile(values, QUARTILES, method="inverted_cdf")]
        paired = cell.paired.get(method)
        figures.append(np.mean(paired) if paired is not None else float("nan"))
        told = cell.tuning.get(method, "not private")
        yield [*facts, method, told, len(values), *(f"{x:.6g}" for x in figures), f"{cell.gap:.6g}"]


def _write_summary(path, summaries):
    with path.open("w", newline="") as out:
        rows = csv.DictWriter(out, [one.name for one in fields(Summary)], lineterminator="\n")
        rows.writeheader()
        rows.writerows(asdict(one) for one in summaries)


def _failures(lines):
    """List what raised an error, once a message."""
    found = sorted({f"- {line['method']}: {line['error']}" for line in lines if "error" in line})
    return ["## Errors", "\n".join(found)] if found else []
