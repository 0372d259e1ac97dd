"""Machine code follows every source that it can depend on, and stays in the user's cache folder."""

import ast
import errno
import linecache
import os
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numba
import pytest

from support.edits import AUDITED_EDITS, EDITS, PROBES
from tailguard import machine_code
from tailguard.machine_code import PACKAGE, ROOMS, compiled, sources_of, state_of_sources

SOURCES = sorted(
    source.relative_to(PACKAGE).as_posix()
    for room in ROOMS
    for source in (PACKAGE / room).rglob("*.py")
)


def copy_of_package(place):
    """Copy the sources, but for what imports the whole library when one room is asked for."""
    copy = place / "tailguard"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__init__.py").write_text("")
    return copy


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return copy_of_package(tmp_path_factory.mktemp("sources"))


def double(number):
    return 2 * number


def cache_path(function):
    return compiled(function, "float64(float64)").stats.cache_path


@pytest.mark.parametrize("source", [f"{room}/__init__.py" for room in ROOMS])
def test_a_source_of_every_room_changes_the_state(package, source):
    before, content = state_of_sources(package), (package / source).read_bytes()
    (package / source).write_bytes(content + b"\n")
    changed = state_of_sources(package)
    (package / source).write_bytes(content)
    assert changed != before == state_of_sources(package)


def test_a_source_that_is_added_or_moved_changes_the_state(package):
    before = state_of_sources(package)
    (package / "noise" / "deeper").mkdir()
    added = package / "noise" / "deeper" / "added.py"
    added.write_text("")
    assert (first := state_of_sources(package)) != before
    moved = added.rename(package / "noise" / "moved.py")
    assert state_of_sources(package) not in {before, first}
    moved.unlink()
    assert state_of_sources(package) == before


def test_the_copied_state_is_that_of_the_package(package):
    assert state_of_sources(package) == state_of_sources(PACKAGE)


