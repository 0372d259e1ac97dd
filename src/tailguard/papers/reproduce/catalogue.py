"""The experiments, by the paper that they are of: one line a file."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from tailguard.checks import InputError, shown
from tailguard.papers.reproduce.experiment import Experiment


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

    found: dict[str, Callable[[], Iterable[Experiment]]] = {
        "wang2020": wang2020.experiments,
        "xu2025": xu2025.experiments,
        "tables": tables.experiments,
        "thresholds": thresholds.experiments,
        "rates": rates.experiments,
        "optimisation": optimisation.experiments,
        "ranking": ranking.experiments,
        "lower-bounds": lower_bounds.experiments,
    }
    return {paper: tuple(experiments()) for paper, experiments in found.items()}


def all_experiments() -> tuple[Experiment, ...]:
    """Return every experiment, paper by paper."""
    return tuple(each for experiments in by_paper().values() for each in experiments)


def find_experiments(name: str) -> tuple[Experiment, ...]:
    """Return the experiment of that name, all of a paper, or ``"all"``."""
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
