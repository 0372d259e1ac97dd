"""The benchmark of the papers' methods: its tasks, its optima, its pairs and its tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tailguard as tg
from papers import again, cells, figure, methods, noise, report, rivals, runner, support
from papers import tasks as of_papers
from papers.methods import METHODS, PAPER, TIGHT
from papers.sets import SETS, available
from tailguard.reproduce.tasks.optimum import Objective, minimise_over

RIDGE, LOGISTIC = of_papers.synthetic_tasks(quick=True)
BY_KEY = {method.key: method for method in METHODS}


def test_the_optimum_over_a_ball_is_that_of_the_normal_equations_or_on_its_edge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4)) * [1.0, 2.0, 5.0, 0.3]
    y = X @ [0.1, -0.1, 0.05, 0.2] + rng.standard_normal(400)
    objective = Objective.of_records(tg.losses.Squared(), X, y, 0.1)
    inside = np.linalg.solve(X.T @ X / 400 + 0.1 * np.eye(4), X.T @ y / 400)
    found = minimise_over(objective, tg.sets.L2Ball(10.0), 4)
    np.testing.assert_allclose(found, inside, atol=1e-7)
    radius = np.linalg.norm(inside) / 2
    edge = minimise_over(objective, tg.sets.L2Ball(radius), 4)
    slope = objective.gradient(edge)
    assert np.linalg.norm(edge) == pytest.approx(radius)
    assert slope @ edge == pytest.approx(-np.linalg.norm(slope) * radius, rel=1e-6)


def test_the_optimum_over_an_l1_ball_satisfies_its_optimality_condition():
    rng = np.random.default_rng(1)
    X = (rng.random((500, 12)) < 0.3).astype(float)
    y = np.sign(X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(500))
    objective = Objective.of_records(tg.losses.LpLoss(4), X, y, 0.0)
    found = minimise_over(objective, tg.sets.L1Ball(1.0), 12)
    slope = objective.gradient(found)
    assert slope @ found - (-np.abs(slope).max()) <= 1e-6  # the gap of Frank and Wolfe


@pytest.mark.parametrize("task", [RIDGE, LOGISTIC], ids=lambda task: task.name)
def test_the_optimum_of_a_task_has_no_excess_and_all_else_some(task):
    assert task.excess(task.optimum) == 0.0
    rng = np.random.default_rng(2)
    for _ in range(20):
        point = task.constraint.project(rng.standard_normal(task.n_features))
        assert task.excess(point) > 0.0


def test_leaving_the_penalty_out_costs_next_to_nothing():
    """Solvers whose every step is noised have no place for it."""
    truth = of_papers.public.direction(10)
    assert RIDGE.excess(truth) < 1e-5
    free = Objective.of_records(tg.losses.Logistic(), *LOGISTIC.draw(0), 0.0)
    kept = LOGISTIC.sample_objective(*LOGISTIC.draw(0))
    weights = [minimise_over(each, LOGISTIC.constraint, 10) for each in (free, kept)]
    assert kept.value(weights[0]) - kept.value(weights[1]) < 1e-5


def test_the_stated_strong_convexity_of_the_logistic_risk_holds():
    assert LOGISTIC.known.strong_convexity <= of_papers.least_curvature()


def test_without_a_folder_every_real_set_is_left_out_with_a_sentence():
    found, words = of_papers.real_tasks(None)
    assert found == []
    assert len(words) == len(SETS)
    assert all("is left out" in sentence for sentence in words)


def test_real_sets_keep_their_own_split_and_labels(tmp_path):
    table = {"label": [-1, 1, 1, -1], "x1": [0, 1, 1, 0], "x2": [1, 0, 1, 1]}
    table["split"] = ["train", "train", "train", "test"]
    pd.DataFrame(table).to_parquet(tmp_path / "a8a.parquet")
    here, missing = available(tmp_path)
    assert [each.file for each in here] == ["a8a"]
    assert len(missing) == 2
    found, _ = of_papers.real_tasks(str(tmp_path))
    assert [task.name for task in found] == ["a8a l4", "a8a logistic"]
    X, y = found[0].draw(3)
    assert X.shape == (3, 2)
    assert y.tolist() == [-1.0, 1.0, 1.0]
    assert found[1].delta == pytest.approx(3**-1.1)


def test_every_theorem_of_the_papers_on_optimisation_is_run():
    called = {method.theorem for method in METHODS}
    assert len(called) == len(METHODS) == 17


@pytest.mark.parametrize("key", [m.key for m in METHODS if m.unprinted])
def test_printed_noise_is_left_out_only_where_it_is_refused(key):
    with pytest.raises(tg.InputError, match=r"unsafe_reproduction|prints no noise"):
        BY_KEY[key].build(RIDGE, 1.0, PAPER, n_rows=1_000_000)


@pytest.mark.parametrize("key", [m.key for m in METHODS if noise.compares(m)])
def test_the_noise_is_less_by_what_the_parameters_predict(key):
    ratio = noise.ratio_of(RIDGE, BY_KEY[key], 1.0)
    assert ratio.predicted > 1.0
    assert ratio.measured == pytest.approx(ratio.predicted, rel=0.02)


@pytest.mark.parametrize(
    ("key", "epsilon", "predicted"),
    [  # at delta = 1e-5: the cards' 13.572 / 3.7306, .6808417 / .5017812, 1.476
        ("X25 localised", 1.0, 13.572 / 3.7306),
        ("W20 soft", 1.0, 0.6808417499 / 0.5017812061),
        ("Z24 clipped", 1.0, 0.0696414 / 0.0471892),
    ],
)
def test_predicted_ratios_are_those_worked_out_by_hand(key, epsilon, predicted):
    task = of_papers.synthetic_tasks()[0]  # n = 1e5, delta = 1e-5
    spent = [BY_KEY[key].build(task, epsilon, name).spent.gaussian_mu() for name in (TIGHT, PAPER)]
    assert spent[0] / spent[1] == pytest.approx(predicted, rel=1e-3)


def test_steps_are_cut_to_the_most_of_the_task():
    theorem = BY_KEY["K22 soft"].build(RIDGE, 1.0)
    assert theorem.solver.n_steps == RIDGE.most_steps


def test_dp_sgd_without_noise_to_speak_of_finds_the_optimum():
    X, y = RIDGE.draw(0)
    weights = rivals.dp_sgd(RIDGE, 1e6, X, y, 0, (10.0, 10.0))
    assert RIDGE.excess(weights) < 0.05


def line(seed, excess, calibration=TIGHT, method="K22 soft"):
    facts = {"task": "W9 ridge", "n": 10, "d": 2, "epsilon": 1.0, "seed": seed}
    return facts | {"method": method, "calibration": calibration, "excess": excess}


def test_the_best_setting_is_the_one_of_the_least_median():
    lines = [line(0, [3.0, 1.0]), line(1, [0.0, 2.0]), line(2, [5.0, None])]
    (cell,) = cells.gather([*lines[:2], line(2, [5.0, 3.0])])
    assert cell.excess == {0: 1.0, 1: 2.0, 2: 3.0}
    assert cell.median == 2.0
    (cell,) = cells.gather(lines)
    assert cell.excess == {0: 1.0, 1: 2.0}  # the failed seed has no value


@pytest.mark.parametrize(("shift", "verdict"), [(-0.1, "better"), (0.1, "WORSE"), (0.0, "level")])
def test_a_comparison_is_paired_by_seed(shift, verdict):
    rng = np.random.default_rng(3)
    lines = []
    for seed in range(10):
        base = 10.0 * rng.random()
        lines.append(line(seed, [base], PAPER))
        lines.append(line(seed, [base + shift + 0.01 * rng.standard_normal()]))
    (found,) = cells.comparisons(cells.gather(lines))
    assert found.verdict == verdict


def test_the_chance_of_a_comparison_is_that_of_the_paired_test():
    gaps = np.array([0.3, -0.1, 0.2, 0.4, 0.1])
    assert cells.paired_chance(gaps) == pytest.approx(stats.ttest_1samp(gaps, 0.0).pvalue)
    assert (cells.paired_chance(gaps) < 0.05) == (cells.paired_interval(gaps)[0] > 0)
    assert cells.paired_chance(np.zeros(5)) == cells.paired_chance(gaps[:1]) == 1.0
    assert cells.paired_chance(np.ones(5)) == 0.0


@pytest.mark.parametrize(
    ("chances", "stands"),
    [
        ([0.04, 0.01, 0.03], [False, True, False]),  # .01 <= .05/3, .03 > .05/2
        ([0.02, 0.01, 0.03], [True, True, True]),
        ([0.02, 0.02, 0.02], [False, False, False]),
        ([], []),
    ],
)
def test_holm_steps_down_until_one_does_not_stand(chances, stands):
    assert cells.holm(chances) == stands


def test_what_is_worse_by_itself_may_be_level_among_all():
    """One clear difference and one at the edge, among forty without any."""
    rng = np.random.default_rng(4)
    lines = []
    for number in range(42):
        shift = {0: 5.0, 1: 0.8}.get(number, 0.0)
        noise = rng.standard_normal(10)
        noise = (noise - noise.mean()) / noise.std(ddof=1)
        for seed in range(10):
            facts = {"epsilon": float(number)}
            lines.append(line(seed, [0.0], PAPER) | facts)
            lines.append(line(seed, [shift + float(noise[seed])]) | facts)
    found = cells.comparisons(cells.gather(lines))
    verdicts = [(each.verdict, each.joint_verdict) for each in found]
    assert verdicts[:2] == [("WORSE", "WORSE"), ("WORSE", "level")]
    assert set(verdicts[2:]) == {("level", "level")}
    _, told, rows, listed = report._comparison(found)
    assert "worse in 2, each by itself" in told
    assert "better in 0, level in 41, worse in 1." in told
    assert "| K22 soft | 0 | 40 | 2 | 0 | 1 |" in rows
    assert listed.count("worse among all") == listed.count("level among all") == 1


def test_what_is_worse_by_itself_is_run_again_on_other_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(again, "SEEDS", range(1000, 1003))
    lines = [line(s, [x], c, "W20 soft") for s in range(5) for c, x in ((PAPER, 1.0), (TIGHT, 2.0))]
    worse = cells.comparisons(cells.gather(lines))
    path = tmp_path / "lines" / "again.jsonl"
    assert again.look([], worse, path, run=False) == []
    (found,) = again.look([small_task()], worse, path)
    assert (found.task, found.method, found.n_seeds) == ("W9 ridge", "W20 soft", 3)
    kept = path.read_text()
    assert again.look([small_task()], worse, path) == [found]
    assert again.look([], worse, path) == [found]  # the file of the task is not there any more
    assert path.read_text() == kept
    assert again.look([], [], path) == []
    shown = report._again([found])[-1]
    assert f"| W9 ridge | 1 | W20 soft | {found.difference:.2g} [" in shown
    assert f"| {found.n_better} of 3 | {found.verdict.lower()} |" in shown


def small_task():
    return of_papers._ridge(500)


def test_what_has_a_line_is_not_run_again_and_tables_and_plot_are_written(tmp_path, monkeypatch):
    kept = [BY_KEY["W20 soft"], BY_KEY["X25 localised"], BY_KEY["W20 trimmed"]]
    monkeypatch.setattr(runner, "METHODS", kept)
    monkeypatch.setattr(rivals, "RIVALS", rivals.RIVALS[1:])
    path = tmp_path / "lines" / "W9.jsonl"
    task = small_task()
    first = runner.run([task], range(2), path)
    again = runner.run([task], range(2), path)
    assert first == again
    assert len(first) == 2 * (3 * (2 + 2 + 1 + 1) + 2)
    found = cells.gather(first)
    compared = cells.comparisons(found)
    assert {each.n_seeds for each in compared} == {2}
    recovered = [support.Recovery(support.DEFAULT, 1000, 5), support.Recovery("other", 1000, 4)]
    ratios = [noise.ratio_of(task, kept[0], 1.0)]
    told = {"command": "make bench-papers", "notes": ["a8a is left out."]}
    report.write(tmp_path, found, compared, ratios, recovered, **told)
    figure.draw(found, tmp_path / "papers.png")
    text = (tmp_path / "papers.md").read_text()
    for words in ("make bench-papers", "W20 soft", "better in", "refused", "n_rows must be above"):
        assert words in text
    assert (tmp_path / "papers.png").stat().st_size > 10_000
    assert len((tmp_path / "papers.csv").read_text().splitlines()) == len(found) + 1


def test_a_run_stops_when_its_time_is_up(tmp_path):
    assert runner.run([small_task()], range(2), tmp_path / "lines.jsonl", seconds=-1.0) == []


def test_localised_solvers_take_the_penalty_and_others_do_not():
    localised = methods.penalised(BY_KEY["X25 localised"].build(RIDGE, 1.0), 0.1)
    assert localised.solver.penalty == 0.1
    descent = BY_KEY["W20 soft"].build(RIDGE, 1.0)
    assert methods.penalised(descent, 0.1) is descent


def test_the_support_of_an_easy_design_is_found():
    found = list(support.recover(5, n_rows=20_000, n_features=30))
    assert found[0].exact
    assert found[0].method == support.DEFAULT
