"""Weights that every call refuses, and runs on two weighted tables, overheard."""

import numpy as np

from tailguard.audit.gates import OverheardGate
from tailguard.data.rows.arrays import make_rows

MISUSED = [
    ({"sample_weight": "w"}, "weight_bound must be declared beside sample_weight="),
    ({"weight_bound": 4.0}, "weight_bound must be left out without sample_weight=;"),
    ({"sample_weight": "w", "weight_bound": -1.0}, "weight_bound must be"),
    ({"sample_weight": "w", "weight_bound": 1e308}, "weight_bound must be such that .* finite"),
    ({"sample_weight": "nobody", "weight_bound": 1.0}, "must have a column 'nobody'"),
    ({"sample_weight": [1.0], "weight_bound": 1.0}, "sample_weight must have one entry per row"),
]
"""Arguments for a table with a column ``w``, and words of the error message."""


def overheard(solver, plan, table, records, n_runs):
    """Transcripts of runs on either table by turns: the first record differs, weights are last."""
    for seed in range(n_runs):
        rows = []
        for record in records:
            table[0] = record
            rows.append(make_rows(table[:, :-1], sample_weight=table[:, -1], weight_bound=1.0))
        neighbour = seed % 2 == 1
        gate = OverheardGate.over_rows(
            *rows, guarantee=plan.guarantee, neighbour=neighbour, seed=seed
        )
        gate.reserve(plan.event, coordinates=plan.coordinates)
        with np.errstate(all="ignore"):
            solver.run(plan, gate)
        yield gate.transcript
