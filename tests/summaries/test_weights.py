"""Summaries of records that count by weights: what they aim at, and what a weight may not do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tailguard as tg
from support.transcripts import check_noises
from support.weights import MISUSED, overheard
from tailguard.gate.plan import Problem
from tailguard.summaries.statistics import Statistics

RNG = np.random.default_rng(0)
N_ROWS, BOUND = 6_000, 4.0
TIMES = RNG.integers(0, 5, N_ROWS)
# Rows of higher weight are higher, and more often in the north: weights change what is aimed at.
Z = RNG.standard_normal((N_ROWS, 2))
REGION = np.where(RNG.uniform(size=N_ROWS) < (1.0 + TIMES) / 6.0, "north", "south")
TABLE = pd.DataFrame(
    {
        "first": 5.0 + Z[:, 0] + 0.5 * TIMES,
        "second": np.where(RNG.random(N_ROWS) < 0.3, np.nan, 8.0 * Z[:, 0] + 6.0 * Z[:, 1]),
        "region": REGION,
        "w": TIMES.astype(float),
    }
)
NUMBERS = ["first", "second"]
SCHEMA = {"categorical": {"region": ["north", "south"]}}
WEIGHED = {"sample_weight": "w", "weight_bound": BOUND}
CLEAR = {"guarantee": tg.GDP(300.0), "random_state": 0}
PROMISE = {"guarantee": tg.GDP(2.0), "random_state": 0}
REPEATED = TABLE.loc[np.repeat(TABLE.index, TIMES)].drop(columns="w")
NORTH = (REPEATED["region"] == "north").to_numpy()


def numbers_of(found):
    """Everything that a description lets out, as bytes."""
    parts = [found.usable, found.missing, found.mean, found.mean_low, found.std, found.quantiles]
    return [*(part.tobytes() for part in parts), repr(found.shares), repr(found.correlation)]


@pytest.mark.parametrize("call", [tg.mean, tg.describe, tg.quantile])
def test_a_weight_of_a_schema_is_not_a_column_as_well(call):
    """Its weights were left out, and nothing said so."""
    schema = {"weight": "w", "weight_bound": BOUND}
    with pytest.raises(tg.InputError, match="weight must not be a column of features as well"):
        call(TABLE, schema=schema, columns=["first", "w"], **PROMISE)


def test_whole_weights_are_repeated_rows_to_a_description():
    found = tg.describe(TABLE, schema=SCHEMA, **WEIGHED, **CLEAR)
    again = tg.describe(REPEATED, schema=SCHEMA, **CLEAR)
    assert abs(REPEATED["first"].mean() - TABLE["first"].mean()) > 0.4
    assert found.certificate.n_rows == N_ROWS
    assert "weights above 4 are cut" in " ".join(found.notes)
    exact = REPEATED[NUMBERS]
    np.testing.assert_allclose(found.usable[0], exact.count(), rtol=2e-3)
    np.testing.assert_allclose(found.missing[0], exact.isna().sum(), rtol=1e-2, atol=3.0)
    assert found.missing[0, 0] == pytest.approx(0.0, abs=1e-6)  # a full column has all that counts
    np.testing.assert_allclose(found.mean[0], exact.mean(), atol=0.02)
    np.testing.assert_allclose(found.std[0], exact.std(), rtol=0.01)
    np.testing.assert_allclose(found.quantiles, again.quantiles, atol=0.1)
    np.testing.assert_allclose(found.correlation, again.correlation, atol=0.01)
    for level, share in again.shares["region"].items():
        assert found.shares["region"][level] == pytest.approx(share, abs=1e-3)
    assert sum(found.shares["region"].values()) == pytest.approx(1.0)


def test_groups_have_the_weights_of_their_rows():
    found = tg.describe(TABLE, by="region", schema=SCHEMA, **WEIGHED, **CLEAR)
    assert found.groups[:2] == ("region=north", "region=south")
    for group, where in enumerate((NORTH, ~NORTH)):
        exact = REPEATED.loc[where, NUMBERS]
        np.testing.assert_allclose(found.usable[group], exact.count(), rtol=5e-3)
        np.testing.assert_allclose(found.mean[group], exact.mean(), atol=0.05)
        np.testing.assert_allclose(found.quantiles[group, :, 2], exact.median(), atol=0.2)


def test_single_summaries_count_by_weights():
    cells = TABLE[[*NUMBERS, "w"]]
    exact = REPEATED[NUMBERS]
    found = tg.quantile(cells, [0.25, 0.75], **WEIGHED, **CLEAR)
    np.testing.assert_allclose(found.value.T, exact.quantile([0.25, 0.75]), atol=0.1)
    np.testing.assert_allclose(found.usable, exact.count(), rtol=2e-3)
    bins = tg.histogram(cells, edges=[4.0, 6.0], **WEIGHED, **CLEAR)
    inside = exact["first"].between(4.0, 6.0, inclusive="right").sum()
    assert bins.counts[0, 1] == pytest.approx(inside, abs=6.0 * bins.noise_std)
    assert bins.counts[0].sum() == pytest.approx(len(exact), rel=1e-3)
    spaced = tg.histogram(cells, 5, **WEIGHED, **CLEAR)
    assert spaced.counts[0].sum() == pytest.approx(len(exact), rel=1e-3)
    np.testing.assert_allclose(tg.variance(cells, **WEIGHED, **CLEAR).value, exact.var(), rtol=0.02)
    for call in (tg.covariance, tg.correlation):
        again = call(exact, **CLEAR).value
        np.testing.assert_allclose(call(cells, **WEIGHED, **CLEAR).value, again, rtol=0.02)
    counted = tg.count(TABLE, {"region": "north"}, schema=SCHEMA, **WEIGHED, **CLEAR)
    assert counted.value == pytest.approx(NORTH.sum(), abs=6.0 * counted.noise_std)
    assert counted.low < counted.value < counted.high
    crossed = tg.crosstab(TABLE, "region", schema=SCHEMA, **WEIGHED, **CLEAR)
    assert crossed.counts[0] == pytest.approx(NORTH.sum(), abs=6.0 * crossed.noise_std)
    assert crossed.counts.sum() == pytest.approx(len(exact), abs=12.0 * crossed.noise_std)
    costs = TABLE[["w"]].assign(cost=np.exp(0.1 * TABLE["first"]), told=np.exp(0.1 * Z[:, 0]))
    ratio = tg.actual_expected(costs, "cost", "told", **WEIGHED, **CLEAR)
    total = np.exp(0.1 * exact["first"]).sum()
    assert ratio.actual[0] == pytest.approx(total, rel=0.01)
    huge = {"sample_weight": 1e300 * TABLE["w"], "weight_bound": 1e300 * BOUND}
    assert np.isinf(tg.actual_expected(1e20 * costs, "cost", "told", **huge, **CLEAR).actual[0])


def test_a_count_of_everything_is_what_all_records_weigh():
    heavy = TABLE.assign(w=9.0)  # each above the bound
    everything = {"region": ["north", "south"]}
    counted = tg.count(heavy, everything, schema=SCHEMA, **WEIGHED, **CLEAR)
    assert counted.value == pytest.approx(BOUND * N_ROWS, abs=6.0 * counted.noise_std)
    assert counted.high <= BOUND * N_ROWS


def test_pure_promises_take_weights_too():
    pure = {"guarantee": tg.PureDP(30.0), "random_state": 0}
    found = tg.describe(TABLE, schema=SCHEMA, **WEIGHED, **pure)
    assert found.mean[0, 0] == pytest.approx(REPEATED["first"].mean(), abs=0.1)
    assert found.usable[0, 0] == pytest.approx(len(REPEATED), rel=0.02)


def test_a_person_s_rows_count_by_their_weights_and_shares():
    keys = np.arange(N_ROWS) // 2
    cells = TABLE[[*NUMBERS, "w"]].assign(id=keys)
    found = tg.describe(cells, person="id", max_rows=2, **WEIGHED, **CLEAR)
    assert found.certificate.n_rows == N_ROWS // 2
    assert found.usable[0, 0] == pytest.approx(TIMES.sum() / 2.0, rel=2e-3)
    expected = np.average(TABLE["first"], weights=TIMES)
    assert found.mean[0, 0] == pytest.approx(expected, abs=0.02)


# Weights that are none --------------------------------------------------------------------------


def test_a_weight_that_is_none_counts_nothing_and_a_larger_one_as_the_bound():
    """Every number agrees in all bits: a release of how many can be used alone may tell."""
    found, expected = (
        numbers_of(tg.describe(TABLE.assign(w=column), schema=SCHEMA, **WEIGHED, **PROMISE))
        for column in (np.append([np.nan, 1e300], TIMES[2:]), np.append([0.0, BOUND], TIMES[2:]))
    )
    assert found == expected


@pytest.mark.parametrize("source", [lambda table: table, pl.LazyFrame], ids=["memory", "batches"])
@pytest.mark.parametrize("persons", [{}, {"person": "id", "max_rows": 3}], ids=["rows", "persons"])
def test_a_column_of_no_weights_stops_the_run_and_is_named(source, persons):
    table = TABLE[NUMBERS].assign(w="heavy", id=np.arange(N_ROWS))
    told = {"columns": NUMBERS, **WEIGHED, **persons, **PROMISE}
    with pytest.raises(tg.UnusableTableError, match=r"Weight 'w' holds .* that are no weights"):
        tg.describe(source(pl.from_pandas(table)), **told)
    # Rows of weight zero can be used.
    zeros = pl.from_pandas(table.assign(w=np.where(np.arange(N_ROWS) < 1_500, 1.0, 0.0)))
    found = tg.describe(source(zeros), **told)
    assert found.usable[0, 0] == pytest.approx(1_500.0, abs=100.0)


REFUSED = [
    *MISUSED,
    ({"weights": "w"}, "sample_weight"),
    (
        {"schema": {"weight": "w", "weight_bound": 4.0}, "weight_bound": 2.0},
        "weight_bound must be None where the schema declares weights",
    ),
    (
        {"schema": {"weight": "w", "weight_bound": 4.0}, "sample_weight": "w", "weight_bound": 2.0},
        "weight_bound must be declared once",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(options, message):
    with pytest.raises(tg.InputError, match=message):
        tg.describe(TABLE[[*NUMBERS, "w"]], **{**PROMISE, **options})


def test_a_schema_may_declare_them_and_files_have_the_same_bits(tmp_path):
    expected = numbers_of(tg.describe(TABLE, schema=SCHEMA, **WEIGHED, **PROMISE))
    schema = {**SCHEMA, "weight": "w", "weight_bound": BOUND}
    assert numbers_of(tg.describe(TABLE, schema=schema, **PROMISE)) == expected
    beside = {"sample_weight": TABLE["w"].to_numpy(), "weight_bound": BOUND}
    cells = TABLE.drop(columns="w")
    assert numbers_of(tg.describe(cells, schema=SCHEMA, **beside, **PROMISE)) == expected
    file = tmp_path / "rows.parquet"
    TABLE.to_parquet(file, row_group_size=1_024)
    assert numbers_of(tg.describe(file, schema=SCHEMA, **WEIGHED, **PROMISE)) == expected


def test_a_ledger_and_a_checkpoint_take_a_weighted_description(tmp_path):
    ledger = tg.Ledger(tmp_path / "l.sqlite", "t", guarantee=tg.GDP(2.5))
    private = {"guarantee": tg.GDP(2.0), "ledger": ledger, "schema": SCHEMA, **WEIGHED}
    assert tg.describe(TABLE, **private).certificate.mode == "private"
    with pytest.raises(tg.BudgetError):
        tg.describe(TABLE, **private)
    point = {"checkpoint": tmp_path / "point", "schema": SCHEMA, **PROMISE}
    tg.describe(TABLE, **WEIGHED, **point)
    with pytest.raises(tg.TailguardError):  # of another bound, hence of other weights
        tg.describe(TABLE, **{**WEIGHED, "weight_bound": 2.0}, **point)


# A whole description, overheard -----------------------------------------------------------------

AUDITED_ROWS, AUDITED_MU = 200, 1.5
DESCRIPTION = Statistics(
    (0, 1),
    levels=(0.25, 0.5, 0.75),
    moments=True,
    products=True,
    tables=(((2, 3),),),
    weighted=True,
)
# The first record: its cells, its level and its weight, which is far above the bound.
NEIGHBOURS = {
    "cells": ([0.01, 0.01, 1.0, 0.0, 9.0], [1e4, 1e4, 0.0, 1.0, 9.0]),
    "weight": ([1e4, 1e4, 0.0, 1.0, 9.0], [1e4, 1e4, 0.0, 1.0, np.nan]),
}


def runs_of(name, n_runs):
    """Runs of everything that a description releases, on either table by turns."""
    cells, level = np.random.default_rng(0).standard_normal((2, AUDITED_ROWS, 2))
    weight = np.random.default_rng(1).uniform(0.5, 1.0, AUDITED_ROWS)
    table = np.column_stack([cells, level[:, 0] > 0.0, level[:, 0] <= 0.0, weight])
    plan = DESCRIPTION.plan(Problem(None, AUDITED_ROWS, 4), tg.GDP(AUDITED_MU))
    return overheard(DESCRIPTION, plan, table, NEIGHBOURS[name], n_runs)


@pytest.mark.long
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_whole_description_shows_most_of_what_it_claims_of_a_weight_and_never_more(name):
    told = list(runs_of(name, 120))
    for one in told:
        assert 0.6 * AUDITED_MU <= one.mu <= AUDITED_MU * (1.0 + 1e-9)
    assert {query.name for query in told[0].queries} >= {
        "histograms of cells", "first and second moments of cells", "tables of levels"
    }  # fmt: skip
    check_noises(np.concatenate([one.noises for one in told]))


# Intervals --------------------------------------------------------------------------------------


KINDS = {
    "by chance": lambda places, rng: weight_at(rng.random(places.size)),
    "by value": lambda places, rng: weight_at(places),
    "all or nothing": lambda places, rng: 2.0 * (rng.random(places.size) < 0.3),
}


def weight_at(places):
    """A weight from .25 to 2, the heavier the higher."""
    return 0.25 + 1.75 * places**3


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_whatever_weights_depend_on(name):
    """Of a mean and of three quantiles, on 40 tables of one law."""
    middles = (np.arange(100_000) + 0.5) / 100_000
    parts = weight_at(middles) if name == "by value" else np.ones(100_000)
    inner = np.interp([0.25, 0.5, 0.75], np.cumsum(parts) / parts.sum(), middles)
    mean = np.average(-np.log1p(-middles), weights=parts)
    truth, ends = np.append(-np.log1p(-inner), mean), []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        places = rng.random(3_000)
        told = {"sample_weight": KINDS[name](places, rng), "weight_bound": 2.0}
        told |= {"guarantee": tg.GDP(5.0), "random_state": seed}
        found = tg.describe(-np.log1p(-places)[:, None], q=[0.25, 0.5, 0.75], **told)
        pairs = (
            (found.quantiles_low, found.mean_low),
            (found.quantiles_high, found.mean_high),
        )
        ends.append([np.append(quantiles[0, 0], mean[0, 0]) for quantiles, mean in pairs])
    low, high = np.moveaxis(ends, 1, 0)
    given = np.isfinite(low) & np.isfinite(high)
    assert given.mean() >= 0.9
    assert ((low <= truth) & (truth <= high))[given].mean() >= 0.93
