"""Private scores of persons: what they aim at, their intervals, and what they may not tell."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score

import tailguard as tg
from support.solvers import FEW_ROUNDS

RNG = np.random.default_rng(0)
N_PERSONS, MOST = 3_000, 8
COUNTS = RNG.integers(1, MOST + 1, N_PERSONS)
KEYS = np.repeat(np.arange(N_PERSONS), COUNTS)
X = RNG.standard_normal((N_PERSONS, 2))[KEYS] + 0.5 * RNG.standard_normal((len(KEYS), 2))
# Persons of many rows are predicted better: rows and persons have different scores.
ETA = X @ [1.0, -0.5] + 0.3 * (COUNTS[KEYS] - 4.5) * X[:, 0]
COSTS = ETA + RNG.standard_normal(N_PERSONS)[KEYS] + 0.5 * RNG.standard_normal(len(KEYS))
ILL = (ETA + RNG.logistic(size=len(KEYS)) > 0.5).astype(float)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "cost": COSTS, "patient": KEYS})
RICH = {"guarantee": tg.GDP(30.0), "random_state": 0}
BRIEF = {**RICH, "solver": FEW_ROUNDS}
WEIGHTS = {"person": 1.0 / COUNTS[KEYS], "row": np.ones(len(KEYS))}


@cache
def costly():
    return tg.LinearRegression(max_rows=MOST, **BRIEF).fit(X, COSTS, person=KEYS)


@cache
def sick():
    return tg.LogisticRegression(max_rows=MOST, **BRIEF).fit(X, ILL, person=KEYS)


@cache
def named():
    model = tg.LinearRegression(person="patient", max_rows=MOST, **BRIEF)
    return model.fit(TABLE, target="cost")


@pytest.mark.parametrize("weight", WEIGHTS)
def test_scores_are_those_of_persons_or_of_their_rows(weight):
    once, row = WEIGHTS[weight], WEIGHTS["row"]
    costs = costly().private_score(X, COSTS, person=KEYS, weight=weight, **RICH)
    predicted = costly().predict(X)
    expected = [r2_score(COSTS, predicted, sample_weight=each) for each in WEIGHTS.values()]
    assert abs(expected[0] - expected[1]) > 0.05
    explained = r2_score(COSTS, predicted, sample_weight=once)
    assert costs.explained.value == pytest.approx(explained, abs=0.01)
    chance = sick().predict_proba(X)[:, 1]
    ill = sick().private_score(X, ILL, person=KEYS, weight=weight, **RICH)
    loss = log_loss(ILL, chance, sample_weight=once)
    area = roc_auc_score(ILL, chance, sample_weight=once)
    assert abs(loss - log_loss(ILL, chance, sample_weight=row)) > 0.01 or weight == "row"
    assert ill.deviance.value == pytest.approx(loss, abs=0.005)
    assert ill.auc.value == pytest.approx(area, abs=0.01)
    for estimate, truth in ((costs.explained, explained), (ill.deviance, loss), (ill.auc, area)):
        assert estimate.low < truth < estimate.high


def test_persons_are_by_default_those_of_the_fit():
    found = named().private_score(TABLE, COSTS, **RICH)
    assert found.certificate.unit == named().certificate_.unit
    assert found.certificate.n_rows == N_PERSONS
    assert f"about {N_PERSONS:,} of {N_PERSONS:,} persons" in found.notes[-1]
    beside = costly().private_score(X, COSTS, person=KEYS, **RICH)
    assert beside.certificate.unit == costly().certificate_.unit
    shuffled = np.random.default_rng(1).permutation(len(KEYS))
    again = costly().private_score(X[shuffled], COSTS[shuffled], person=KEYS[shuffled], **RICH)
    assert again.explained == beside.explained
    # A model that protects rows is scored by persons where they are given.
    rows = tg.LinearRegression(**RICH).fit(X, COSTS)
    told = {"person": pd.Series(KEYS, name="patient"), "max_rows": 3, "weight": "row"}
    by_row = rows.private_score(X, COSTS, **told, **RICH)
    words = "one person (patient), at most 3 rows, each used row counting alike"
    assert by_row.certificate.unit.describe() == words
    assert re.search(r"about [\d,]+ rows of 3,000 persons", by_row.notes[-1])
    assert rows.private_score(X, COSTS, **RICH).certificate.unit.person is None


def test_a_ledger_of_persons_is_charged_and_one_of_rows_refused(tmp_path):
    cap, price = {"epsilon": 1.2, "delta": 1e-5}, {"epsilon": 1.0, "delta": 1e-6}
    persons = tg.Ledger(tmp_path / "l.sqlite", "persons", person="patient", **cap)
    rows = tg.Ledger(tmp_path / "l.sqlite", "rows", **cap)
    with pytest.raises(tg.BudgetError, match="must count persons by 'patient'"):
        named().private_score(TABLE, COSTS, ledger=rows, **price)
    found = named().private_score(TABLE, COSTS, ledger=persons, **price)
    assert persons.verify(found.certificate)
    with pytest.raises(tg.BudgetError):
        named().private_score(TABLE, COSTS, ledger=persons, **price)
    assert len(rows.lines()) == 1


@pytest.mark.parametrize(
    ("model", "told", "message"),
    [
        (costly, {}, "person must be given to score a model that protects persons"),
        (costly, {"person": KEYS, "max_rows": 0}, "max_rows must be"),
        (costly, {"person": KEYS, "weight": "visit"}, "weight must be"),
        (named, {"X": TABLE[["a", "b"]]}, "X has no column 'patient'"),
        (named, {"X": TABLE, "person": "nobody"}, "must have a column 'nobody'"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(model, told, message):
    with pytest.raises(tg.InputError, match=message):
        model().private_score(told.pop("X", X), COSTS, **told, **RICH)


# Intervals --------------------------------------------------------------------------------------


def test_the_interval_of_what_is_explained_is_that_of_clusters():
    """Whether the rows of a person are alike or not: by hand, of a ratio of sums over persons."""
    rng, n_persons = np.random.default_rng(2), 4_000
    keys = np.repeat(np.arange(n_persons), MOST)
    for own, each in ((1.0, 0.0), (0.0, 1.0)):
        rows = rng.standard_normal((len(keys), 2))
        noise = own * rng.standard_normal(n_persons)[keys] + each * rng.standard_normal(len(keys))
        y = rows @ [1.0, -0.5] + noise
        found = costly().private_score(rows, y, person=keys, **RICH).explained
        lost, whole = (y - costly().predict(rows)) ** 2, (y - y.mean()) ** 2
        by_person = np.array([np.bincount(keys, part) for part in (lost, whole)])
        ratio = lost.sum() / whole.sum()
        std = np.sqrt(((by_person[0] - ratio * by_person[1]) ** 2).sum()) / whole.sum()
        assert 0.95 * std < (found.high - found.low) / 2.0 / 1.96 < 1.35 * std
        assert found.low < 1.0 - ratio < found.high


def test_intervals_hold_where_all_rows_of_a_person_are_alike():
    """Of 20 tables at most 4 intervals of a measure may miss; true ones fail once in 130."""
    rng, missed = np.random.default_rng(3), np.zeros(3, dtype=int)
    many = rng.standard_normal((200_000, 2))

    def labels(rows):
        return (rows @ [1.0, -0.5] + rng.logistic(size=len(rows)) > 0.5).astype(float)

    y, chance = labels(many), sick().predict_proba(many)[:, 1]
    loss = log_loss(y, chance)
    truth = [1.0 - loss / log_loss(y, np.full(len(y), y.mean())), loss, roc_auc_score(y, chance)]
    for seed in range(20):
        rows = rng.standard_normal((1_500, 2))
        keys = np.repeat(np.arange(1_500), 4)
        told = {"person": keys, "guarantee": tg.GDP(4.0), "random_state": seed}
        found = sick().private_score(rows[keys], labels(rows)[keys], **told)
        of = (found.explained, found.deviance, found.auc)
        missed += [not each.low <= true <= each.high for each, true in zip(of, truth, strict=True)]
    assert missed.max() <= 4


def test_the_score_of_a_row_does_not_depend_on_how_many_rows_others_have():
    """Not to the last digit: that decides on which side of zero, or of an edge, a score lies."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((2_000, 20))
    model = tg.LinearRegression(**BRIEF).fit(rows, rows[:, 0])
    for row in rng.standard_normal((20, 20)):
        for n_rows in range(1, 10):
            assert len({*model.predict(np.tile(row, (n_rows, 1))), *model.predict(row[None])}) == 1
