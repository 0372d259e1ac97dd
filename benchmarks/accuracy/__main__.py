"""Run the accuracy benchmark: ``make bench-accuracy``, or ``python -m accuracy --help``.

Lines go to ``results/lines/<suite>.jsonl`` and are never run twice. The table and the plot are
written anew from all lines at the end, with what is kept of suites and of peers that were not run.
``--quick`` runs two tasks at one epsilon and throws the results away. Set
``OPENBLAS_NUM_THREADS=1``, as the Makefile does, when several processes run.
"""

import argparse
import math
import tempfile
from pathlib import Path

from accuracy import chosen, figure, report
from accuracy.cells import gather
from accuracy.lines import read
from accuracy.runner import Options, run
from accuracy.suites import DEFAULT_SUITES, EPSILONS, SUITES, make_suite

NEIGHBOURS = ("replace-one", "add-remove")
RESULTS = Path(__file__).parent / "results"
QUICK = ["--suite=laboratory", "--suite=training", "--task=L1", "--task=T02", "--epsilon=1"]
QUICK += ["--seeds=2", "--training-tasks=3"]


def arguments(words=None):
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m accuracy", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--suite", choices=SUITES, action="append", help="default: all but training and former")
    add("--data", help="folder of Parquet files; without it T5 and the real sets are left out")
    add("--seeds", type=int, help="seeds a task; default by suite")
    add("--epsilon", type=float, action="append", help="default: 0.1, 0.5, 1 and 4")
    add("--method", action="append", default=[], help="a name such as tailguard; default: all")
    add("--task", action="append", default=[], help="a name such as T1; default: all of the suite")
    add("--cells", type=float, default=math.inf, help="leave out tasks of more cells than this")
    add("--training-tasks", type=int, default=32, help="how many tasks of the training family")
    add("--jobs", type=int, default=1, help="processes")
    add("--redo", action="append", default=[], help="forget this method's lines first")
    add("--neighbours", choices=NEIGHBOURS, default=NEIGHBOURS[0], help="keep --results apart")
    add("--results", type=Path, default=RESULTS, help="folder of lines, table and plot")
    add("--report", action="store_true", help="only write the table and the plot")
    add("--quick", action="store_true", help="a glance; nothing is kept")
    return parser.parse_args(words)


def forget(path, methods):
    """Drop the lines of methods, so that they are run again."""
    if methods and path.exists():
        marks = [f'"method": "{name}"' for name in methods]
        kept = path.read_text().splitlines(keepends=True)
        path.write_text("".join(text for text in kept if not any(mark in text for mark in marks)))


def run_suite(name, options):
    """Run what is missing of a suite."""
    suite = make_suite(name, folder=options.data, n_training=options.training_tasks)
    print(suite.words, flush=True)
    path = options.results / "lines" / f"{name}.jsonl"
    forget(path, options.redo)
    asked = Options(
        epsilons=tuple(options.epsilon or EPSILONS),
        methods=tuple(options.method),
        tasks=tuple(options.task),
        folder=options.data,
        n_training=options.training_tasks,
        most_cells=options.cells,
        neighbours=options.neighbours,
    )
    run(suite, path, asked, n_seeds=options.seeds or suite.n_seeds, jobs=options.jobs)


def write_report(folder):
    """Write the table and the plot from all lines."""
    lines = [line for path in sorted((folder / "lines").glob("*.jsonl")) for line in read(path)]
    lines = chosen.fill(lines, chosen.read(folder))
    chosen.write(folder, lines)
    lines.sort(key=lambda line: (line["suite"], line["task"], line["epsilon"] or 0, line["method"]))
    cells = gather(lines)
    summaries = report.write(folder, lines, cells)
    figure.draw(cells, folder / "accuracy.png")
    print(report.summary_table(summaries))


def main(options):
    """Run the suites one after another, then report."""
    if not options.report:
        for name in options.suite or DEFAULT_SUITES:
            run_suite(name, options)
    write_report(options.results)


if __name__ == "__main__":
    asked = arguments()
    if asked.quick:
        with tempfile.TemporaryDirectory() as place:
            main(arguments([*QUICK, f"--results={place}"]))
    else:
        main(asked)
