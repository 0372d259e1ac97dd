"""What the trusted rooms hand to each other cannot be set after it was checked."""

from dataclasses import is_dataclass
from importlib import import_module
from pkgutil import walk_packages

import pytest

ROOMS = ("privacy", "noise", "queries", "means", "gate", "ledger")


def modules():
    """The modules of the trusted rooms."""
    for room in ROOMS:
        package = import_module(f"tailguard.{room}")
        yield from (each.name for each in walk_packages(package.__path__, f"{package.__name__}."))


@pytest.mark.parametrize("name", [*modules()])
def test_every_dataclass_is_frozen(name):
    own = [each for each in vars(import_module(name)).values() if is_dataclass(each)]
    for kind in own:
        if kind.__module__ == name:
            assert kind.__dataclass_params__.frozen, kind
