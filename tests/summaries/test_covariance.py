"""Variances, matrices, tables of levels, and totals beside predictions, by the public names."""

import numpy as np
import pandas as pd
import pytest

import tailguard as tg

N_ROWS = 20_000
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
SCHEMA = {"categorical": {"region": ["north", "south"], "ill": ["no", "yes"]}}
NUMBERS = ["first", "second", "third"]


def table(seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(N_ROWS, 3))
    region = rng.choice(["north", "south", "moon"], N_ROWS)
    return pd.DataFrame(
        {
            "first": z[:, 0] * 3.0 + 50.0,
            "second": 10.0 * (0.8 * z[:, 0] + 0.6 * z[:, 1]),
            "third": rng.exponential(5.0, N_ROWS),
            "region": region,
            "ill": rng.choice(["no", "yes"], N_ROWS, p=[0.9, 0.1]),
        }
    )


@pytest.mark.long
def test_variances_are_near_and_their_noise_is_as_said():
    data, errors = table(), []
    for seed in range(25):
        found = tg.variance(data, schema=SCHEMA, random_state=seed, **PROMISE)
        errors.append((found.value - data[NUMBERS].var(ddof=0)) / found.noise_std)
        np.testing.assert_allclose(found.std**2, found.value)
    spread = np.array(errors).std(axis=0)
    assert (spread > 0.6).all()
    assert (spread < 1.6).all()
    assert np.abs(np.median(errors, axis=0)[:2]).max() < 1.5
    assert list(found.to_frame()["column"]) == NUMBERS


def test_matrices_are_near_those_of_the_table():
    data = table()
    correlation = tg.correlation(data, schema=SCHEMA, random_state=1, **PROMISE)
    covariance = tg.covariance(data, schema=SCHEMA, random_state=1, **PROMISE)
    np.testing.assert_allclose(correlation.value, data[NUMBERS].corr(), atol=0.06)
    np.testing.assert_allclose(covariance.value, data[NUMBERS].cov(), rtol=0.1, atol=1.5)
    for found in (correlation, covariance):
        assert np.linalg.eigvalsh(found.value).min() > -1e-9
        assert (np.diag(found.noise_std) == 0.0).all()
        assert "second" in repr(found)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_constants_have_no_correlation_and_change_none(seed):
    data = table()[["first", "second"]].iloc[:8000]
    exact = data.corr().iloc[0, 1]
    data = data.assign(seven=7.0, zero=0.0)
    options = {"epsilon": 5.0, "delta": 1e-6, "random_state": seed}
    found, described = tg.correlation(data, **options), tg.describe(data, **options)
    covariance = tg.covariance(data, **options)
    for value in (found.value, described.correlation, covariance.value):
        assert np.isnan(value[2:]).all()
        assert np.isnan(value[:, 2:]).all()
        assert np.isfinite(value[:2, :2]).all()
    assert np.isnan(found.noise_std[2:]).all()
    for value in (found.value, described.correlation):
        assert value[0, 1] == pytest.approx(exact, abs=0.06)
    for result in (found, described, covariance):
        assert any("Correlations with seven, zero are withheld" in note for note in result.notes)


@pytest.mark.long
def test_the_noise_of_correlations_is_as_said():
    data, drawn = table()[["first", "third"]], []
    for seed in range(40):
        found = tg.correlation(data, random_state=seed, guarantee=tg.GDP(0.05))
        drawn.append(found.value[0, 1] / found.noise_std[0, 1])
    assert 0.6 < np.std(drawn) < 1.5


def test_a_table_of_two_columns_has_a_count_per_combination():
    data = table()
    data.loc[:999, "ill"] = None
    found = tg.crosstab(data, ["region", "ill"], schema=SCHEMA, random_state=2, **PROMISE)
    assert found.levels == (
        ("north", "south", "other", "missing"),
        ("no", "yes", "other", "missing"),
    )
    exact = pd.crosstab(
        data["region"].replace("moon", "other"), data["ill"].fillna("missing")
    ).reindex(index=found.levels[0], columns=found.levels[1], fill_value=0)
    np.testing.assert_allclose(found.counts, exact, atol=6.0 * found.noise_std)
    assert found.counts.sum() == pytest.approx(N_ROWS)
    assert (found.counts >= 0.0).all()
    assert len(found.to_frame()) == 16


SUMMARIES = {
    "crosstab": lambda data, **more: tg.crosstab(data, "region", schema=SCHEMA, **more),
    "count": lambda data, **more: tg.count(data, {"region": "south"}, schema=SCHEMA, **more),
    "actual and expected": lambda data, **more: tg.actual_expected(
        data, "first", "third", "region", schema=SCHEMA, **more
    ),
}


