"""Public names of a package that are imported on first use.

The package's stub, ``__init__.pyi``, imports the public names, for people and for type checkers.
This module reads the same lines. So ``import tailguard`` loads no library that only some of its
names need.

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

# Our name -> names of the same thing in other packages.
ELSEWHERE = {
    "LinearRegression": "OLS WLS Ridge lm",
    "SparseLinearRegression": "Lasso ElasticNet",
    "HuberRegression": "RLM HuberRegressor",
    "QuantileRegression": "QuantReg QuantileRegressor",
    "LogisticRegression": "Logit MNLogit",
    "PoissonRegression": "GLM glm Poisson PoissonRegressor",
    "GammaRegression": "GLM glm Gamma GammaRegressor",
    "TweedieRegression": "GLM glm Tweedie TweedieRegressor",
    "PrivateSearch": "GridSearchCV RandomizedSearchCV",
    "Ledger": "Accountant BudgetAccountant",
    "mean": "average sum total",
    "quantile": "median quantiles percentile",
    "variance": "var std",
    "covariance": "cov",
    "correlation": "corr corrcoef",
    "histogram": "hist",
    "crosstab": "value_counts",
}
# Threads that import at the same time may see half-loaded modules, such as NumPy's.
ONE_AT_A_TIME = RLock()


def places_of_stub(package: str) -> dict[str, str]:
    """Return the module of each public name, from the package's stub.

    Folders of the package that are not installed are omitted.
    """
    text = get_data(package, "__init__.pyi") or b""  # works in a zip file, too
    lines = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    places = {name.name: str(line.module) for line in lines for name in line.names}
    installed = {name for name, place in places.items() if place != package or _has(package, name)}
    return {name: place for name, place in places.items() if name in installed}


def shown_by_stub(
    package: str, prepared: Callable[[Any], Any]
) -> tuple[dict[str, str], list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return ``__places__``, ``__all__``, ``__dir__`` and ``__getattr__`` by a package's stub.

    ``__getattr__`` passes each value through ``prepared``.
    """
    places = places_of_stub(package)
    names = list(places)
    return places, names, names.copy, found_when_asked(package, places, prepared)


def _has(package: str, room: str) -> bool:
    return find_spec(f"{package}.{room}") is not None


def found_when_asked(
    package: str, places: dict[str, str], prepared: Callable[[Any], Any]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package; ``places`` has the module of each name.

    ``__getattr__`` passes each value through ``prepared``, which may wrap it.
    """
    package_module = sys.modules[package]
    for name, module in places.items():
        if module.startswith(f"{package}.{name}."):
            # A folder has the same name. Importing it later would set the attribute to the folder,
            # so import it now and remove the attribute.
            import_module(f"{package}.{name}")
            delattr(package_module, name)

    def is_room(name: str) -> bool:
        public = name.isidentifier() and not name.startswith("_")
        return public and find_spec(f"{package}.{name}") is not None

    def load_name(name: str) -> Any:
        """Return a public name, or a folder of the package."""
        place = places.get(name, package)
        with ONE_AT_A_TIME:
            if place != package:
                value = prepared(getattr(import_module(place), name))
            elif not is_room(name):
                ours = [
                    our for our in ELSEWHERE if our in places and name in ELSEWHERE[our].split()
                ]
                words = f": see {', '.join(ours)}" if ours else ""
                raise AttributeError(
                    f"module {package!r} has no attribute {name!r}{words}",
                    name=name,
                    obj=package_module,
                )
            else:
                value = import_module(f"{package}.{name}")
            setattr(package_module, name, value)
        return value

    return load_name
