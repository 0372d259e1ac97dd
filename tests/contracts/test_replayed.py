"""All that a run says follows from its released answers and from public facts.

A run on one table is handed the answers of a run on another one, with the same public facts and
nothing else in common. Each question, each warning and report of progress, and all that comes out
must be the same, to the bit.
"""

import warnings
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.problems import example_of
from support.registered import ESTIMATORS
from support.solvers import SOLVERS, brief_solver
from tailguard.checks import InputError
from tailguard.gate import Gate
from tailguard.means.choice import MEANS
from tailguard.progress import RunLog, listening
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent

N_RECORDS, COLUMNS = 900, 3
FAR = (0.0, 1.0, -1.0, 1e300, -1e300, np.nan, np.inf, 1e-310, 64.0, -4096.0)
SPARSE = {"n_nonzero": 1}
MORE = {
    "SparseLinearRegression": SPARSE,
    "SparseLogisticRegression": SPARSE,
    "LpRegression": {"p": 4},
}
POSITIVE = ("PoissonRegression", "GammaRegression", "TweedieRegression")
BUDGET = {"epsilon": 4.0, "delta": 1e-6, "random_state": 0}
SCHEMA = {"categorical": {"c": ["u", "v"]}}


def ordinary(n_rows=N_RECORDS):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, COLUMNS)) * [1.0, 30.0, 0.01]
    return X, X[:, 0] + rng.standard_t(2, n_rows)


def wild(n_rows=N_RECORDS):
    rng = np.random.default_rng(1)
    return rng.choice(FAR, (n_rows, COLUMNS)), rng.choice(FAR, n_rows)


def fitted(name, X, y, **told):
    if "Logistic" in name:
        y = (np.nan_to_num(y) > 0.0).astype(float)
    elif name in POSITIVE:
        y = np.exp(np.clip(y, -3.0, 3.0)) if np.isfinite(y).all() else y
    more = MORE.get(name, {}) | ({"classes": (0.0, 1.0)} if "Logistic" in name else {})
    parameters = {**more, **({"max_rows": 4} if told else {}), **BUDGET}
    model = ESTIMATORS[name](on_unusable="fit", **parameters).fit(X, y, **told)
    certificate = model.certificate_.to_json()
    return model.summary(), model.plan_.explain(), certificate, dict(vars(model), certificate_=None)


def corrected(kind, X, y):
    """Counts, or labels of three classes: a fit that is corrected by contributions."""
    y = np.floor(np.clip(np.nan_to_num(y), 0.0, 2.0))
    told = {"guarantee": tg.GDP(5.0), "on_unusable": "fit", "random_state": 0}
    model = kind(**told) if kind is tg.PoissonRegression else kind(classes=(0, 1, 2), **told)
    model.fit(X, y)
    assert "contribution rounds" in model.plan_.by_name
    certificate = model.certificate_.to_json()
    return model.summary(), model.plan_.explain(), certificate, dict(vars(model), certificate_=None)


def by_persons(name, table, seed):
    """Fit persons of whom only the number is public."""
    counts = np.random.default_rng(seed).integers(1, 3 + 4 * seed, N_RECORDS)
    return fitted(name, *table(counts.sum()), person=np.repeat(np.arange(N_RECORDS), counts))


def estimated(method, X, _y):
    options = {"low": -9.0, "high": 9.0, "n_trimmed": 100} if method == "trimmed" else {}
    found = tg.mean(X, method=method, on_unusable="fit", **options, **BUDGET)
    return found.value, str(found), found.certificate.to_json()


def described(by, X, _y):
    words = ["u", "v"] if np.isfinite(X).all() else ["v", "w", None]
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.resize(words, len(X))})
    found = tg.describe(frame, schema=SCHEMA, by=by, **BUDGET)
    return str(found), found.certificate.to_json()


def summarised(call, X, y):
    """Tables of levels, totals beside predicted ones, and the score of a public model."""
    words = ["u", "v"] if np.isfinite(X).all() else ["v", "w", None]
    frame = pd.DataFrame({"a": X[:, 0], "y": y, "c": np.resize(words, len(X))})
    if call == "crosstab":
        found = tg.crosstab(frame, "c", schema=SCHEMA, **BUDGET)
    elif call == "actual_expected":
        found = tg.actual_expected(frame, "y", "a", "c", schema=SCHEMA, **BUDGET)
    else:
        found = tg.LinearRegression(**BUDGET).fit(*ordinary()).private_score(X, y, **BUDGET)
    return str(found), found.explain(), found.certificate.to_json()


