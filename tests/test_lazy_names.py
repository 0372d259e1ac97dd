"""The package shows what its stub says, and loads it when it is asked for."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tailguard as tg
from tailguard.lazy_names import places_of_stub
from tailguard.wing import wing

PLACES = places_of_stub("tailguard")


def told_by_a_new_process(*lines):
    script = "\n".join(["import json, sys", *lines])
    environment = {"PYTHONPATH": str(Path(tg.__file__).parents[1])}
    called = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, env=environment
    )
    return json.loads(called.stdout)


@pytest.mark.parametrize("package", ["tailguard", "tailguard.solvers"])
def test_a_stub_shows_what_it_imports(package):
    shown = import_module(package)
    stub = ast.parse(Path(shown.__file__).with_suffix(".pyi").read_text())
    names = [alias for line in stub.body for alias in line.names]
    assert all(alias.asname == alias.name for alias in names)  # what type checkers show
    away = set() if wing("rates") else {"papers"}
    stated = sorted({alias.name for alias in names} - away)
    assert stated == sorted(shown.__all__) == sorted(dir(shown))


@pytest.mark.parametrize("name", PLACES)
def test_a_name_is_what_the_stub_imports(name):
    room = sys.modules.get(f"tailguard.{name}")
    expected = room if PLACES[name] == "tailguard" else getattr(import_module(PLACES[name]), name)
    assert getattr(tg, name) is (expected or import_module(f"tailguard.{name}"))


def test_the_import_loads_no_library():
    loaded = told_by_a_new_process("import tailguard", "print(json.dumps(list(sys.modules)))")
    libraries = {"numpy", "scipy", "sklearn", "numba", "pandas", "pyarrow", "dp_accounting"}
    assert not libraries & set(loaded)


@pytest.mark.long
def test_the_command_line_starts_without_what_fits_need():
    line = "import tailguard.cli.app"
    loaded = told_by_a_new_process(line, "print(json.dumps(list(sys.modules)))")
    slow = {"sklearn", "scipy.stats", "pandas", "numba", "pyarrow", "dp_accounting", "matplotlib"}
    assert not slow & set(loaded)


@pytest.mark.long
def test_an_estimator_loads_no_other_one_and_no_other_solver():
    line = "from tailguard import LinearRegression"
    loaded = told_by_a_new_process(line, "print(json.dumps(list(sys.modules)))")
    rooms = (import_module(f"tailguard.{room}") for room in ("estimators", "solvers"))
    shown = {place for room in rooms for place in room.__places__.values()}
    own = {"tailguard.estimators.regression", "tailguard.solvers.newton.solver"}
    assert shown & set(loaded) == own


@pytest.mark.parametrize("room", ["estimators", "solvers"])
def test_a_room_shows_what_its_modules_hold(room):
    package = import_module(f"tailguard.{room}")
    assert sorted(package.__all__) == sorted(package.__places__) == sorted(dir(package))
    for name, place in package.__places__.items():
        assert getattr(package, name) is getattr(import_module(place), name)


@pytest.mark.long
def test_a_function_goes_before_the_package_of_its_name():
    words = told_by_a_new_process(
        "from tailguard.audit.cases import AuditResult",
        "import tailguard as tg",
        "import tailguard.audit.bounds",
        "print(json.dumps([tg.audit.__module__, tg.privacy.__name__]))",
    )
    assert words == ["tailguard.audit.black_box", "tailguard.privacy"]


@pytest.mark.long
def test_threads_may_ask_for_names_at_once():
    words = told_by_a_new_process(
        "import threading",
        "import tailguard as tg",
        "names, found = sorted(tg.__all__), {}",
        "together = threading.Barrier(len(names))",
        "def ask(name):",
        "    together.wait()",
        "    found[name] = getattr(tg, name)",
        "threads = [threading.Thread(target=ask, args=(name,)) for name in names]",
        "[thread.start() for thread in threads]",
        "[thread.join() for thread in threads]",
        "print(json.dumps(sorted(found)))",
    )
    assert words == sorted(PLACES)


@pytest.mark.parametrize("name", ["Legder", "__wrapped__", "__main__", "a.b", "audit.bounds"])
def test_what_is_not_there_is_refused(name):
    with pytest.raises(AttributeError, match=f"module 'tailguard' has no attribute '{name}'"):
        getattr(tg, name)
