"""The runner: what is done is not done again, and order changes nothing."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from accuracy import figure, methods, runner
from accuracy.cells import NON_PRIVATE, OURS, gather
from accuracy.data import Data
from accuracy.library import library
from accuracy.lines import generator, read
from accuracy.methods import Method
from accuracy.runner import Options
from accuracy.suites import Suite
from accuracy.tasks import Task, Trial, finite

TRUTH = np.array([1.0, -2.0])


def small_task(name):
    def trial(seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 2))
        excess = finite(lambda coef, _: np.sum((coef - TRUTH) ** 2))
        target = X @ TRUTH + rng.standard_normal(300)
        return Trial(X, target, excess, 5.0, (TRUTH, 0.0))

    return Task(name, "public", "squared", 300, 2, False, trial)


@pytest.fixture
def suite(monkeypatch):
    found = Suite("public", [small_task("A"), small_task("B")], 2, "Small tasks.")
    monkeypatch.setattr(runner, "make_suite", lambda *_, **__: found)
    return found


def run(suite, path, **more):
    options = Options(epsilons=(1.0, 4.0), **more)
    runner.run(suite, path, options, n_seeds=2)
    return read(path)


def without_times(lines):
    kept = [{key: value for key, value in line.items() if key != "seconds"} for line in lines]
    return sorted(json.dumps(line, sort_keys=True) for line in kept)


def test_tasks_of_more_cells_than_asked_are_left_out(suite, tmp_path):
    suite.tasks[1] = replace(suite.tasks[1], n_features=3)
    lines = run(suite, tmp_path / "some.jsonl", methods=("AdaSSP",), most_cells=2 * 300)
    assert {line["task"] for line in lines} == {"A"}


@pytest.mark.long
def test_a_run_is_resumed_and_repeats_itself(suite, tmp_path):
    lines = run(suite, tmp_path / "all.jsonl")
    assert len(lines) == 2 * 2 * (1 + 2 * 9)
    assert run(suite, tmp_path / "all.jsonl") == lines
    part = tmp_path / "part.jsonl"
    run(suite, part, methods=("AdaSSP",), tasks=("B",))
    cut = part.read_text()[:-40]
    part.write_text(cut + "\n")
    assert without_times(run(suite, part)) == without_times(lines)


def test_lines_of_an_earlier_family_are_not_gone_on_with(suite, tmp_path):
    path = tmp_path / "all.jsonl"
    lines = run(suite, path, methods=("AdaSSP",))
    path.write_text(json.dumps(lines[0] | {"n": 299}) + "\n")
    with pytest.raises(SystemExit, match="A of 299 records and 2 columns, not 300 and 2"):
        run(suite, path, methods=("AdaSSP",))


def test_every_method_is_judged(suite, tmp_path):
    lines = run(suite, tmp_path / "lines.jsonl", tasks=("A",))
    assert {line.get("library") for line in lines if line["method"] == OURS} == {library()}
    assert {line["method"] for line in lines if "library" in line} == {OURS}
    cells = gather(lines)
    assert [cell.epsilon for cell in cells] == [1.0, 4.0]
    names = {method.key for method in methods.METHODS if "squared" in method.losses}
    assert set(cells[0].excess) == {*names, NON_PRIVATE}
    assert all(len(values) == 2 for values in cells[0].excess.values())
    figure.draw(cells, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_an_error_is_a_line_and_is_tried_again(suite, tmp_path, monkeypatch):
    calls = []

    def fails(data, rng):
        calls.append(data.epsilon)
        raise ValueError("no")

    monkeypatch.setattr(runner, "METHODS", (Method("bad", "untuned", ("squared",), fails),))
    path = tmp_path / "lines.jsonl"
    found = [line for line in run(suite, path) if line["method"] == "bad, untuned"]
    assert {line["error"] for line in found} == {"ValueError: no"}
    run(suite, path)
    assert len(calls) == 16


def test_seeds_depend_on_names_alone():
    one, same, other = (generator("T1", *words) for words in ((1, 0.5), (1, 0.5), (1, 1.0)))
    assert one.random() == same.random()
    assert one.random() != other.random()


def test_coverage_needs_intervals_and_a_truth():
    truth = (TRUTH, 3.0)
    wide = SimpleNamespace(conf_int=lambda level: [[0, 2], [-1, 0], [-np.inf, np.inf]])
    broken = SimpleNamespace(conf_int=lambda level: 1 / 0)
    assert runner.coverage(wide, truth) == {"covered": 1, "intervals": 2, "coefficients": 3}
    assert runner.coverage(wide, None) == {}
    assert "ZeroDivisionError" in runner.coverage(broken, truth)["no_intervals"]
    assert runner.coverage(object(), truth) == {}


def test_oracle_tuned_descent_finds_a_good_setting(suite):
    task = suite.tasks[0]
    trial = task.trial(0)
    fits = methods.descent_grid(Data(task, trial, 1e6), generator("x"))
    assert len(fits) == 8 * 7 * 4 * 2
    assert min(trial.excess(*fit) for fit in fits.values()) < 0.02
    assert OURS in {method.key for method in methods.METHODS}
