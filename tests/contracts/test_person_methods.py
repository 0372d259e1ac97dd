"""Every public method takes persons, or refuses them in one sentence before anything is spent."""

import re
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.adversary import records
from support.person_orders import STRANGE, HeardReads, first_seen, strangeness
from support.solvers import few_rounds
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.keys import Persons
from tailguard.data.rows.persons import PersonRows
from tailguard.estimators.registry import ESTIMATORS, estimator_called
from tailguard.means.choice import MEANS
from tailguard.means.trimmed import TrimmedMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.unit import Unit
from tailguard.queries.gather import gather
from tailguard.queries.units import Units
from tailguard.solvers.registry import SOLVERS, make_solver

RNG = np.random.default_rng(0)
N_PERSONS, MOST = 1_500, 6
COUNTS = RNG.integers(1, MOST + 1, N_PERSONS)
KEYS = np.repeat(np.arange(N_PERSONS), COUNTS)
SHARE = 1.0 / COUNTS[KEYS]
X = RNG.standard_normal((N_PERSONS, 2))[KEYS] + 0.3 * RNG.standard_normal((len(KEYS), 2))
# Persons of many rows have another slope: rows and persons aim apart.
SLOPE = 1.0 + 0.4 * (COUNTS[KEYS] - 3.5)
Y = SLOPE * X[:, 0] + 0.3 * RNG.standard_normal(len(KEYS))
STATES = np.digitize(Y, [-1.0, 1.0])
WORDS = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "region": np.where(Y > 0.0, "up", "down")})
GIVEN = {"person": KEYS, "max_rows": MOST}
LARGE = {"epsilon": 12.0, "delta": 1e-6, "random_state": 0}
SCHEMA = {"categorical": {"region": ["up", "down"]}}
ROW_OF = {"sparse-linear": {"n_nonzero": 1}, "sparse-logistic": {"n_nonzero": 1}}
BALL = tg.sets.L2Ball(2.0)


def squared(solver, constraint=None, **options):
    chosen = make_solver(solver, **options)
    return tg.minimize(
        tg.losses.Squared(), X, Y, solver=chosen, constraint=constraint, **GIVEN, **LARGE
    )


def own_gradient(w, x, y):
    return (w @ x - y) * x


ORACLES = {
    "clamped": {"threshold": 4.0, "n_groups": 3},
    "iterative": {"clip_norm": 9.0, "n_groups": 5, "centre": "median"},
    "truncated": {"threshold": 9.0, "n_groups": 1},
    "trimmed": {"low": -9.0, "high": 9.0, "n_trimmed": 400},
}
STEPS = {"n_steps": 40, "step_size": 0.5, "iterate": "last"}


def descent(oracle):
    asked = tg.solvers.make_oracle(oracle, **ORACLES[oracle])
    steps = {**STEPS, "n_steps": 4} if oracle == "trimmed" else STEPS
    return lambda: squared("noisy-gradient-descent", BALL, oracle=asked, **steps)


