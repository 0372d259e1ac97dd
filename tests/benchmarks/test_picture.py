"""The picture of the README: what it shows of lines, and that it is drawn."""

import csv
import json

import pytest

from accuracy import picture
from accuracy.cells import NON_PRIVATE, OURS


def line(task, method, excess, epsilon=1.0):
    """A line of a table whose constant loses 10 more than the best fit."""
    facts = {"suite": "tables", "loss": "squared", "n": 100, "d": 2, "seed": 0, "gap": 10.0}
    return facts | {
        "task": task, "epsilon": epsilon, "method": method, "tuning": "", "excess": excess,
    }  # fmt: skip


LINES = [
    line("A", NON_PRIVATE, [0.0], None),
    line("A", OURS, [1.0]),
    line("A", "DP-GD, oracle-tuned", [8.0, 4.0]),
    line("B", OURS, [1000.0]),
    line("B", "DP-GD, untuned", [1.0]),
]


def test_means_count_no_table_beyond_the_most_and_say_how_many_are_useless(tmp_path):
    (tmp_path / "lines").mkdir()
    text = "\n".join(json.dumps(each) for each in LINES)
    (tmp_path / "lines" / "tables.jsonl").write_text(text)
    picture.main([f"--results={tmp_path}"])
    with (tmp_path / "tables.csv").open() as kept:
        rows = {row["method"]: row for row in csv.DictReader(kept)}
    assert float(rows[OURS]["mean"]) == pytest.approx((0.1 + picture.MOST) / 2.0)
    assert (rows[OURS]["tables"], rows[OURS]["worse_than_constant"]) == ("2", "1")
    assert float(rows["DP-GD, oracle-tuned"]["mean"]) == pytest.approx(0.4)  # the best setting
    assert float(rows[NON_PRIVATE]["mean"]) == 0.0
    assert "DP-GD, untuned" not in rows
    assert (tmp_path / "tables.png").stat().st_size > 5_000
