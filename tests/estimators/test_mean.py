"""``tg.mean``: what comes in, what comes out, and what its certificate is worth."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tailguard as tg
from support.means import planned, task_of
from tailguard.means.choice import MEANS, choose, make_method
from tailguard.means.soft import Soft
from tailguard.privacy.events import Approximate
from tailguard.queries.sample_aggregate import SampleAggregate

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
METHODS = ("auto", *MEANS)


def heavy(n_rows=20_000, n_features=3, seed=0):
    return 5.0 + np.random.default_rng(seed).standard_t(3, (n_rows, n_features))


def test_tables_of_every_library_give_the_same_bits_and_keep_their_names():
    X = heavy(2_000)
    names = ["a", "b", "c"]
    plain = tg.mean(X, **PRIVACY, random_state=0)
    for table in (
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        pa.table(dict(zip(names, X.T, strict=True))),
    ):
        result = tg.mean(table, **PRIVACY, random_state=0)
        np.testing.assert_array_equal(result.value, plain.value)
        assert result.names == tuple(names)
        assert "\nb " in repr(result)


@pytest.mark.parametrize("column", [np.asarray, pd.Series, pl.Series, pa.array])
def test_a_single_vector_gives_a_number(column):
    x = heavy(2_000, 1)[:, 0]
    result = tg.mean(column(x), **PRIVACY, random_state=0)
    assert isinstance(result.value, float)
    assert isinstance(result.noise_std, float)
    as_matrix = tg.mean(x[:, None], **PRIVACY, random_state=0)
    assert as_matrix.value.shape == (1,)
    assert as_matrix.value[0] == result.value


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("name", ["yearly income", "", None])
def test_a_named_series_keeps_its_name(library, name):
    column = {"values" if library is pl else "data": heavy(2_000, 1)[:, 0]}
    result = tg.mean(library.Series(name=name, **column), **PRIVACY, random_state=0)
    assert isinstance(result.value, float)
    assert result.names == ((name,) if name else None)
    assert f"\n{name or 'x0'} " in repr(result)
    assert "nothing is declared" not in repr(result)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_rows", [1, 2, 3, 50])
def test_few_rows_end_in_an_answer_or_in_one_sentence(method, n_rows):
    X, options = np.ones((n_rows, 2)), {**PRIVACY, "method": method, "random_state": 0}
    if method == "trimmed":
        with pytest.raises(tg.InputError, match="n_rows must be above"):
            tg.mean(X, **options)
        return
    if n_rows < 50:
        with pytest.raises(tg.InputError, match="noise is predicted to hide all that"):
            tg.mean(X, **options)
        options = {"guarantee": tg.GDP(10.0), "method": method, "random_state": 0}
    assert np.isfinite(tg.mean(X, **options).value).all()


@pytest.mark.parametrize("X", [np.zeros((0, 2)), np.zeros((3, 0)), np.zeros(0)])
def test_nothing_is_refused(X):
    with pytest.raises(tg.InputError, match="X must have"):
        tg.mean(X, **PRIVACY)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "average"}, "method must be one of 'auto', 'clipped'"),
        ({"method": "trimmed", "calibration": "loose"}, "calibration must be one of"),
        ({"calibration": "numerical"}, "calibration must be given with a method by name"),
        ({"moment": 2.0}, "moment must be a tg.Moment"),
        ({"method": Soft(threshold=1.0), "n_groups": 3}, "n_groups must be an option"),
        ({"n_groups": 3}, "n_groups must be given with a method by name"),
        ({"method": "clamped", "n_groups": 10**6}, "n_groups must be a whole number"),
        ({"method": "clipped", "clip_norm": -1.0}, "clip_norm must be"),
        ({"method": "clipped", "clip_norm": 1e308}, "clip_norm must be a number from"),
        ({"method": "iterative", "clip_norm": 1e-308}, "clip_norm must be a number from"),
        ({"method": "truncated", "threshold": 1e308}, "threshold must be a number from"),
        ({"method": "clamped", "threshold": 1e308}, "threshold must be a number from"),
        ({"method": "soft", "threshold": 1e-308}, "threshold must be a number from"),
        ({"moment": tg.Moment(2.0, 1e308)}, "moment.bound must be a number from"),
        ({"method": "soft", "smoothing": 0.0}, "smoothing must be"),
        ({"method": "truncated", "failure_probability": 0.9}, "failure_probability must be"),
    ],
)
def test_bad_options_are_one_sentence(options, sentence):
    with pytest.raises(tg.InputError, match=sentence):
        tg.mean(heavy(500), **PRIVACY, **options)


def test_sizes_beyond_memory_are_refused_from_public_facts():
    """What sorts holds all records at once: the plan refuses, so that nothing is spent."""
    task = task_of(2**29, 3, tg.ZCDP(1.0))
    with pytest.raises(tg.InputError, match="n_rows must be at most 357913941 with 3 columns"):
        planned(make_method("trimmed"), task)
    assert choose("auto", task.problem, task.guarantee).plan.solver != "trimmed"
    aggregate = SampleAggregate(lambda X, y: X[0], center=(0.0,), diameter=1.0, n_blocks=400)
    with pytest.raises(tg.InputError, match="n_rows must be at most 357913941 with 3 columns"):
        aggregate.calibrate_event(2**29, 2, Approximate(1.0, 1e-6))


def test_there_is_no_default_privacy():
    with pytest.raises(tg.InputError, match="no default privacy"):
        tg.mean(heavy(500))


def test_a_simulation_says_so_and_cannot_be_charged():
    assert tg.mean(heavy(500), **PRIVACY, random_state=0).certificate.mode.endswith("NOT PRIVATE")
    from tailguard.privacy.books import MemoryBooks

    with pytest.raises(tg.BudgetError, match="random_state must be None"):
        tg.mean(heavy(500), **PRIVACY, random_state=0, ledger=MemoryBooks())
    books = MemoryBooks()
    result = tg.mean(heavy(500), **PRIVACY, ledger=books)
    assert sum(r.times for r in books.releases) == sum(r.times for r in result.certificate.releases)


def test_void_records_count_and_do_not_pull_the_mean():
    X = heavy()
    X[::5, 0] = np.nan
    result = tg.mean(X, **PRIVACY, random_state=1)
    assert result.certificate.n_rows == len(X)
    np.testing.assert_allclose(result.value, 5.0, atol=0.15)


@pytest.mark.parametrize("law", ["student", "pareto"])
@pytest.mark.parametrize("method", METHODS)
def test_it_is_near_the_mean_of_heavy_tails_in_private_runs(law, method):
    rng = np.random.default_rng(7)
    n_rows = 50_000
    if law == "student":
        X, truth = 1e3 * (5.0 + rng.standard_t(3, (n_rows, 2))), 5e3
    else:
        X, truth = 1e3 * rng.pareto(3.0, (n_rows, 2)), 500.0
    result = tg.mean(X, **PRIVACY, method=method)
    bias = 250.0 if (law, method) == ("pareto", "trimmed") else 40.0
    np.testing.assert_allclose(result.value, truth, atol=bias + 6.0 * np.max(result.noise_std))
    assert np.max(result.noise_std) < 80.0
    assert result.certificate.mode == "private"


def test_auto_takes_the_least_predicted_error_and_shows_the_others():
    result = tg.mean(heavy(), **PRIVACY, random_state=0)
    plans = (result.choice.plan, *result.choice.others)
    errors = {plan.solver: plan.expected.total for plan in plans}
    assert set(errors) | {name for name, _ in result.choice.refusals} == set(MEANS)
    assert result.method == min(errors, key=errors.get)
    text = result.explain()
    for name, error in errors.items():
        assert f"{name:10} {error:9.3g}" in text
    assert "chosen for the least predicted error" in text
    assert "released: " in text
    clipped = tg.mean(heavy(), **PRIVACY, method="clipped", random_state=0)
    assert "released: believed clip norm" in clipped.explain()


def test_auto_knows_who_can_keep_a_promise_and_use_a_moment():
    pure = tg.mean(heavy(), guarantee=tg.PureDP(1.0), random_state=0)
    refused = dict(pure.choice.refusals)
    assert set(refused) == {"clipped", "trimmed", "iterative"}
    assert "not possible: method 'clipped' must not be used with PureDP" in pure.explain()
    norm = tg.mean(heavy(), **PRIVACY, moment=tg.Moment(2.0, 90.0, kind="norm"), random_state=0)
    assert {plan.solver for plan in (norm.choice.plan, *norm.choice.others)} >= {"clipped", "soft"}
    assert "trimmed" in dict(norm.choice.refusals)
    odd = tg.Moment(3.0, 90.0)
    few = tg.mean(heavy(500), **PRIVACY, moment=odd, random_state=0)
    assert (few.method, few.choice.others) == ("clamped", ())


@pytest.mark.parametrize(
    "moment",
    [tg.Moment(2.0, 6.0), tg.Moment(2.0, 84.0, kind="norm"), tg.Moment(2.0, 28.0, kind="raw")],
)
def test_auto_leaves_a_moment_aside_where_scales_can_be_bought(moment):
    X, stated = heavy(), {**PRIVACY, "random_state": 0}
    result = tg.mean(X, **stated, moment=moment)
    assert result.choice.plan.problem.moment is None
    np.testing.assert_array_equal(result.value, tg.mean(X, **stated).value)
    text = result.explain()
    assert "by private scales" in text
    assert "by the moment" in text
    assert "not by the moment: moment must not be given with method 'trimmed'" in text


def test_auto_keeps_to_a_moment_where_rows_are_too_few_for_scales():
    moment = tg.Moment(2.0, 28.0, kind="raw")
    result = tg.mean(heavy(500), **PRIVACY, moment=moment, random_state=0)
    assert result.choice.plan.problem.moment == moment
    assert "by private scales" not in result.explain()
    assert "by a histogram" not in result.explain()


def test_a_moment_that_no_method_can_use_is_left_aside_for_any_number_of_rows():
    result = tg.mean(heavy(500), **PRIVACY, moment=tg.Moment(1.5, 90.0), random_state=0)
    assert result.choice.plan.problem.moment is None


def test_a_method_object_is_as_good_as_its_name():
    known = {**PRIVACY, "random_state": 0}
    named = tg.mean(heavy(500), method="soft", threshold=3.0, **known)
    built = tg.mean(heavy(500), method=Soft(threshold=3.0), **known)
    np.testing.assert_array_equal(named.value, built.value)


def test_a_result_is_a_frame_and_a_page_of_a_notebook():
    table = pd.DataFrame(heavy()[:, :2], columns=["a<b", "c"])
    result = tg.mean(table, epsilon=1.0, delta=1e-6, random_state=0)
    frame = result.to_frame()
    assert [*frame.columns] == ["column", "mean", "noise_std", "low", "high"]
    assert frame["mean"].tolist() == result.value.tolist()
    page = result._repr_html_()
    for text in ("NOT PRIVATE", "a&lt;b", f"{result.value[1]:.6g}", "privacy noise"):
        assert text in page
    assert page.count("<table>") == 1


def test_columns_are_chosen_among_those_that_a_schema_declares():
    table = pd.DataFrame(heavy()[:, :2], columns=["a", "b"]).assign(region="north")
    schema = tg.Schema(
        features=["a", "b", "region"], categorical={"region": ["north"]}, missing={"b": 1.0}
    )
    options = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    chosen = tg.mean(table, columns=["b"], schema=schema, **options)
    alone = tg.mean(table, columns=["b"], schema={"missing": {"b": 1.0}}, **options)
    assert (chosen.names, chosen.value.tolist()) == (("b",), alone.value.tolist())
    counted = tg.crosstab(table, "region", columns=["region"], schema=schema, **options)
    assert counted.names == ("region",)
    for wrong in (["b", "b"], [], ["b", 3]):
        with pytest.raises(tg.InputError, match="columns must be a list of different names"):
            tg.mean(table, columns=wrong, schema=schema, **options)
