"""PrivateSearch: one budget for all tries, one model, and nothing else."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import tailguard as tg
from tailguard.data.rows.arrays import ArrayRows
from tailguard.estimators.search.plan import SCORE_SHARE
from tailguard.gate.selection import SelectionGate
from tailguard.ledger.report import history_text
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.events import Gaussian, Selected

PRIVACY = {"epsilon": 2.0, "delta": 1e-6}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((3_000, 12))
Y = X[:, 2] - X[:, 5] + RNG.standard_t(3, size=3_000)
KEEP = [{"n_nonzero": count} for count in (1, 2, 4)]


def search(candidates=None, estimator=None, **how):
    how = {"n_tries": 3, **PRIVACY, **how}
    return tg.PrivateSearch(estimator or tg.SparseLinearRegression(), candidates or KEEP, **how)


@pytest.fixture(scope="module")
def fitted():
    return search(random_state=0).fit(X, Y)


def test_the_best_try_is_a_model_of_its_candidate(fitted):
    best = fitted.best_estimator_
    assert isinstance(best, tg.SparseLinearRegression)
    assert fitted.best_params_ == KEEP[fitted.best_index_] == {"n_nonzero": best.n_nonzero}
    assert len(best.support_) <= best.n_nonzero
    assert fitted.candidates_ == KEEP
    assert np.array_equal(fitted.predict(X), best.predict(X))
    assert "chosen: n_nonzero=" in fitted.explain()
    assert best.summary()
    assert best.certificate_ is fitted.certificate_


def test_the_certificate_names_one_mechanism_and_is_recomputed_from_its_file(fitted):
    certificate = fitted.certificate_
    count, *units, selection = certificate.releases
    assert {release.mechanism for release in (count, *units)} == {"gaussian"}
    assert count.name == "number of usable records"
    assert {release.stage.split()[0] for release in units} == {"target"}
    assert selection.event() == fitted.plan_.selection
    assert selection.parameters == {"mean_tries": 3, "law": "geometric", "n_candidates": 3}
    assert 1.99 < certificate.total.epsilon <= 2.0
    assert certificate.spent.epsilon <= certificate.total.epsilon
    again = tg.Certificate.from_json(certificate.to_json())
    assert again == certificate
    assert again.total == certificate.total
    assert "3 tries expected, geometric" in " ".join(certificate.to_text().split())
    assert "secret" in certificate.to_html()
    stored = certificate.to_dict()
    without = stored | {"releases": stored["releases"][:-1]}  # totals are worked out anew
    with pytest.raises(tg.InputError, match=r"they\s+give"):
        tg.Certificate.from_dict(without)
    stored["releases"][-1]["parameters"]["mean_tries"] = 30.0
    with pytest.raises(tg.InputError, match="cost more than was planned"):
        tg.Certificate.from_dict(stored)
    stored["releases"][-1]["parameters"]["mean_tries"] = 3.0
    stored["releases"][-1]["parameters"]["law"] = "uniform"
    with pytest.raises(tg.InputError, match="law must be"):
        tg.Certificate.from_dict(stored).spent  # noqa: B018


def test_the_budget_of_a_try_covers_model_and_score(fitted):
    plan = fitted.plan_
    mu = plan.selection.mu
    for candidate in plan.candidates:
        together = tg.GDP(mu)
        assert satisfies(candidate.plan.event, tg.GDP(mu * (1 - SCORE_SHARE) ** 0.5 * (1 + 1e-9)))
        from_both = type(plan.event)((candidate.plan.event, plan.stage.event))
        assert satisfies(from_both, together)
    assert satisfies(plan.event, tg.ApproxDP(**PRIVACY))
    assert not satisfies(
        type(plan.event)((plan.units.event, Selected(1.01 * mu, 3.0))), tg.ApproxDP(**PRIVACY)
    )


def test_a_seed_repeats_a_simulation_and_another_does_not(fitted):
    again = search(random_state=0).fit(X, Y)
    assert np.array_equal(again.best_estimator_.coef_, fitted.best_estimator_.coef_)
    assert (again.best_score_, again.best_index_) == (fitted.best_score_, fitted.best_index_)
    other = search(random_state=1).fit(X, Y)
    assert other.best_score_ != fitted.best_score_
    assert fitted.certificate_.mode == "simulation: NOT PRIVATE"


def test_the_right_candidate_is_found_where_budget_abounds():
    found = [
        search(n_tries=9, law="poisson", epsilon=15.0, random_state=seed).fit(X, Y)
        for seed in range(3)
    ]
    assert all(each.best_params_["n_nonzero"] > 1 for each in found)  # one cannot do what two do
    assert max(each.best_score_ for each in found) < 0.0  # better than a constant


@pytest.mark.long
def test_nothing_tells_of_other_tries():
    private = search(ledger=None).fit(X, Y)
    held = set(vars(private)) - set(private.get_params(deep=False))
    assert held == {
        *("best_estimator_", "best_index_", "best_params_", "best_score_", "candidates_"),
        *("certificate_", "plan_", "notes_", "_fits"),
    }
    assert private.certificate_.mode == "private"
    own = search(n_tries=1, random_state=0).fit(X, Y)
    names = set(vars(tg.SparseLinearRegression(random_state=0, **PRIVACY).fit(X, Y)))
    assert set(vars(own.best_estimator_)) == names
    # What is kept of a model does not grow with the tries that were made for it.
    sizes = [
        len(pickle.dumps(search(n_tries=n, random_state=3, law="poisson").fit(X, Y)))
        for n in (1, 9)
    ]
    assert abs(sizes[0] - sizes[1]) < 0.05 * sizes[0]


def test_a_plan_reads_no_records(monkeypatch):
    def refuse(*_):
        raise AssertionError("records were read")

    monkeypatch.setattr(ArrayRows, "reduce", refuse)
    monkeypatch.setattr(SelectionGate, "reserve", lambda *_, **__: (_ for _ in ()).throw(KeyError))
    with pytest.raises(KeyError):
        search().fit(X, Y)


def test_another_law_keeps_the_promise():
    found = search(law="logarithmic", random_state=0).fit(X, Y)
    assert 1.99 < found.certificate_.total.epsilon <= 2.0
    assert found.plan_.selection.law == "logarithmic"


def test_one_expected_try_is_one_fit_with_its_score():
    plan = search(n_tries=1, random_state=0).fit(X, Y).plan_
    parts = (plan.selection.mu, plan.units.total_mu, plan.check.mu)
    whole = sum(mu**2 for mu in parts) ** 0.5
    assert whole == pytest.approx(tg.ApproxDP(**PRIVACY).gaussian_mu(), rel=1e-4)


MODELS = {
    "linear": (tg.LinearRegression(), {"alpha": [0.0, 0.1]}, Y),
    "huber": (tg.HuberRegression(), {"threshold": [0.5, 2.0]}, Y),
    "quantile": (tg.QuantileRegression(level=0.8), {"fit_intercept": [True, False]}, Y + 9.0),
    "lp": (tg.LpRegression(), {"p": [3.0, 4.0]}, Y),
    "logistic": (tg.LogisticRegression(), {"fit_intercept": [True, False]}, (Y > 0) * 1),
    "poisson": (tg.PoissonRegression(), {"fit_intercept": [True, False]}, np.exp(X[:, 1]) // 1),
    "sparse": (tg.SparseLogisticRegression(), {"n_nonzero": [2, 5]}, (Y > 0) * 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_can_be_searched_over(name):
    estimator, candidates, y = MODELS[name]
    found = search(candidates, estimator, random_state=2, epsilon=8.0).fit(X, y)
    assert -2.0 < found.best_score_ < 0.5  # clipped at 2 or less, but for noise
    assert np.isfinite(found.predict(X)).all()
    assert hasattr(found, "predict_proba") == hasattr(estimator, "predict_proba")
    if hasattr(found, "predict_proba"):
        assert found.predict_proba(X).shape == (len(X), 2)
        assert found.decision_function(X).shape == (len(X),)
        assert found.best_estimator_.classes_.tolist() == [0, 1]
    assert clone(found).get_params(deep=False).keys() == found.get_params(deep=False).keys()


NAMES = [f"x{i}" for i in range(12)]
WITH_IDS = pd.DataFrame(X, columns=NAMES).assign(cost=Y, ill=1.0 * (Y > 0), policy=range(len(X)))


def test_with_identifiers_rows_need_no_order(tmp_path):
    WITH_IDS.sample(frac=1, random_state=1).to_parquet(tmp_path / "shuffled.parquet")
    named = {"target": "cost", "columns": NAMES, "row_id": "policy"}
    sources = WITH_IDS, WITH_IDS[::-1], tmp_path / "shuffled.parquet"
    first, *others = (search(random_state=0).fit(each, **named) for each in sources)
    for found in others:
        assert np.array_equal(found.best_estimator_.coef_, first.best_estimator_.coef_)
        assert (found.best_score_, found.best_index_) == (first.best_score_, first.best_index_)
        assert found.certificate_ == first.certificate_
    assert "rows without an order need a row_id, for target scale" in first.explain()


def test_without_identifiers_what_only_adds_up_runs_in_any_order():
    descent = tg.solvers.NoisyGradientDescent(n_steps=3, step_size=0.5, clip_norm=1.0)
    estimator = tg.LogisticRegression(solver=descent)
    named = {"target": "ill", "columns": NAMES, "order": "any"}
    found = [
        search([{}], estimator, random_state=0).fit(each, **named).best_estimator_.coef_
        for each in (WITH_IDS, WITH_IDS.sample(frac=1, random_state=1))
    ]
    assert np.array_equal(*found)


def test_what_cannot_be_read_without_an_order_is_refused_before_anything_is_spent(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=5.0, delta=1e-5)
    with pytest.raises(tg.InputError, match=r"row_id must name a column.*target scale"):
        search(ledger=ledger).fit(WITH_IDS, target="cost", columns=NAMES, order="any")
    assert [line.kind for line in ledger.lines()] == ["created"]
    with pytest.raises(tg.InputError, match="column names are text"):
        search(ledger=ledger).fit(X, Y, row_id="policy")


def test_exposure_is_handed_on():
    exposure = RNG.uniform(0.5, 2.0, len(X))
    counts = RNG.poisson(exposure * np.exp(0.5 * X[:, 0]))
    model = tg.PoissonRegression()
    found = search([{}], model, random_state=0).fit(X, counts, exposure=exposure)
    assert found.plan_.candidates[0].plan.problem.has_offset
    assert found.best_score_ < 0.0
    with pytest.raises(tg.InputError, match="exposure must be None for a LinearRegression"):
        search([{}], tg.LinearRegression()).fit(X, Y, exposure=exposure)


def test_a_ledger_is_charged_once(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=5.0, delta=1e-5)
    found = search(ledger=ledger).fit(X, Y)
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]  # which is final
    assert "not settled" not in history_text(ledger)
    (entry,) = found.certificate_.ledger_entries
    assert entry.position == 2
    assert ledger.total().epsilon < 2.0  # at a larger delta
    tg.LinearRegression(epsilon=0.5, delta=1e-6, ledger=ledger).fit(X, Y)
    reads = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArrayRows, "reduce", lambda *_: reads.append(1))
        with pytest.raises(tg.BudgetError, match="epsilon = 5"):
            search(ledger=ledger, epsilon=4.9).fit(X, Y)
    assert not reads
    ledger.verify()


def test_a_search_that_fails_leaves_the_one_before(monkeypatch):
    model = search([{}], n_tries=1, random_state=0).fit(X, Y)
    before = model.explain(), model.report().to_html()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tg.SparseLinearRegression, "_keep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(candidates=[{"n_nonzero": 1}, {"n_nonzero": 2}]).fit(X, Y)
    assert (model.explain(), model.report().to_html()) == before


def test_a_second_search_without_a_ledger_is_warned_of():
    model = search([{}], n_tries=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tg.BudgetWarning)
        model.fit(X, Y)
        with pytest.raises(tg.BudgetWarning, match="a second time"):
            model.fit(X, Y)


def test_few_tries_of_many_candidates_are_warned_of():
    many = [{"n_nonzero": count} for count in range(1, 11)]
    with pytest.warns(tg.BudgetWarning, match="never tried with a chance of 75%"):
        search(many, random_state=0).fit(X, Y)


# How rows are read, and whom a search protects, is the same in all tries.
READ_ONCE = {"missing": {}, "person": "p", "max_rows": 3, "weight": "row"}
READ_ONCE |= {"one_row_per_person": True}
IGNORED = {"checkpoint": "answers.jsonl", "verbose": True}
REFUSED = {
    "a set": ({"candidates": {"n_nonzero"}}, "candidates must be a list of dicts"),
    "nothing": ({"candidates": {"n_nonzero": []}}, "candidates must be a list of dicts"),
    "a strange name": ({"candidates": [{"depth": 3}]}, "candidates must name parameters among"),
    "a budget": ({"candidates": [{"epsilon": 1.0}]}, "candidates must name parameters among"),
    **{
        name: ({"candidates": [{name: value}]}, "candidates must name parameters among")
        for name, value in (READ_ONCE | IGNORED).items()
    },
    "a value": ({"candidates": [{"n_nonzero": 0}]}, "n_nonzero"),
    "no budget": ({"epsilon": None, "delta": None}, "epsilon"),
    "mu": ({"epsilon": None, "delta": None, "guarantee": tg.GDP(1.0)}, "must be ApproxDP"),
    "another estimator": ({"estimator": "linear"}, "estimator must be one of tailguard's"),
    "two budgets": (
        {"estimator": tg.SparseLinearRegression(epsilon=1.0)},
        "estimator must state no epsilon",
    ),
    "a scoring": ({"scoring": tg.losses.Logistic()}, "scoring must be a loss whose scores mean"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_searched_is_refused_in_one_sentence(case):
    how, words = REFUSED[case]
    with pytest.raises(tg.InputError, match=words):
        search(**{"candidates": KEEP, **how}).fit(X, Y)


def test_a_budget_that_buys_nothing_names_the_candidate():
    with pytest.raises(tg.InputError, match=r"candidate \{target=robust\} must be a fit that can"):
        search([{"target": "robust"}], tg.LinearRegression()).fit(X[:12], Y[:12])


def test_a_loss_whose_slope_is_not_canonical_does_not_score():
    """The constant that models are compared with would be that of half the mean target."""
    choice = search([{}], tg.LogisticRegression(), scoring=tg.losses.BalancedLogistic())
    with pytest.raises(tg.InputError, match="scoring must be a quasi-likelihood"):
        choice.fit(X, (X[:, 0] > 0.0) * 1.0)


def test_another_loss_may_score():
    found = search(scoring=tg.losses.PseudoHuber(), random_state=0).fit(X, Y)
    assert isinstance(found.plan_.units.problem.loss, tg.losses.PseudoHuber)
    assert found.best_score_ < 0.0


def test_units_are_gaussian_releases_of_their_share(fitted):
    assert {type(stage.asked) for stage in fitted.plan_.units.stages} == {Gaussian}
    share = (fitted.plan_.units.total_mu / fitted.plan_.selection.mu) ** 2
    assert share == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize(
    "candidates", [{"target": ["mean", "robust"]}, [{"target": "robust"}, {"alpha": 0.1}]]
)
def test_targets_of_two_kinds_are_refused(candidates):
    """Clipped scores took the robust fit, which was worse than a constant."""
    with pytest.raises(tg.InputError, match="candidates must have the same target"):
        search(candidates, tg.LinearRegression()).fit(X, Y)
    search([{"target": "robust"}], tg.LinearRegression()).fit(X, Y)
