"""Runs fits and writes one JSON line each; what is written is not run again.

A unit of work is one training sample of one task. Every fit has its own generator, seeded by the
names of task and method, the seed and epsilon: the order of the work and the number of processes
change nothing. Lines hold the excess of every setting of a grid; which of them an oracle would
have chosen is decided when lines are read, over all seeds. Seeds come in two waves: the grids are
run in full on the first seeds of a task, and later seeds, once those are written, run the finalists
alone (``finalists.py``); the fits of a later seed depend on which these are.
"""

import math
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from accuracy.cells import NON_PRIVATE
from accuracy.data import Data
from accuracy.finalists import FULL_SEEDS, pick
from accuracy.library import library
from accuracy.lines import append, facts, generator, judged, key, read, short
from accuracy.methods import METHODS
from accuracy.optimum import non_private_fits
from accuracy.suites import make_suite, seed_of

LEVEL = 0.95


@dataclass(frozen=True)
class Options:
    """What to run of a suite. No methods or tasks named means all of them."""

    epsilons: tuple[float, ...]
    methods: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    folder: str | None = None
    n_training: int = 32
    most_cells: float = math.inf
    neighbours: str = "replace-one"

    def takes(self, task):
        """Whether a task is to be run at all."""
        named = not self.tasks or task.name in self.tasks
        return named and task.n_rows * task.n_features <= self.most_cells

    def wants(self, method, task):
        """Whether a method is to be run on a task."""
        named = not self.methods or {method.name, method.key} & {*self.methods}
        return task.loss in method.losses and named


@dataclass(frozen=True)
class Unit:
    """Task ``place`` of a suite at one seed, without what is done already.

    ``finalists``, by task, epsilon and method, are None for a first seed, where all settings run.
    """

    suite: str
    place: int
    seed: int
    options: Options
    done: frozenset
    finalists: dict | None = None

    def lacks(self, method, task, epsilon):
        """Whether a method is to be run; a grid whose first seeds failed has to wait for them."""
        ready = self.finalists is None or (task.name, epsilon, method.key) in self.finalists
        return (
            self.options.wants(method, task)
            and (task.name, self.seed, epsilon, method.key) not in self.done
            and (ready or method.settings is None)
        )


def run_unit(unit):
    """Return the lines of a unit, as dictionaries."""
    options = unit.options
    suite = make_suite(unit.suite, folder=options.folder, n_training=options.n_training)
    task = suite.tasks[unit.place]
    wanted = {
        epsilon: [method for method in METHODS if unit.lacks(method, task, epsilon)]
        for epsilon in options.epsilons
    }
    if not any(wanted.values()):
        return []
    trial = task.trial(unit.seed)
    lines = []
    if (task.name, unit.seed, None, NON_PRIVATE) not in unit.done:
        lines.append(_reference(task, trial))
    for epsilon, methods in wanted.items():
        data = Data(task, trial, epsilon, options.neighbours)  # one scaling for all methods
        for method in methods:
            finalists = (unit.finalists or {}).get((task.name, epsilon, method.key))
            lines.append(_fit(method, data, unit.seed, finalists))
    return [facts(unit.suite, task, trial, unit.seed) | line for line in lines]


def _reference(task, trial):
    """Judge the best non-private fit."""
    fits = non_private_fits(trial.features, trial.target, task.loss, intercept=task.intercept)
    best = min(fits, key=lambda name: trial.excess(*fits[name]))
    return {"epsilon": None, "method": NON_PRIVATE} | judged(trial, {best: fits[best]})


def _fit(method, data, seed, finalists=None):
    """Fit and judge; an error becomes a line, so that one method does not stop the others."""
    rng = generator(data.task.name, seed, data.epsilon, method.key)
    line = {"epsilon": data.epsilon, "method": method.key, "tuning": method.tuning}
    start = time.process_time()
    try:
        with np.errstate(all="ignore"):
            if finalists:
                fits = method.fit(data, rng, kept=finalists.among(method.settings(data)))
            else:
                fits = method.fit(data, rng)
    except Exception as error:
        return line | {"error": f"{type(error).__name__}: {error}"}
    line["seconds"] = round(time.process_time() - start, 4)
    line |= judged(data.trial, {name: fit and fit[:2] for name, fit in fits.items()})
    if method.tuning != "ours":
        return line
    line["library"] = library()
    ((*_, model),) = fits.values()
    if data.trial.predicted is not None:
        line["excess"] = [short(data.trial.predicted(model))]
    return line | coverage(model, data.trial.truth)


def coverage(model, truth):
    """How many 95 % intervals hold the truth, the intercept's last; or why there are none."""
    if truth is None or not hasattr(model, "conf_int"):
        return {}
    try:
        intervals = np.asarray(model.conf_int(LEVEL), dtype=float)
    except Exception as error:
        return {"no_intervals": f"{type(error).__name__}: {error}"}
    true_values = np.append(*truth)[: len(intervals)]
    inside = (intervals[:, 0] <= true_values) & (true_values <= intervals[:, 1])
    finite = np.isfinite(intervals).all(axis=1)
    held, given = int(inside[finite].sum()), int(finite.sum())
    return {"covered": held, "intervals": given, "coefficients": len(intervals)}


def run(suite, path, options, *, n_seeds, jobs=1):
    """Run what a file of lines lacks of a suite, and append it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _refuse_other_tasks(suite, path)
    seeds = [seed_of(suite.name, number) for number in range(n_seeds)]
    first, later = seeds[:FULL_SEEDS], seeds[FULL_SEEDS:]
    _run_wave(suite, path, options, first, jobs)
    if later:
        _run_wave(suite, path, options, later, jobs, pick(read(path), first))


def _refuse_other_tasks(suite, path):
    """Stop where lines are of tasks of these names but other sizes, as of an earlier family."""
    sizes = {task.name: (task.n_rows, task.n_features) for task in suite.tasks}
    for line in read(path):
        name, found = line["task"], (line["n"], line["d"])
        expected = sizes.get(name, found)
        if expected != found:
            raise SystemExit(
                f"--results must be a folder without lines of other tasks; {path} has {name} of "
                f"{found[0]} records and {found[1]} columns, not {expected[0]} and {expected[1]}."
            )


def _run_wave(suite, path, options, seeds, jobs, finalists=None):
    """Run what is missing at some seeds; ``finalists`` None means all settings."""
    done = frozenset(key(line) for line in read(path) if "error" not in line)
    units = [
        Unit(suite.name, place, seed, options, done, _of_task(finalists, task))
        for place, task in enumerate(suite.tasks)
        for seed in seeds
        if options.takes(task)
    ]
    with path.open("a") as out:
        for number, (unit, lines) in enumerate(zip(units, _each(units, jobs), strict=True), 1):
            append(out, lines)
            if lines:
                name = suite.tasks[unit.place].name
                print(f"  {number}/{len(units)} {name}, seed {unit.seed}", flush=True)


def _of_task(finalists, task):
    """Keep the finalists of one task; None stays None."""
    return finalists and {cell: found for cell, found in finalists.items() if cell[0] == task.name}


def _each(units, jobs):
    if jobs == 1:
        yield from map(run_unit, units)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_unit, units)
