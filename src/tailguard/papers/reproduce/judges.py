"""Judges, which decide claims from measurements: functions of results and a noise.

A judge decides *holds* or *does not hold* only if seeds show a difference. A difference within its
95 % interval is a tie; a claim with ties at all places is *not reached at this size*. A rival that
does worse than an answer without records decides nothing. Slopes are those on a log-log plot, one
for each seed.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from tailguard.checks import InputError
from tailguard.papers.reproduce.results import Comparison, Results, compare, student_interval

Outcome = Literal[
    "holds",
    "better than the theorem",
    "does not hold",
    "not reached at this size",
    "not decidable",
    "not run",
]


@dataclass(frozen=True)
class Decision:
    """An outcome, and the number that decided it."""

    outcome: Outcome
    figure: str


Judge = Callable[[Results, str], Decision]
COMPARABLE = 2.0  # the factor for words such as "comparable", which do not state how near
NOT_RUN = Decision("not run", "-")

Seeds = Mapping[int, float]
Pair = tuple[Seeds, Seeds, float]  # values that should be below the second ones, and their place
Curves = Callable[[str, str], Mapping[float, Seeds]]  # curves of a panel, by name and noise


def below(
    curve: str,
    other: str,
    *,
    factor: float = 1.0,
    panels: Iterable[str] = (),
    at: Literal["all", "first", "last", "end"] = "all",
    bar: str = "",
    zero: str = "",
) -> Judge:
    """Judge whether a curve lies below ``factor`` times another at all places.

    The claim fails if one place is above. ``at`` may restrict it to the first or the last common
    place, or to the end of either curve; ``panels`` restricts it to some panels. ``bar`` is a curve
    that needs no record: places at which the other curve lies above it do not count. ``zero`` is
    such a curve, too: with it, the other curve may gain at most ``factor`` times as much over it,
    which suits losses that are never near 0.
    """

    def gain(losses: Seeds, own: Seeds) -> Seeds:
        return {seed: losses[seed] - own[seed] for seed in own}

    def pairs_of(curves: Curves, noise: str) -> Iterator[Pair]:
        own, rival = curves(curve, noise), curves(other, noise)
        pairs = [(own[x], rival[x], x) for x in own if x in rival]
        if at == "end" and own and rival:
            pairs = [(own[max(own)], rival[max(rival)], max(rival))]
        elif at != "all":
            pairs = pairs[:1] if at == "first" else pairs[-1:]
        if zero:
            losses = next(iter(curves(zero, noise).values()), {})
            pairs = [(gain(losses, b), gain(losses, a), x) for a, b, x in pairs if losses]
        yield from pairs

    return _compared(pairs_of, panels, factor, bar)


def above(curve: str, other: str, **options: object) -> Judge:
    """Judge whether a curve lies above another: :func:`below` with the two exchanged."""
    return below(other, curve, **options)  # type: ignore[arg-type]


def falls(
    *curves: str,
    panels: Iterable[str] = (),
    rises: bool = False,
    factor: float = 1.0,
    bar: str = "",
) -> Judge:
    """Judge whether curves fall from their first to their last place by ``factor``, in all panels.

    If ``rises``, they must rise by that factor. ``bar`` is as in :func:`below`.
    """

    def pairs_of(curve_of: Curves, noise: str) -> Iterator[Pair]:
        for name in curves:
            places = curve_of(name, noise)
            if len(places) > 1:
                low, high = (min, max) if rises else (max, min)
                yield places[low(places)], places[high(places)], high(places)

    return _compared(pairs_of, panels, 1.0 / factor, bar=bar)


def falls_faster(curve: str, *others: str) -> Judge:
    """Judge whether a curve falls by a larger factor, from end to end, than each of the others."""

    def pairs_of(curve_of: Curves, noise: str) -> Iterator[Pair]:
        kept = []
        for name in (curve, *others):
            places = curve_of(name, noise)
            if len(places) > 1:
                first, last = places[min(places)], places[max(places)]
                kept.append({seed: last[seed] / first[seed] for seed in first.keys() & last.keys()})
        if len(kept) == 1 + len(others):
            yield from ((kept[0], other, 0.0) for other in kept[1:])

    return _compared(pairs_of)


def saves(*curves: str) -> Judge:
    """Judge whether tight noise has less error than printed noise, for curves with both."""

    def pairs_of(curve_of: Curves, noise: str) -> Iterator[Pair]:
        for name in curves if noise == "tight" else ():
            tight, printed = curve_of(name, "tight"), curve_of(name, "printed")
            yield from ((tight[x], printed[x], x) for x in tight if x in printed)

    return _compared(pairs_of)


def spreads_more(curve: str, other: str) -> Judge:
    """Judge whether the seeds of a curve differ more than those of another at its last place.

    The logarithm of the ratio of standard deviations has a standard error of
    ``1 / sqrt(seeds - 1)`` if errors are normal. Over all panels it must be two standard errors
    above 0.
    """

    def judge(results: Results, noise: str) -> Decision:
        logs, n_seeds = [], 0
        for panel in results.panels:
            own, rival = (results.curve(panel, name, noise) for name in (curve, other))
            if own and rival:
                spreads = [np.std([*each[max(each)].values()], ddof=1) for each in (own, rival)]
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
    bar: str = "",
) -> Judge:
    """Judge whether the first of each pair is below ``factor`` times the second."""

    def judge(results: Results, noise: str) -> Decision:
        comparisons: list[Comparison] = []
        lost: list[Comparison] = []
        for panel in tuple(panels) or results.panels:
            curves = partial(results.curve, panel)
            bars = curves(bar, noise)
            for own, rival, x in pairs_of(curves, noise):
                loses = x in bars and compare(rival, bars[x]).ratio > 1.0
                (lost if loses else comparisons).append(compare(own, rival, factor=factor))
        n_places = len(lost) + len(comparisons)
        beaten = f"; {bar} beat the rival at {len(lost)} of {n_places}" if lost else ""
        if lost and not comparisons:
            return Decision("not decidable", f"{_spread(lost, factor)} times{beaten}")
        decision = _decided(comparisons, factor)
        return replace(decision, figure=decision.figure + beaten)

    return judge


def _spread(comparisons: Iterable[Comparison], factor: float) -> str:
    """Describe the least and the largest ratio."""
    ordered = sorted(each.ratio for each in comparisons)
    return " to ".join(dict.fromkeys(_shown(each, factor) for each in (ordered[0], ordered[-1])))


def _shown(ratio: float, factor: float) -> str:
    """Show a ratio with enough digits to distinguish it from the factor."""
    shown = [f"{ratio:.{digits}g}" for digits in (2, 3, 4)]
    return next((each for each in shown if float(each) != factor), shown[-1])


def _decided(comparisons: list[Comparison], factor: float) -> Decision:
    """Decide whether all comparisons are less."""
    if not comparisons:
        return NOT_RUN
    counts = Counter(each.verdict(len(comparisons)) for each in comparisons)
    n_below, n_places = counts["less"], len(comparisons)
    figure = f"{_spread(comparisons, factor)} times; below at {n_below} of {n_places}"
    if counts["more"]:
        figure += f", above at {counts['more']}"
    if n_below == n_places:
        return Decision("holds", figure)
    return Decision("does not hold" if counts["more"] else "not reached at this size", figure)


TOLERANCE = 0.1  # between slopes, as in docs/reproduce.md
READINGS = ("as printed", "as corrected")  # of a bound's slopes


@dataclass(frozen=True)
class FittedSlope:
    """Mean of the seeds' slopes, and its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    def near(self, slope: float) -> bool:
        """Whether the mean is within the tolerance of a slope."""
        return abs(self.mean - slope) <= TOLERANCE


def fit_slope(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Slope of log(error) in log(size), by least squares."""
    if len(sizes) != len(errors) or len(set(sizes)) < 2:
        raise InputError(
            f"errors must be as many as sizes, of which two must differ; got {len(errors)} and "
            f"{len(sizes)}."
        )
    slope, _ = np.polyfit(np.log(sizes), np.log(errors), 1)
    return float(slope)


def slope_of(measured: Mapping[float, Mapping[int, float]]) -> FittedSlope:
    """Fit a slope to size -> seed -> error; mean and Student's t interval over common seeds."""
    seeds = sorted(set.intersection(*({*each} for each in measured.values())))
    errors = ([each[seed] for each in measured.values()] for seed in seeds)
    slopes = [fit_slope([*measured], of_seed) for of_seed in errors]
    return FittedSlope(float(np.mean(slopes)), *student_interval(slopes))
