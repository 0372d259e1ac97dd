"""Fits and means that protect persons: what they aim at, what they state, where persons enter."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import tailguard as tg
from support.person_attack import (
    AUDITED_MU,
    AUDITED_PERSONS,
    OverheardPersons,
    audited_pair,
)
from support.transcripts import check_noises
from tailguard.gate.plan import Problem
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.oracles import make_oracle
from tailguard.solvers.registry import make_solver
from tailguard.solvers.softmax_newton import SoftmaxNewton

RNG = np.random.default_rng(0)
N_PERSONS = 4_000
COUNTS = RNG.integers(1, 9, N_PERSONS)
KEYS = np.repeat(np.arange(N_PERSONS), COUNTS)
X = RNG.standard_normal((N_PERSONS, 2))[KEYS] + 0.5 * RNG.standard_normal((len(KEYS), 2))
# Persons of many rows have another line: rows and persons aim at different fits.
SCORE = X @ [1.0, -0.5] + 0.2 * (COUNTS[KEYS] - 4.5) * X[:, 0]
COSTS = SCORE + RNG.standard_normal(N_PERSONS)[KEYS] + 0.5 * RNG.standard_normal(len(KEYS))
ILL = (SCORE + RNG.logistic(size=len(KEYS)) > 0.0).astype(int)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "cost": COSTS, "key": KEYS, "home": KEYS // 2})
FEATURES = {"target": "cost", "columns": ["a", "b"]}
SHARE = 1.0 / COUNTS[KEYS]
BUDGET = {"epsilon": 6.0, "delta": 1e-6, "random_state": 0}
PERSONS = {"max_rows": 8, **BUDGET}
COUNTED = np.linspace(-0.3, 0.3, 4)


def weights_of(model):
    return np.array([*np.ravel(model.coef_), *np.ravel(model.intercept_)])


@cache
def fitted(**options):
    return tg.LinearRegression(**{**PERSONS, **options}).fit(X, COSTS, person=KEYS)


def test_by_person_each_counts_once_and_by_row_each_row_does():
    once = weights_of(LinearRegression().fit(X, COSTS, sample_weight=SHARE))
    alike = weights_of(LinearRegression().fit(X, COSTS))
    assert np.abs(once - alike).max() > 0.15
    assert np.abs(weights_of(fitted()) - once).max() < 0.06
    assert np.abs(weights_of(fitted(weight="row")) - alike).max() < 0.08


def test_whom_a_fit_protects_was_not_decided_on_released_numbers():
    note = "protected is one person (person), at most 8 rows"
    assert note in fitted().notes_
    assert f"  {note}\n" in fitted().explain()
    (line,) = (each for each in fitted().report().notes if "protected" in each)
    assert line == note


def test_likelihoods_take_persons():
    once = weights_of(LogisticRegression(C=np.inf).fit(X, ILL, sample_weight=SHARE))
    model = tg.LogisticRegression(**PERSONS).fit(X, ILL, person=KEYS)
    assert np.abs(weights_of(model) - once).max() < 0.2


def clustered():
    """Standard errors of the fit without privacy, by hand: of independent persons, and of rows."""
    rows = np.column_stack([X, np.ones(len(X))])
    best = weights_of(LinearRegression().fit(X, COSTS, sample_weight=SHARE))
    bread = np.linalg.inv((SHARE[:, None] * rows).T @ rows)
    sums = np.zeros((N_PERSONS, 3))
    np.add.at(sums, KEYS, (SHARE * (COSTS - rows @ best))[:, None] * rows)
    alone = SHARE[:, None] * (COSTS - rows @ best)[:, None] * rows
    return [np.sqrt(np.diag(bread @ s.T @ s @ bread)) for s in (sums, alone)]


def test_standard_errors_are_those_of_clusters():
    model = fitted(epsilon=None, delta=None, guarantee=tg.GDP(20.0))
    by_person, by_row = clustered()
    assert (by_person > 1.3 * by_row).all()
    found = np.append(model.coef_std_, model.intercept_std_)
    np.testing.assert_allclose(found, by_person, rtol=0.25)


@pytest.mark.parametrize("model", [tg.LinearRegression, tg.PoissonRegression])
def test_intervals_of_persons_whose_rows_are_unlike_are_nearly_as_narrow_as_clusters_are(model):
    """Eight unlike rows tell much more than one, and no interval takes them for one."""
    rng, n_persons, counts = np.random.default_rng(0), 10_000, model is tg.PoissonRegression
    keys, rows = np.repeat(np.arange(n_persons), 8), rng.standard_normal((8 * n_persons, 2))
    mean = np.exp(0.3 * rows.sum(axis=1)) if counts else rows.sum(axis=1)
    y = rng.poisson(mean).astype(float) if counts else mean + rng.standard_normal(len(mean))
    found = model(epsilon=4.0, delta=1e-6, max_rows=8, random_state=0).fit(rows, y, person=keys)
    columns = np.column_stack([rows, np.ones(len(rows))])
    curvature = columns.T @ ((mean if counts else np.ones(len(mean)))[:, None] * columns) / 8.0
    sums = np.zeros((n_persons, 3))
    np.add.at(sums, keys, (y - mean)[:, None] * columns / 8.0)
    robust = np.sqrt(np.diag(np.linalg.inv(curvature) @ sums.T @ sums @ np.linalg.inv(curvature)))
    assert (found.coef_std_ > 0.9 * robust[:2]).all()
    assert (found.coef_std_ < 1.5 * robust[:2]).all()


def counted(seed, n_persons=N_PERSONS, effect=0.0):
    """Counts of persons with one to ten rows, keys, and clustered errors without privacy.

    ``effect`` is the standard deviation of what the scores of a person's rows share.
    """
    rng = np.random.default_rng(seed)
    rows_each = rng.integers(1, 11, n_persons)
    keys = np.repeat(np.arange(n_persons), rows_each)
    X = rng.standard_normal((len(keys), 4))
    shared = effect * rng.standard_normal(n_persons)[keys] - effect**2 / 2.0
    mean = np.exp(X @ COUNTED)
    slopes = (rng.poisson(mean * np.exp(shared)) - mean) / rows_each[keys]
    columns = np.column_stack([X, np.ones(len(X))])
    bread = np.linalg.inv(columns.T @ ((mean / rows_each[keys])[:, None] * columns))
    sums = np.zeros((n_persons, 5))
    np.add.at(sums, keys, slopes[:, None] * columns)
    robust = np.sqrt(np.diag(bread @ sums.T @ sums @ bread))[:-1]
    return X, slopes * rows_each[keys] + mean, keys, robust


@pytest.mark.long
@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_intervals_of_counts_are_as_wide_as_their_errors(effect):
    """The variance of a row is no bound for a person, whose rows average."""
    held, ratios = [], []
    for seed in range(6):
        X, y, keys, robust = counted(seed, 20_000, effect)
        model = tg.PoissonRegression(epsilon=3.0, delta=1e-6, max_rows=10, random_state=seed)
        model.fit(X, y, person=keys)
        low, high = model.conf_int()[:4].T
        held.append((low <= COUNTED) & (high >= COUNTED))
        ratios.append(model.coef_std_ / np.hypot(robust, model.coef_noise_std_))
    assert np.mean(held) > 0.9
    assert 0.95 < np.sqrt(np.mean(np.square(ratios))) < 1.25


def test_a_distance_far_below_the_sampling_error_takes_no_interval_away():
    """With hardly any noise the last rounds are far from the optimum relative to noise alone."""
    X, y, keys, robust = counted(0, 5_000, 0.5)
    model = tg.PoissonRegression(guarantee=tg.GDP(200.0), max_rows=10, random_state=0)
    model.fit(X, y, person=keys)
    assert (model.coef_std_ > 0.9 * robust).all()
    assert (model.coef_std_ < 1.2 * robust).all()
    assert (np.abs(model.coef_ - COUNTED) < 4.0 * robust).all()


def test_certificate_summary_plan_and_report_say_who_is_protected():
    model, words = fitted(), "one person (person), at most 8 rows"
    certificate = model.certificate_
    assert (certificate.n_rows, certificate.unit.max_rows) == (N_PERSONS, 8)
    assert tg.Certificate.from_json(certificate.to_json()) == certificate
    for text in (certificate.to_text(), certificate.to_html(), model.report().to_html()):
        assert words in " ".join(text.split())
    assert "persons: 4000" in model.summary()
    assert f"protected is {words}" in model.explain()
    assert model.report().to_registry()["deployment"]["privacy_loss"]["privacy_unit"] == words
    rows = tg.LinearRegression(**BUDGET).fit(X, COSTS)
    assert "one row, and not a person with several rows" in rows.certificate_.to_text()
    stated = tg.LinearRegression(**BUDGET, one_row_per_person=True).fit(X, COSTS)
    assert "states that each person has one row" in stated.certificate_.to_json()
    edited = json.loads(certificate.to_json())
    edited["unit"]["max_rows"] = 4
    with pytest.raises(tg.InputError, match="protects"):
        tg.Certificate.from_dict(edited)


def test_whom_a_run_protects_is_no_assumption_for_accuracy():
    """The certificate lists these as such on which privacy does not rest."""
    declared = fitted(), tg.LinearRegression(one_row_per_person=True, **BUDGET).fit(X, COSTS)
    for model in declared:
        assert any("protected is" in note for note in model.notes_)
        assert "protected is" not in str(model.certificate_)
        assert model.certificate_.unit.describe() in " ".join(str(model.certificate_).split())


def test_columns_schemas_and_keys_beside_the_table_are_alike():
    beside = weights_of(fitted())
    named = tg.LinearRegression(person="key", **PERSONS).fit(TABLE, **FEATURES)
    told = tg.LinearRegression(**PERSONS).fit(TABLE, **FEATURES, person="key")
    schema = {"target": "cost", "person": "key", "max_rows": 8, "features": ["a", "b"]}
    declared = tg.LinearRegression(schema=schema, **BUDGET).fit(TABLE)
    texts = TABLE.assign(key=TABLE.key.astype(str)).sample(frac=1.0, random_state=1)
    shuffled = tg.LinearRegression(schema=schema, **BUDGET).fit(texts)
    for model in (named, told, declared):
        assert weights_of(model).tolist() == beside.tolist()
        assert model.certificate_.unit.describe().startswith("one person (key)")
    # Texts are numbered as the numbers that they write, and no order of rows enters.
    assert weights_of(shuffled).tolist() == beside.tolist()


def test_one_row_a_person_is_the_fit_of_rows_up_to_what_is_drawn():
    """With one row each, persons are rows in another order."""
    first = np.append(0, np.cumsum(COUNTS)[:-1])
    rows = tg.LinearRegression(**BUDGET).fit(X[first], COSTS[first], order="file")
    model = tg.LinearRegression(**BUDGET, max_rows=1)
    persons = model.fit(X[first], COSTS[first], person=np.arange(N_PERSONS))
    np.testing.assert_allclose(weights_of(persons), weights_of(rows), atol=0.08)
    assert persons.certificate_.planned == rows.certificate_.planned


@pytest.mark.long
def test_a_sample_of_many_is_one_of_persons():
    """Where persons may have more than 200 000 rows what steers reads some of them."""
    times = 15
    many, y = np.tile(X, (times, 1)), np.tile(COSTS, times)
    keys = np.concatenate([KEYS + N_PERSONS * turn for turn in range(times)])
    model = tg.LinearRegression(**PERSONS).fit(many, y, person=keys)
    assert any(stage.block_map == "sample" for stage in model.plan_.stages)
    assert model.certificate_.n_rows == times * N_PERSONS
    once = weights_of(LinearRegression().fit(X, COSTS, sample_weight=SHARE))
    np.testing.assert_allclose(weights_of(model), once, atol=0.02)


def test_a_ledger_counts_rows_or_the_persons_of_one_column(tmp_path):
    private = {"epsilon": 1.0, "delta": 1e-6}
    cap = {"epsilon": 4.0, "delta": 1e-5}
    rows = tg.Ledger(tmp_path / "l.sqlite", "rows", **cap)
    persons = tg.Ledger(tmp_path / "l.sqlite", "persons", person="key", **cap)
    assert (rows.unit, persons.unit) == ("rows", "persons by 'key'")
    some = TABLE.iloc[:4_000]
    for ledger, options, message in (
        (rows, {"person": "key", "max_rows": 8}, r"must count persons by 'key'.*it counts rows"),
        (persons, {}, r"must count rows.*it counts persons by 'key'"),
        (persons, {"person": "home", "max_rows": 8}, "must count persons by 'home'"),
    ):
        before = len(ledger.lines())
        with pytest.raises(tg.BudgetError, match=message):
            tg.LinearRegression(ledger=ledger, **options, **private).fit(some, **FEATURES)
        assert len(ledger.lines()) == before
    model = tg.LinearRegression(ledger=persons, person="key", max_rows=8, **private)
    certificate = model.fit(some, **FEATURES).certificate_
    assert persons.verify(certificate)


REFUSED = [
    ({}, {"person": KEYS}, "max_rows must be given beside person="),
    ({"max_rows": 8}, {}, "max_rows must be left out without person="),
    ({"weight": "row"}, {}, "weight must be left out without person="),
    ({"max_rows": 8, "weight": "visit"}, {"person": KEYS}, "weight must be"),
    ({"max_rows": 8}, {"person": KEYS[:5]}, "person must have one key per row of X"),
    ({"max_rows": 8}, {"person": np.full(len(KEYS), "")}, "person must hold a key"),
]


@pytest.mark.parametrize(("options", "given", "message"), REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(options, given, message):
    with pytest.raises(tg.InputError, match=message):
        tg.LinearRegression(**BUDGET, **options).fit(X, COSTS, **given)


def test_sample_weights_count_beside_the_shares():
    heavy = np.where(KEYS % 2 == 0, 4.0, 1.0)
    best = weights_of(LinearRegression().fit(X, COSTS, sample_weight=SHARE * heavy))
    model = tg.LinearRegression(weight_bound=4.0, **PERSONS)
    found = model.fit(X, COSTS, person=KEYS, sample_weight=heavy)
    assert np.abs(weights_of(found) - best).max() < 0.08


def test_saved_models_predict_and_repeat_who_was_protected(tmp_path):
    model = tg.LinearRegression(person="key", **PERSONS).fit(TABLE, **FEATURES)
    model.save(tmp_path / "m.json")
    again = tg.load(tmp_path / "m.json")
    assert again.certificate_ == model.certificate_
    assert again.predict(TABLE[["a", "b"]])[:5].tolist() == model.predict(TABLE)[:5].tolist()


# A whole fit, overheard -------------------------------------------------------------------------


def pair_of_fits(first, second, *, classes=False):
    """Ordinary persons of two rows; the first has five or three, far apart and each alike."""
    rng = np.random.default_rng(0)
    signs, sizes = rng.choice([-1.0, 1.0], (2, 2, 200)), rng.uniform(1.0, 1.4, (2, 2, 200))
    x, y = (signs * sizes).reshape(2, -1)
    y = rng.integers(0, 3, len(y)).astype(float) if classes else y
    others = np.delete(np.column_stack([x, y]), [0, AUDITED_PERSONS], axis=0)
    for cells, _, keys in audited_pair(others, (5, first), (3, second)):
        yield cells[:, :1], cells[:, 1], keys


SQUARES = tuple(pair_of_fits((2.0**6, 2.0**6), (-(2.0**12), 2.0**12)))
OF_CLASSES = tuple(pair_of_fits((1.2, 0.0), (2.0**12, 2.0), classes=True))


MEDIANS = make_solver(
    "noisy-gradient-descent",
    oracle=make_oracle("clamped", threshold=1.0, n_groups=2),
    **{"n_steps": 40, "step_size": 0.01, "iterate": "last"},
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("solver", "loss", "pair", "least"),
    [
        (WhitenedNewton(), tg.losses.Squared(), SQUARES, 0.7),
        (MEDIANS, tg.losses.Squared(), SQUARES, 0.9),
        (SoftmaxNewton(), tg.losses.Multinomial(3), OF_CLASSES, 0.6),
    ],
    ids=["squares", "medians of groups", "classes"],
)
def test_a_whole_fit_shows_most_of_what_it_claims_of_a_person_and_never_more(
    solver, loss, pair, least
):
    classes = loss.name == "multinomial"
    constraint = tg.sets.L2Ball(1.0) if solver is MEDIANS else None
    told = {"intercept": classes, "max_rows": 5, "constraint": constraint}
    problem = Problem(loss, AUDITED_PERSONS, 1, **told)
    plan = solver.plan(problem, tg.GDP(AUDITED_MU))
    told = [OverheardPersons.told(solver, plan, pair, seed=seed, loss=loss) for seed in range(20)]
    shown = np.array([one.mu for one in told]) / AUDITED_MU
    assert shown.mean() >= max(least, 0.65)
    assert shown.min() >= least
    assert shown.max() <= 1.0 + 1e-9
    check_noises(np.concatenate([one.noises for one in told]))
