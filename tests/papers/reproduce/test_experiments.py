"""Every figure has its experiment, every experiment runs, and what is committed is complete."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from tailguard.checks import InputError
from tailguard.papers.reproduce import figure
from tailguard.papers.reproduce.experiment import Setup
from tailguard.papers.reproduce.experiments import tables, wang2020, xu2025
from tailguard.papers.reproduce.figure import draw_figure
from tailguard.papers.reproduce.report import judge_claims, read_verdicts
from tailguard.papers.reproduce.results import Point, Results
from tailguard.papers.reproduce.runner import all_experiments, find_experiments

STORED = Path(__file__).parents[3] / "benchmarks/results/reproduce"
FIGURES = {
    "Wang and others 2020": {f"Figure {number}" for number in range(1, 7)},
    "Xu and others 2025": {f"Figure {n}{half}" for n in range(1, 7) for half in "ab"},
}
NAMES = [experiment.name for experiment in all_experiments()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sets of the real shapes, with simulated cells."""
    place, rng = tmp_path_factory.mktemp("sets"), np.random.default_rng(0)
    for name, width in (("a8a", 12), ("a9a", 12), ("w7a", 12)):
        X = (rng.random((10_500, width)) < 0.3).astype(np.int8)
        label = np.where(X[:, 0] + rng.random(len(X)) > 0.8, 1, -1)
        columns = {f"x{j}": X[:, j] for j in range(width)}
        split = np.where(np.arange(len(X)) < 10_200, "train", "test")
        table = pa.table({"label": label, **columns, "split": split})
        parquet.write_table(table, place / f"{name}.parquet")
    n = 30_500
    adult = {
        "age": rng.integers(17, 90, n),
        "education-num": rng.integers(1, 17, n),
        "hours-per-week": rng.integers(1, 99, n),
        "capital-gain": rng.integers(0, 2, n) * 5000,
        "capital-loss": rng.integers(0, 2, n) * 100,
        "sex": rng.choice(["Male", "Female"], n),
        "marital-status": rng.choice(["Married-civ-spouse", "Divorced"], n),
        "income": rng.choice([">50K", "<=50K"], n),
    }
    parquet.write_table(pa.table(adult), place / "adult.parquet")
    return place


@pytest.mark.parametrize("paper", FIGURES)
def test_every_figure_has_its_experiment(paper):
    told = " ".join(each.source for each in all_experiments() if each.source.startswith(paper))
    told = re.sub(r"Figures (\d) and (\d)", r"Figure \1, Figure \2", told)
    assert FIGURES[paper] <= set(re.findall(r"Figure \w+", told))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs(name, folder):
    """Its first and its last cell, or all of a table; all cells have names of their own.

    Of theorems the last one: ``test_optimisation.py`` runs what the first one measures.
    """
    (experiment,) = (each for each in find_experiments(name) if each.name == name)
    setup = Setup(quick=True, data=folder)
    cells = experiment.cells(setup)
    assert len({cell.name for cell in cells}) == len(cells)
    points, last = [], name.startswith("optimisation-")
    for cell in cells if experiment.table else cells[-1:] if last else (cells[0], cells[-1]):
        try:
            points += cell.measure(0)
        except InputError:  # a budget too small for a method is a result
            continue
    assert points
    assert all(np.isfinite(point.value) and point.value >= 0.0 for point in points)
    found = judge_claims(experiment, Results(points), setup)
    assert len(found) == len(experiment.claims)
    assert all(each.says.startswith("Of ours: ") == (each.kind == "ours") for each in found)
    full = experiment.cells(Setup(data=folder))
    assert len(full) >= len(cells)
    assert len(experiment.seeds(Setup())) >= 10 or experiment.table is not None


@pytest.mark.long
def test_a_figure_in_two_panels_is_small(folder, tmp_path):
    experiment = find_experiments("wang2020-kappa")[0]
    points = []
    for cell in experiment.cells(Setup(quick=True)):
        try:
            points += cell.measure(0)
        except InputError:
            continue
    path = tmp_path / "kappa.png"
    draw_figure(path, experiment, Results(points))
    assert 5_000 < path.stat().st_size < 150_000


