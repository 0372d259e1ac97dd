"""Methods that read every record once, with noise for less than one record can do."""

import dataclasses
from types import SimpleNamespace

from privacy.mutants.faulty_queries import AddRemoveSensitivity, halved
from tailguard.gate import Gate
from tailguard.queries.clipped_minimiser import ClippedMinimiser


class MinimiserOfHalfTheSensitivity(ClippedMinimiser):
    """States ``C / (m strength)``, with C for what one record adds."""

    def sensitivity(self, n_rows, n_features):
        return halved(super().sensitivity(n_rows, n_features))


class BatchesForgotten(Gate):
    """Reads a block, and calibrates as if all records had been read.

    The mean of a batch is then hidden by the noise of the mean of all.
    """

    def ask(self, query, state, stage, *, block=None):
        share = block.n_rows / self.n_records
        return super().ask(shrunk(query, share), state, stage, block=block)


def shrunk(query, share):
    """The query with its calibration scaled down; its answers stay what they are."""
    stated = query.sensitivity

    def sensitivity(n_rows, n_features):
        true = stated(n_rows, n_features)
        return dataclasses.replace(true, ideal=true.ideal * share, computed=true.computed * share)

    clone = dataclasses.replace(query)
    object.__setattr__(clone, "sensitivity", sensitivity)
    return clone


MUTANTS = SimpleNamespace(
    minimiser=MinimiserOfHalfTheSensitivity,
    gradient=AddRemoveSensitivity,
    gate=BatchesForgotten,
)
