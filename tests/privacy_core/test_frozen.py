"""What privacy is worked out from cannot be changed after it was checked."""

import dataclasses
import importlib
import pkgutil

import pytest

ROOMS = ("privacy", "noise", "queries", "means", "gate", "ledger")
MODULES = [
    name
    for room in ROOMS
    for _, name, is_package in pkgutil.walk_packages(
        importlib.import_module(f"tailguard.{room}").__path__, f"tailguard.{room}."
    )
    if not is_package
]


def records_of(name):
    module = importlib.import_module(name)
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    return [kind for kind in kinds if kind.__module__ == name and dataclasses.is_dataclass(kind)]


WITH_RECORDS = [name for name in MODULES if records_of(name)]


@pytest.mark.parametrize("name", WITH_RECORDS)
def test_every_record_is_frozen(name):
    frozen = {kind.__name__: kind.__dataclass_params__.frozen for kind in records_of(name)}
    assert all(frozen.values()), frozen
