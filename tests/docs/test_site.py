"""What the site is made of: a page for every public name and command, and the list of pages."""

import importlib.util
import re
from pathlib import Path

import pytest
import typer

import tailguard as tg
from tailguard.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def conf():
    """The settings of the site, which need no Sphinx to be read."""
    spec = importlib.util.spec_from_file_location("site_conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_list_for_language_models(conf):
    listed = re.findall(r"\(https://\S+/docs/(\S+?\.md)\)", conf.llms_text())
    pages = {page.name for page in DOCS.glob("*.md")} - {"index.md"}
    assert sorted(listed) == sorted(pages | {"mechanisms/index.md"})


def test_no_page_has_the_name_of_one_that_sphinx_writes():
    assert {page.stem for page in DOCS.glob("*.md")}.isdisjoint(
        {"search", "genindex", "py-modindex"}
    )


def test_every_public_name_and_command_has_a_page(conf, tmp_path, monkeypatch):
    monkeypatch.setattr(conf, "llms_text", lambda: "")
    monkeypatch.setattr(conf, "FOLDER", tmp_path)
    conf.write_reference()
    written = {page.stem for page in (tmp_path / "reference").glob("*.rst")}
    names = {name for name in tg.__all__ if not name.startswith("__")}
    assert written == names | {"index", "cli"}
    commands = (tmp_path / "reference/cli.rst").read_text()
    for name in typer.main.get_command(app).commands:
        assert f"\ntailguard {name}\n---" in commands


def test_the_help_of_commands_is_shown_as_a_terminal_shows_it(conf):
    shown = [line for line in conf.command_page().splitlines() if line.startswith("   ")]
    assert "   Examples" in shown
    assert [line for line in shown if len(line) > 91 or "[bold]" in line] == []
