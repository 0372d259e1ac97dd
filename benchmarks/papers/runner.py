"""Runs fits and keeps a line of JSON for each; what has a line is not run again.

Seeds are the outer loop, so that a run that is cut short has all tasks at equally many seeds. The
seed of the noise is that of the sample: printed and tight noise are paired draws.
"""

import time
from functools import lru_cache

from accuracy.lines import append, read, short
from papers import rivals
from papers.methods import METHODS, fit
from tailguard.reproduce.tasks.optimum import minimise_over

NO_CALIBRATION = "-"


def units(tasks, seeds):
    """Return (seed, task, epsilon), seeds first."""
    return [(seed, task, eps) for seed in seeds for task in tasks for eps in task.epsilons]


def run(tasks, seeds, path, *, seconds=float("inf")):
    """Run what is missing until the time is up; return all lines of these tasks and seeds."""
    done = {key(line) for line in read(path)}
    end = time.monotonic() + seconds
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        for seed, task, epsilon in units(tasks, seeds):
            if time.monotonic() > end:
                print("The time is up.", flush=True)
                break
            lines = list(_unit(task, epsilon, seed, done))
            append(out, lines)
            if lines:
                print(f"seed {seed}, {task.name}, epsilon {epsilon}: {len(lines)}", flush=True)
    wanted = {(task.name, task.n_rows) for task in tasks}
    return [
        line for line in read(path) if (line["task"], line["n"]) in wanted and line["seed"] in seeds
    ]


def key(line):
    """What a line answers."""
    return tuple(line[name] for name in ("task", "n", "epsilon", "method", "calibration", "seed"))


def _unit(task, epsilon, seed, done):
    X, y = draw(task, seed)
    for name, calibration, answer in (*_references(task, epsilon), *_theorems(task, epsilon, seed)):
        line = blank(task, epsilon, name, calibration, seed)
        if key(line) in done:
            continue
        start = time.process_time()
        try:
            line |= answer(X, y)
        except Exception as error:  # one method does not stop the others
            line["error"] = f"{type(error).__name__}: {error}"
        yield line | {"seconds": round(time.process_time() - start, 3)}
    for rival in rivals.RIVALS:
        line = blank(task, epsilon, rival.key, NO_CALIBRATION, seed)
        if key(line) in done:
            continue
        found = [rival.fit(task, epsilon, X, y, seed, setting) for setting in rival.settings]
        yield line | {"excess": [short(task.excess(w)) for w in found]}


@lru_cache(maxsize=2)
def draw(task, seed):
    """Draw the records of a seed, which are the same for all seeds of a real set."""
    return task.draw(0 if task.fixed_records else seed)


def blank(task, epsilon, name, calibration, seed):
    """Return a line without its answer."""
    return {
        "task": task.name,
        "n": task.n_rows,
        "d": task.n_features,
        "epsilon": epsilon,
        "method": name,
        "calibration": calibration,
        "seed": seed,
    }


def _references(task, epsilon):
    """Fits without noise, once a sample."""
    if epsilon != task.epsilons[0]:
        return

    def optimum(X, y):
        best = minimise_over(task.sample_objective(X, y), task.constraint, task.n_features)
        return {"excess": [short(task.excess(best))]}

    yield rivals.OPTIMUM, NO_CALIBRATION, optimum
    if not task.fixed_records:

        def robust(X, y):
            return {"excess": [short(task.excess(rivals.robust_descent(task, X, y)))]}

        yield rivals.ROBUST, NO_CALIBRATION, robust


def _theorems(task, epsilon, seed):
    """Every theorem that suits the task, at printed and tight noise."""
    for method in METHODS:
        if not method.suits(task):
            continue
        for calibration in method.calibrations():

            def answer(X, y, method=method, calibration=calibration):
                found = fit(task, method, calibration, epsilon, X, y, seed)
                return {
                    "excess": [short(task.excess(found.weights))],
                    "noise": short(found.theorem.noise_std),
                    "bound": short(found.theorem.bound),
                    "steps": getattr(found.theorem.solver, "n_steps", None),
                }

            yield method.key, calibration, answer