def imported_by(path):
    """What a source imports, by its syntax tree; names that may be modules, too."""
    package = path.relative_to(PACKAGE.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_depends_on_itself_and_on_what_its_imports_depend_on(source):
    name = "tailguard." + source.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    imported = [each for each in imported_by(PACKAGE / source) if each.startswith("tailguard.")]
    found = sources_of([name], PACKAGE)
    assert found == {PACKAGE / source}.union(*(sources_of([each], PACKAGE) for each in imported))


def test_an_edit_of_a_loss_leaves_the_code_that_serves_all_losses():
    loops = sources_of(["tailguard.queries.reading_loops"], PACKAGE)
    assert PACKAGE / "queries/loop.py" in loops
    assert PACKAGE / "losses/squared.py" not in loops


def test_a_closure_depends_on_the_modules_of_what_it_holds():
    def held(number):
        return number

    held.__module__ = "tailguard.losses.squared"
    modules = machine_code._modules(times(times(held)))
    assert modules == {__name__, "tailguard.losses.squared"}


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """A folder that the user has chosen."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "chosen"))
    return tmp_path / "chosen"


@pytest.mark.parametrize("tool", ["numba", "llvmlite"])
def test_another_version_of_a_compiler_has_another_folder(tool, cache_folder, monkeypatch):
    module = {"tailguard.noise.discrete_laplace"}
    before = machine_code._folder("content", module)
    assert before == machine_code._folder("content", module)
    monkeypatch.setattr(f"{tool}.__version__", "0.0")
    assert machine_code._folder("content", module) != before


def times(factor):
    def multiply(number):
        return factor(number)

    return multiply


def test_functions_made_in_one_place_and_signatures_share_no_folder():
    """Numba numbers their files, and two processes may take one number for both."""
    one, other = numba.njit(lambda number: 2.0 * number), numba.njit(lambda number: 3.0 * number)
    makers = [times(one.py_func), times(one.py_func), times(other.py_func)]
    contents = [machine_code._content(made) for made in makers]
    assert contents[0] == contents[1] != contents[2]
    folders = {
        compiled(double, f"{number}({number})").stats.cache_path for number in ("int64", "float64")
    }
    assert len(folders) == 2


def test_the_users_choice_is_used_and_left_alone(cache_folder):
    path = Path(cache_path(lambda number: 3 * number))
    assert path.is_relative_to(cache_folder)
    assert path.parent.name.startswith("tailguard-")
    assert str(cache_folder) == numba.config.CACHE_DIR


@pytest.mark.parametrize(
    ("platform", "home", "caches", "expected"),
    [
        ("linux", "/home/ada", "/caches", "/caches/tailguard"),
        ("linux", "/home/ada", "", "/home/ada/.cache/tailguard"),
        ("linux", "/home/ada", "relative", "/home/ada/.cache/tailguard"),
        ("darwin", "/Users/ada", "", "/Users/ada/Library/Caches/tailguard"),
        ("linux", None, "", None),
    ],
)
def test_without_a_choice_the_platforms_cache_folder_is_used(
    monkeypatch, platform, home, caches, expected
):
    def found_home():
        if home is None:
            raise RuntimeError("Could not determine home directory.")
        return Path(home)

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", found_home)
    monkeypatch.setenv("XDG_CACHE_HOME", caches)
    assert machine_code._cache_folder("") == (expected and Path(expected))
    assert machine_code._cache_folder("chosen") == Path.cwd() / "chosen"


FIT = """
import numpy as np
import tailguard as tg
X = np.random.default_rng(0).standard_normal((200, 2))
tg.LinearRegression(epsilon=1.0, delta=1e-6, random_state=1).fit(X, X[:, 0])
"""


def files_of(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
def test_a_fit_writes_nothing_beside_the_sources(tmp_path):
    """Python's own byte code aside; nothing is kept before, so that everything is compiled."""
    sources, caches = tmp_path / "sources", tmp_path / "caches"
    shutil.copytree(PACKAGE, sources / "tailguard", ignore=shutil.ignore_patterns("__pycache__"))
    before = files_of(sources)
    environment = {key: text for key, text in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": str(sources), "XDG_CACHE_HOME": str(caches)}
    subprocess.run([sys.executable, "-B", "-c", FIT], env=environment, check=True)
    assert files_of(sources) == before
    assert len({path.suffix for path in files_of(caches / "tailguard")} & {".nbi", ".nbc"}) == 2


def test_where_no_folder_can_be_written_nothing_is_kept(tmp_path, monkeypatch):
    """Numba is not asked, since it would try the folder of the sources next."""
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr("numba.core.caching.InTreeCacheLocator.from_function", None)
    assert cache_path(lambda number: 5 * number) is None


def test_without_a_home_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(machine_code, "_cache_folder", lambda chosen: None)
    assert cache_path(lambda number: 6 * number) is None


def test_on_a_full_disk_code_is_compiled_in_memory(cache_folder, monkeypatch):
    def save(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", save)
    eightfold = compiled(lambda number: 8 * number, "float64(float64)")
    assert eightfold.stats.cache_path is None
    assert eightfold(2.0) == 16.0


@pytest.mark.parametrize("file", ["<string>", "<ipython-input-1-ada>"])
def test_a_function_that_was_typed_in_is_compiled_in_memory(
    tmp_path, cache_folder, monkeypatch, file
):
    """Of such ones Numba keeps code in a folder of IPython's, or refuses to."""
    place = "numba.core.caching.IPythonCacheLocator.get_cache_path"
    monkeypatch.setattr(place, lambda _: str(tmp_path / "ipython"))
    source, scope = "def ninefold(number): return 9 * number\n", {}
    exec(compile(source, file, "exec"), scope)
    monkeypatch.setitem(linecache.cache, file, (len(source), None, [source], file))
    ninefold = compiled(scope["ninefold"], "float64(float64)")
    assert ninefold.stats.cache_path is None
    assert ninefold(2.0) == 18.0


def folders_in(base):
    return sorted(path.name for path in base.iterdir())


def name_of(number):
    return f"tailguard-{number:032x}"


def test_the_folders_used_last_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_code, "FOLDERS_KEPT", kept := 8)
    for number in range(kept):
        (tmp_path / name_of(number) / "code").mkdir(parents=True)
        os.utime(tmp_path / name_of(number), (number, number))
    (tmp_path / "tailguard-notes").mkdir()
    machine_code._mark_used(tmp_path / name_of(0))  # it was the oldest
    machine_code._mark_used(tmp_path / name_of(kept))
    machine_code._mark_used(tmp_path / name_of(kept + 1))
    numbers = [0, *range(3, kept + 2)]
    assert folders_in(tmp_path) == [*map(name_of, numbers), "tailguard-notes"]


def test_a_folder_that_another_process_removes_is_no_error(tmp_path, monkeypatch):
    """Between the listing and the look at a folder, and while it is being removed."""
    monkeypatch.setattr(machine_code, "FOLDERS_KEPT", 8)
    for number in range(10):
        (tmp_path / name_of(number)).mkdir()
    listed = list(tmp_path.iterdir())
    shutil.rmtree(listed[0])
    monkeypatch.setattr(Path, "glob", lambda *_: listed)
    machine_code._mark_used(tmp_path / name_of(99))
    assert len(folders_in(tmp_path)) <= 9


def test_a_process_whose_folder_was_removed_goes_on(cache_folder):
    assert cache_path(lambda number: 9 * number)
    shutil.rmtree(cache_folder)
    assert files_of(Path(cache_path(lambda number: 10 * number)))


COMPILE = """
import sys
import numba
from tailguard import machine_code
machine_code.FOLDERS_KEPT = 1
for number in range(8):
    numba.__version__ = f"{number}.{sys.argv[1]}"
    assert machine_code.compiled(lambda x: 2.0 * x, "float64(float64)")(4.0) == 8.0
"""


@pytest.mark.long
def test_processes_remove_folders_of_each_other_without_harm(tmp_path, cache_folder):
    (tmp_path / "script.py").write_text(COMPILE)
    command = [sys.executable, str(tmp_path / "script.py")]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache_folder)}
    runs = [subprocess.Popen([*command, str(number)], env=environment) for number in range(2)]
    assert [run.wait() for run in runs] == [0] * 2
    assert 1 <= len(list(cache_folder.iterdir())) <= len(runs)