TAKEN = {
    **{f"minimize {name}": descent(name) for name in ORACLES},
    "minimize whitened-newton": lambda: squared("whitened-newton"),
    "minimize noisy-gradient-descent": lambda: squared("noisy-gradient-descent", BALL),
    "minimize in blocks": lambda: squared(
        "noisy-gradient-descent", BALL, schedule="disjoint", n_steps=5, clip_norm=3.0
    ),
    "minimize in samples": lambda: squared(
        "noisy-gradient-descent", BALL, schedule="sampled", batch_rows=300, clip_norm=3.0
    ),
    "minimize hard-thresholding": lambda: squared("hard-thresholding", tg.sets.SparseBall(1)),
    "minimize own gradient": lambda: tg.minimize(
        own_gradient,
        X,
        Y,
        constraint=BALL,
        **GIVEN,
        **LARGE,
        solver=make_solver("noisy-gradient-descent", **{**STEPS, "n_steps": 6}),
    ),
    **{
        f"mean {name}": partial(tg.mean, X, method=name, **GIVEN, **LARGE)
        for name in ("clipped", "clamped", "soft", "iterative", "trimmed")
    },
    "mean truncated": lambda: tg.mean(X, method="truncated", n_groups=4, **GIVEN, **LARGE),
    **{
        name: partial(getattr(tg, name), X, **GIVEN, **LARGE)
        for name in ("describe", "quantile", "histogram", "variance", "covariance", "correlation")
    },
    "crosstab": lambda: tg.crosstab(WORDS, "region", schema=SCHEMA, **GIVEN, **LARGE),
    "count": lambda: tg.count(WORDS, {"region": "up"}, schema=SCHEMA, **GIVEN, **LARGE),
    "actual_expected": lambda: tg.actual_expected(WORDS, "a", "b", **GIVEN, **LARGE),
    "rows_per_person": lambda: tg.rows_per_person(KEYS, **LARGE),
    "private_score": lambda: (
        tg.LinearRegression(max_rows=MOST, **LARGE)
        .fit(X, Y, person=KEYS)
        .private_score(X, Y, person=KEYS, **LARGE)
    ),
    "private_score of classes": lambda: (
        tg.LogisticRegression(max_rows=MOST, classes=(0, 1, 2), **LARGE)
        .fit(X, STATES, person=KEYS)
        .private_score(X, STATES, person=KEYS, **LARGE)
    ),
}
REFUSED = {
    "minimize sample-and-aggregate": lambda: squared("sample-and-aggregate", BALL),
    "minimize by row": lambda: tg.minimize(
        tg.losses.Squared(), X, Y, constraint=BALL, weight="row", **GIVEN, **LARGE
    ),
}


READS = {}
PERSON_OF = dict(zip(X[:, 0].tolist(), KEYS.tolist(), strict=True))


@lru_cache
def answer_of(name):
    """What a method finds, and what it reads, which several tests look at."""
    with pytest.MonkeyPatch.context() as patch:
        READS[name] = HeardReads(patch).reads
        return TAKEN[name]()


def certificate_of(found):
    return getattr(found, "certificate", None) or found.certificate_


def test_no_method_is_left_out():
    told = [name.split() for name in (*TAKEN, *REFUSED)]
    assert {name for kind, *rest in told for name in rest if kind == "mean"} == set(MEANS)
    asked = {" ".join(rest) for kind, *rest in told if kind == "minimize"}
    assert set(SOLVERS) <= asked


@pytest.mark.parametrize("name", TAKEN)
def test_what_takes_persons_says_so(name):
    certificate = certificate_of(answer_of(name))
    assert certificate.unit.person == "person"
    assert certificate.n_rows == N_PERSONS


def placed_reads(name):
    """The persons of each read of pairs, of groups, or of some persons alone, in their order."""
    answer_of(name)
    for together, cells in READS[name]:
        persons = first_seen(PERSON_OF.get(cell) for cell in cells)
        if None not in persons and (together in ("some", "groups") or len(persons) < N_PERSONS):
            yield persons


PLACED = {
    *(f"minimize {name}" for name in ("clamped", "iterative", "hard-thresholding")),
    *(f"minimize in {name}" for name in ("blocks", "samples")),
    *(f"mean {name}" for name in MEANS),  # scales come of differences of pairs
    "private_score",
    "private_score of classes",
}


@pytest.mark.parametrize("name", TAKEN)
def test_methods_read_persons_together_in_no_order_of_their_keys(name):
    reads = [*placed_reads(name)]
    assert bool(reads) == (name in PLACED)
    assert all(strangeness(read, N_PERSONS) < STRANGE for read in reads)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_takes_persons(name):
    target = {"logistic": Y > 0.0, "sparse-logistic": Y > 0.0}.get(name, Y)
    positive = name in ("poisson", "gamma", "tweedie")
    model = few_rounds(estimator_called(name), max_rows=MOST, **ROW_OF.get(name, {}), **LARGE)
    model.fit(X, np.exp(target / 2.0) if positive else target, person=KEYS)
    assert model.certificate_.unit.describe() == f"one person (person), at most {MOST} rows"
    assert model.certificate_.n_rows == N_PERSONS


