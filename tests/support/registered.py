"""The classes of a registry, and the examples that a contract suite runs over."""

from importlib import import_module


def class_of(place):
    """The class behind ``"module:Class"``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def examples_of(registry, more=None):
    """Map each name to its examples: ``more``, what the class shows, or it without parameters."""
    return {name: (more or {}).get(name) or _shown(registry[name]) for name in registry}


def _shown(place):
    kind = class_of(place)
    return [*kind.contract_examples()] if hasattr(kind, "contract_examples") else [kind()]