def test_after_an_edit_under_a_running_process_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(machine_code, "STATE_AT_IMPORT", "another")
    assert cache_path(lambda number: 7 * number) is None


def test_threads_share_one_compilation():
    found = []
    threads = [
        Thread(target=lambda: found.append(compiled(double, "float64(float64)"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def results(copy, script, cache):
    """Run a script on a copy of the package, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(copy.parent), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def follows(tmp_path, file, old, new, probe):
    """An edited source gives what it gives where no machine code was kept, and something new."""
    copy, script = copy_of_package(tmp_path), PROBES[probe]
    before = results(copy, script, tmp_path / "kept")
    source = copy / file
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    after = results(copy, script, tmp_path / "kept")
    assert after == results(copy, script, tmp_path / "empty")
    assert after != before


@pytest.mark.long
@pytest.mark.parametrize(("file", "old", "new", "probe"), EDITS)
def test_an_edit_of_what_compiled_code_depends_on_is_seen_at_the_next_run(
    tmp_path, file, old, new, probe
):
    follows(tmp_path, file, old, new, probe)


@pytest.mark.audit
@pytest.mark.parametrize(("file", "old", "new", "probe"), AUDITED_EDITS)
def test_every_edit_is_seen_at_the_next_run(tmp_path, file, old, new, probe):
    follows(tmp_path, file, old, new, probe)
