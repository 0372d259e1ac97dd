"""Public, laboratory and real tasks: what they are and how they are judged."""

import numpy as np
import pandas as pd
import pytest

from accuracy import laboratory, local_oracle, public, real, suites
from accuracy.optimum import huber, minimise
from accuracy.peers import budget


def test_labels_of_t2_have_the_chance_that_is_stated():
    X, y = public.draw_t2(np.random.default_rng(0), 400_000)
    chance = public.chance_t2(X)
    for low in np.arange(0.0, 1.0, 0.2):
        here = (chance >= low) & (chance < low + 0.2)
        assert abs(y[here].mean() - chance[here].mean()) < 5 * 0.5 / np.sqrt(here.sum())


def test_the_excess_of_t1_is_the_squared_error_on_its_ball():
    excess, gap, (truth, _) = public.population("T1")
    assert gap == pytest.approx(1.0)
    assert excess(truth, 0.0) == 0.0
    assert excess(100 * truth, 0.0) == pytest.approx(1.0)  # projected to norm 2


def test_paired_excess_is_zero_for_the_best_fit():
    rng = np.random.default_rng(1)
    X, test = rng.standard_normal((2, 500, 3))
    y, y_test = (rows @ [1.0, 2.0, 3.0] + rng.standard_normal(500) for rows in (X, test))
    paired = public.paired_excess("squared", (X, y), (test, y_test), intercept=True)
    fits = minimise(X, y, "squared", intercept=True), huber(X, y, intercept=True)
    assert min(paired(*fit) for fit in fits) == 0.0
    assert paired(np.zeros(3), 0.0) > 5


def test_minimise_agrees_with_least_squares_far_from_zero():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((300, 2))
    y = Z @ [1.0, -1.0] + 0.1 * rng.standard_normal(300)
    X = np.array([1e6, 1e-6]) * (Z + np.array([50.0, -50.0]))
    coef, intercept = minimise(X, y, "squared", intercept=True)
    best, *_ = np.linalg.lstsq(np.column_stack([Z, np.ones(300)]), y, rcond=None)
    assert coef * [1e6, 1e-6] == pytest.approx(best[:2], rel=1e-6)
    assert intercept + coef @ [5e7, -5e-5] == pytest.approx(best[2], abs=1e-6)


def test_laboratory_tasks_lose_nothing_at_their_truth():
    trial = laboratory.laboratory_task("L3", 1000).trial(0)
    assert trial.excess(*trial.truth) == 0.0
    assert trial.constant_gap == pytest.approx(14.9, abs=0.1)


@pytest.mark.long
def test_the_local_oracle_reaches_its_published_figures_on_l1():
    # 1.19e-3 and 5.93e-4 at epsilon 0.1 and 1.
    figures = [local_oracle.local_oracle("L1", budget(eps, 1e5**-1.1)) for eps in (0.1, 1.0)]
    assert figures == pytest.approx([1.19e-3, 5.93e-4], rel=0.02)


def test_an_unclipped_score_reaches_the_efficiency_of_least_squares():
    terms = local_oracle.terms_of(
        np.random.default_rng(3).standard_normal((50_000, 4)),
        1.0,
        np.random.default_rng(4).standard_normal(50_000),
        np.ones(50_000),
    )
    assert terms.variance == pytest.approx(4 / 2, rel=0.05)
    assert terms.noise == pytest.approx(4.0 * 4 / 2, rel=0.05)


def write_table(folder):
    rng = np.random.default_rng(5)
    size = rng.lognormal(size=200)
    colour = np.array(["red", "blue"])[rng.integers(2, size=200)]
    table = pd.DataFrame(
        {
            "id": np.arange(200),
            "price": 3.0 * size + (colour == "red") + 0.1 * rng.standard_normal(200),
            "size": np.where(np.arange(200) < 10, np.nan, size),
            "colour": colour,
        }
    )
    table.to_parquet(folder / "houses.parquet")
    return real.RealSet("houses", "squared", "price", None, ("id",))


def test_real_data_are_encoded_and_split(tmp_path):
    task = real.real_task(tmp_path, write_table(tmp_path))
    trial = task.trial(0)
    assert (task.n_rows, task.n_features) == (152, 2)  # four fifths of the 190 that are complete
    assert trial.excess(*minimise(trial.features, trial.target, "squared", intercept=True)) < 1e-3
    assert trial.constant_gap > 1.0
    assert trial.truth is None


def test_absent_data_are_left_out_with_a_sentence(tmp_path):
    suite = suites.make_suite("public", folder=str(tmp_path))
    assert [task.name for task in suite.tasks] == ["T1", "T2", "T3", "T4"]
    assert "has no randhie.parquet" in suite.words
    assert suites.make_suite("real").tasks == []
