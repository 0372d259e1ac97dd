"""Loops of queries, as the rows run them."""

from tailguard.queries.block_minimiser import no_estimate
from tailguard.queries.loop import LatticeSum
from tailguard.queries.sample_aggregate import SampleAggregate


def loop(query, state=None, grid=1.0, *, n_features=3):
    """The loop of a query at a state, on a lattice, for a given number of features."""
    size = query.sensitivity(10**6, n_features).size
    return LatticeSum(query, query.read_state(state), grid, size)


def gathered(n_rows, n_columns):
    """A reader that collects the features and target of all records."""
    query = SampleAggregate(no_estimate, center=(0.0,), diameter=1.0)
    return LatticeSum(query, (None, n_rows), 1.0, n_rows * n_columns)
