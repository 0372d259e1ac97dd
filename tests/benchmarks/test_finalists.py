"""Oracles run their full grid on the first seeds, and their best settings on later ones."""

import numpy as np
import pytest

from accuracy import finalists, methods, report, runner
from accuracy.cells import gather
from accuracy.data import Data
from accuracy.finalists import FULL_SEEDS
from accuracy.lines import generator, grid_mark, read
from accuracy.methods import METHODS, Method
from accuracy.runner import Options
from accuracy.suites import Suite, seed_of
from accuracy.tasks import Task, Trial, finite

N_SEEDS, N_SETTINGS, KEY = 4, 6, "toy, oracle-tuned"
SEEDS = [seed_of("public", place) for place in range(N_SEEDS)]
GRIDS = [method for method in METHODS if method.settings]


def small_task(name="A", loss="squared"):
    def trial(seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 2))
        score = X @ [1.0, -2.0]
        target = score + rng.standard_normal(300) if loss == "squared" else (score > 0) * 1.0
        return Trial(X, target, finite(lambda coef, _: coef[0]), 5.0)

    return Task(name, "public", loss, 300, 2, False, trial)


class Toy:
    """A grid whose excess is looked up; remembers what it was asked for."""

    def __init__(self, table):
        self.table, self.asked = np.array(table, dtype=float), []

    def settings(self, data):
        return {f"setting {place}": (place,) for place in range(self.table.shape[1])}

    def fit(self, data, rng, kept=None):
        self.asked.append(kept)
        excess = self.table[len(self.asked) - 1]
        return methods.run_grid(self.settings(data), kept, lambda place: (excess[[place]], 0.0))


# The last setting is the luckiest on the first two seeds but for the two that go on to the end.
TABLE = [
    [5.0, 1.0, 9.0, 1.2, np.inf, 2.0],
    [5.0, 1.0, 9.0, 1.2, 0.0, 2.0],
    [0.0, 3.0, 0.0, 1.5, 0.0, 0.0],
    [0.0, 3.0, 0.0, 1.6, 0.0, 0.0],
]


@pytest.fixture
def toy(monkeypatch):
    found = Toy(TABLE)
    monkeypatch.setattr(finalists, "FINALISTS", 2)
    method = Method("toy", "oracle-tuned", ("squared",), found.fit, found.settings)
    fixed = Method("fixed", "untuned", ("squared",), lambda *_: {"one": (np.ones(1), 0.0)})
    monkeypatch.setattr(runner, "METHODS", (method, fixed))
    suite = Suite("public", [small_task()], N_SEEDS, "One task.")
    monkeypatch.setattr(runner, "make_suite", lambda *_, **__: suite)
    found.suite = suite
    return found


def run(toy, path, n_seeds=N_SEEDS):
    runner.run(toy.suite, path, Options(epsilons=(1.0,)), n_seeds=n_seeds)
    return [line for line in read(path) if line["method"] == KEY]


def test_later_seeds_run_those_that_were_best_on_the_first(toy, tmp_path):
    lines = run(toy, tmp_path / "lines.jsonl")
    names = {"setting 1", "setting 3"}
    assert toy.asked == [None] * FULL_SEEDS + [names] * (N_SEEDS - FULL_SEEDS)
    assert [line["seed"] for line in lines] == SEEDS
    assert [line["excess"] for line in lines[FULL_SEEDS:]] == [
        [None, 3.0, None, 1.5, None, None],
        [None, 3.0, None, 1.6, None, None],
    ]
    assert lines[0]["excess"] == [5.0, 1.0, 9.0, 1.2, None, 2.0]  # infinite, and not left out
    assert len({line["grid"] for line in lines}) == 1


def test_the_oracle_takes_a_finalist_by_all_seeds(toy, tmp_path):
    path = tmp_path / "lines.jsonl"
    run(toy, path)
    (cell,) = gather(read(path))
    assert cell.excess[KEY].tolist() == [1.2, 1.2, 1.5, 1.6]  # setting 1 was better on two seeds
    assert cell.excess["fixed, untuned"].tolist() == [1.0] * N_SEEDS
    report.write(tmp_path, read(path), [cell])
    page = (tmp_path / "accuracy.md").read_text()
    assert "## Errors" not in page
    assert "fails" not in page


