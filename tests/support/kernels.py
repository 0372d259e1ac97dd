"""Every kernel, found where queries are, and those that an example of a query asks for."""

import inspect
from importlib import import_module
from pkgutil import walk_packages

import numpy as np

from support.attack import calibrated, rows_of
from support.examples import query_examples
from support.smooth import smooth_examples
from tailguard import means, queries
from tailguard.data.rows.arrays import ArrayRows, make_rows
from tailguard.data.rows.base import Kernel


def all_kernels():
    """Class by name of whatever sums blocks."""
    modules = [
        import_module(each.name)
        for room in (queries, means)
        for each in walk_packages(room.__path__, f"{room.__name__}.")
    ]
    return {
        kind.__name__: kind
        for module in modules
        for kind in vars(module).values()
        if inspect.isclass(kind) and kind.__module__ == module.__name__
        if hasattr(kind, "sum_block") and kind is not Kernel
    }


class Overheard(ArrayRows):
    """Records that remember the kernels they were asked to sum, and whether places were asked."""

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
    """Name -> query, and a function that asks it of records: they remember what was asked."""
    found = {}
    for example in query_examples():
        found[example.name] = example.query, example.width, asker(example)
    for example in smooth_examples():
        found[example.name] = example.query, example.width, smooth_asker(example)
    return found


def asker(example):
    def ask(data):
        rows = overheard(rows_of(example, data))
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
