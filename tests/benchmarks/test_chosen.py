"""What is kept gives the same table as all lines, and a run of one suite changes no other."""

import json

from accuracy import cells, chosen
from accuracy.__main__ import write_report
from accuracy.cells import NON_PRIVATE, OURS, RIVAL
from benchmarks.test_cells import line

LINES = [
    line(NON_PRIVATE, 0, [0.1], None, paired=[0.2]),
    line(NON_PRIVATE, 1, [0.3], None, paired=[0.1]),
    line(OURS, 0, [0.5]),
    line(OURS, 1, [0.7]),
    line(RIVAL, 5, [0.0, 0.0], tuning="oracle-tuned", grid=2),
    line(RIVAL, 0, [0.2, 0.4, None], tuning="oracle-tuned", grid=1),
    line(RIVAL, 1, [0.9, 0.3, 0.1], tuning="oracle-tuned", grid=1),
    line("DP-GD, untuned", 0, [None], tuning="untuned"),
    line("DP-GD, untuned", 1, [3.0], tuning="untuned"),
    line("broken", 0, [], error="ValueError: no", tuning="untuned"),
]
OWN = [one for one in LINES if one["method"] == OURS]


def filled(tmp_path, lines):
    return chosen.fill(lines, chosen.read(tmp_path))


def test_a_table_of_our_lines_and_what_was_kept_is_that_of_all_lines(tmp_path):
    chosen.write(tmp_path, LINES)
    (whole,) = cells.gather(LINES)
    (again,) = cells.gather(filled(tmp_path, OWN))
    assert again.tuning == whole.tuning
    assert list(again.elsewhere) == list(whole.elsewhere) == [float("inf"), 0.9]
    assert {name: list(map(float, x)) for name, x in again.excess.items()} == {
        name: list(map(float, x)) for name, x in whole.excess.items()
    }


def test_one_setting_of_each_method_is_kept_and_no_failure(tmp_path):
    chosen.write(tmp_path, LINES)
    kept = chosen.read(tmp_path)
    assert {one["method"] for one in kept} >= {OURS, RIVAL, NON_PRIVATE}
    assert "broken" not in {one["method"] for one in kept}
    assert all(len(one["excess"]) == 1 for one in kept)


def test_ours_of_a_suite_that_was_not_run_stays_with_its_library(tmp_path):
    elsewhere = [one | {"suite": "real", "library": "0.1.0 at abc"} for one in OWN]
    chosen.write(tmp_path, LINES + elsewhere)
    again = [one | {"library": "0.2.0"} for one in OWN]
    chosen.write(tmp_path, filled(tmp_path, again))
    of = {cell.suite: cell.library for cell in cells.gather(filled(tmp_path, []))}
    assert of == {"public": "0.2.0", "real": "0.1.0 at abc"}


def test_a_new_run_of_a_suite_replaces_all_of_ours_in_it(tmp_path):
    """Also where it left out a task, so that a suite is of one library."""
    chosen.write(tmp_path, LINES)
    other = [one | {"task": "T2"} for one in OWN]
    assert filled(tmp_path, other) == other
    newer = [line(RIVAL, seed, [7.0], tuning="oracle-tuned") for seed in range(2)]
    assert [one for one in filled(tmp_path, other + newer) if one["method"] == OURS] == other
    chosen.write(tmp_path, filled(tmp_path, other))
    kept = chosen.read(tmp_path)
    assert {one["task"] for one in kept if one["method"] == OURS} == {"T2"}
    assert {one["task"] for one in kept if one["method"] == RIVAL} == {"T1"}


def test_lines_come_before_what_was_kept_and_replace_it(tmp_path):
    chosen.write(tmp_path, LINES)
    newer = [line(RIVAL, seed, [7.0], tuning="oracle-tuned") for seed in range(2)]
    (cell,) = cells.gather(filled(tmp_path, OWN + newer))
    assert cell.mean(RIVAL) == 7.0
    chosen.write(tmp_path, filled(tmp_path, OWN + newer))
    (cell,) = cells.gather(filled(tmp_path, OWN))
    assert cell.mean(RIVAL) == 7.0
    assert cell.mean(NON_PRIVATE) > 0.0


def test_nothing_is_filled_into_other_tasks_budgets_or_families(tmp_path):
    chosen.write(tmp_path, LINES)
    for other in ({"task": "T2"}, {"n": 77}):
        lines = [one | other for one in OWN]
        assert filled(tmp_path, lines) == lines
    elsewhere = [one | {"suite": "real"} for one in OWN]
    assert {one["suite"] for one in filled(tmp_path, elsewhere)[2:]} == {"public"}
    budget = [one | {"epsilon": 4.0} for one in OWN]
    added = filled(tmp_path, budget)[len(budget) :]
    assert {one["method"] for one in added} == {NON_PRIVATE}


def test_nothing_is_kept_where_nothing_was_run(tmp_path):
    assert chosen.read(tmp_path) == []
    assert chosen.fill(OWN, []) == OWN


def test_a_report_of_our_lines_compares_them_with_what_was_kept(tmp_path):
    chosen.write(tmp_path, LINES)
    path = tmp_path / "lines" / "public.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(one) + "\n" for one in OWN))
    write_report(tmp_path)
    assert (
        "| T1 | squared | 30000 | 3 | 1 | 300 | 1.71 | 175 |"
        in (tmp_path / "accuracy.md").read_text()
    )
    assert RIVAL in {one["method"] for one in chosen.read(tmp_path)}
    names = ("accuracy.md", "accuracy.csv", "summary.csv", chosen.FILE)
    written = [(tmp_path / name).read_bytes() for name in names]
    path.unlink()
    write_report(tmp_path)
    assert [(tmp_path / name).read_bytes() for name in names] == written
