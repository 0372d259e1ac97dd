"""Every query with a loop, and the loops that an example of a query requests."""

import numpy as np

from support.attack import calibrated
from support.examples import query_examples
from support.smooth import smooth_examples
from tailguard.checks import class_called
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.queries.base import GaussianQuery
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES


def all_queries():
    """Map each name to a class that defines a loop over a block."""
    registry = QUERIES | SMOOTH_QUERIES
    found = [class_called(name, registry) for name in registry]
    plain = GaussianQuery.sum_block
    return {kind.__name__: kind for kind in found if getattr(kind, "sum_block", plain) is not plain}


class Overheard(ArrayRows):
    """Records that log the kernels they sum, and whether places were requested."""

    def overhear(self):
        self.asked, self.by_place = [], False
        return self

    def reduce(self, kernel, n_threads=None):
        self.asked.append(kernel)
        return super().reduce(kernel, n_threads)

    def restricted(self, places):
        self.by_place = True
        return super().restricted(places)


def overheard(rows):
    rows.__class__ = Overheard
    return rows.overhear()


def examples():
    """Name -> query, and a function that runs it on records, which log the requests."""
    found = {}
    for example in query_examples():
        found[example.name] = example.query, example.width, asker(example)
    for example in smooth_examples():
        found[example.name] = example.query, example.width, smooth_asker(example)
    return found


def asker(example):
    def ask(data):
        rows = overheard(example.read(data))
        example.query.answer(rows, example.state, calibrated(example, len(data)))
        return rows

    return ask


def smooth_asker(example):
    def ask(data):
        data = data[: example.n_rows]
        rows = overheard(make_rows(data[:, :-1].copy(), data[:, -1].copy(), loss=example.loss))
        with np.errstate(all="ignore"):
            example.query.answer(rows, example.state, example.calibration())
        return rows

    return ask
