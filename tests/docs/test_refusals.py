"""What pages and help texts say that models refuse is refused, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

import tailguard as tg

DOCS = Path(__file__).parents[2] / "docs"
ROWS = np.random.default_rng(0).standard_normal((3_000, 2))
LABELS = np.arange(3_000) % 3
SEEDED = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}


def prose(page):
    return " ".join((DOCS / page).read_text().split())


def of_classes(**options):
    return tg.LogisticRegression(classes=(0, 1, 2), **SEEDED, **options)


def test_what_several_classes_refuse_is_what_the_page_lists():
    page = prose("default-stages.md")
    assert "A ridge, an offset, a fit without intercept and a search are refused." in page
    for refused in ({"alpha": 0.1}, {"fit_intercept": False}):
        with pytest.raises(tg.InputError, match=next(iter(refused))):
            of_classes(**refused).fit(ROWS, LABELS)
    with pytest.raises(tg.InputError, match="offset"):
        of_classes().fit(ROWS, LABELS, offset=ROWS[:, 0])
    search = tg.PrivateSearch(
        tg.LogisticRegression(classes=(0, 1, 2)), {"solver": ["auto"]}, **SEEDED
    )
    with pytest.raises(tg.InputError, match="a model of one score in a search"):
        search.fit(ROWS, LABELS)
    assert "so do private scores, with the accuracy in place of the area" in page
    score = of_classes().fit(ROWS, LABELS).private_score(ROWS, LABELS, **SEEDED)
    assert score.accuracy is not None
    assert score.auc is None


@pytest.mark.parametrize("stated", [False, True])
def test_only_sparse_regressions_with_stated_units_keep_a_pure_promise(stated):
    assert "of regressions only [sparse ones]" in prose("concepts.md")
    assert "may be a ``tg.PureDP``" in tg.SparseLinearRegression.__doc__
    solver = tg.solvers.HardThresholding(feature_scale=1.0, target_scale=1.0)
    options = {"guarantee": tg.PureDP(1.0), "n_nonzero": 1, "random_state": 0}
    if stated:
        model = tg.SparseLinearRegression(solver=solver, **options).fit(ROWS, ROWS[:, 0])
        assert model.certificate_.total.delta == 0.0
        return
    for model in (
        tg.SparseLinearRegression(**options),
        tg.LinearRegression(guarantee=tg.PureDP(1.0)),
    ):
        with pytest.raises(tg.InputError):
            model.fit(ROWS, ROWS[:, 0])


@pytest.mark.parametrize("model", [tg.GammaRegression, tg.TweedieRegression, tg.PoissonRegression])
def test_predictions_have_bounds_only_without_exposures(model):
    assert "Without exposures both are finite for Gamma and" in model.__doc__
    target = np.random.default_rng(1).gamma(2.0, size=len(ROWS))
    bounds = model(**SEEDED).fit(ROWS, target).score_bounds_
    assert np.isfinite(bounds).tolist() == [model is not tg.PoissonRegression, True]
    exposed = model(**SEEDED).fit(ROWS, target, exposure=np.ones(len(ROWS)))
    assert np.isinf(exposed.score_bounds_).all()


def test_runs_begin_with_a_count_except_counts_of_levels():
    assert "the default of `tg.count` and `tg.crosstab`" in prose("nulls.md")
    table = {"x": ROWS[:, 0], "region": np.where(LABELS == 0, "a", "b")}
    pandas = pytest.importorskip("pandas")
    frame, levels = pandas.DataFrame(table), {"schema": {"categorical": {"region": ["a", "b"]}}}
    counted = (
        (True, tg.mean(frame[["x"]], **SEEDED)),
        (True, tg.describe(frame[["x"]], **SEEDED)),
        (False, tg.count(frame, {"region": "a"}, **levels, **SEEDED)),
        (False, tg.crosstab(frame, "region", **levels, **SEEDED)),
    )
    for expected, result in counted:
        names = [release.name for release in result.certificate.releases]
        assert ("number of usable records" in names) is expected
