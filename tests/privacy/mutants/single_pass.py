"""Methods that read every record once, with noise for less than one record can do."""

import dataclasses
from types import SimpleNamespace

from tailguard.gate import Gate
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.clipped_minimiser import ClippedMinimiser


def halved(stated):
    """The sensitivity of adding or removing a record, not of replacing it."""
    return dataclasses.replace(stated, ideal=stated.ideal / 2, computed=stated.computed / 2)


class MinimiserOfHalfTheSensitivity(ClippedMinimiser):
    """States ``C / (m strength)``, with C for what one record adds."""

    def sensitivity(self, n_rows, n_features):
        return halved(super().sensitivity(n_rows, n_features))


class GradientOfHalfTheSensitivity(MeanClippedGradient):
    """States the clip norm where replacing a record moves the sum by twice that."""

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
    gradient=GradientOfHalfTheSensitivity,
    gate=BatchesForgotten,
)
