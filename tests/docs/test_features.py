"""The page of features: each call of ours runs, and gives what the row says."""

import re
from pathlib import Path

import pytest

from docs.test_docs import python_blocks

PAGE = Path(__file__).parents[2] / "docs" / "features.md"
TEXT = PAGE.read_text()
ROWS = [line.split(" | ") for line in TEXT.splitlines() if re.match(r"\| [a-zA-Z]", line)]
CALLS = {
    row[0].removeprefix("| "): found[1] for row in ROWS if (found := re.match("`(.+?)`", row[1]))
}


@pytest.fixture(scope="module")
def names():
    found = {}
    for _, body in python_blocks(TEXT):
        exec(body, found)
    return found


@pytest.mark.parametrize("feature", CALLS)
def test_a_call_of_the_page_gives_something(feature, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = eval(CALLS[feature], dict(names))
    assert found is not None or [*tmp_path.iterdir()]


def test_every_row_has_a_cell_for_each_tool():
    assert len(CALLS) >= 22
    assert {len(row) for row in ROWS} == {8}
