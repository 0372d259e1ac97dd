"""Tasks by suite, and how many seeds each gets."""

from dataclasses import dataclass
from functools import lru_cache

from accuracy import families, laboratory, public, real, tables


@dataclass(frozen=True)
class Suite:
    """A named list of tasks and what the runner prints before it starts."""

    name: str
    tasks: list
    n_seeds: int
    words: str


@lru_cache(maxsize=2)
def make_suite(name, *, folder=None, n_training=32):
    """Build a suite; tasks whose data are absent are left out, with a sentence."""
    if name == "public":
        return _public(folder)
    if name == "real":
        here, gone = real.available(folder, real.REAL_SETS)
        tasks = [real.real_task(folder, one) for one in here]
        return Suite(name, tasks, 10, "Real data sets." + _left_out(gone))
    if name == tables.SUITE:
        words = f"Real tables of {folder}." if folder else "Real tables: none without --data."
        return Suite(name, tables.tables_tasks(folder), 3, words)
    if name == "training":
        tasks = [families.training_task(index) for index in range(n_training)]
        return Suite(name, tasks, 3, "TRAINING family: defaults may be chosen on it.")
    make_tasks, n_seeds, words = SIMULATED[name]
    return Suite(name, make_tasks(), n_seeds, words)


SIMULATED = {
    "laboratory": (laboratory.laboratory_tasks, 6, "L1, L3, L4, T5s with their oracle."),
    "consistency": (laboratory.consistency_tasks, 5, "T5s at growing n: the excess must fall."),
    "former": (families.former_tasks, 3, "FORMER family: defaults may be chosen on it."),
    "evaluation": (
        families.evaluation_tasks,
        8,
        "EVALUATION family: for frozen defaults only; choose nothing by what it says.",
    ),
}


def _public(folder):
    here, gone = real.available(folder, [real.T5])
    tasks = public.public_tasks()
    tasks += [real.real_task(folder, one, name="T5", suite="public") for one in here]
    return Suite("public", tasks, 10, "Public tasks T1 to T5." + _left_out(gone))


def _left_out(gone):
    files = ", ".join(f"{one.file}.parquet" for one in gone)
    return f" Left out, since the data folder (--data) has no {files}." if gone else ""


SUITES = (
    *("public", "laboratory", "consistency", "real", tables.SUITE),
    *("training", "former", "evaluation"),
)
DEFAULT_SUITES = ("public", "laboratory", "consistency", "real", "evaluation")
EPSILONS = (0.1, 0.5, 1.0, 4.0)


def seed_of(suite, place):
    """Seed ``place`` of a suite: the published ones for the public tasks."""
    return public.SEEDS[place] if suite == "public" else place
