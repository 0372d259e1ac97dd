"""Run the papers' methods on the papers' tasks: ``make bench-papers``, or ``python -m papers``.

Every fit leaves a line in ``results/lines``; what has a line is not run again. ``--quick`` runs
small samples and two seeds, and keeps its lines and tables in ``results/quick``.
"""

import argparse
from pathlib import Path

from papers import figure, noise, report, runner, support
from papers.again import look
from papers.cells import comparisons, gather
from papers.methods import METHODS
from papers.tasks import real_tasks, synthetic_tasks

RESULTS = Path(__file__).parents[1] / "results"
N_SEEDS, N_QUICK_SEEDS = 10, 2
RATIO_EPSILON = 1.0


def arguments(words=None):
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--data", help="folder with a8a.parquet, a9a.parquet and w7a.parquet; else left out")
    add("--seeds", type=int, help=f"seeds of a task; default {N_SEEDS}")
    add("--minutes", type=float, default=float("inf"), help="start no fits after so long")
    add("--results", type=Path, help="folder of lines, tables and plot")
    add("--report", action="store_true", help="only write tables and plot from what was run")
    add("--quick", action="store_true", help="a glance: 10,000 records, a8a alone, two seeds")
    return parser.parse_args(words)


def main(options):
    """Run what is missing, then write tables and plot."""
    folder = options.results or (RESULTS / "quick" if options.quick else RESULTS)
    seeds = range(options.seeds or (N_QUICK_SEEDS if options.quick else N_SEEDS))
    synthetic = synthetic_tasks(options.quick)
    real, notes = real_tasks(options.data, options.quick)
    lines = []
    for tasks in (synthetic, real):
        if tasks:
            path = folder / "lines" / f"{tasks[0].group}.jsonl"
            seconds = 0.0 if options.report else 60.0 * options.minutes
            lines += runner.run(tasks, seeds, path, seconds=seconds)
    cells = gather(lines)
    ratios = [
        noise.ratio_of(task, method, RATIO_EPSILON)
        for task in synthetic
        for method in METHODS
        if noise.compares(method) and method.suits(task)
    ]
    recoveries = [] if options.quick else _recoveries(folder / "lines" / "support.jsonl")
    compared = comparisons(cells)
    worse = [each for each in compared if each.verdict == "WORSE" and not options.quick]
    path = folder / "lines" / "again.jsonl"
    again = look([*synthetic, *real], worse, path, run=not options.report)
    told = {"command": _command(options), "notes": notes, "again": again}
    report.write(folder, cells, compared, ratios, recoveries, **told)
    if cells:
        figure.draw(cells, folder / "papers.png")
    print((folder / "papers.md").read_text())


def _recoveries(path):
    """Run or read the support recovery."""
    found = support.kept(path)
    for seed in support.SEEDS:
        if seed not in {each.seed for each in found}:
            found += support.keep(path, support.recover(seed))
    return found


def _command(options):
    quick = " QUICK=1" if options.quick else ""
    return f"make bench-papers{quick}" + (" DATA=folder" if options.data else "")


if __name__ == "__main__":
    main(arguments())
