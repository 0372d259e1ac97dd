"""``tg.describe``: one budget for all statistics of all columns, and of groups."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.summaries.distributions.octaves import OCTAVES, octaves_of
from tailguard.summaries.moments import correlations_of
from tailguard.summaries.results import reported_table
from tailguard.summaries.statistics import Statistics, SummarySolution

N_ROWS = 20_000
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
SCHEMA = {"categorical": {"region": ["north", "south"]}}


def table(seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(N_ROWS, 2))
    region = rng.choice(["north", "south", "moon"], N_ROWS, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "first": 100.0 + z[:, 0],
            "second": 10.0 * (0.8 * z[:, 0] + 0.6 * z[:, 1]),
            "visits": rng.poisson(1.0, N_ROWS) + 5.0 * (region == "south"),
            "region": region,
        }
    )


NUMBERS = ["first", "second", "visits"]


@pytest.fixture(scope="module")
def described():
    return tg.describe(table(), schema=SCHEMA, random_state=1, **PROMISE)


def test_every_statistic_is_near_that_of_the_table(described):
    data = table()
    exact = data[NUMBERS]
    np.testing.assert_allclose(described.usable[0], N_ROWS, atol=1.0)
    np.testing.assert_allclose(described.missing[0], 0.0, atol=1.0)
    spread = exact.std().to_numpy()
    assert (np.abs(described.mean[0] - exact.mean()) < 0.05 * spread).all()
    assert ((described.mean_low[0] < exact.mean()) & (exact.mean() < described.mean_high[0])).all()
    np.testing.assert_allclose(described.std[0], spread, rtol=0.05)
    quartiles = exact.quantile([0.25, 0.5, 0.75]).to_numpy().T
    assert (np.abs(described.quantiles[0, :, 1:4] - quartiles) < 0.1 * spread[:, None]).all()
    np.testing.assert_allclose(described.correlation, exact.corr(), atol=0.1)
    for level, share in {"north": 0.5, "south": 0.3, "other": 0.2, "missing": 0.0}.items():
        assert abs(described.shares["region"][level] - share) < 0.02
    assert sum(described.shares["region"].values()) == pytest.approx(1.0)


def test_it_prints_as_tables_and_renders(described):
    text = repr(described)
    for word in (*NUMBERS, "usable", "95%", "shares of levels", "correlations", "missing"):
        assert word in text
    assert max(map(len, described.explain(80).splitlines())) <= 80
    assert "<table>" in described._repr_html_()
    assert "budget by statistic" in described.explain()
    assert described.certificate.mode == "simulation: NOT PRIVATE"


@pytest.mark.parametrize("by", [None, "region"])
def test_intervals_of_quantiles_are_shown(by):
    found = tg.describe(table(), q=[0.25, 0.5], by=by, schema=SCHEMA, random_state=1, **PROMISE)
    frame, (columns, intervals, *_) = found.to_frame(), found.tables()
    assert frame["column"].tolist() == NUMBERS * len(found.groups)
    shown = [each for each in columns.header if each in ("group", "column")]
    assert intervals.header == (*shown, "25% low", "25% high", "50% low", "50% high")
    names = dict(zip(("95% from", "to"), ("low", "high"), strict=True))
    names = [names.get(name, name) for name in columns.header]
    assert list(frame) == [*names, *intervals.header[-4:]]
    for name, part in (("low", found.quantiles_low), ("high", found.quantiles_high)):
        np.testing.assert_array_equal(frame[f"50% {name}"], part[..., 1].ravel())
    for text in (repr(found), found._repr_html_(), found.report().to_html()):
        assert "95% intervals of quantiles" in text
        assert f"{found.quantiles_high[0, 0, 1]:.6g}" in text


def test_correlations_are_a_correlation_matrix_whatever_the_noise():
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0.0, 300.0, (6, 6))
        products = noise + noise.T
        np.fill_diagonal(products, 100.0)
        found = correlations_of(products, np.full(6, 1e3), 1000, 1.0)[0]
        assert np.linalg.eigvalsh(found).min() > -1e-9
        np.testing.assert_array_equal(np.diag(found), 1.0)
        assert np.abs(found).max() <= 1.0


def test_columns_whose_squares_noise_may_explain_have_no_correlation():
    products = np.diag([1000.0, 1000.0, 29.0, 500.0]) + 400.0 * (1.0 - np.eye(4))
    hidden = np.array([False, False, False, True])
    value, noise = correlations_of(products, np.full(4, 1e3), 1000, 10.0, hidden)
    assert value[0, 1] == pytest.approx(0.4)
    assert noise[0, 1] == pytest.approx(10.0 / np.sqrt(2.0) / 1000.0)
    for found in (value, noise):
        assert np.isnan(found[2:]).all()
        assert np.isnan(found[:, 2:]).all()


def test_a_declared_level_called_missing_is_not_that_of_empty_cells():
    rng, schema = np.random.default_rng(0), {"categorical": {"arm": ["a", "missing"]}}
    arms = rng.choice(["a", "missing", "z", None], 8_000, p=[0.4, 0.3, 0.2, 0.1])
    data = pd.DataFrame({"age": rng.normal(size=8_000), "arm": arms})
    options = {"schema": schema, "epsilon": 4.0, "delta": 1e-6, "random_state": 0}
    shares = tg.describe(data, **options).shares["arm"]
    assert list(shares) == ["a", "missing", "other", "missing cell"]
    np.testing.assert_allclose(list(shares.values()), [0.4, 0.3, 0.2, 0.1], atol=0.02)
    groups = tg.quantile(data, by="arm", **options).groups
    assert groups == ("arm=a", "arm=missing", "arm=other", "arm=missing cell")
    empty = tg.count(data, {"arm": "missing cell"}, **options)
    assert empty.value == pytest.approx(800, abs=80)


def test_groups_have_numbers_of_their_own_and_a_missing_level_is_one():
    data = table()
    data.loc[data.index[:4000], "region"] = None
    found = tg.describe(data, by="region", schema=SCHEMA, random_state=2, **PROMISE)
    assert found.groups == ("region=north", "region=south", "region=other", "region=missing")
    names = {"north": "region=north", "south": "region=south", "moon": "region=other"}
    groups = data["region"].map(names).fillna("region=missing")
    exact = data[NUMBERS].groupby(groups)
    for g, name in enumerate(found.groups):
        assert abs(found.usable[g, 1] - exact.size()[name]) < 700.0
        assert np.abs(found.mean[g] - exact.mean().loc[name]).max() < 1.0
        assert abs(found.quantiles[g, 0, 2] - 100.0) < 0.3
    assert found.mean[1, 2] - found.mean[0, 2] > 4.0
    assert found.correlation is None
    assert len(found.to_frame()) == 12


def test_groups_that_noise_hides_are_suppressed():
    data = table()
    data["region"] = np.where(np.arange(N_ROWS) < 5, "south", "north")
    found = tg.describe(data, by="region", schema=SCHEMA, random_state=3, **PROMISE)
    assert found.suppressed[1].all()
    assert np.isnan(found.mean[1]).all()
    assert np.isnan(found.quantiles[1]).all()
    assert not found.suppressed[0].any()


@pytest.mark.long
def test_levels_that_no_record_has_are_hardly_ever_shown():
    rng, shown, runs = np.random.default_rng(5), 0, 30
    levels = [f"level {place}" for place in range(6)]
    data = pd.DataFrame({"age": rng.integers(18, 90, 2_000).astype(float), "level": levels[0]})
    schema = {"categorical": {"level": levels}}
    for seed in range(runs):
        found = tg.describe(data, by="level", schema=schema, random_state=seed, **PROMISE)
        assert not found.suppressed[0, 0]
        assert np.isfinite(found.usable).all()  # the released count stands there all the same
        shown += (~found.suppressed[1:]).sum()
    assert shown <= 1


def planned(n_rows, guarantee, spend=None):
    """The squares of mu of each stage, or the epsilons."""
    asked = Statistics(tuple(range(9)), levels=(0.25, 0.5), moments=True, spend=spend or {})
    stages = asked.plan(Problem(None, n_rows, 9), guarantee).stages
    power = 1.0 if isinstance(guarantee, tg.PureDP) else 2.0
    return {each.name: each.times * each.mu**power for each in stages}


@pytest.mark.parametrize("guarantee", [tg.GDP(0.1), tg.PureDP(0.3)])
def test_columns_are_seen_first_where_there_are_few_records(guarantee):
    few, many = planned(300, guarantee), planned(1_000_000, guarantee)
    total = sum(many.values())
    assert sum(few.values()) == pytest.approx(total, rel=1e-6)
    assert few["octaves"] == pytest.approx(0.6 * total, rel=0.01)
    assert many["octaves"] < 0.04 * total
    rest = [name for name in few if name not in ("octaves", "search")]
    parts = [few[name] / many[name] for name in rest]
    assert max(parts) < 0.6
    more = planned(300, guarantee, {"moments": 4.0})
    assert more["octaves"] == pytest.approx(few["octaves"])
    assert more["moments"] > 1.1 * few["moments"]


def shown(*significance, total_std=1.0):
    """Which columns are shown that stand out so far."""
    estimates = [
        SimpleNamespace(significance=each, total=100.0, total_std=total_std)
        for each in significance
    ]
    empty = np.zeros(0)
    found = SummarySolution(
        empty, 0.0, None, empty, 0.0, trace=empty, quantiles=SimpleNamespace(estimates=estimates)
    )
    return (~found.unseen).tolist()


def test_a_column_has_to_stand_out_less_where_others_do():
    assert shown(*[9.0] * 19, 4.3)[-1]
    assert not shown(*[0.0] * 19, 4.3)[-1]
    assert shown(*[0.0] * 19, 5.0)[-1]
    assert shown(4.3, *[9.0] * 9, *[0.0] * 10) == [False] + [True] * 9 + [False] * 10
    assert shown() == []


def test_a_group_has_to_have_more_cells_than_noise_can_make():
    assert shown(9.0, total_std=33.0) == [True]
    assert shown(9.0, total_std=34.0) == [False]


def test_of_the_columns_shown_few_are_noise():
    rng, false = np.random.default_rng(0), []
    for _ in range(30):
        noise = [octaves_of(row, 1.0)[1] for row in rng.normal(size=(20, len(OCTAVES) + 1))]
        found = shown(*[9.0] * 60, *noise)
        false.append(sum(found[60:]) / sum(found))
    assert np.mean(false) < 0.05


def test_pure_privacy_leaves_correlations_out():
    found = tg.describe(table(), schema=SCHEMA, random_state=5, guarantee=tg.PureDP(2.0))
    assert found.correlation is None
    assert {release.mechanism for release in found.certificate.releases} == {"laplace"}
    assert abs(found.mean[0, 0] - 100.0) < 0.2


def test_levels_alone_and_numbers_alone():
    levels = tg.describe(table()[["region"]], schema=SCHEMA, random_state=6, **PROMISE)
    assert levels.names == ()
    assert abs(levels.shares["region"]["north"] - 0.5) < 0.02
    one = tg.describe(table()["first"], random_state=6, **PROMISE)
    assert one.correlation is None
    assert one.shares == {}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": "sex"}, "by must be"),
        ({"by": ["region", "region"]}, "by must name columns that differ"),
        ({"by": "first"}, "by must be"),
        ({"spend": {"words": 2.0}}, "spend must name statistics that are requested"),
        ({"spend": {"quantiles": -1.0}}, "spend must map names to factors: .quantiles. must be"),
        ({"spend": {"quantiles": 1e300}}, "spend must .*: .quantiles. must be a number from 1e-06"),
        ({"spend": 2.0}, "spend must map"),
        ({"q": [0.5, 1.5]}, "q must be"),
        ({"correlations": 1}, "correlations must be"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(options, words):
    with pytest.raises(tg.InputError, match=words):
        tg.describe(table(), schema=SCHEMA, **PROMISE, **options)


def test_no_number_is_shown_as_minus_zero():
    assert reported_table("", ("a",), [(-0.0,), (-0.5,)]).rows == (("0",), ("-0.5",))


@pytest.mark.parametrize("call", [tg.describe, tg.quantile, tg.mean])
def test_constants_for_missing_cells_are_stated(call):
    """They count as cells: the mean of gaps filled with 0 is not that of the other cells."""
    data = table().assign(first=np.nan)
    schema = SCHEMA | {"missing": {"first": 0, "region": "south"}}
    options = {"schema": schema, "random_state": 1, **PROMISE}
    extra = ([0.5],) if call is tg.quantile else ()
    found = call(data, *extra, **options)
    note = "missing cells are taken as: first = 0, region = south"
    assert note in repr(found)
    assert note in found.certificate.assumptions_for_accuracy
    chosen = call(data, *extra, columns=["second"], **options)
    assert "taken as" not in repr(chosen)
