"""Pages that people read from the top are short, and no paragraph of theirs is long."""

import re
from pathlib import Path

import pytest

from docs.test_docs import FENCE
from tailguard.means.choice import MEANS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MOST_WORDS = 17_300  # of the README and all pages of Learn and Explain, mechanisms aside
MOST_IN_A_PARAGRAPH = 90
# Rows that a registry asks for: a new mean needs one, and no other page has to give way for it.
REGISTERED = re.compile(rf"^\| `(?:{'|'.join(MEANS)})` \|.*$", re.MULTILINE)
TOC = re.compile(r"^```\{toctree\}\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def pages_of(section):
    """The page of a section and those below it that lie in this folder."""
    (toc,) = TOC.finditer((DOCS / f"{section}.md").read_text())
    names = [line for line in toc["body"].split() if (DOCS / f"{line}.md").exists()]
    return [DOCS / f"{name}.md" for name in (section, *names) if "/" not in name]


LEARN, EXPLAIN, REFERENCE = map(pages_of, ("learn", "explain", "api"))


def words(text):
    """How many words a text has: whatever holds a letter or a digit."""
    return sum(re.search(r"\w", part) is not None for part in text.split())


def paragraphs(text):
    """The paragraphs, bullets and cells of tables of a page."""
    prose = re.sub(r"\]\([^)]*\)", "]", FENCE.sub("\n\n", text))
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\|)", prose):
        yield from block.split(" | ") if block.startswith("|") else [block]


def test_what_is_read_from_the_top_is_short():
    read = [ROOT / "README.md", *LEARN, *EXPLAIN]
    assert len({*read}) == len(read)
    assert len(read) >= 20
    found = sum(words(REGISTERED.sub("", page.read_text())) for page in read)
    assert found <= MOST_WORDS, f"{found} words in {len(read)} pages: what you add, cut elsewhere"


@pytest.mark.parametrize("page", [*LEARN, *REFERENCE], ids=lambda page: page.name)
def test_no_paragraph_is_long(page):
    long = [part for part in paragraphs(page.read_text()) if words(part) > MOST_IN_A_PARAGRAPH]
    assert not long, f"{page.name}: cut these to {MOST_IN_A_PARAGRAPH} words each: {long}"


def test_a_long_paragraph_is_seen_wherever_it_stands():
    text = "word " * (MOST_IN_A_PARAGRAPH + 1)
    for page in (
        text,
        f"# A\n\n* b\n* {text}",
        f"1. a\n2. {text}",
        f"| a |\n|---|\n| b | {text} |",
    ):
        assert [words(part) > MOST_IN_A_PARAGRAPH for part in paragraphs(page)].count(True) == 1
    fine = f"{'word ' * 60}\n\n{'word ' * 60}\n- {'word ' * 60}\n\n```text\n{text}\n```\n"
    assert all(words(part) <= MOST_IN_A_PARAGRAPH for part in paragraphs(fine))
