"""``tailguard reproduce rates``: tables, a file, and a word on what it is not."""

import csv

import pytest

from tailguard.cli.commands import reproduce
from tailguard.reproduce.rates import Effort, experiments


@pytest.fixture
def small(monkeypatch):
    """Two methods, three seeds."""
    effort = Effort(n_points=2, n_seeds=3, n_orders=1)
    monkeypatch.setattr(reproduce, "QUICK", effort)
    monkeypatch.setattr(
        reproduce, "experiments", lambda effort: experiments(effort, ["soft", "clamped-pure"])
    )


def test_it_prints_a_table_a_method_and_writes_a_file(call, small, tmp_path):
    path = tmp_path / "rates.csv"
    answer = call("reproduce", "rates", "--quick", "--out", path)
    assert (answer.code, answer.err) == (0, "")
    for part in ("soft (NON-PRIVATE simulation)", "clamped-pure (NON-PRIVATE", "student-t", "±"):
        assert part in answer.out
    assert "NON-PRIVATE simulation: records are simulated" in " ".join(answer.out.split())
    assert [line for line in answer.out.splitlines() if len(line) > 80] == []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["soft"] * 4 + ["clamped-pure"] * 4
    assert all(float(row["low"]) <= float(row["measured"]) <= float(row["high"]) for row in rows)


def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(call, tmp_path):
    answer = call("reproduce", "rates", "--out", tmp_path / "none" / "rates.csv")
    assert answer.code == 2
    assert answer.err.startswith("Error: --out must be a file in a writable directory")


def test_the_help_says_what_it_does(call):
    assert "rates" in call("reproduce", "--help").out
    assert "predict" in call("reproduce", "rates", "--help").out
