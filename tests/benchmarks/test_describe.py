"""The comparison of descriptions: rivals near the truth, pieces kept, and fair verdicts."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bench_describe as bench
import describe_rivals as rivals
from tailguard.privacy.accounting.gaussian import epsilon_of

EPSILONS = [1.0]


@pytest.mark.parametrize("name", rivals.installed())
def test_a_rival_with_much_budget_is_near_the_truth(name):
    values = np.sort(np.random.default_rng(0).exponential(size=5_000))
    found = np.array(rivals.RIVALS[name](values)(0.5, np.random.default_rng(1)))
    exact = bench.statistics(values)
    known = np.isfinite(found)
    assert known[:5].all()
    assert (np.abs(found - exact)[known] < 0.05 * bench.unit_of(values)).all()


@pytest.mark.parametrize(("name", "statistics"), [("exponential", [2]), ("tree", [1, 5])])
def test_a_rival_errs_twice_as_much_with_a_quarter_of_the_budget(name, statistics):
    answer = rivals.RIVALS[name](np.sort(np.random.default_rng(0).normal(size=2_000)))
    rng = np.random.default_rng(2)
    draws = np.array([[answer(rho, rng)[:6] for _ in range(150)] for rho in (4e-3, 1e-3)])
    more, less = draws.std(axis=1)[:, statistics]
    assert ((less > 1.6 * more) & (less < 2.5 * more)).all()


def test_a_constant_column_is_told_as_it_is():
    for name in ("exponential", "tree"):
        found = rivals.RIVALS[name](np.full(100, 3.7))(0.1, np.random.default_rng(0))
        np.testing.assert_allclose(found[:6], 3.7)


def test_the_epsilon_of_a_release_is_that_of_its_delta():
    for mu in (0.02, 0.3, 2.0):
        assert rivals.epsilon_of(mu) == pytest.approx(epsilon_of(mu, rivals.DELTA), rel=1e-6)


def test_a_piece_is_measured_once_and_again_for_more_draws(tmp_path, monkeypatch):
    path, asked = Path("400"), []
    whole = bench.piece
    monkeypatch.setattr(bench, "piece", lambda *told: asked.append(told) or whole(*told))
    first = bench.measured(path, "tree", EPSILONS, 2, tmp_path)
    again = bench.measured(path, "tree", EPSILONS, 2, tmp_path)
    assert len(asked) == 1
    pd.testing.assert_frame_equal(first, again)
    bench.measured(path, "tree", EPSILONS, 3, tmp_path)
    bench.measured(path, "tree", [3.0], 3, tmp_path)
    assert len(asked) == 3
    assert [each.name for each in tmp_path.iterdir()] == ["400.tree.csv"]


def test_a_piece_of_ours_counts_intervals(tmp_path):
    found = bench.piece(Path("2000"), bench.OURS, [3.0], 2)
    told = found.groupby("statistic")[["held", "given"]].sum()
    assert (told["held"] <= told["given"]).all()
    assert told.loc["50%", "given"] == 18
    assert told.loc["std", "given"] == 0


@pytest.mark.parametrize(("n_hidden", "error"), [(2, 0.25), (3, math.inf), (5, math.nan)])
def test_a_hidden_draw_counts_as_infinite(n_hidden, error, monkeypatch):
    """One hidden draw of ten made a cell hidden."""

    def answered(table, columns, exact, epsilons, n_draws):
        units = [[bench.unit_of(column)] * exact.shape[1] for column in columns]
        answers = np.tile(exact + 0.25 * np.array(units), (1, n_draws, 1, 1))
        answers[:, :n_hidden] = math.nan
        return answers, 0, 0

    monkeypatch.setattr(bench, "by_us", answered)
    found = bench.piece(Path("400"), bench.OURS, EPSILONS, 5)
    assert (found["hidden"] == n_hidden).all()
    np.testing.assert_allclose(found["error"], error, rtol=1e-3)


def cells(ours, theirs, spread=0.0):
    """One cell, of two methods."""
    facts = {"table": "a", "n": 9, "d": 1, "epsilon": 1.0, "column": "x", "statistic": "mean"}
    rows = [{"name": bench.OURS, "error": ours}, {"name": "tree", "error": theirs}]
    return pd.DataFrame(
        [{**facts, **row, "spread": spread, "hidden": 0, "draws": 3} for row in rows]
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "spread", "verdict"),
    [
        (1.0, 2.0, 0.0, (True, True, False)),
        (2.0, 1.0, 0.0, (False, False, False)),
        (2.0, 1.0, 0.4, (False, True, False)),
        (2.0, 1.0, 0.3, (False, False, False)),
        (math.nan, 1.0, 0.0, (False, False, True)),
    ],
)
def test_a_cell_is_better_level_or_hidden(ours, theirs, spread, verdict):
    (row,) = bench.judged(cells(ours, theirs, spread))[bench.VERDICTS[:3]].to_numpy().tolist()
    assert tuple(row) == verdict


def test_a_cell_that_a_rival_has_not_is_not_judged():
    assert bench.judged(cells(1.0, math.nan)).empty


def test_shared_errors_are_of_tables_that_all_have_and_leave_out_what_a_method_has_not():
    alone = cells(1.0, 2.0)
    shared = pd.concat([cells(3.0, math.nan), cells(math.nan, 5.0).assign(statistic="50%")])
    both = pd.concat([alone[:1], shared.assign(table="b")])
    found = bench.shared_errors(both)
    assert found.to_dict() == {
        (bench.OURS, 1.0, "50%"): math.inf,
        (bench.OURS, 1.0, "mean"): 3.0,
        ("tree", 1.0, "50%"): 5.0,
    }


def test_a_method_that_was_hardly_asked_leaves_shared_errors_alone():
    tables = pd.concat([cells(float(place), 2.0).assign(table=place) for place in range(20)])
    rare = cells(1.0, 2.0)[1:].assign(table=0, name="rare")
    found = bench.shared_errors(pd.concat([tables, rare]))
    assert found.to_dict() == {(bench.OURS, 1.0, "mean"): 9.0, ("tree", 1.0, "mean"): 2.0}
