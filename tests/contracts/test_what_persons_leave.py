"""Whatever protects persons: all that leaves a run, and all errors, tell nothing of their rows."""

import re
from functools import cache
from operator import attrgetter

import numpy as np
import pytest

import tailguard as tg
from support.solvers import FEW_ROUNDS
from support.told import Told
from tailguard.progress import listening

N_PERSONS = 300
RNG = np.random.default_rng(1)
KEYS = np.repeat(np.arange(N_PERSONS), RNG.integers(1, 8, N_PERSONS))
X = RNG.standard_normal((len(KEYS), 2))
ILL = (X[:, 0] + RNG.logistic(size=len(KEYS)) > 0.0).astype(float)
PROMISE, CAPPED = {"guarantee": tg.GDP(2.0)}, {"max_rows": 5}


def neighbours():
    """One person has a void row, or a thousand of them; and there are rows of nobody."""
    for n_void, n_nobody in ((1, 0), (1_000, 0), (3, 5_000)):
        more = n_void + n_nobody
        yield (
            np.concatenate([X, np.full((more, 2), np.nan)]),
            np.concatenate([ILL, np.full(more, np.nan)]),
            [*KEYS, *["void"] * n_void, *[None] * n_nobody],
        )


@cache
def model():
    options = {"solver": FEW_ROUNDS, "random_state": 0}
    return tg.LogisticRegression(**CAPPED, **PROMISE, **options).fit(X, ILL, person=KEYS)


def fit(X, y, keys, **told):
    return tg.LinearRegression(**CAPPED, **PROMISE, solver=FEW_ROUNDS, **told).fit(
        X, y, person=keys
    )


def mean(X, y, keys, **told):
    return tg.mean(X, person=keys, **CAPPED, **PROMISE, **told)


def describe(X, y, keys, **told):
    return tg.describe(X, person=keys, **CAPPED, **PROMISE, **told)


def histogram(X, y, keys, **told):
    return tg.histogram(X, 5, person=keys, **CAPPED, **PROMISE, **told)


def score(X, y, keys, **told):
    return model().private_score(X, y, person=keys, **PROMISE, **told)


def search(X, y, keys, **told):
    one, candidates = (
        tg.LinearRegression(**CAPPED, solver=FEW_ROUNDS),
        {"fit_intercept": [True, False]},
    )
    told |= {"n_tries": 2, "epsilon": 8.0, "delta": 1e-6}
    return tg.PrivateSearch(one, candidates, **told).fit(X, y, person=keys)


def rows_per_person(X, y, keys, **told):
    return tg.rows_per_person(keys, **PROMISE, **told)


NUMBERS = {
    fit: attrgetter("coef_", "intercept_", "coef_std_"),
    mean: attrgetter("value", "noise_std"),
    describe: attrgetter("quantiles", "mean", "std"),
    histogram: attrgetter("edges", "counts"),
    score: attrgetter("explained", "deviance", "auc"),
    search: attrgetter("best_index_", "best_score_", "best_estimator_.coef_"),
}
KEEP_ON = (fit, describe, score)  # that have a checkpoint
SUMMARY = ("__repr__", "explain", "_repr_html_")
WORDS = {
    fit: ("explain", "summary", "plan_.explain"),
    search: ("explain", "best_estimator_.summary", "plan_.explain"),
}


def certificate_of(found):
    return getattr(found, "certificate", None) or found.certificate_


def all_that_leaves(method, folder, *table):
    """Numbers, words, the certificate, the page, progress, and what a ledger is charged."""
    folder.mkdir()
    told, _ = Told(), model()  # whose fit is not to be heard
    with listening(told):
        found = method(*table, random_state=0)
    points = [folder / "run"] if method in KEEP_ON else []
    kept = [method(*table, random_state=0, checkpoint=point) for point in points]
    ledger = tg.Ledger(folder / "l.sqlite", "t", epsilon=30.0, delta=1e-4, person="person")
    private = method(*table, ledger=ledger)
    # Of the charge the run's name is random, and of what was released that which released numbers
    # decided: the noise of this run is fresh.
    lines = [line.data() for line in ledger.lines()[:2]]
    return {
        "numbers": [  # as texts, in which none is equal to none
            repr(np.array(part).tolist())
            for each in (found, *kept)
            for part in NUMBERS[method](each)
        ],
        "words": [attrgetter(name)(found)() for name in WORDS.get(method, SUMMARY)],
        "notes": getattr(found, "notes", None) or found.notes_,
        "certificates": [certificate_of(each).to_json() for each in (found, *kept)],
        "persons": certificate_of(private).n_rows,
        "charged": [{k: v for k, v in line.items() if k != "released_by"} for line in lines],
        "report": found.report().to_json(),
        "heard": told.heard,
    }


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=[pytest.mark.long] * (method in (fit, search)))
        for method in NUMBERS
    ],
)
def test_nothing_that_leaves_depends_on_the_number_of_rows(method, tmp_path):
    told = [
        all_that_leaves(method, tmp_path / str(place), *table)
        for place, table in enumerate(neighbours())
    ]
    assert told[1] == told[0]
    assert told[2] == told[0]
    assert told[0]["persons"] == N_PERSONS + 1


BROKEN = {
    "another length of targets": lambda X, y, keys: (X, y[:-1], keys),
    "another length of keys": lambda X, y, keys: (X, y, keys[:-1]),
    "targets of two axes": lambda X, y, keys: (X, np.tile(y[:, None], 2), keys),
    "targets of three axes": lambda X, y, keys: (X, np.tile(y[:, None], 2)[:, :, None], keys),
    "two keys": lambda X, y, keys: (X, y, np.tile(np.array(keys, dtype=object)[:, None], 2)),
    "a vector": lambda X, y, keys: (X[:, 0], y, keys),
    "no column": lambda X, y, keys: (X[:, :0], y, keys),
    "a cube": lambda X, y, keys: (X[:, :, None], y, keys),
}
OF_FEATURES = ("another length of keys", "two keys", "no column", "a cube")


def check_errors(method, broken):
    """The error of a broken table is the same for all neighbours, and tells no number of rows."""
    said = set()
    for table in neighbours():
        with pytest.raises(tg.InputError) as error:
            method(*broken(*table), random_state=0)
        said.add(str(error.value))
    assert len(said) == 1
    assert not re.search(r"\d{2}", *said)


@pytest.mark.parametrize(
    ("method", "broken"),
    [
        *((method, broken) for method in (fit, score) for broken in BROKEN),
        *((describe, broken) for broken in OF_FEATURES),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")  # of two axes, before the error
def test_errors_tell_no_number_of_rows(method, broken):
    check_errors(method, BROKEN[broken])


def test_an_offset_of_another_length_tells_none_either():
    def offset_score(X, y, keys, **told):
        return score(X, y, keys, offset=np.zeros(len(y) - 1), **told)

    check_errors(offset_score, lambda *table: table)


@pytest.mark.parametrize("method", [*NUMBERS, rows_per_person])
def test_a_ledger_of_rows_refuses_and_tells_no_number_of_rows(method, tmp_path):
    ledger, said = tg.Ledger(tmp_path / "l.sqlite", "rows", epsilon=9.0, delta=1e-5), set()
    for table in neighbours():
        with pytest.raises(tg.BudgetError, match="must count persons by 'person'") as error:
            method(*table, ledger=ledger)
        said.add(str(error.value))
    assert len(said) == 1
    assert len(ledger.lines()) == 1
