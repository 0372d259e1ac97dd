"""What an experiment is: cells that measure, claims that the measurements decide.

*NON-PRIVATE simulation*: noise follows a seed, and the records are simulated or public.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tailguard.papers.reproduce.judges import Judge
from tailguard.papers.reproduce.results import Point, Results


@dataclass(frozen=True)
class Setup:
    """What a run is asked for: a glance or all of it, how many seeds, where the public sets are.

    Where ``n_seeds`` is None an experiment has its own number of seeds.
    """

    quick: bool = False
    data: Path | None = None
    n_seeds: int | None = None


Measure = Callable[[int], Iterable[Point]]  # from a seed


@dataclass(frozen=True)
class Cell:
    """What is run at once for a seed and stored as one line; its name is unique.

    A cell that raises an ``InputError`` is stored as refused, with the sentence.
    """

    name: str
    measure: Measure


@dataclass(frozen=True)
class Axes:
    """How a figure is drawn: what its axes are called, and which are logarithmic.

    Where ``band`` is ``"extremes"`` the band around a curve lies between the worst and the best
    seed, else it is the 95 % interval of the median.
    """

    x: str
    y: str
    log_x: bool = False
    log_y: bool = True
    band: Literal["interval", "extremes"] = "interval"


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and how measurements decide whether it holds.

    Attributes
    ----------
    name
        A word or two, unique in the experiment.
    says
        What the paper reports.
    judge
        From all results and a noise to a decision.
    reason
        Why it fails, where it fails.
    kind
        Whose it is: a paper's, ours, or a check that what is proved is not contradicted.
    """

    name: str
    says: str
    judge: Judge
    reason: str = ""
    kind: Literal["paper", "ours", "check"] = "paper"


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper.

    Attributes
    ----------
    name
        As the command calls it.
    source
        Paper and figure.
    title
        What is measured, in a line.
    axes
        Of the figure.
    cells
        What has to be run; the same for every seed, in an order in which neighbours share records.
    claims
        What is decided.
    data
        Files that it needs, such as ``"a8a"``.
    n_seeds, n_quick_seeds
        How many seeds there are in full, and for a glance.
    table
        From the results to Markdown, where the paper has a table and no figure.
    readings
        In what two ways every claim is judged, ``"printed"`` and ``"tight"`` to its judge.
    """

    name: str
    source: str
    title: str
    axes: Axes
    cells: Callable[[Setup], Sequence[Cell]]
    claims: tuple[Claim, ...]
    data: tuple[str, ...] = ()
    n_seeds: int = 10
    n_quick_seeds: int = 2
    table: Callable[[Results], str] | None = None
    readings: tuple[str, str] = ("printed noise", "tight noise")

    def seeds(self, setup: Setup) -> range:
        """Return the seeds of a run: one of a table, none of whose numbers is drawn."""
        own = self.n_quick_seeds if setup.quick else self.n_seeds
        return range(1 if self.table is not None else setup.n_seeds or own)