def test_what_was_run_is_not_run_again(toy, tmp_path):
    path = tmp_path / "lines.jsonl"
    run(toy, path, n_seeds=1)
    run(toy, path, n_seeds=3)
    text = path.read_text()
    run(toy, path, n_seeds=3)
    assert path.read_text() == text
    run(toy, path)
    assert path.read_text().startswith(text)
    assert len(toy.asked) == N_SEEDS
    assert toy.asked[2] == toy.asked[3] == {"setting 1", "setting 3"}


def test_later_seeds_wait_for_first_ones_that_failed(toy, tmp_path, monkeypatch):
    path = tmp_path / "lines.jsonl"
    fit = toy.fit
    failing = Method("toy", "oracle-tuned", ("squared",), lambda *_, **__: 1 / 0, toy.settings)
    monkeypatch.setattr(runner, "METHODS", (failing, *runner.METHODS[1:]))
    lines = run(toy, path)
    assert [line["seed"] for line in lines] == SEEDS[:FULL_SEEDS]
    assert all("ZeroDivisionError" in line["error"] for line in lines)
    assert len(read(path)) == FULL_SEEDS + 2 * N_SEEDS  # the others went on
    mended = Method("toy", "oracle-tuned", ("squared",), fit, toy.settings)
    monkeypatch.setattr(runner, "METHODS", (mended, *runner.METHODS[1:]))
    assert len(run(toy, path)) == FULL_SEEDS + N_SEEDS


def test_finalists_are_chosen_by_cell_and_of_one_grid():
    def line(seed, excess, epsilon=1.0, mark=7, **more):
        own = {"task": "A", "method": KEY, "epsilon": epsilon, "seed": seed, "grid": mark}
        return own | {"excess": excess} | more

    lines = [
        line(1, [3.0, 1.0]),
        line(2, [1.0, 2.0]),
        line(3, [0.0, 9.0]),
        line(1, [1.0, 2.0], epsilon=4.0, mark=8),
        line(2, [2.0, 1.0], epsilon=4.0),
        line(1, [1.0, 2.0], epsilon=0.1),
        line(2, [], epsilon=0.1, error="ValueError: no"),
    ]
    found = finalists.pick(lines, [1, 2])
    assert set(found) == {("A", 1.0, KEY), ("A", 4.0, KEY)}  # one first seed is missing at 0.1
    assert found["A", 1.0, KEY].grid == 7
    assert found["A", 1.0, KEY].places == {0, 1}  # the grid is smaller: all


def test_finalists_of_another_grid_stand_for_all():
    mine = finalists.Finalists(grid_mark(["a", "b", "c"]), frozenset({0, 2}))
    assert mine.among({"a": 1, "b": 2, "c": 3}) == {"a", "c"}
    assert mine.among(["a", "b"]) is None
    assert mine.among(["b", "a", "c"]) is None


@pytest.mark.parametrize("method", GRIDS, ids=lambda method: method.key)
def test_grids_run_what_is_kept_and_nothing_else(method, monkeypatch):
    data = Data(small_task(loss=method.losses[0]), small_task(loss=method.losses[0]).trial(0), 1.0)
    names = list(method.settings(data))
    full = method.fit(data, generator("x"))
    assert list(full) == names
    assert None not in full.values()
    calls = []
    for name in ("descents", "adassp", "boosted_adassp", "objective_perturbation"):
        original = getattr(methods.peers, name)

        def counted(*words, original=original, **more):
            calls.append(more)
            return original(*words, **more)

        monkeypatch.setattr(methods.peers, name, counted)
    kept = {names[1], names[-1]}
    part = method.fit(data, generator("x"), kept=kept)
    assert list(part) == names
    assert {name for name, fit in part.items() if fit is not None} == kept
    assert all(np.isfinite(part[name][0]).all() for name in kept)
    assert len(calls) == 2
    if method.name == "DP-GD":
        assert [(call["n_steps"], len(call["clips"]), len(call["sizes"])) for call in calls] == [
            (5, 1, 1),
            (300, 1, 1),
        ]


def test_a_later_seed_without_finalists_leaves_the_grid_out(toy):
    unit = runner.Unit("public", 0, SEEDS[2], Options(epsilons=(1.0,)), frozenset(), {})
    assert [line["method"] for line in runner.run_unit(unit)] == ["non-private", "fixed, untuned"]
    assert not toy.asked