def test_the_key_has_the_colour_of_a_curve_that_others_cover(tmp_path):
    curves = [f"curve {number}" for number in range(5)]
    points = [Point("panel", each, "-", x, x, seed) for each in curves
              for x in (1.0, 2.0) for seed in range(6)]  # fmt: skip
    draw_figure(tmp_path / "one.png", find_experiments("rates")[0], Results(points))
    with Image.open(tmp_path / "one.png") as image:
        pixels = np.asarray(image.convert("RGB"), dtype=int).reshape(-1, 3)
    for colour in figure.COLOURS[: len(curves)]:
        wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert np.abs(pixels - wanted).max(axis=1).min() <= 3


def test_the_longest_title_is_whole_and_covers_no_panel(monkeypatch, tmp_path):
    """With one panel, the narrowest figure."""
    experiment = max(all_experiments(), key=lambda each: len(each.source + each.title))
    places = [Point("panel", "curve", "printed", x, x, seed) for x in (1.0, 2.0) for seed in (0, 1)]

    def check(plot, _path):
        (title,) = (text.get_window_extent() for text in plot.texts)
        assert title.x0 >= 0.0
        assert title.x1 <= plot.bbox.width
        assert title.y1 <= plot.bbox.height
        assert title.y0 >= plot.axes[0].get_tightbbox().y1
        checked.append(experiment)

    checked = []
    monkeypatch.setattr(figure, "_save", check)
    draw_figure(tmp_path / "none.png", experiment, Results(places))
    assert checked


@pytest.mark.long
def test_batches_without_privacy_find_the_optimum():
    """The rival of Wang's figures is not a straw man."""
    cells = wang2020._sizes([(20_000, 10, 10.0)])
    (rgd,) = (cell for cell in cells if cell.name.startswith(f"ridge, {wang2020.wang.BATCH_RGD}"))
    (private,) = (cell for cell in cells if cell.name.startswith("ridge, epsilon = 0.1"))
    (free,), (noised,) = rgd.measure(0), private.measure(0)
    assert free.value < 0.5 < noised.value


def test_a_tuned_descent_is_never_worse_than_the_untuned_one(folder):
    cells = xu2025.experiments()[0].cells(Setup(quick=True, data=folder))
    (descent, *_) = (cell for cell in cells if cell.name.endswith("DP-SGD"))
    by_curve = {point.curve: point.value for point in descent.measure(0)}
    assert by_curve[xu2025.TUNED] <= by_curve[xu2025.UNTUNED]


def test_tables_have_a_line_a_bound():
    for experiment in tables.experiments():
        points = [point for cell in experiment.cells(Setup()) for point in cell.measure(0)]
        text = experiment.table(Results(points))
        assert text.count("\n| ") == len(experiment.cells(Setup())) + 1


def test_the_term_of_clipping_alone_shows_where_epsilon_is_large():
    """d^(3/2 - 1/p) against sqrt(d) (sqrt(d) / (eps n))^(1 - 1/p), Table I."""
    names = tables.ITERATIVE, tables.CLIPPING
    for order, outcome in ((names, "holds"), (names[::-1], "does not hold")):
        decision = tables._grows_slower(*order, epsilon=1.0)(Results([]), "printed")
        assert decision.outcome == outcome


def test_what_is_committed_is_complete():
    """Every claim was decided at one noise or the other, or says how many records it needs."""
    verdicts = read_verdicts(STORED / "claims.csv")
    names = {verdict.experiment for verdict in verdicts}
    assert names <= set(NAMES)
    for name in names:
        assert (STORED / f"{name}.csv").stat().st_size < 150_000
        assert (STORED / f"{name}.png").stat().st_size < 150_000
    left = [verdict for verdict in verdicts if {*verdict.outcomes} == {"not run"}]
    assert all("records on" in verdict.printed_figure for verdict in left)
    assert len(left) < 10
    assert all(each.says.startswith("Of ours: ") == (each.kind == "ours") for each in verdicts)
    assert any("does not hold" in verdict.outcomes for verdict in verdicts)
    page = (STORED.parents[2] / "docs/claims.md").read_text()
    assert all(verdict.says in page for verdict in verdicts)
