"""The examples of every registered query: its worst pair, and those of its own file in
``support/queries``."""

from importlib import import_module

from tailguard.audit.worst_pairs import worst_pair
from tailguard.queries.registry import QUERIES


def query_examples():
    for name in QUERIES:
        yield worst_pair(name)
        yield from import_module(f"support.queries.{name.replace('-', '_')}").examples()
