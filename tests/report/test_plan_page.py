"""The page of a plan: what it holds is what ``tg.plan`` says, and a keyboard moves its sliders."""

import json
import re

import pytest

import tailguard as tg
from support.pages import Page
from tailguard.cli.app import run
from tailguard.planning import prediction_grid
from tailguard.report.plan_page import DELTA, plan_page

KNOWN = {"n_features": 3, "delta": 1e-6}


@pytest.fixture(scope="module")
def grid():
    return prediction_grid("squared", n_rows=40_000, epsilon=0.6, **KNOWN)


def data_of(text):
    return json.loads(re.search(r'id="plan-data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.long
@pytest.mark.parametrize("place", [(0, 0, 0), (2, 5, 3), (4, 9, 6), (-1, -1, -1)])
def test_each_cell_is_what_the_planner_says(grid, place):
    columns, rows, budget = (
        grid["axes"][name][at]
        for name, at in zip(("n_features", "n_rows", "epsilon"), place, strict=True)
    )
    cell = grid["cells"][place[0]][place[1]][place[2]]
    asked = {"n_features": columns, "n_rows": rows, "epsilon": budget, "delta": 1e-6}
    if cell is None:
        with pytest.raises(tg.InputError):
            tg.plan("squared", **asked)
        return
    advice = tg.plan("squared", **asked)
    assert cell[0] == pytest.approx(advice.recommended.predicted_error, rel=1e-3)
    assert grid["methods"][cell[1]] == advice.recommended.method
    assert cell[2] == any("little more than a constant" in note for note in advice.notes)


@pytest.mark.long
def test_there_are_places_without_a_method_and_with_hidden_scales(grid):
    cells = [cell for block in grid["cells"] for row in block for cell in row]
    assert None in cells
    assert {cell[2] for cell in cells if cell} == {True, False}


def test_the_page_asks_for_nothing_and_is_small(grid):
    text = plan_page(grid)
    assert len(text.encode()) < 1_000_000
    assert "://" not in text
    assert "default-src 'none'" in text
    assert not re.search(r"\b(src|href)=", text)


def test_every_slider_has_a_label_a_value_and_steps_for_the_keyboard(grid):
    text = plan_page(grid)
    for name in ("n_features", "n_rows", "epsilon"):
        assert text.count(f'<label for="{name}">') == 1
        [slider] = re.findall(rf'<input type="range" id="{name}"[^>]*>', text)
        assert 'step="1"' in slider
        assert f'max="{len(grid["axes"][name]) - 1}"' in slider
        value = grid["axes"][name][grid["start"][name]]
        assert f'aria-valuetext="{value:,}"' in slider
    assert 'role="status"' in text
    assert "<noscript>" in text


def test_the_table_of_a_page_whose_script_did_not_run_has_the_errors_at_the_start(grid):
    [rows] = Page(plan_page(grid)).tables.values()
    start = grid["start"]
    for (records, error), cells in zip(rows[1:], grid["cells"][start["n_features"]], strict=True):
        cell = cells[start["epsilon"]]
        assert error == ("none" if cell is None else f"{cell[0]:.3g}")
        assert records.replace(",", "").isdigit()


def test_a_large_delta_is_pointed_at(grid):
    assert f'id="delta-warning" hidden>{DELTA}' in plan_page(grid)


@pytest.mark.long
def test_the_command_writes_it(tmp_path, capsys):
    out = tmp_path / "plan.html"
    words = ["plan", "logistic", "--columns", "3", "--delta", "1e-6", "--html", "--out", str(out)]
    assert run(words) == 0
    assert "No record was read" in capsys.readouterr().out
    assert data_of(out.read_text())["task"] == "logistic"


@pytest.mark.parametrize("more", [["--json"], ["--error", "0.1"], ["--diameter", "2"]])
def test_what_the_page_does_not_show_is_refused(tmp_path, capsys, more):
    words = ["plan", "squared", "--columns", "3", "--delta", "1e-6", "--html"]
    assert run([*words, "--out", str(tmp_path / "plan.html"), *more]) == 2
    assert "--html must be given without" in capsys.readouterr().err


def test_a_task_of_theorems_is_refused():
    with pytest.raises(tg.InputError, match="task must be one of"):
        prediction_grid("convex", **KNOWN)


def test_the_curve_names_its_axes_and_their_ends(grid):
    said = Page(plan_page(grid)).words
    errors = [cell[0] for block in grid["cells"] for row in block for cell in row if cell]
    assert f"Predicted error, {min(errors):.3g} to {max(errors):.3g}, logarithmic" in said
    assert "Records, logarithmic" in said
    assert {f"{grid['axes']['n_rows'][place]:,}" for place in (0, -1)} <= {*said}
