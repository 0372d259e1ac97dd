"""The errata that plans cite are the errata that the page lists, each once."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "errata.md").read_text()
PAPERS = ROOT / "src" / "tailguard" / "papers"
SOURCES = [*sorted(PAPERS.rglob("*.py")), PAPERS / "statements.toml"]


def cited(text):
    """The numbers in parentheses such as (E1) and (E2, E3)."""
    groups = re.findall(r"\((E\d+(?:, E\d+)*)\)", text)
    return {number for group in groups for number in group.split(", ")}


def test_every_erratum_that_is_cited_is_listed_once():
    listed = re.findall(r"^\**(E\d+)\.", PAGE, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {int(number[1:]) for number in listed} == set(range(1, len(listed) + 1))
    found = set().union(*(cited(path.read_text()) for path in SOURCES))
    assert len(found) > 20
    assert found <= set(listed)


def test_citations_are_found():
    assert cited("valid (E1), loose (E14, E27), no (E), E3") == {"E1", "E14", "E27"}
