"""The examples of every registered query: its worst pair, and those in ``support/queries``."""

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import support.queries
from tailguard.audit.worst_pairs import worst_pair
from tailguard.queries.registry import QUERIES

FILES = [
    import_module(f"support.queries.{each.name}") for each in iter_modules(support.queries.__path__)
]
MORE = {
    name.replace("_", "-"): further
    for file in FILES
    for name, further in vars(file).items()
    if getattr(further, "__module__", "") == file.__name__
}
"""Further examples of queries, by functions of their names."""


def query_examples():
    for name in QUERIES:
        found = [worst_pair(name)]
        if name in MORE:
            found += MORE[name]()
        yield from found
        yield from by_weight(found)


def by_weight(examples):
    """One example of each way of counting, with and without pairs, with a weight per record."""
    seen = set()
    for example in examples:
        pairs = example.query.places == "random"
        counts = example.query.takes_weights and not example.query.reads_cells
        if counts and not example.weighted and pairs not in seen:
            seen.add(pairs)
            pair = {"old": (*example.old, 1.0), "new": (*example.new, 1.0)}
            yield replace(example, name=f"{example.name} by weight", weighted=True, **pair)


BY_CELL = {
    *("cell-kinds", "value-histograms", "level-tables", "count-of-levels", "bounded-moments"),
    *("cell-products", "usable-records/any-cell"),
}
"""Queries, and their examples, in which a bad cell does not affect the rest of its record."""


def reads_by_cell(name):
    """Whether an example has a query by cell."""
    return not BY_CELL.isdisjoint({name, name.split("/")[0]})