@pytest.mark.parametrize("case", SUMMARIES)
def test_only_named_columns_are_read(case):
    data, options = table(), {"random_state": 6, **PROMISE}
    data["category"] = pd.Categorical(data["region"])  # refused where it is read as numbers
    data["when"] = pd.Timestamp("2020-01-01")
    data["ill"] = None
    found = SUMMARIES[case](data, **options)
    named = data[["first", "third", "region"]].copy()
    named["ill"] = "no"
    alone = SUMMARIES[case](named, **options)
    pd.testing.assert_frame_equal(found.to_frame(), alone.to_frame())
    assert found.certificate.guarantee == tg.ApproxDP(1.0, 1e-6)


def test_the_promise_of_a_comparison_rests_on_how_predictions_were_made():
    given = SUMMARIES["actual and expected"](table(), random_state=6, **PROMISE).certificate
    assert given.conditions[0].startswith("each cell of 'third' is a prediction from its own row")
    assert not SUMMARIES["count"](table(), random_state=6, **PROMISE).certificate.conditions


@pytest.mark.parametrize("case", ["crosstab", "count"])
def test_empty_cells_are_counted_wherever_most_are_empty(case):
    data = table()
    data.loc[1_000:, "region"] = None
    rows = SUMMARIES[case](data, random_state=7, **PROMISE).tables()[0].rows
    expected = (data["region"] == "south").sum()
    assert abs(rows[1][1] - expected if case == "crosstab" else rows[0][0] - expected) < 30.0


@pytest.mark.parametrize("by", [None, ["region", "ill"]])
def test_actual_totals_stand_beside_expected_ones(by):
    data = table()
    data["actual"] = data["third"] * np.where(data["ill"] == "yes", 1.5, 1.0)
    found = tg.actual_expected(
        data, "actual", "third", by, schema=SCHEMA, random_state=3, guarantee=tg.GDP(1.0)
    )
    assert len(found.groups) == (1 if by is None else 16)
    if by is None:
        assert found.low[0] < data["actual"].sum() / data["third"].sum() < found.high[0]
        np.testing.assert_allclose(found.actual, data["actual"].sum(), rtol=0.05)
        np.testing.assert_allclose(found.expected, data["third"].sum(), rtol=0.05)
    else:
        for name, truth in (("ill=yes", 1.5), ("ill=no", 1.0)):
            places = [place for place, group in enumerate(found.groups) if name in group]
            seen = [place for place in places if np.isfinite(found.ratio[place])]
            held = [found.low[place] <= truth <= found.high[place] for place in seen]
            assert np.mean(held) >= 0.75
            assert max(abs(found.ratio[place] - truth) for place in seen) < 0.5
        assert np.isnan(found.ratio[-1])  # no record has a gap


@pytest.mark.parametrize("gaps", [False, True])
def test_totals_have_the_ratio_beside_them_unless_the_columns_have_unlike_gaps(gaps):
    data = table().assign(expected=table()["third"])
    data.loc[::2, "third"] = np.nan if gaps else 1.0
    found = tg.actual_expected(
        data, "third", "expected", "ill", schema=SCHEMA, random_state=3, guarantee=tg.GDP(1.0)
    )
    seen = np.isfinite(found.ratio)
    assert seen.sum() >= 2
    of_totals = found.actual[seen] / found.expected[seen]
    assert np.allclose(of_totals, found.ratio[seen], rtol=1e-9) != gaps


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tg.correlation(table()[["first"]], **PROMISE), "at least two columns"),
        (
            lambda: tg.covariance(table()[NUMBERS], guarantee=tg.PureDP(1.0)),
            "guarantee must not be PureDP for products",
        ),
        (lambda: tg.crosstab(table(), "first", schema=SCHEMA, **PROMISE), "by must be"),
        (lambda: tg.crosstab(table(), 3, schema=SCHEMA, **PROMISE), "by must be a name or a list"),
        (lambda: tg.crosstab(table(), [], schema=SCHEMA, **PROMISE), "by must name columns"),
        (
            lambda: tg.actual_expected(table(), "first", "first", schema=SCHEMA, **PROMISE),
            "expected must be a different column",
        ),
        (
            lambda: tg.actual_expected(table(), "first", "ill", schema=SCHEMA, **PROMISE),
            "expected must be",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(call, words):
    with pytest.raises(tg.InputError, match=words):
        call()


def test_correlations_of_skewed_columns_are_not_cut_where_noise_is_small():
    first, second = np.random.default_rng(0).exponential(size=(2, N_ROWS))
    both = np.stack([first, first + second], axis=1)
    found = tg.correlation(both, epsilon=5.0, delta=1e-6, random_state=0).value[0, 1]
    assert found == pytest.approx(np.sqrt(0.5), abs=0.02)
