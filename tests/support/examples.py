"""The examples of every registered query: of each name its own file in ``support/queries``."""

from importlib import import_module

from tailguard.queries.registry import QUERIES


def query_examples():
    for name in QUERIES:
        yield from import_module(f"support.queries.{name.replace('-', '_')}").examples()
