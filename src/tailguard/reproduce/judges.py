"""How measurements decide a claim: functions of results and a noise, made from curves' names.

Each says *holds* or *does not hold* only where seeds tell: a difference within its 95 % interval is
level, and what is level everywhere is *not reached at this size*.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from tailguard.reproduce.results import Comparison, Results, compare
from tailguard.reproduce.slopes import slope_of

__all__ = ["NOT_RUN", "Decision", "Judge", "Outcome", "above", "below", "falls", "has_slope"]

Outcome = Literal["holds", "does not hold", "not reached at this size", "not run"]


@dataclass(frozen=True)
class Decision:
    """An outcome, and the figure that it was read from.

    Examples
    --------
    >>> Decision("holds", "slope -0.50").outcome
    'holds'
    """

    outcome: Outcome
    figure: str


Judge = Callable[[Results, str], Decision]
NOT_RUN = Decision("not run", "-")


def below(
    curve: str,
    other: str,
    *,
    factor: float = 1.0,
    share: float = 1.0,
    panels: Iterable[str] = (),
    last: bool = False,
) -> Judge:
    """Judge whether a curve lies below ``factor`` times another at a share of all places.

    It fails where so many places are above that the share cannot be kept; ``last`` looks at the
    last place of each panel alone, and ``panels`` at some panels.

    Examples
    --------
    >>> from tailguard.reproduce.results import Row
    >>> rows = [Row("a", name, "tight", 1.0, seed, value + seed / 100)
    ...         for name, value in (("new", 1.0), ("old", 2.0)) for seed in range(3)]
    >>> below("new", "old")(Results(rows), "tight")
    Decision(outcome='holds', figure='0.5 times; below at 1 of 1')
    >>> below("old", "new")(Results(rows), "tight").outcome
    'does not hold'
    """

    def judge(results: Results, noise: str) -> Decision:
        found = []
        for panel in tuple(panels) or results.panels:
            own, its = (results.curve(panel, name, noise) for name in (curve, other))
            places = [x for x in own if x in its]
            found += [
                compare(own[x], its[x], factor=factor) for x in (places[-1:] if last else places)
            ]
        return _of_share(found, share)

    return judge


def above(curve: str, other: str, **options: object) -> Judge:
    """Judge whether a curve lies above another: :func:`below` with the two exchanged.

    Examples
    --------
    >>> above("old", "new")(Results([]), "tight")
    Decision(outcome='not run', figure='-')
    """
    return below(other, curve, **options)  # type: ignore[arg-type]


def falls(*curves: str, panels: Iterable[str] = (), rises: bool = False) -> Judge:
    """Judge whether the last place of curves lies below their first, in all panels.

    Examples
    --------
    >>> from tailguard.reproduce.results import Row
    >>> rows = [Row("a", "soft", "tight", x, seed, 1.0 / x) for x in (1, 4) for seed in range(3)]
    >>> falls("soft")(Results(rows), "tight")
    Decision(outcome='holds', figure='0.25 times; below at 1 of 1')
    >>> falls("soft", rises=True)(Results(rows), "tight").outcome
    'does not hold'
    """

    def judge(results: Results, noise: str) -> Decision:
        found = []
        for panel in tuple(panels) or results.panels:
            for name in curves:
                ends = list(results.curve(panel, name, noise).values())
                if len(ends) > 1:
                    first, last = (ends[-1], ends[0]) if rises else (ends[0], ends[-1])
                    found.append(compare(last, first))
        return _of_share(found, 1.0)

    return judge


def has_slope(curve: str, predicted: float, *, tolerance: float, panels: Iterable[str]) -> Judge:
    """Judge whether log(value) has a slope in log(x), over all seeds, in every panel.

    Examples
    --------
    >>> from tailguard.reproduce.results import Row
    >>> rows = [Row("a", "soft", "tight", x, seed, x**-0.5) for x in (1, 4) for seed in range(3)]
    >>> has_slope("soft", -0.5, tolerance=0.1, panels=["a"])(Results(rows), "tight")
    Decision(outcome='holds', figure='slope -0.50 ± 0.00')
    """

    def judge(results: Results, noise: str) -> Decision:
        found = []
        for panel in panels:
            measured = results.curve(panel, curve, noise)
            seeds = set.intersection(*({*each} for each in measured.values())) if measured else ()
            if len(measured) > 1 and seeds:
                errors = [[each[seed] for each in measured.values()] for seed in sorted(seeds)]
                found.append(slope_of(list(measured), errors))
        if not found:
            return NOT_RUN
        holds = all(slope.near(predicted, tolerance=tolerance) for slope in found)
        shown = ", ".join(f"{slope.mean:.2f} ± {slope.high - slope.mean:.2f}" for slope in found)
        return Decision("holds" if holds else "does not hold", f"slope {shown}")

    return judge


def _of_share(found: list[Comparison], share: float) -> Decision:
    """Decide whether enough of the comparisons are less."""
    if not found:
        return NOT_RUN
    counts = Counter(each.verdict for each in found)
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
