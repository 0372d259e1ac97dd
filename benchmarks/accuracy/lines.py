"""Lines of JSON: how results are written, read and seeded. Needs NumPy alone."""

import json
import zlib

import numpy as np

DIGITS = 6


def generator(*words):
    """Return a generator whose stream depends on the words alone."""
    return np.random.default_rng([zlib.crc32(str(word).encode()) for word in words])


def facts(suite, task, trial, seed):
    """What every line says of its task."""
    return {
        "suite": suite,
        "task": task.name,
        "loss": task.loss,
        "n": task.n_rows,
        "d": task.n_features,
        "seed": seed,
        "gap": trial.constant_gap,
    }


def judged(trial, fits):
    """Excess of every setting; of a single one also its name and the paired excess.

    ``grid`` marks which settings a list belongs to. A fit that is None was not run: null.
    """
    line = {"excess": [fit and short(trial.excess(*fit)) for fit in fits.values()]}
    if len(fits) > 1:
        return line | {"grid": grid_mark(fits)}
    if trial.paired is not None:
        line["paired"] = [short(trial.paired(*fit)) for fit in fits.values()]
    return line | {"setting": next(iter(fits))}


def grid_mark(names):
    """Return a number that names of settings share when they and their order are the same."""
    return zlib.crc32("|".join(names).encode())


def short(number):
    """Six digits; JSON has no infinity, so it is null."""
    return float(f"{number:.{DIGITS}g}") if np.isfinite(number) else None


def key(line):
    """What a line answers; an answered question is not asked again."""
    return line["task"], line["seed"], line["epsilon"], line["method"]


def read(path):
    """Read what was written; a line cut off by an interrupt is dropped."""
    if not path.exists():
        return []
    found = []
    for text in path.read_text().splitlines():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def append(out, lines):
    """Write lines and see to it that they are on disk."""
    out.writelines(json.dumps(line) + "\n" for line in lines)
    out.flush()
