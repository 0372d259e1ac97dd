"""Define an experiment: cells that measure, and claims that the measurements decide.

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
    """Options of a run: quick or full, the number of seeds, the folder of public sets.

    If ``n_seeds`` is None, each experiment has its own number of seeds.
    """

    quick: bool = False
    data: Path | None = None
    n_seeds: int | None = None


Measure = Callable[[int], Iterable[Point]]  # from a seed


@dataclass(frozen=True)
class Cell:
    """A unit of work, run for each seed and stored as one line; its name is unique.

    A cell that raises an ``InputError`` is stored as refused, with the message.
    """

    name: str
    measure: Measure


@dataclass(frozen=True)
class Axes:
    """The axes of a figure: their labels, and which are logarithmic.

    With ``band="extremes"`` the band around a curve lies between the worst and the best seed;
    otherwise it is the 95 % interval of the median.
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
        The claim, as a sentence.
    judge
        A function from all results and a noise to a decision.
    reason
        Why the claim fails, if it does.
    kind
        A paper's claim, ours, or a check that measurements do not contradict a proof.
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
        The name on the command line.
    source
        Paper and figure.
    title
        The measured quantity, in a line.
    axes
        The axes of the figure.
    cells
        The cells to run, the same for every seed; neighbours in their order share records.
    claims
        The claims to decide.
    data
        Files that it needs, such as ``"a8a"``.
    n_seeds, n_quick_seeds
        The number of seeds of a full run, and of a quick one.
    table
        A function from the results to Markdown, if the paper has a table and no figure.
    readings
        The names of the two ways in which claims are judged; judges get ``"printed"`` and
        ``"tight"``.
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
        """Return the seeds of a run: a table has one, since none of its numbers is random."""
        own = self.n_quick_seeds if setup.quick else self.n_seeds
        return range(1 if self.table is not None else setup.n_seeds or own)
