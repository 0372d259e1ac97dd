"""Everything that releases numbers has a page, and every test that a page names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tailguard.noise.mechanisms import MECHANISMS, PEELING_MECHANISMS, SMOOTH_MECHANISMS
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/mechanisms"
PAGES = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "index.md", FOLDER / "limits.md"})
PARTS = ("Statement", "Proof", "Constants", "Edge cases", "Bound by")
REGISTERED = {*QUERIES, *SMOOTH_QUERIES, *MECHANISMS, *PEELING_MECHANISMS, *SMOOTH_MECHANISMS}
# Queries of means, whose proof stands in their file beside the method: a row of docs/means.md is
# enough for these, which another test asks for, and a page is welcome.
OF_MEANS = {
    name
    for name, place in (QUERIES | SMOOTH_QUERIES).items()
    if place.startswith("tailguard.means.")
}
NAMED = re.compile(r"^\* `(tests/[\w/]+\.py)::(\w+)`$", re.MULTILINE)


@cache
def names_in(path):
    """Names of the tests of a file, which is not run."""
    return {n.name for n in ast.parse((ROOT / path).read_text()).body if hasattr(n, "name")}


def covered(index):
    """What the pages cover by the list of pages, by the names of the registries."""
    rows = re.findall(r"^\| \[.*\]\([\w-]+\.md\) \| (.*) \|$", index, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]


def missing_tests(text):
    """The tests that a page names and that do not exist."""
    return [
        f"{path}::{name}"
        for path, name in NAMED.findall(text)
        if not (ROOT / path).exists() or name not in names_in(path)
    ]


def test_everything_that_is_registered_has_exactly_one_page():
    names = covered((FOLDER / "index.md").read_text())
    bare = REGISTERED - OF_MEANS - {*names}
    assert not bare, f"{bare}: name it in docs/mechanisms/index.md, beside the page with its proof"
    assert sorted(names) == sorted(REGISTERED & {*names})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_all_parts_and_names_tests_that_exist(page):
    text = page.read_text()
    absent = [part for part in PARTS if f"**{part}" not in text]
    assert not absent, f"{page.name} needs paragraphs that begin with {absent} in bold"
    assert len(NAMED.findall(text)) >= 3, f"{page.name} must name three tests that bind it"
    assert not missing_tests(text), f"{page.name} names no tests with {missing_tests(text)}"
    assert f"]({page.name})" in (FOLDER / "index.md").read_text(), (
        "docs/mechanisms/index.md lists it"
    )


def test_a_test_that_is_gone_is_seen():
    gone = "* `tests/contracts/test_query.py::test_nothing`\n* `tests/nowhere.py::test_any`"
    assert len(missing_tests(gone)) == 2
    assert covered("| [A](a.md) | `a-b`, `c` |") == ["a-b", "c"]
