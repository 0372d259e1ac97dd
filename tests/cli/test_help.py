"""Help pages for people at a shell, at any width; tables of coefficients that are never cut."""

import itertools
import os
import re
import subprocess
import sys

import pytest

from tailguard.cli import options
from tailguard.cli.app import COMMANDS, app

PAGES = [*COMMANDS, *(f"ledger {command.callback.__name__}" for command in (
    group.typer_instance.registered_commands for group in app.registered_groups
) for command in command)]  # fmt: skip


def check_page(text, width):
    """Refuse what is not for a shell, and wraps of prose that nobody meant."""
    assert ">>>" not in text
    assert "doctest" not in text
    lines = [line.rstrip() for line in text.splitlines() if "│" not in line]
    assert max(map(len, lines)) <= width
    prose = [line if line.startswith(" ") and not line.startswith("  ") else "" for line in lines]
    for line, after in itertools.pairwise(prose):
        # A line that ends early and goes on below is a wrap that nobody meant.
        if line and after:
            assert len(line) + 1 + len(after.split()[0]) > width - 2, line


@pytest.mark.parametrize("command", PAGES)
def test_a_page_of_help_is_wrapped_by_the_screen_alone(command, call):
    answer = call(*command.split(), "--help")
    assert answer.code == 0
    check_page(answer.out, 80)


def pages_at(width, *commands):
    """Help pages from a process of its own: they are folded once, when commands are imported."""
    code = (
        "from tailguard.cli.app import app\n"
        f"for command in {commands}:\n"
        "    app([*command.split(), '--help'], standalone_mode=False)"
    )
    environment = os.environ | {"COLUMNS": str(width)}
    pages = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert pages.stdout.count("Usage:") == len(commands)
    return pages.stdout


@pytest.mark.long
def test_a_narrow_screen_folds_prose_and_commands():
    pages = pages_at(60, "fit", "search", "schema", "mean", "describe", "ledger create")
    assert "…" not in pages
    check_page(pages, 60)


@pytest.mark.long
def test_names_of_options_are_whole_on_a_screen_of_50_columns():
    """Tables have no room for them there, so pages have lists."""
    pages = pages_at(50, "fit", "mean", "ledger", "")
    assert "…" not in pages
    assert not re.search(r"\w\.\.\.", pages)
    assert "[bold]" not in pages
    assert pages.count("  --no-check-records  ") == 2
    assert max(map(len, pages.splitlines())) <= 50
    assert "\n    tailguard fit claims.csv --target cost \\\n        --epsilon 1" in pages


def test_there_are_pages_of_the_ledger_too():
    assert {"ledger create", "ledger export"} <= {*PAGES}


@pytest.mark.parametrize("columns", [40, 60, 90])
def test_commands_are_folded_where_a_screen_is_narrow(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    page = options.page(
        "Head.\n\n\\b\n  tailguard fit a.csv --target cost --epsilon 1 \\\n      --out b.json"
    )
    command = page.split("\n\n")[1].removeprefix("\b\n")  # click's mark of whole lines
    assert max(map(len, command.split("\n"))) <= columns
    assert re.sub(r" \\\n +", " ", command).split() == (
        ["tailguard", "fit", "a.csv", "--target", "cost", "--epsilon", "1", "--out", "b.json"]
    )


@pytest.mark.parametrize("width", [60, 80])
def test_coefficients_are_never_cut(width, csv_file, tmp_path, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    text, long = csv_file.read_text(), "a_name_of_a_column_that_is_rather_long_for_a_table"
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(text.replace("age", long, 1))
    options = ["--target", "cost", "--features", f"{long},power", "--out", tmp_path / "m.json"]
    budget = ["--epsilon", "25", "--delta", "1e-3", "--random-state", "3"]
    answer = call("fit", renamed, *options, *budget)
    assert answer.code == 0
    assert "…" not in answer.out
    table = answer.out[answer.out.index("\n\n") : answer.out.index("aims at")]
    assert long in table
    assert max(map(len, table.splitlines())) <= width
    assert table.count("coef ") == 3  # stacked


def test_the_first_page_lists_exit_codes_and_that_of_a_fit_is_short(call):
    assert "Exit codes: 0, success;" in call("--help").out
    assert len(call("fit", "--help").out.splitlines()) < 150
