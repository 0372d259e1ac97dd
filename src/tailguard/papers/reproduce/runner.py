"""List all experiments and run their cells, with a stored line for each cell and seed.

Seeds are the outer loop, so an interrupted run has about the same number of seeds for all cells.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, lru_cache
from multiprocessing import get_context
from pathlib import Path
from warnings import catch_warnings, simplefilter

from tailguard.checks import BudgetWarning, InputError, shown
from tailguard.papers.reproduce.experiment import Cell, Experiment, Setup
from tailguard.papers.reproduce.results import CellLine, append_lines, read_lines


@cache
def by_paper() -> Mapping[str, tuple[Experiment, ...]]:
    """Return the experiments of every paper; importing them takes a second."""
    from tailguard.papers.reproduce.experiments import (  # noqa: PLC0415 - heavy
        lower_bounds,
        optimisation,
        ranking,
        rates,
        tables,
        thresholds,
        wang2020,
        xu2025,
    )

    files = wang2020, xu2025, tables, thresholds, rates, optimisation, ranking, lower_bounds
    names = (each.__name__.rpartition(".")[2].replace("_", "-") for each in files)
    return {name: each.experiments() for name, each in zip(names, files, strict=True)}


def all_experiments() -> tuple[Experiment, ...]:
    """Return every experiment, paper by paper."""
    return tuple(each for experiments in by_paper().values() for each in experiments)


def find_experiments(name: str) -> tuple[Experiment, ...]:
    """Return the experiment of this name, all experiments of a paper, or ``"all"``."""
    if name == "all":
        return all_experiments()
    if name in by_paper():
        return by_paper()[name]
    listed = {experiment.name: experiment for experiment in all_experiments()}
    if name not in listed:
        near = get_close_matches(name, [*by_paper(), *listed], n=1) or [next(iter(listed))]
        raise InputError(
            f"EXPERIMENT must be all, or a name that --list shows, such as {near[0]}; "
            f"got {shown(name)}."
        )
    return (listed[name],)


Progress = Callable[[int, int], object]  # called with the numbers of cells done and in all


def check_data(experiment: Experiment, setup: Setup) -> None:
    """Refuse an experiment if a file that it needs is not in the data folder."""
    missing = [name for name in experiment.data if not _has(setup.data, name)]
    if missing:
        files = " and ".join(f"{name}.parquet" for name in missing)
        given = "none" if setup.data is None else repr(str(setup.data))
        raise InputError(
            f"--data must be a folder with {files} for {experiment.name}; got {given}."
        )


def lines_path(folder: Path, experiment: Experiment, setup: Setup) -> Path:
    """Return the file with the lines of an experiment."""
    return folder / "lines" / f"{experiment.name}{'-quick' if setup.quick else ''}.jsonl"


def run_experiment(
    experiment: Experiment,
    setup: Setup,
    folder: Path,
    *,
    n_jobs: int = 1,
    progress: Progress = lambda _done, _total: None,
) -> list[CellLine]:
    """Run all cells without a line; return the lines of all cells and seeds."""
    path, cells = lines_path(folder, experiment, setup), experiment.cells(setup)
    names = {cell.name for cell in cells}
    kept = {(line.cell, line.seed) for line in read_lines(path)}
    wanted = [(seed, place) for seed in experiment.seeds(setup) for place in range(len(cells))]
    missing = [each for each in wanted if (cells[each[1]].name, each[0]) not in kept]
    progress(len(wanted) - len(missing), len(wanted))
    for count, line in enumerate(_measured(experiment, setup, cells, missing, n_jobs), 1):
        append_lines(path, [line])
        progress(len(wanted) - len(missing) + count, len(wanted))
    seeds = experiment.seeds(setup)
    return [line for line in read_lines(path) if line.cell in names and line.seed in seeds]


def _measured(
    experiment: Experiment,
    setup: Setup,
    cells: Sequence[Cell],
    wanted: Sequence[tuple[int, int]],
    n_jobs: int,
) -> Iterator[CellLine]:
    """Measure here, or in processes, which look the experiment up by its name."""
    if n_jobs == 1 or len(wanted) < 2:
        for seed, place in wanted:
            yield _line(cells[place], seed)
        return
    facts = [(experiment.name, setup, place, seed) for seed, place in wanted]
    with ProcessPoolExecutor(min(n_jobs, len(wanted)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_line_by_name, facts)


def _line(cell: Cell, seed: int) -> CellLine:
    """Measure one cell, or store the reason for its refusal."""
    start = time.process_time()
    with catch_warnings():
        simplefilter("ignore", BudgetWarning)  # for a delta of 1 / n, the choice of a paper
        try:
            points = tuple(replace(point, seed=seed) for point in cell.measure(seed))
            refused = None
        except InputError as error:
            points, refused = (), str(error)
    return CellLine(cell.name, seed, points, refused, time.process_time() - start)


def _line_by_name(facts: tuple[str, Setup, int, int]) -> CellLine:
    name, setup, place, seed = facts
    return _line(_cells(name, setup)[place], seed)


@lru_cache(maxsize=4)
def _cells(name: str, setup: Setup) -> Sequence[Cell]:
    (experiment,) = (each for each in find_experiments(name) if each.name == name)
    return experiment.cells(setup)


def _has(folder: Path | None, name: str) -> bool:
    return folder is not None and (folder / f"{name}.parquet").is_file()
