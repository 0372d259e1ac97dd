"""The classes of a registry, and the examples that a contract suite runs over."""

from importlib import import_module

from tailguard.estimators.registry import ESTIMATORS as PLACES


def class_of(place):
    """The class behind ``"module:Class"``."""
    module, _, attribute = place.partition(":")
    kind = getattr(import_module(module), attribute, None)
    assert kind, f"{module} must define {attribute}: a method is a class named as its file is"
    return kind


def examples_of(registry, more=None):
    """Map each name to its examples: from ``more``, from the class, or the class with defaults."""
    return {name: (more or {}).get(name) or _shown(registry[name]) for name in registry}


def _shown(place):
    kind = class_of(place)
    if hasattr(kind, "contract_examples"):
        return [kind(*arguments) for arguments in kind.contract_examples]
    try:
        return [kind()]
    except TypeError as error:
        raise TypeError(
            f"{place} cannot be made without parameters: give it a class attribute "
            "contract_examples, a tuple of the tuples of arguments to try"
        ) from error


ESTIMATORS = {kind.__name__: kind for kind in sorted(map(class_of, PLACES.values()), key=repr)}
"""Class name -> class, for all registered estimators."""
