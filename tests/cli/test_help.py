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


@pytest.mark.long
def test_a_narrow_screen_folds_prose_and_commands():
    """In a process of its own: pages are folded once, when commands are imported."""
    code = (
        "from tailguard.cli.app import app\n"
        "for command in ('fit', 'search', 'schema', 'mean', 'describe', 'ledger create'):\n"
        "    app([*command.split(), '--help'], standalone_mode=False)"
    )
    pages = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"COLUMNS": "60"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert pages.stdout.count("Usage:") == 6
    assert "…" not in pages.stdout
    check_page(pages.stdout, 60)


def test_there_are_pages_of_the_ledger_too():
    assert {"ledger create", "ledger export"} <= {*PAGES}


@pytest.mark.parametrize("columns", [40, 60, 90])
def test_commands_are_folded_where_a_screen_is_narrow(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    page = options.page(
        "Head.\n\n\\b\n  tailguard fit a.csv --target cost --epsilon 1 \\\n      --out b.json"
    )
    command = page.split("\n\n")[1]
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
