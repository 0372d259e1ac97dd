"""The core stands without the wing: a copy without ``papers`` imports, and its tests pass."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WING = ("src/tailguard/papers", "tests/papers")
# As in a source distribution: tests of the house read what lies beside the sources.
FOLDERS = ("src", "tests", "docs", "benchmarks", "examples", "paper", "release", ".ci", ".github")
# Of every room that reaches for the wing, or that the wing reaches into.
REPRESENTATIVE = (
    *("tests/means/test_formulas.py", "tests/solvers/test_smooth_stage.py"),
    *("tests/docs/test_public_names.py", "tests/gate/test_admission.py"),
)
# What cannot be run here anew: this test, and what asks for hours or another environment.
LEFT_OUT = ("tests/house/test_wing.py",)

IMPORT_ALL = """
import pkgutil, sys
from importlib import import_module
import tailguard
names = [each.name for each in pkgutil.walk_packages(tailguard.__path__, "tailguard.")]
for name in names:
    if not name.endswith("__main__"):
        import_module(name)
from tailguard import *
assert not any(name.startswith("tailguard.papers") for name in sys.modules)
print(len(names))
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A copy of the repository without the two folders of the wing, but for what git ignores."""
    folder = tmp_path_factory.mktemp("core")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, folder / path.name)
    for name in WING:
        shutil.rmtree(folder / name)
    return folder


def run(core, *arguments):
    """Run Python in the copy, on the copy's sources."""
    told = {**os.environ, "PYTHONPATH": str(core / "src")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=core,
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_every_module_of_the_core_imports_without_the_wing(core):
    assert int(run(core, "-c", IMPORT_ALL)) > 200


def test_representative_tests_of_the_core_pass_without_the_wing(core):
    assert "passed" in run(
        core, "-m", "pytest", "-p", "no:randomly", "--no-header", *REPRESENTATIVE
    )


@pytest.mark.audit
def test_all_tests_of_the_core_pass_without_the_wing(core):
    ignored = [f"--ignore={name}" for name in LEFT_OUT]
    assert "passed" in run(core, "-m", "pytest", "tests", *ignored)


def test_importing_the_package_does_not_load_the_wing():
    code = (
        "import sys, tailguard as tg; tg.mean, tg.plan, tg.minimize; "
        "print('tailguard.papers' in sys.modules)"
    )
    told = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=told, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
