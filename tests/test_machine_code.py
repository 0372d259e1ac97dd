"""Machine code follows every source that it can depend on, and is kept where that can be told."""

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
from tailguard.machine_code import PACKAGE, ROOMS, compiled, state_of_sources

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


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_of_the_three_rooms_changes_the_state(package, source):
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


@pytest.mark.parametrize("tool", ["numba", "llvmlite"])
def test_another_version_of_a_compiler_has_another_folder(tool, monkeypatch):
    before = machine_code._folder(PACKAGE, "state", "content")
    monkeypatch.setattr(f"{tool}.__version__", "0.0")
    assert machine_code._folder(PACKAGE, "state", "content") != before


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


def test_the_users_folder_is_used_and_their_setting_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    path = Path(cache_path(lambda number: 3 * number))
    assert path.is_relative_to(tmp_path)
    assert path.parent.parent.name.startswith("tailguard-")
    assert str(tmp_path) == numba.config.CACHE_DIR


def test_without_a_choice_it_is_kept_beside_the_sources(package, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(machine_code, "PACKAGE", package)
    assert Path(cache_path(lambda number: 4 * number)).is_relative_to(package / "__pycache__")
    assert numba.config.CACHE_DIR == ""


def test_where_the_first_folder_cannot_be_written_the_next_one_is_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    bases = [tmp_path / "file" / "below", tmp_path / "next"]
    monkeypatch.setattr(machine_code, "_bases", lambda chosen: bases)
    assert Path(cache_path(lambda number: 5 * number)).is_relative_to(bases[1])


def test_where_no_folder_can_be_written_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(machine_code, "_bases", lambda chosen: [tmp_path / "file" / "below"])
    assert cache_path(lambda number: 6 * number) is None


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
    environment = {**os.environ, "PYTHONPATH": str(copy.parent), "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def follows(tmp_path, file, old, new, probe):
    """An edited source gives what it gives where no machine code was kept, and something new."""
    copy, script = copy_of_package(tmp_path), PROBES[probe]
    before = results(copy, script, "")
    source = copy / file
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    after = results(copy, script, "")
    assert after == results(copy, script, str(tmp_path / "empty"))
    assert after != before


@pytest.mark.parametrize(("file", "old", "new", "probe"), EDITS)
def test_an_edit_of_what_compiled_code_depends_on_is_seen_at_the_next_run(
    tmp_path, file, old, new, probe
):
    follows(tmp_path, file, old, new, probe)


@pytest.mark.audit
@pytest.mark.parametrize(("file", "old", "new", "probe"), AUDITED_EDITS)
def test_every_edit_is_seen_at_the_next_run(tmp_path, file, old, new, probe):
    follows(tmp_path, file, old, new, probe)
