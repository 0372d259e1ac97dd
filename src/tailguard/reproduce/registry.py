"""The experiments, by the paper that they are of: one line a file."""

from difflib import get_close_matches
from functools import cache

from tailguard.checks import InputError, class_called, shown
from tailguard.reproduce.experiment import Experiment

# Paper -> the function of a file that lists its experiments.
EXPERIMENTS = {
    "wang2020": "tailguard.reproduce.experiments.wang2020:experiments",
    "xu2025": "tailguard.reproduce.experiments.xu2025:experiments",
    "tables": "tailguard.reproduce.experiments.tables:experiments",
    "rates": "tailguard.reproduce.experiments.rates:experiments",
    "optimisation": "tailguard.reproduce.experiments.optimisation:experiments",
    "ranking": "tailguard.reproduce.experiments.ranking:experiments",
    "lower-bounds": "tailguard.reproduce.experiments.lower_bounds:experiments",
}


@cache
def _of_paper(paper: str) -> tuple[Experiment, ...]:
    """Import the experiments of a paper."""
    return tuple(class_called(paper, EXPERIMENTS)())


def all_experiments() -> tuple[Experiment, ...]:
    """Return every experiment, paper by paper.

    Examples
    --------
    >>> "rates" in {experiment.name for experiment in all_experiments()}
    True
    """
    return tuple(each for paper in EXPERIMENTS for each in _of_paper(paper))


def find_experiments(name: str) -> tuple[Experiment, ...]:
    """Return the experiment of that name, all of a paper, or ``"all"``.

    Examples
    --------
    >>> [experiment.name for experiment in find_experiments("rates")]
    ['rates']
    """
    if name == "all":
        return all_experiments()
    if name in EXPERIMENTS:
        return _of_paper(name)
    listed = {experiment.name: experiment for experiment in all_experiments()}
    if name not in listed:
        near = get_close_matches(name, [*EXPERIMENTS, *listed], n=1) or [next(iter(listed))]
        raise InputError(
            f"EXPERIMENT must be all, or a name that --list shows, such as {near[0]}; "
            f"got {shown(name)}."
        )
    return (listed[name],)
