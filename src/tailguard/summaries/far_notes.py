"""Notes of a summary on cells that noise hides far out."""

from collections.abc import Sequence

import numpy as np

from tailguard.data.declarations import listing
from tailguard.printable import four_digits
from tailguard.summaries.statistics import SummarySolution

Z = 1.96  # as for the intervals of quantiles


def notes_of_far(
    names: Sequence[str] | None,
    solution: SummarySolution,
    levels: Sequence[float],
    quantity: str,
    unit: float,
) -> tuple[str, ...]:
    """Say which quantiles lie beyond all bins, and how many far cells noise may hide.

    Without ``names``, quantiles are counted among the groups. A cell of full weight counts
    ``unit``.
    """
    seen, notes = ~solution.unseen, []
    hidden = solution.hidden_quantiles(levels, Z)
    if hidden.any():
        which = f"{hidden.sum()} quantiles of groups"
        if names is not None:
            columns = np.array(names, dtype=object)[hidden.any(axis=1)]
            which = f"Some quantiles of {listing(columns.tolist())}"
        notes.append(f"{which} lie where noise hides the cells: one end bounds them.")
    moments = solution.moments
    if moments is None or np.isnan(solution.hidden_cells):
        return tuple(notes)
    if (np.isfinite(moments.error_std).ravel() & seen).any():
        hidden_cells = four_digits(round(solution.hidden_cells) * unit)
        subject = "intervals of means" if quantity == "mean" else f"{quantity}s"
        notes.append(
            f"Noise may hide up to {hidden_cells} cells of a column far beyond its tail, on either "
            f"side: {subject} do not count them."
        )
    return tuple(notes)
