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


def covered(text):
    """What a page says that it covers, by the names of the registries."""
    found = re.search(r"^Covers (.*)\.$", text, re.MULTILINE)
    return re.findall(r"`([\w-]+)`", found[1]) if found else []


def missing_tests(text):
    """The tests that a page names and that do not exist."""
    return [
        f"{path}::{name}"
        for path, name in NAMED.findall(text)
        if not (ROOT / path).exists() or name not in names_in(path)
    ]


def test_everything_that_is_registered_has_exactly_one_page():
    names = [name for page in PAGES for name in covered(page.read_text())]
    bare = REGISTERED - OF_MEANS - {*names}
    assert not bare, f"{bare}: name it after 'Covers' on one page of docs/mechanisms, and its index"
    assert sorted(names) == sorted(REGISTERED & {*names})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_all_parts_and_names_tests_that_exist(page):
    text = page.read_text()
    assert [part for part in PARTS if f"**{part}" not in text] == []
    assert len(NAMED.findall(text)) >= 3
    assert missing_tests(text) == []
    assert f"]({page.name})" in (FOLDER / "index.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_index_says_what_a_page_covers(page):
    index = (FOLDER / "index.md").read_text()
    (row,) = re.findall(rf"^\| .*\]\({re.escape(page.name)}\) \| (.*) \|$", index, re.MULTILINE)
    assert re.findall(r"`([\w-]+)`", row) == covered(page.read_text())


def test_a_test_that_is_gone_is_seen():
    gone = "* `tests/contracts/test_query.py::test_nothing`\n* `tests/nowhere.py::test_any`"
    assert len(missing_tests(gone)) == 2
    assert covered("Covers `a-b`, `c`.") == ["a-b", "c"]