@pytest.mark.parametrize("name", REFUSED)
def test_what_protects_rows_alone_refuses_persons_in_a_sentence(name):
    with pytest.raises(tg.InputError) as refused:
        REFUSED[name]()
    sentence = str(refused.value)
    assert re.match(r"(person must be None for|sample_weight must be)", sentence)
    assert sentence.endswith(".")
    assert not re.search(rf"{len(KEYS)}|{N_PERSONS}", sentence)


AIMED = {name for name in TAKEN if name.startswith("minimize")} - {"minimize trimmed"}


@pytest.mark.parametrize("name", sorted(AIMED))  # few steps on what is trimmed go elsewhere
def test_solvers_aim_at_the_fit_in_which_each_person_counts_once(name):
    once = np.linalg.lstsq(np.sqrt(SHARE)[:, None] * X, np.sqrt(SHARE) * Y, rcond=None)[0]
    alike = np.linalg.lstsq(X, Y, rcond=None)[0]
    assert np.abs(once - alike).max() > 0.2
    assert np.abs(answer_of(name).coef - once).max() < (0.35 if "in " in name else 0.15)


AVERAGED = [
    *({"method": name} for name in MEANS),
    {"method": "clamped", "n_groups": 1},
    {"method": "clamped", "n_groups": 1, "guarantee": tg.PureDP(6.0)},
    {"method": "truncated", "n_groups": 1, "threshold": 9.0},
    {"method": "truncated", "n_groups": 5, "threshold": 6.0, "epsilon": 30.0},
    {"method": "clipped", "clip_norm": 9.0},
]


@pytest.mark.parametrize("how", AVERAGED, ids=str)
def test_means_are_those_of_persons(how):
    """Of columns that persons of many rows have higher."""
    higher = X + 0.4 * (COUNTS[KEYS] - 3.5)[:, None]
    promise = {"random_state": 0} if "guarantee" in how else LARGE
    found = tg.mean(higher, **GIVEN, **{**promise, **how})
    once = np.average(higher, axis=0, weights=SHARE)
    assert np.abs(higher.mean(axis=0) - once).max() > 0.2
    assert np.abs(found.value - once).max() < 0.05
    assert found.certificate.n_rows == N_PERSONS


def test_one_person_is_one_value_of_what_is_sorted_whoever_the_others_are():
    """Bit by bit: neither the order of rows nor another person moves it; void rows add zero."""
    rng, unit = np.random.default_rng(3), Unit(person="key", max_rows=3)
    query = TrimmedMean(None, Units.raw(2, intercept=False), -5.0, 5.0, n_trimmed=3)
    assert query.takes_persons
    assert not query.takes_weights

    def gathered(rows, keys):
        told = PersonRows(make_rows(rows), Persons.of(keys, unit), SimulationSource(1))
        return gather(query, told, 2, query.units.weights(np.zeros(2)))

    for seed in range(30):
        keys = np.repeat(np.arange(20), rng.integers(1, 8, 20))
        rows = records(np.random.default_rng(seed), len(keys), 2)
        first = gathered(rows, keys)
        order = rng.permutation(len(keys))
        assert gathered(rows[order], keys[order]).tolist() == first.tolist()
        others, own = keys != 7, records(rng, int(rng.integers(1, 50)), 2)
        again = gathered(
            np.concatenate([rows[others], own]), np.append(keys[others], np.full(len(own), 7))
        )
        assert np.delete(again, 7, axis=0).tolist() == np.delete(first, 7, axis=0).tolist()
        assert np.isfinite(again).all()
    plain = np.array([[1.0, 2.0], [3.0, 6.0], [np.nan, 1.0], [5.0, 5.0]])
    assert gathered(plain, np.array([1, 1, 1, 2])).tolist() == [[4.0 / 3.0, 8.0 / 3.0], [5.0, 5.0]]
