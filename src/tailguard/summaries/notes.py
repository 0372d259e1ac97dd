"""Notes of a summary: what noise hides, and which means and variances are uncertain.

Reference
---------
Wilson 2021, "Statistical disclosure control": each estimate stands beside its uncertainty. Dwork
and Roth 2014, Proposition 2.1: notes are computed from released numbers.
"""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from tailguard.array_types import BoolArray
from tailguard.data.declarations import listing
from tailguard.printable import four_digits
from tailguard.summaries.statistics import SummarySolution


def all_notes(
    names: list[str] | None,
    solution: SummarySolution,
    quantity: str,
    spread: str,
    levels: Sequence[float],
    unit: float,
) -> tuple[str, ...]:
    """Return all notes of a summary; without ``names`` it has groups."""
    far = far_notes(names, solution, levels, quantity, unit)
    return *column_notes(names, solution, quantity), *_spread_note(names, solution, spread), *far


def column_notes(
    names: list[str] | None, solution: SummarySolution, quantity: str
) -> tuple[str, ...]:
    """Describe which columns noise hides, which means or variances are uncertain, and why.

    Without ``names``, count them among the groups.
    """
    if names is None:
        return group_notes(solution, quantity)
    hidden, empty, notes = solution.unseen, solution.mostly_empty, []
    if (hidden & empty).any():
        notes.append(
            f"Most cells of {listing(_where(names, hidden & empty))} are empty or no numbers: "
            "declare levels, turn them into numbers, or leave the column out."
        )
    if (hidden & ~empty).any():
        columns = listing(_where(names, hidden & ~empty))
        notes.append(f"The budget was too small to see the size of {columns}.")
    if solution.moments is not None:
        unknown, unbounded, no_noise = _uncertain(solution, quantity)
        if unknown.any():
            columns = listing(_where(names, unknown))
            notes.append(
                f"The {quantity} of {columns} is withheld: noise hides how large the cells above "
                "zero are. If they are all 1, declare the levels 0 and 1."
            )
        if no_noise.any():
            columns = listing(_where(names, no_noise))
            notes.append(
                f"The noise of the variance of {columns} has no bound: most cells are zero and "
                "some lie between zero and one, so noise may hide cells beyond one, which would "
                "decide it."
            )
        if unbounded.any():
            columns = listing(_where(names, unbounded))
            state = "has no interval" if quantity == "mean" else "is that of clipped cells"
            notes.append(
                f"The {quantity} of {columns} {state}: cells so far out that noise hides them "
                "may decide it. Quantiles have intervals."
            )
    if solution.correlation is not None:
        alike = np.isnan(np.diag(solution.correlation)) & ~hidden
        if alike.any():
            notes.append(
                f"Correlations with {listing(_where(names, alike))} are withheld: noise hides how "
                "far these cells differ from each other, if they do."
            )
    return tuple(notes)


def group_notes(solution: SummarySolution, quantity: str) -> tuple[str, ...]:
    """Count the columns of groups that noise hides, and the means or variances in doubt."""
    hidden, notes = solution.unseen, []
    if hidden.any():
        notes.append(
            f"Noise hides {hidden.sum()} of {hidden.size} columns of groups: most of these groups "
            "are too small, or empty."
        )
    if solution.moments is not None:
        unknown, unbounded, no_noise = _uncertain(solution, quantity)
        if unknown.any():
            notes.append(
                f"{unknown.sum()} of {hidden.size} {quantity}s of groups are withheld, or hold "
                "only if their cells above zero are all 1: noise hides how large these are."
            )
        if no_noise.any():
            notes.append(
                f"The noise of {no_noise.sum()} of {hidden.size} variances of groups has no bound: "
                "most cells are zero and some lie between zero and one, so noise may hide cells "
                "beyond one, which would decide them."
            )
        if unbounded.any():
            state = "have no interval" if quantity == "mean" else "are those of clipped cells"
            notes.append(
                f"{unbounded.sum()} of {hidden.size} {quantity}s of groups {state}: cells so "
                "far out that noise hides them may decide them."
            )
    return tuple(notes)


def _spread_note(
    names: Sequence[str] | None, solution: SummarySolution, spread: str
) -> tuple[str, ...]:
    """Say which standard deviations or variances are withheld; ``spread`` is what is shown."""
    if solution.moments is None or not spread:
        return ()
    withheld = solution.moments.spread_unseen & ~solution.moments.unknown
    withheld = withheld.ravel() & ~solution.unseen
    if not withheld.any():
        return ()
    which = f"{withheld.sum()} of {withheld.size} {spread}s of groups are"
    if names is not None:
        which = f"The {spread} of {listing(_where(names, withheld))} is"
    return (f"{which} withheld: noise may explain the whole variance, as of equal cells.",)


def far_notes(
    names: Sequence[str] | None,
    solution: SummarySolution,
    levels: Sequence[float],
    quantity: str,
    unit: float,
) -> tuple[str, ...]:
    """Say which quantiles, and how many far cells, noise hides; a full cell counts ``unit``.

    Without ``names``, quantiles are counted among the groups.
    """
    seen, notes = ~solution.unseen, []
    found = solution.quantiles
    hidden = np.zeros((0, 0), bool)
    if found is not None:
        hidden = np.isnan(found.quantiles_at(levels, ~seen)[0]) & seen[:, None]
    if hidden.any():
        which = f"{hidden.sum()} quantiles of groups"
        if names is not None:
            which = f"Some quantiles of {listing(_where(names, np.any(hidden, axis=1)))}"
        notes.append(
            f"{which} are withheld: noise hides where they lie, and their intervals have at most "
            "one end."
        )
    moments = solution.moments
    if moments is None or np.isnan(solution.hidden_cells):
        return tuple(notes)
    cells = round(solution.hidden_cells)
    if cells and (np.isfinite(moments.error_std).ravel() & seen).any():
        subject = "intervals of means" if quantity == "mean" else f"{quantity}s"
        count = cells * unit
        what = f"{four_digits(count)} {'cell' if count == 1.0 else 'cells'} of a column"
        notes.append(
            f"Noise may hide up to {what} far beyond its tail, on either side: {subject} do not "
            "count them."
        )
    return tuple(notes)


def _uncertain(solution: SummarySolution, quantity: str) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Return which moments are withheld, which far cells may decide, and which noise is unknown."""
    moments = solution.moments
    assert moments is not None
    seen = ~solution.unseen
    unknown = moments.unknown.ravel() & seen
    unbounded = np.isinf(moments.error_std).ravel() & seen & ~unknown
    no_noise = np.isinf(moments.variance_noise).ravel() & seen & ~unknown & (quantity != "mean")
    return unknown, unbounded & ~no_noise, no_noise


def _where(names: Sequence[str], chosen: BoolArray) -> list[str]:
    return [*compress(names, chosen)]