def searched(kind, X, y):
    parameters = {"alpha": [0.0, 0.1]}
    search = tg.PrivateSearch(kind(), parameters, n_tries=2, on_unusable="fit", **BUDGET)
    search.fit(X, y)
    model = search.best_estimator_
    return search.explain(), search.best_score_, model.summary(), model.certificate_.to_json()


def localised(chance, X, y):
    solver = tg.papers.asi2024.PopulationLocalised(
        row_limit=2.0, failure_probability=chance, smallest_phase=5
    )
    found = tg.minimize(
        tg.losses.Squared(), X, y, constraint=tg.sets.L2Ball(1.0), solver=solver,
        on_unusable="fit", **BUDGET,
    )  # fmt: skip
    return found.trace, found.notes, found.plan.explain(), found.certificate.to_json()


def solved(name, X, y):
    """Any solver by its name; it sees a gate, and nothing else of the records."""
    example = example_of(name)
    found = tg.minimize(
        tg.losses.Squared(), X, y, constraint=example.constraint, intercept=example.intercept,
        solver=brief_solver(name), on_unusable="fit", **BUDGET,
    )  # fmt: skip
    text = found.plan.explain(), found.certificate.to_json()
    return found.coef, found.intercept, found.trace, found.notes, *text


def plain(thing):
    """What is compared: numbers by their bits."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.tobytes()
    if isinstance(thing, tuple | list):
        return [*map(plain, thing)]
    return {k: plain(v) for k, v in thing.items()} if isinstance(thing, dict) else repr(thing)


class Heard(RunLog):
    """Keeps what a listener is told."""

    def __init__(self):
        self.planned = lambda *told: self.told.append(told)
        self.answered = self.read = self.planned
        self.told = []


def said_by(run):
    """All that comes out of a run, errors too."""
    heard = Heard()
    with warnings.catch_warnings(record=True) as warned, listening(heard):
        warnings.simplefilter("always")
        try:
            found = plain(run())
        except InputError as error:
            found = str(error)
    return found, heard.told, [str(each.message) for each in warned]


@pytest.fixture
def replayed(monkeypatch):
    """Run twice, the second time with the answers of the first; return what both said and asked."""

    def both(first, second):
        answers, said, noised = [], [], Gate._noised
        for run, replays in ((first, False), (second, True)):
            asked = []

            def answer(gate, query, state, calibration, read, replays=replays, asked=asked):
                found = noised(gate, query, state, calibration, read)
                asked.append(plain((vars(query), state, calibration)))
                if not replays:
                    answers.append(found)
                return answers[len(asked) - 1]

            monkeypatch.setattr(Gate, "_noised", answer)
            said.append((said_by(run), asked))
        assert answers
        return said

    return both


RUNS = {
    **{f"fit {name}": (fitted, name) for name in ESTIMATORS},
    **{
        f"corrected {kind.__name__}": (corrected, kind)
        for kind in (tg.LogisticRegression, tg.PoissonRegression)
    },
    **{f"mean {name}": (estimated, name) for name in MEANS},
    **{f"describe by {by}": (described, by) for by in (None, "c")},
    **{call: (summarised, call) for call in ("crosstab", "actual_expected", "private_score")},
    **{f"solve {name}": (solved, name) for name in SOLVERS},
    "search": (searched, tg.LinearRegression),
}
if find_spec("tailguard.papers"):  # the core is tested without the wing, too
    RUNS |= {f"localise {chance}": (localised, chance) for chance in (None, 0.5)}


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_says_follows_from_its_answers(name, replayed):
    run, what = RUNS[name]
    first, second = replayed(lambda: run(what, *ordinary()), lambda: run(what, *wild()))
    assert first == second, f"{name} uses records beyond the gate's answers: ask a query for it"


class Peeking(NoisyGradientDescent):
    """Steps by a hair less if any record is large, of which no release tells."""

    def run(self, plan, gate):
        solution = super().run(plan, gate)
        large = np.nanmax(np.abs(gate._rows.block().features)) > 1e9
        return replace(solution, coef=solution.coef * (1.0 - 1e-12 * large))


def test_a_solver_that_chooses_by_an_unreleased_number_is_found_out(replayed):
    def run(X, y):
        return tg.minimize(
            tg.losses.Squared(), X, y, constraint=tg.sets.L2Ball(2.0), solver=Peeking(n_steps=3),
            on_unusable="fit", **BUDGET,
        ).coef  # fmt: skip

    first, second = replayed(lambda: run(*ordinary()), lambda: run(*wild()))
    assert first != second


@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression"])
def test_how_many_rows_persons_have_enters_nothing_but_answers(name, replayed):
    first, second = replayed(
        lambda: by_persons(name, ordinary, 0), lambda: by_persons(name, wild, 1)
    )
    assert first == second
