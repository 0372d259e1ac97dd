"""Public names of a package that are imported on first use.

The package's stub, ``__init__.pyi``, imports the public names, for people and for type checkers.
This module reads the same lines. So ``import tailguard`` loads none of the libraries that only some
of its names need.

Reference
---------
Scientific Python, SPEC 1, Lazy loading of submodules and functions; PEP 562.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pkgutil import get_data
from threading import RLock
from typing import Any

# Threads that import at the same time may see half-loaded modules, such as NumPy's.
ONE_AT_A_TIME = RLock()


def places_of_stub(package: str) -> dict[str, str]:
    """Return the module of each public name, from the package's stub.

    Folders of the package that are not installed are omitted.
    """
    text = get_data(package, "__init__.pyi") or b""  # from a zip file, too
    lines = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    places = {name.name: str(line.module) for line in lines for name in line.names}
    installed = {name for name, place in places.items() if place != package or _has(package, name)}
    return {name: place for name, place in places.items() if name in installed}


def shown_by_stub(
    package: str, prepared: Callable[[Any], Any]
) -> tuple[dict[str, str], list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return ``__places__``, ``__all__``, ``__dir__`` and ``__getattr__`` of a package's stub.

    ``__getattr__`` returns each value as ``prepared`` returns it.
    """
    places = places_of_stub(package)
    names = list(places)
    return places, names, names.copy, found_when_asked(package, places, prepared)


def _has(package: str, room: str) -> bool:
    return find_spec(f"{package}.{room}") is not None


def found_when_asked(
    package: str, places: dict[str, str], prepared: Callable[[Any], Any]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names are in these modules.

    ``prepared`` may wrap each value.
    """
    this = sys.modules[package]
    for name, module in places.items():
        if module.startswith(f"{package}.{name}."):
            # A folder has the same name, and importing it later would set the attribute to the
            # folder: import it now, once, and remove the attribute.
            import_module(f"{package}.{name}")
            delattr(this, name)

    def is_room(name: str) -> bool:
        public = name.isidentifier() and not name.startswith("_")
        return public and find_spec(f"{package}.{name}") is not None

    def found(name: str) -> Any:
        """Return a public name, or a folder of the package."""
        place = places.get(name, package)
        with ONE_AT_A_TIME:
            if place != package:
                value = prepared(getattr(import_module(place), name))
            elif not is_room(name):
                raise AttributeError(
                    f"module {package!r} has no attribute {name!r}", name=name, obj=this
                )
            else:
                value = import_module(f"{package}.{name}")
            setattr(this, name, value)
        return value

    return found
