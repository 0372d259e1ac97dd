"""Private scores by weight: those of scikit-learn, by default with the weights of the fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score

import tailguard as tg

N_ROWS = 8_000
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N_ROWS, 2))
# Rows that count more are predicted worse, so that weights decide the score.
WEIGHTS = RNG.uniform(0.1, 2.0, N_ROWS)
COST = X @ [1.0, -0.5] + WEIGHTS * RNG.standard_normal(N_ROWS)
ILL = (X[:, 0] + WEIGHTS * RNG.logistic(size=N_ROWS) > 0.5).astype(int)
TABLE = pd.DataFrame(X, columns=["a", "b"]).assign(cost=COST, w=WEIGHTS)
RICH = {"guarantee": tg.GDP(30.0), "random_state": 0}
WEIGHED = {"sample_weight": WEIGHTS, "weight_bound": 2.0, **RICH}
SCHEMA = {"target": "cost", "features": ["a", "b"], "weight": "w", "weight_bound": 2.0}


@pytest.fixture(scope="module")
def declared():
    return tg.LinearRegression(schema=SCHEMA, **RICH).fit(TABLE)


def test_shares_losses_and_areas_are_those_by_weight():
    model = tg.LogisticRegression(**RICH).fit(X, ILL)
    found = model.private_score(X, ILL, **WEIGHED)
    chance = model.predict_proba(X)[:, 1]
    loss = log_loss(ILL, chance, sample_weight=WEIGHTS)
    area = roc_auc_score(ILL, chance, sample_weight=WEIGHTS)
    assert abs(loss - log_loss(ILL, chance)) > 0.02
    assert abs(area - roc_auc_score(ILL, chance)) > 0.02
    assert found.deviance.value == pytest.approx(loss, abs=0.004)
    assert found.auc.value == pytest.approx(area, abs=0.01)
    assert found.deviance.low < loss < found.deviance.high
    assert found.auc.low < area < found.auc.high


def test_weights_are_by_default_those_that_the_schema_of_the_fit_declares(declared):
    found = declared.private_score(TABLE, COST, **RICH)
    expected = r2_score(COST, declared.predict(TABLE), sample_weight=WEIGHTS)
    assert abs(expected - r2_score(COST, declared.predict(TABLE))) > 0.05
    assert found.explained.value == pytest.approx(expected, abs=0.02)
    same = declared.private_score(TABLE, COST, **WEIGHED)
    assert same.explained == found.explained
    assert any("count by their weights" in note for note in found.notes)
    (rests,) = (note for note in found.notes if "rests on" in note)
    total = float(rests.split("about ")[1].split(" times")[0].replace(",", ""))
    assert total == pytest.approx(WEIGHTS.sum() / 2.0, rel=0.05)


@pytest.mark.parametrize("beside", ["exposure", "offset"])
def test_exposures_and_offsets_are_by_default_those_of_the_schema(beside):
    """Without them counts would be compared with rates."""
    years = np.exp(RNG.uniform(-2.0, 2.0, N_ROWS))
    counts = RNG.poisson(years * np.exp(0.3 * X[:, 0]))
    column = years if beside == "exposure" else np.log(years)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(n=counts, beside=column)
    schema = {"target": "n", "features": ["a", "b"], beside: "beside"}
    model = tg.PoissonRegression(schema=schema, **RICH).fit(table)
    found = model.private_score(table, counts, **RICH)
    assert (
        found.explained == model.private_score(table, counts, **{beside: column}, **RICH).explained
    )
    told = model.score(table, counts, **{beside: column})
    assert found.explained.value == pytest.approx(told, abs=0.03)
    assert abs(told - model.score(table, counts)) > 0.2
    with pytest.raises(tg.InputError, match="'beside'"):
        model.private_score(table.drop(columns="beside"), counts, **RICH)


def test_void_weights_count_as_zero_and_larger_ones_as_the_bound(declared):
    odd = np.arange(N_ROWS) % 2 == 1
    weights = np.where(odd, np.minimum(WEIGHTS, 1.0), 0.0)
    wild = np.where(odd, WEIGHTS, np.resize([np.nan, -1.0, np.inf], N_ROWS))
    given = [
        declared.private_score(TABLE, COST, sample_weight=each, weight_bound=1.0, **RICH).explained
        for each in (weights, wild)
    ]
    assert given[0] == given[1]


def test_rows_of_persons_count_by_their_weights_beside_their_shares(declared):
    keys = np.arange(N_ROWS) // 2
    found = declared.private_score(TABLE, COST, person=keys, max_rows=2, **WEIGHED)
    expected = r2_score(COST, declared.predict(TABLE), sample_weight=WEIGHTS)
    assert found.certificate.n_rows == N_ROWS // 2
    # A person's deviance is the mean over her rows, by weight.
    assert found.explained.value == pytest.approx(expected, abs=0.02)


@pytest.mark.long
def test_intervals_hold_as_often_as_they_say():
    """Of one model, which has the true line, on fresh records."""
    held, rng = [], np.random.default_rng(1)

    def drawn(n_rows):
        features = rng.standard_normal((n_rows, 1))
        return features, features[:, 0] + rng.standard_normal(n_rows)

    model = tg.LinearRegression(guarantee=tg.GDP(9.0), random_state=0).fit(*drawn(50_000))
    for seed in range(40):
        features, target = drawn(2_000)
        weights = np.where(rng.random(2_000) < 0.5, 0.2, 1.0)
        told = {"sample_weight": weights, "weight_bound": 1.0, "guarantee": tg.GDP(1.0)}
        found = model.private_score(features, target, random_state=seed, **told).explained
        held.append(found.low < 0.5 < found.high)
    assert np.mean(held) > 0.87  # of true ones that fails once in 40


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"X": TABLE[["a", "b"]]}, "sample_weight must be given .* no column 'w'"),
        ({"sample_weight": WEIGHTS[:9], "weight_bound": 1.0}, "sample_weight must"),
        ({"sample_weight": "v"}, "'v'"),
        ({"weight_bound": 1.0}, "weight_bound must be left out without sample_weight"),
    ],
)
def test_wrong_weights_are_refused_in_a_sentence(declared, told, words):
    told = {"X": TABLE, "y": COST} | told
    with pytest.raises(tg.InputError, match=words):
        declared.private_score(**told, **RICH)
