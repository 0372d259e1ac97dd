"""The pages on the papers name every public function, and split what privacy and accuracy need."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from tailguard.papers.common.theorem import Theorem
from tailguard.papers.ranking import PAPERS
from tailguard.papers.ranking import THEOREMS as RANKED

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("papers.md", "papers-bounds.md", "api.md")
MEANS = (DOCS / "means.md").read_text()
THEOREMS, BOUNDS, NAMES = ((DOCS / name).read_text() for name in PAGES)
MODULES = (
    *PAPERS,
    "fano",
    "rates",
    *(f"{name}.parameters" for name in PAPERS),
    "xu2025.quoted",
    *(f"{name}.printed" for name, paper in PAPERS.items() if hasattr(paper, "printed")),
    "common.groups",
    "common.steps",
)
BOTH = ("*Needed for privacy.*", "*Needed for accuracy.*")


def functions_of(module):
    """Name -> function of a package that lists them, or of a module, all but underscores."""
    own = (
        name
        for name, each in vars(module).items()
        if getattr(each, "__module__", "") == module.__name__
    )
    names = getattr(module, "__all__", None) or [name for name in own if name[0] != "_"]
    found = {name: getattr(module, name) for name in names}
    return {name: each for name, each in found.items() if callable(each)}


def module_of(module, name):
    """Where what a module shows is defined: formulas that means have as well are lent by these."""
    return getattr(getattr(module, name, None), "__module__", "")


def is_theorem(function):
    return getattr(function, "__annotations__", {}).get("return") in (Theorem, "Theorem")


def sections(page, mark):
    """Title and text of every section under headings of that many marks."""
    parts = re.split(rf"^{mark} (.+)$", page, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_is_on_a_page_and_nothing_else(name):
    module = import_module(f"tailguard.papers.{name}")
    functions = functions_of(module)
    theorems = {each for each, function in functions.items() if is_theorem(function)}
    shown = {each for each in theorems if f"tg.papers.{name}.{each}(" in THEOREMS}
    assert shown == theorems, "docs/papers.md calls every theorem"
    titled = dict(sections(BOUNDS, "###"))
    assert f"`tg.papers.{name}`" in titled, "docs/papers-bounds.md has a section for the module"
    section = titled[f"`tg.papers.{name}`"]
    listed = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    constants = {each for each in functions if f"\n`{each}` has" in section}
    means = {each for each in functions if each.endswith("_mean") and name in PAPERS}
    assert {each for each in means if f"tg.papers.{name}.{each}`" in MEANS} == means
    lent = {each for each in listed if module_of(module, each).startswith("tailguard.means.")}
    assert listed | constants == {*functions} - theorems - means | lent


def test_papers_are_in_the_table_of_public_names():
    listed = {*re.findall(r"^\| `papers\.(\w+\d{4})` \|", NAMES, re.MULTILINE)}
    assert listed == {*PAPERS}, "docs/api.md has a row for each"


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_an_example(name):
    module = import_module(f"tailguard.papers.{name}")
    assert all(">>> " in function.__doc__ for function in functions_of(module).values())


def test_every_theorem_and_every_paper_says_what_privacy_and_what_accuracy_need():
    theorems = [
        text
        for title, text in sections(THEOREMS, "###")
        if title.startswith(("Theorem", "Section"))
    ]
    n_ranked = sum(map(len, RANKED.values()))
    assert len(theorems) == n_ranked, "each has a section of docs/papers.md, by its number"
    for text in (*theorems, *(text for _, text in sections(BOUNDS, "##"))):
        assert all(word in " ".join(text.split()) for word in BOTH)
