"""Tables with at least 55 percent usable records, and the number of them that stop a run."""

import numpy as np

import tailguard as tg
from tailguard.checks import UnusableTableError
from tailguard.data.design import TableColumn
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.gate.record_check import FEWEST, RecordRule

MOST_VOID = 0.45
COLUMNS = (TableColumn("feature", "x"), TableColumn("target", "y"))


def n_stopped(n_tables, mu=0.5):
    """Count usable records in every table, with fresh noise; the first has just enough."""
    stopped = 0
    for number in range(n_tables):
        n_rows = int(FEWEST / mu) + 1 + 10 * number % 2000
        n_void = int(MOST_VOID * n_rows * (number + 1) / n_tables)
        x, y = np.ones((n_rows, 1)), np.ones(n_rows)
        x[:n_void] = np.nan
        problem = Problem(tg.losses.Squared(), n_rows, 1)
        check = RecordRule().check(tg.GDP(mu), problem, COLUMNS)
        gate = Gate.over(x, y, guarantee=tg.GDP(mu), loss=problem.loss)
        gate.reserve(check.event, coordinates=check.coordinates)
        gate.reserve(check.kinds.event)
        try:
            check.ask(gate)
        except UnusableTableError:
            stopped += 1
    return stopped
