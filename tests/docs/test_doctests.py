"""Every example in a docstring runs, module by module, each with fresh globals."""

import doctest
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in sorted((SOURCE / "tailguard").rglob("*.py"))
    if not path.stem.startswith("__") and ">>> " in path.read_text()
]


def run_examples(module):
    """Run the examples; return how many there were and what the failing ones printed."""
    report = []
    runner = doctest.DocTestRunner(verbose=False)
    # The finder hands every docstring its own copy of the module's names.
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(test, out=report.append)
    return runner.tries, "".join(report)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n_examples, report = run_examples(import_module(name))
    assert report == ""
    assert n_examples > 0


def test_a_failing_example_is_seen():
    module = ModuleType("wrong", "One and one:\n\n>>> 1 + 1\n3\n")
    n_examples, report = run_examples(module)
    assert n_examples == 1
    assert "Expected:\n    3\nGot:\n    2" in report
