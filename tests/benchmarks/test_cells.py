"""From lines to the table: which setting an oracle takes, and the arithmetic of ratios."""

import math

import numpy as np
import pytest

from accuracy import cells, report
from accuracy.cells import NON_PRIVATE, OURS, RIVAL, Cell

FACTS = {"suite": "public", "task": "T1", "loss": "squared", "n": 30_000, "d": 3, "gap": 2.0}


def line(method, seed, excess, epsilon=1.0, tuning="ours", **more):
    own = {"method": method, "seed": seed, "excess": excess, "epsilon": epsilon, "tuning": tuning}
    return FACTS | own | more


LINES = [
    line(NON_PRIVATE, 0, [0.1], None),
    line(NON_PRIVATE, 1, [0.3], None),
    line(OURS, 0, [0.5], covered=9, intervals=10),
    line(OURS, 1, [0.7], covered=10, intervals=10),
    line(RIVAL, 0, [0.2, 0.4, None], tuning="oracle-tuned", grid=1),
    line(RIVAL, 1, [0.9, 0.4, 0.1], tuning="oracle-tuned", grid=1),
    line("DP-GD, untuned", 0, [None], tuning="untuned"),
    line("DP-GD, untuned", 1, [3.0], tuning="untuned"),
    line("AdaSSP, given scales", 0, [0.55], tuning="given scales"),
    line("AdaSSP, given scales", 1, [0.66], tuning="given scales"),
    line("broken", 0, [], error="ValueError: no", tuning="untuned"),
]


def make_cell():
    (cell,) = cells.gather(LINES)
    return cell


def test_an_oracle_takes_the_setting_with_the_best_mean():
    assert make_cell().excess[RIVAL] == pytest.approx([0.4, 0.4])


def test_each_seed_may_be_given_the_setting_that_was_best_on_the_others():
    cell = make_cell()
    assert list(cell.elsewhere) == [math.inf, 0.9]  # the third of seed 1, the first of seed 0
    table = [[1.0, 2.0, 9.0], [1.0, 2.0, 9.0], [8.0, 2.0, 0.0]]
    group = [line(RIVAL, seed, row) for seed, row in enumerate(table)]
    assert list(cells.choose(group)) == [2.0, 2.0, 2.0]
    assert list(cells.choose_elsewhere(group)) == [2.0, 2.0, 8.0]
    assert cells.choose_elsewhere(group[:1]) is None
    assert cells.choose_elsewhere([line(RIVAL, seed, [1.0]) for seed in range(3)]) is None


def test_lines_of_an_older_grid_are_left_out():
    old = line(RIVAL, 2, [0.0, 0.0], tuning="oracle-tuned", grid=2)
    group = [old, *(one for one in LINES if one["method"] == RIVAL)]
    assert cells.choose(group) == pytest.approx([0.4, 0.4])


def test_ratios_are_of_means():
    cell = make_cell()
    assert cell.ratio() == pytest.approx(0.6 / 0.4)
    assert cell.ratio(NON_PRIVATE) == pytest.approx(0.6 / 0.2)
    assert math.isnan(cell.ratio("nobody"))
    assert cell.best("oracle-tuned") == RIVAL
    assert cell.best("nothing") is None


@pytest.mark.parametrize(
    ("ours", "theirs", "level", "far"),
    [
        (0.51, 0.4, True, False),  # 1.25 * 0.4 + 0.01 * 2 = 0.52
        (0.53, 0.4, False, False),
        (1.05, 0.4, False, True),
        (0.019, -0.4, True, False),  # nobody is asked to be below zero
        (0.021, -0.4, False, False),
    ],
)
def test_the_bound_is_a_quarter_more_and_a_hundredth_of_the_gap(ours, theirs, level, far):
    cell = Cell("public", "T1", "squared", 100, 1, 1.0, gap=2.0)
    cell.excess = {OURS: np.array([ours, ours]), RIVAL: np.array([theirs, theirs])}
    cell.tuning = {OURS: "ours", RIVAL: "oracle-tuned"}
    assert (cell.level(), cell.far()) == (level, far)


def test_better_means_beyond_the_noise_of_the_seeds():
    cell = make_cell()
    assert cell.beats("DP-GD, untuned") == 1  # it failed once
    assert cell.beats("AdaSSP, given scales") == 0
    cell.excess[OURS] = np.array([1.0, 1.01])
    assert cell.beats("AdaSSP, given scales") == -1
    cell.excess[OURS] = np.array([0.01, 0.02])
    assert cell.beats("AdaSSP, given scales") == 1


@pytest.mark.parametrize(
    ("values", "level", "expected"),
    [
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([1.0, 2.0, math.inf], 0.9, math.inf),
        ([1.0, math.nan, 2.0, 3.0, 4.0], 0.5, 2.0),
    ],
)
def test_quantiles_are_values_that_were_seen(values, level, expected):
    assert cells.quantile(values, level) == expected


def test_the_summary_counts():
    summary = cells.summarise("public", cells.gather(LINES))
    assert (summary.cells, summary.untuned_won, summary.untuned_even) == (1, 1, 1)
    assert summary.ratio_median == pytest.approx(1.5)
    assert summary.level == 0.0


def test_coverage_counts_intervals():
    assert cells.coverage(LINES) == (19 / 20, 20, 2)
    assert cells.coverage(LINES, n_rows=10**6)[1:] == (0, 0)


def test_coverage_by_family():
    facts = {"epsilon": 1.0, "n": 30_000, "covered": 9, "intervals": 10, "coefficients": 12}
    lines = [{"task": task, **facts} for task in ("K01", "K02", "M01")]
    lines += [{"task": "K03", **facts, "n": 300}, {"task": "K04", "epsilon": 1.0, "n": 30_000}]
    assert cells.family_coverage(lines) == {"K": (24, 20, 18), "M": (12, 10, 9)}
    (table,) = report.family_table(lines)
    assert "| K | 24 | 83% | 90.0% |" in table
    assert report.family_table(lines[:2]) == []


def test_the_report_is_written(tmp_path):
    (summary,) = report.write(tmp_path, LINES, cells.gather(LINES))
    page = (tmp_path / "accuracy.md").read_text()
    assert "| T1 | squared | 30000 | 3 | 1 | 300 | 1.5 | 200 |" in page
    assert "95.0% of 20 coefficients in 2 fits" in page
    assert "- broken: ValueError: no" in page
    table = (tmp_path / "accuracy.csv").read_text().splitlines()
    assert f"public,T1,squared,30000,3,1.0,{OURS},ours,2,0.6,0.5,0.5,0.7,nan,2" in table
    assert f"{summary.ratio_median}" in (tmp_path / "summary.csv").read_text()


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, ""), (None, ""), (math.inf, "fails"), (123456.0, "1e5"), (0.01234, "0.0123")],
)
def test_numbers_are_short(value, text):
    assert report.number(value) == text
