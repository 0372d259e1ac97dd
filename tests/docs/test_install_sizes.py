"""The page on installing has the measured sizes: ``make numbers``."""

import json
import re
import tomllib

import install_size
from docs.test_numbers import text

PROJECT = tomllib.loads(text("pyproject.toml"))["project"]

# What comes along with a dependency; what several need is told with the first.
TYPER = """
typer rich Pygments markdown-it-py mdurl shellingham pydantic pydantic_core annotated-doc
annotated-types typing-inspection typing_extensions
"""
PARTS = [
    ("Numba and llvmlite", ["numba", "llvmlite"]),
    ("SciPy", ["scipy"]),
    ("scikit-learn", ["scikit-learn", "joblib", "narwhals", "cloudpickle"]),
    ("dp-accounting", ["dp-accounting", "absl-py", "attrs", "dm-tree", "mpmath", "wrapt"]),
    ("typer and rich", TYPER.split()),
]


def test_the_page_on_installing_has_the_measured_sizes():
    figures = json.loads(text("benchmarks/results/install_size.json"))
    page, rows = text("docs/install.md"), figures["packages"]
    large = [row for row in rows if row["mb"] >= 1]
    for row in large:
        assert f"| {row['name']} | {row['mb']:.0f} |" in page
    rest = sum(row["mb"] for row in rows[len(large) :])
    assert f"| {len(rows) - len(large)} more, of less than 1 each | {rest:.0f} |" in page
    whole = install_size.sum_of(rows, "mb")
    assert f"| all | {whole:.0f} |" in page
    weight = {name: sum(row["mb"] for row in rows if row["name"] in parts) for name, parts in PARTS}
    for name, mb in weight.items():
        assert re.search(rf"^\* \*\*{name}\*\*,[^.]* {mb:.0f} MB", page, re.MULTILINE)
    assert f"install would be {whole - weight['scikit-learn']:.0f} MB" in " ".join(page.split())
    assert f"\n{install_size.sum_of(rows, 'bytecode_mb'):.0f} MB are bytecode" in page
    less = [figures[f"{when}_mb"] for when in ("without_bytecode", "after_the_demo")]
    assert "That is {:.0f} MB, and {:.0f} MB after the demo".format(*less) in page
    assert {*figures["extras_mb"]} == PROJECT["optional-dependencies"].keys() - {"dev", "site"}
    for name, more in figures["extras_mb"].items():
        assert re.search(rf"^\| `tailguard\[{name}\]` .* \| {more:.0f} \|$", page, re.MULTILINE)
