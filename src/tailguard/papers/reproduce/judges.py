"""How measurements decide a claim: functions of results and a noise, made from curves' names.

Each says *holds* or *does not hold* only where seeds tell: a difference within its 95 % interval is
a tie, and what is tied everywhere is *not reached at this size*.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from tailguard.papers.reproduce.results import Comparison, Results, compare

Outcome = Literal["holds", "does not hold", "not reached at this size", "not run"]


@dataclass(frozen=True)
class Decision:
    """An outcome, and the figure that it was read from."""

    outcome: Outcome
    figure: str


Judge = Callable[[Results, str], Decision]
NOT_RUN = Decision("not run", "-")

Seeds = Mapping[int, float]
Pair = tuple[Seeds, Seeds]  # what is to be below what, seed by seed
Curves = Callable[[str, str], Mapping[float, Seeds]]  # of a panel, by name and noise


def below(
    curve: str,
    other: str,
    *,
    factor: float = 1.0,
    share: float = 1.0,
    panels: Iterable[str] = (),
    at: Literal["all", "first", "last", "end"] = "all",
) -> Judge:
    """Judge whether a curve lies below ``factor`` times another at a share of all places.

    It fails where so many places are above that the share cannot be kept; ``at`` may be
    the first or the last place of both alone, or the end of either, and ``panels`` at some panels.
    """

    def pairs_of(curves: Curves, noise: str) -> Iterator[Pair]:
        own, its = curves(curve, noise), curves(other, noise)
        pairs = [(own[x], its[x]) for x in own if x in its]
        if at == "end" and own and its:
            pairs = [(own[max(own)], its[max(its)])]
        elif at != "all":
            pairs = pairs[:1] if at == "first" else pairs[-1:]
        yield from pairs

    return _compared(pairs_of, panels, factor, share)


def above(curve: str, other: str, **options: object) -> Judge:
    """Judge whether a curve lies above another: :func:`below` with the two exchanged."""
    return below(other, curve, **options)  # type: ignore[arg-type]


def falls(
    *curves: str, panels: Iterable[str] = (), rises: bool = False, factor: float = 1.0
) -> Judge:
    """Judge whether one end of curves lies ``factor`` times below the other, in all panels.

    That is the last place below the first, or the other way where ``rises``.
    """

    def pairs_of(found: Curves, noise: str) -> Iterator[Pair]:
        for name in curves:
            ends = list(found(name, noise).values())
            if len(ends) > 1:
                yield (ends[0], ends[-1]) if rises else (ends[-1], ends[0])

    return _compared(pairs_of, panels, 1.0 / factor)


def saves(*curves: str) -> Judge:
    """Judge whether tight noise leaves less than printed noise, wherever curves have both."""

    def pairs_of(found: Curves, noise: str) -> Iterator[Pair]:
        for name in curves if noise == "tight" else ():
            tight, printed = found(name, "tight"), found(name, "printed")
            yield from ((tight[x], printed[x]) for x in tight if x in printed)

    return _compared(pairs_of)


def spreads_more(curve: str, other: str) -> Judge:
    """Judge whether the seeds of a curve differ more than those of another at its last place.

    The logarithm of the ratio of standard deviations has a standard error of
    ``1 / sqrt(seeds - 1)`` if errors are normal; over all panels it must lie two of them above 0.
    """

    def judge(results: Results, noise: str) -> Decision:
        logs, n_seeds = [], 0
        for panel in results.panels:
            own, its = (results.curve(panel, name, noise) for name in (curve, other))
            if own and its:
                spreads = [np.std([*each[max(each)].values()], ddof=1) for each in (own, its)]
                n_seeds = len(own[max(own)])
                logs.append(float(np.log(spreads[0] / spreads[1])))
        if not logs or n_seeds < 2:
            return NOT_RUN
        middle, doubt = float(np.mean(logs)), 2.0 / math.sqrt(len(logs) * (n_seeds - 1))
        outcome: Outcome = "not reached at this size"
        if abs(middle) > doubt:
            outcome = "holds" if middle > 0.0 else "does not hold"
        return Decision(outcome, f"spread {math.exp(middle):.2g} times")

    return judge


def _compared(
    pairs_of: Callable[[Curves, str], Iterable[Pair]],
    panels: Iterable[str] = (),
    factor: float = 1.0,
    share: float = 1.0,
) -> Judge:
    """Judge whether the first of a pair is below ``factor`` times the second, often enough."""

    def judge(results: Results, noise: str) -> Decision:
        found = [
            compare(*pair, factor=factor)
            for panel in tuple(panels) or results.panels
            for pair in pairs_of(partial(results.curve, panel), noise)
        ]
        return _of_share(found, share)

    return judge


def _of_share(found: list[Comparison], share: float) -> Decision:
    """Decide whether enough of the comparisons are less."""
    if not found:
        return NOT_RUN
    counts = Counter(each.verdict(len(found)) for each in found)
    ratios = sorted(each.ratio for each in found)
    spread = dict.fromkeys(f"{ratio:.2g}" for ratio in (ratios[0], ratios[-1]))
    figure = f"{' to '.join(spread)} times; below at {counts['less']} of {len(found)}"
    if counts["more"]:
        figure += f", above at {counts['more']}"
    if counts["less"] >= share * len(found):
        return Decision("holds", figure)
    if counts["more"] > (1.0 - share) * len(found):
        return Decision("does not hold", figure)
    return Decision("not reached at this size", figure)
