"""Runs resume, refusals are kept, verdicts replace those of earlier runs."""

from dataclasses import replace

import pytest

from papers.reproduce.toys import level, toy
from tailguard.checks import InputError
from tailguard.papers.reproduce.experiment import Setup
from tailguard.papers.reproduce.report import judge_claims, keep_verdicts, read_verdicts, refusals
from tailguard.papers.reproduce.results import Results
from tailguard.papers.reproduce.runner import (
    all_experiments,
    by_paper,
    check_data,
    find_experiments,
    lines_path,
    run_experiment,
)

QUICK = Setup(quick=True)


def test_what_has_a_line_is_not_run_again(tmp_path):
    first = run_experiment(toy(), QUICK, tmp_path)
    assert len(first) == 4 * 2
    path = lines_path(tmp_path, toy(), QUICK)
    text = path.read_text()
    path.write_text(text + '\n{"cell": "cut off')
    told = []
    again = run_experiment(toy(), QUICK, tmp_path, progress=lambda *counts: told.append(counts))
    assert again == first
    assert told == [(8, 8)]


def test_what_is_missing_is_run_and_what_is_no_cell_any_more_is_left_out(tmp_path):
    run_experiment(toy(), QUICK, tmp_path)
    more = replace(toy(), cells=lambda setup: [level("third", "tight", 0.5)])
    found = run_experiment(more, QUICK, tmp_path)
    assert {line.cell for line in found} == {"third, tight"}


@pytest.mark.long
def test_processes_change_nothing(tmp_path):
    (table,) = find_experiments("zhao2024-table")
    found = [
        run_experiment(table, QUICK, tmp_path / str(n_jobs), n_jobs=n_jobs) for n_jobs in (1, 2)
    ]
    assert [line.points for line in found[0]] == [line.points for line in found[1]]
    assert len(found[0]) == len(table.cells(QUICK))


def test_refusals_are_told_once(tmp_path):
    lines = run_experiment(toy(), QUICK, tmp_path)
    assert refusals(lines) == ["refused: n_rows must be above 5; got 3."]


def test_verdicts_say_that_a_claim_does_not_hold_and_why(tmp_path):
    lines = run_experiment(toy(), Setup(), tmp_path)
    found = Results(point for line in lines for point in line.points)
    (verdict,) = judge_claims(toy(), found, Setup())
    assert verdict.outcomes == ("does not hold", "holds")
    assert verdict.reason == "It is noisier."
    path = tmp_path / "claims.csv"
    old = replace(verdict, experiment="other")
    stale = replace(verdict, claim="of an earlier run")
    gone = replace(verdict, experiment="gone")
    keep_verdicts(path, [old, stale, gone], ["other", "toy", "gone"])
    keep_verdicts(path, [verdict], ["toy", "other"])
    assert read_verdicts(path) == [verdict, old]


@pytest.mark.parametrize("folder", [None, "empty"])
def test_missing_data_is_one_sentence(tmp_path, folder):
    setup = Setup(data=tmp_path if folder else None)
    with pytest.raises(InputError, match=r"--data must be a folder with a8a\.parquet for needy"):
        check_data(toy("needy", data=("a8a",)), setup)


def test_names_are_unique_and_every_claim_has_words():
    names = [experiment.name for experiment in all_experiments()]
    assert len(set(names)) == len(names)
    assert not {*names} & (by_paper().keys() - {"rates", "ranking", "lower-bounds"})
    for experiment in all_experiments():
        claims = [claim.name for claim in experiment.claims]
        assert claims
        assert len(set(claims)) == len(claims)
        assert all(claim.says for claim in experiment.claims)
