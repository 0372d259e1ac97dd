"""The experiments, by the paper that they are of: one line a file."""

from collections.abc import Mapping
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

    files = wang2020, xu2025, tables, thresholds, rates, optimisation, ranking, lower_bounds
    names = (each.__name__.rpartition(".")[2].replace("_", "-") for each in files)
    return {name: each.experiments() for name, each in zip(names, files, strict=True)}


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
