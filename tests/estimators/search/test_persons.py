"""A search that protects persons: one unit for the count, every try and its score."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import tailguard as tg
from privacy.searches import LOSS, OneStep, candidate_at, score_at
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows
from tailguard.gate.selection import PlannedSolver, SelectionGate, selection_coordinates
from tailguard.means.truncated import TruncatedMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Composed, Selected
from tailguard.privacy.unit import Unit

RNG = np.random.default_rng(0)
N_PERSONS = 4_000
COUNTS = RNG.integers(1, 9, N_PERSONS)
KEYS = np.repeat(np.arange(N_PERSONS), COUNTS)
X = RNG.standard_normal((len(KEYS), 2))
# Persons of many rows have another line: rows and persons aim at different fits.
Y = X @ [1.0, -0.5] + 0.4 * (COUNTS[KEYS] - 4.5) * X[:, 0] + RNG.standard_normal(len(KEYS))
PRIVACY = {"epsilon": 8.0, "delta": 1e-6, "n_tries": 2}
CANDIDATES = {"fit_intercept": [True, False]}
NAMED = {"max_rows": 8, "person": "id"}


def search(**options):
    told = {**NAMED, **options}
    return tg.PrivateSearch(tg.LinearRegression(**told), CANDIDATES, random_state=0, **PRIVACY)


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y, "id": KEYS})


@pytest.fixture(scope="module")
def fitted(table):
    return search().fit(table, target="y")


@pytest.mark.long
def test_the_best_fit_is_that_of_persons(fitted):
    once = LinearRegression().fit(X, Y, sample_weight=1.0 / COUNTS[KEYS]).coef_
    alike = LinearRegression().fit(X, Y).coef_
    assert np.abs(once - alike).max() > 0.2
    assert np.abs(fitted.best_estimator_.coef_ - once).max() < 0.1
    words = "one person (id), at most 8 rows"
    for certificate in (fitted.certificate_, fitted.best_estimator_.certificate_):
        assert certificate.n_rows == N_PERSONS
        assert certificate.unit.describe() == words
        assert words in " ".join(certificate.to_text().split())
    assert f"protected is {words}" in " ".join(fitted.report().to_html().split())


def test_keys_beside_the_table_are_alike(fitted, table):
    beside = search(person=None).fit(table[["a", "b"]], Y, person=KEYS)
    assert beside.best_estimator_.coef_.tolist() == fitted.best_estimator_.coef_.tolist()
    assert beside.best_score_ == fitted.best_score_
    assert beside.certificate_.unit.person == "person"
    schema = {"target": "y", "person": "id", "max_rows": 8}
    declared = search(person=None, max_rows=None, schema=schema).fit(table)
    assert declared.best_score_ == fitted.best_score_


def test_a_ledger_of_persons_is_charged_once_and_one_of_rows_refuses(table, tmp_path):
    cap = {"epsilon": 30.0, "delta": 1e-4}
    persons = tg.Ledger(tmp_path / "l.sqlite", "persons", person="id", **cap)
    rows = tg.Ledger(tmp_path / "l.sqlite", "rows", **cap)
    model = tg.LinearRegression(**NAMED)
    private = tg.PrivateSearch(model, CANDIDATES, ledger=persons, **PRIVACY).fit(table, target="y")
    assert [line.kind for line in persons.lines()] == ["created", "reserved"]
    assert persons.verify(private.certificate_)
    with pytest.raises(tg.BudgetError, match="must count persons by 'id'"):
        tg.PrivateSearch(model, CANDIDATES, ledger=rows, **PRIVACY).fit(table, target="y")
    assert len(rows.lines()) == 1


def test_candidates_that_protect_rows_alone_are_refused(table, monkeypatch):
    monkeypatch.setattr(TruncatedMean, "takes_persons", False)
    medians = tg.solvers.make_oracle("truncated", threshold=9.0, n_groups=4)
    solver = tg.solvers.NoisyGradientDescent(n_steps=3, step_size=0.1, oracle=medians)
    rows = tg.PrivateSearch(
        tg.LinearRegression(**NAMED), [{"solver": solver}], **PRIVACY, random_state=0
    )
    with pytest.raises(tg.InputError, match=r"candidate \{solver=.*person must be None for Noisy"):
        rows.fit(table, target="y")


SEEN = []


class Telling(OneStep):
    """Says what the gate of its try protects, and how many records it has."""

    def run(self, plan, gate):
        SEEN.append((gate.unit, gate.n_records))
        return super().run(plan, gate)


def test_every_try_protects_the_unit_of_the_search():
    unit, event = Unit(person="key", max_rows=5), Selected(1.0, 4.0, "poisson")
    rows = make_rows(np.ones((80, 1)), np.zeros(80), loss=LOSS)
    persons = PersonRows(rows, Persons.of(np.arange(80) // 5, unit), SimulationSource(0))
    gate = SelectionGate(persons, guarantee=tg.GDP(1.0), source=SimulationSource(0))
    plan = candidate_at(event.mu).plan
    plan = replace(plan, problem=replace(plan.problem, max_rows=5))
    candidates = [PlannedSolver(Telling(), plan)]
    coordinates = selection_coordinates(candidates, event)
    gate.reserve(Composed((event,)), coordinates=coordinates, unprotected=True)
    gate.best(candidates, score_at(event.mu), event)
    assert SEEN
    assert set(SEEN) == {(unit, 16)}
