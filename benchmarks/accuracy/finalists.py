"""Which settings of an oracle's grid are run on later seeds: those that did best on the first.

The best of hundreds of settings on two or three seeds is partly the luckiest one, and a full grid
on many seeds is too dear. So every setting is run on the first ``FULL_SEEDS`` seeds of a task, and
on later ones only the ``FINALISTS`` settings with the least mean excess over those, for each
epsilon and method by itself. A setting that was not run is null in a line's list, which counts as
infinite when the setting of a cell is chosen: the oracle takes a finalist, by all seeds.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from accuracy.cells import table_of
from accuracy.lines import grid_mark

FULL_SEEDS = 2
FINALISTS = 24


@dataclass(frozen=True)
class Finalists:
    """Places of the finalists in the list of settings of one grid."""

    grid: int
    places: frozenset

    def among(self, settings):
        """Names of the finalists; None, which stands for all, where the grid is another one."""
        names = list(settings)
        if grid_mark(names) != self.grid:
            return None
        return {names[place] for place in self.places}


def pick(lines, first_seeds):
    """Finalists of every (task, epsilon, method) whose first seeds all have a line."""
    groups = defaultdict(dict)
    for line in lines:
        if "grid" in line and "error" not in line and line["seed"] in first_seeds:
            groups[line["task"], line["epsilon"], line["method"]][line["seed"]] = line
    return {
        cell: _best([by_seed[seed] for seed in first_seeds])
        for cell, by_seed in groups.items()
        if len(by_seed) == len(first_seeds)
    }


def _best(group):
    """Return the settings with the least mean; the earlier one where two are level."""
    order = np.argsort(table_of(group).mean(axis=0), kind="stable")
    return Finalists(group[-1]["grid"], frozenset(order[:FINALISTS].tolist()))
