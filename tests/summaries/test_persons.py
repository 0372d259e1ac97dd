"""Summaries of persons: what they aim at, who is counted, and what they may not tell."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tailguard as tg

RNG = np.random.default_rng(0)
N_PERSONS, MOST = 4_000, 8
COUNTS = RNG.integers(1, MOST + 1, N_PERSONS)
KEYS = np.repeat(np.arange(N_PERSONS), COUNTS)
SHARE = 1.0 / COUNTS[KEYS]
# Persons of many rows are higher, and more often in the north: rows and persons aim apart.
Z = RNG.standard_normal((N_PERSONS, 2))[KEYS] + 0.5 * RNG.standard_normal((len(KEYS), 2))
HIGHER = 0.3 * (COUNTS[KEYS] - 4.5)
REGION = np.where(RNG.uniform(size=len(KEYS)) < COUNTS[KEYS] / 9.0, "north", "south")
TABLE = pd.DataFrame(
    {
        "first": 5.0 + Z[:, 0] + HIGHER,
        "second": 8.0 * Z[:, 0] + 6.0 * Z[:, 1],
        "region": REGION,
        "id": [f"p{key}" for key in KEYS],
    }
)
NUMBERS = ["first", "second"]
SCHEMA = {"categorical": {"region": ["north", "south"]}}
PROMISE = {"epsilon": 6.0, "delta": 1e-6, "random_state": 0}
PERSONS = {"person": "id", "max_rows": MOST, **PROMISE}
NORTH = REGION == "north"


def weighted(values, where=slice(None)):
    return float(np.average(values[where], weights=SHARE[where]))


def quantile(values, level, where=slice(None)):
    order = np.argsort(values[where])
    below = np.cumsum(SHARE[where][order])
    return values[where][order][np.searchsorted(below, level * below[-1])]


@pytest.fixture(scope="module")
def described():
    return tg.describe(TABLE, schema=SCHEMA, **PERSONS)


def test_each_person_counts_once(described):
    first = TABLE["first"].to_numpy()
    assert abs(weighted(first) - first.mean()) > 0.2
    assert described.certificate.n_rows == N_PERSONS
    np.testing.assert_allclose(described.usable, N_PERSONS, rtol=0.01)
    assert (described.missing >= 0.0).all()
    for place, name in enumerate(NUMBERS):
        values = TABLE[name].to_numpy()
        spread = np.sqrt(weighted((values - weighted(values)) ** 2))
        assert abs(described.mean[0, place] - weighted(values)) < 0.03 * spread
        assert described.mean_low[0, place] < weighted(values) < described.mean_high[0, place]
        assert described.std[0, place] == pytest.approx(spread, rel=0.05)
        for level, found in zip(described.levels, described.quantiles[0, place], strict=True):
            assert abs(found - quantile(values, level)) < 0.1 * spread
    cov = np.cov(TABLE[NUMBERS].T.to_numpy(), aweights=SHARE, ddof=0)
    expected = cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    assert described.correlation[0, 1] == pytest.approx(expected, abs=0.05)
    assert described.shares["region"]["north"] == pytest.approx(weighted(NORTH), abs=0.01)


def test_words_say_who_is_protected(described):
    words = "protected is one person (id), at most 8 rows"
    assert words in " ".join(repr(described).split())
    certificate = " ".join(described.certificate.to_text().split())
    assert words.replace("protected is", "protects") in certificate
    by_row = tg.describe(TABLE, schema=SCHEMA, columns=[*NUMBERS, "region"], **PROMISE)
    assert "protected is" not in repr(by_row)
    assert by_row.certificate.n_rows == len(KEYS)


def test_groups_share_a_person_out():
    """Her rows lie in several groups, whose numbers of persons add up to all."""
    found = tg.describe(TABLE, by="region", schema=SCHEMA, **PERSONS)
    assert found.groups[:2] == ("region=north", "region=south")
    for group, where in enumerate((NORTH, ~NORTH)):
        values = TABLE["first"].to_numpy()
        assert found.usable[group, 0] == pytest.approx(SHARE[where].sum(), rel=0.05)
        assert found.mean[group, 0] == pytest.approx(weighted(values, where), abs=0.1)
        assert found.quantiles[group, 0, 2] == pytest.approx(quantile(values, 0.5, where), abs=0.15)
    counts = tg.crosstab(TABLE, "region", schema=SCHEMA, **PERSONS).counts
    assert counts.sum() == pytest.approx(N_PERSONS)
    assert counts[0] == pytest.approx(SHARE[NORTH].sum(), rel=0.02)


@pytest.mark.long
def test_single_summaries_are_those_of_persons():
    numbers = TABLE[[*NUMBERS, "id"]]
    first, second = (TABLE[name].to_numpy() for name in NUMBERS)
    found = tg.quantile(numbers, [0.25, 0.5], **PERSONS)
    np.testing.assert_allclose(
        found.value[0], [quantile(first, level) for level in (0.25, 0.5)], atol=0.1
    )
    bins = tg.histogram(numbers, edges=[4.0, 6.0], **PERSONS).counts
    inside = (first > 4.0) & (first <= 6.0)
    assert bins[0, 1] == pytest.approx(SHARE[inside].sum(), rel=0.03)
    assert bins[0].sum() == pytest.approx(N_PERSONS, rel=0.01)
    assert tg.histogram(numbers, 5, **PERSONS).counts[0].sum() == pytest.approx(N_PERSONS, rel=0.01)
    cov = np.cov([first, second], aweights=SHARE, ddof=0)
    np.testing.assert_allclose(tg.variance(numbers, **PERSONS).value, np.diag(cov), rtol=0.1)
    np.testing.assert_allclose(tg.covariance(numbers, **PERSONS).value, cov, atol=5.0)
    expected = cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])
    assert tg.correlation(numbers, **PERSONS).value[0, 1] == pytest.approx(expected, abs=0.05)
    counted = tg.count(TABLE, {"region": "north"}, schema=SCHEMA, **PERSONS)
    assert counted.low < SHARE[NORTH].sum() < counted.high < N_PERSONS
    table = pd.DataFrame({"cost": np.exp(first / 5.0), "id": KEYS})
    table["predicted"] = 0.5 * table["cost"]
    ratio = tg.actual_expected(table, "cost", "predicted", **PERSONS)
    assert ratio.low[0] < 2.0 < ratio.high[0]


def test_pure_promises_count_persons_too():
    numbers = TABLE[[*NUMBERS, "id"]]
    pure = {"person": "id", "max_rows": MOST, "guarantee": tg.PureDP(6.0), "random_state": 0}
    found = tg.describe(numbers, **pure)
    first = TABLE["first"].to_numpy()
    assert found.mean[0, 0] == pytest.approx(weighted(first), abs=0.1)
    assert found.certificate.unit.person == "id"


def test_intervals_hold_where_all_rows_of_a_person_are_alike():
    """The variance of persons, not that of ten times as many rows."""
    rng, held = np.random.default_rng(1), 0
    keys = np.repeat(np.arange(1_000), 10)
    for seed in range(12):
        alike = np.repeat(rng.standard_normal(1_000), 10)[:, None]
        given = {"person": keys, "max_rows": 10, "guarantee": tg.GDP(20.0), "random_state": seed}
        found = tg.describe(alike, **given)
        low, high = found.mean_low[0, 0], found.mean_high[0, 0]
        held += low < 0.0 < high
        assert high - low > 1.8 * 1.96 / np.sqrt(1_000)
    assert held >= 9  # of 12 at 95 %: fewer in one of 500 cases


def test_keys_and_orders_of_rows_change_no_bit():
    by_name = tg.describe(TABLE[[*NUMBERS, "id"]], **PERSONS)
    shuffled = TABLE[[*NUMBERS, "id"]].sample(frac=1.0, random_state=1)
    again = tg.describe(shuffled, **PERSONS)
    assert again.quantiles.tolist() == by_name.quantiles.tolist()
    assert again.mean.tolist() == by_name.mean.tolist()
    schema = {"person": "id", "max_rows": MOST}
    declared = tg.describe(TABLE[[*NUMBERS, "id"]], schema=schema, **PROMISE)
    assert declared.mean.tolist() == by_name.mean.tolist()
    ledger_names = {"person": [f"p{key}" for key in KEYS], "max_rows": MOST}
    beside = tg.describe(TABLE[NUMBERS], **ledger_names, **PROMISE)
    assert beside.mean.tolist() == by_name.mean.tolist()
    assert beside.certificate.unit.person == "person"


# How many rows persons have ---------------------------------------------------------------------


def test_rows_per_person_are_counted_for_every_person():
    found = tg.rows_per_person(TABLE["id"], **PROMISE)
    assert found.names == ("rows per person",)
    assert found.certificate.n_rows == N_PERSONS
    assert found.certificate.unit.person == "id"
    assert found.quantiles[0, 0].tolist() == np.quantile(COUNTS, found.levels).tolist()
    assert found.mean[0, 0] == pytest.approx(COUNTS.mean(), abs=0.05)
    assert found.mean_low[0, 0] < COUNTS.mean() < found.mean_high[0, 0]
    nobody = tg.rows_per_person([*TABLE["id"], *[None] * 9_000, *[""] * 500], **PROMISE)
    assert nobody.quantiles.tolist() == found.quantiles.tolist()
    assert "how many rows she has" in " ".join(repr(found).split())


def test_one_person_of_many_rows_moves_rows_per_person_as_one_record():
    """Her thousand rows are one number in one bin of each histogram."""
    before = tg.rows_per_person(KEYS, **PROMISE)
    more = np.append(KEYS, np.full(1_000_000, 7))
    after = tg.rows_per_person(more, **PROMISE)
    assert before.certificate == after.certificate
    assert abs(after.mean[0, 0] - before.mean[0, 0]) < 0.01
    assert np.abs(after.quantiles - before.quantiles).max() <= 1.0


@pytest.mark.parametrize("person", ["id", None, 7])
def test_keys_must_be_a_column(person):
    with pytest.raises(tg.InputError, match="person must be a column of keys"):
        tg.rows_per_person(person, **PROMISE)


@pytest.mark.parametrize(
    "keys",
    [np.zeros((123, 2)), np.zeros((123, 1, 1)), sparse.csr_array(np.ones((123, 1)))],
    ids=["matrix", "cube", "sparse"],
)
def test_keys_of_another_shape_tell_no_number_of_rows(keys):
    with pytest.raises(tg.InputError, match="person must be") as caught:
        tg.rows_per_person(keys, **PROMISE)
    assert "123" not in str(caught.value)


def test_a_sparse_vector_tells_no_number_of_rows():
    with pytest.raises(tg.InputError, match="X must be a matrix of rows by features") as caught:
        tg.mean(sparse.coo_array(np.ones(123)), person=np.arange(123), max_rows=1, **PROMISE)
    assert "123" not in str(caught.value)
