"""Certificates of several kinds of runs, and forgeries that change one place of each."""

import json
import tempfile
from copy import copy
from functools import cache, partial

import numpy as np

import tailguard as tg
from tailguard.solvers.registry import make_solver

N_ROWS = 2_000
RNG = np.random.default_rng(11)
X = RNG.standard_normal((N_ROWS, 2))
Y = X @ [1.0, -0.5] + 0.1 * RNG.standard_normal(N_ROWS)
APPROX = {"epsilon": 1.0, "delta": 1e-6}
BALL = tg.sets.L2Ball(2.0)


def fitted(kind, **options):
    return kind(**options).fit(X, Y).certificate_


def averaged(**options):
    return tg.mean(X, **options).certificate


def minimised(name, guarantee, **options):
    loss, solver = tg.losses.Huber(1.0), make_solver(name, **options)
    return tg.minimize(loss, X, Y, guarantee=guarantee, constraint=BALL, solver=solver).certificate


def stopped():
    """The certificate of a run that stops early; its ledger counts less than was reserved."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = tg.Ledger(f"{folder}/budget.sqlite", "claims", epsilon=9.0, delta=1e-4)
        return certificate_of_stopped(ledger)


def certificate_of_stopped(ledger):
    try:
        tg.LinearRegression(ledger=ledger, **APPROX).fit(np.full_like(X, np.nan), Y)
    except tg.UnusableTableError as error:
        return error.certificate
    raise AssertionError("a table of void records did not stop")


def searched():
    search = tg.PrivateSearch(tg.LinearRegression(), {"alpha": [0.0, 0.1]}, epsilon=2.0, delta=1e-6)
    return search.fit(X, Y).certificate_


def descended(schedule, guarantee, **options):
    options |= {"schedule": schedule, "clip_norm": 1.0}
    return minimised("noisy-gradient-descent", guarantee, **options)


USUAL = tg.ApproxDP(**APPROX)


RUNS = {
    "fit": partial(fitted, tg.LinearRegression, **APPROX),
    "fit in mu": partial(fitted, tg.HuberRegression, guarantee=tg.GDP(0.5)),
    "seeded fit": partial(fitted, tg.LinearRegression, random_state=1, **APPROX),
    "sparse fit": partial(fitted, tg.SparseLinearRegression, n_nonzero=1, **APPROX),
    "mean in rho": partial(averaged, guarantee=tg.ZCDP(0.5)),
    "pure mean": partial(averaged, guarantee=tg.PureDP(2.0)),
    "trimmed mean": partial(averaged, guarantee=tg.ZCDP(1.0), method="trimmed", low=-5.0, high=5.0),
    "early stop": stopped,
    "search": searched,
    "samples": partial(descended, "sampled", USUAL, batch_rows=200, n_steps=40),
    "shuffled passes": partial(descended, "shuffled", USUAL, n_batches=20, n_steps=20),
    "blocks": partial(descended, "disjoint", tg.GDP(1.0), n_steps=10),
    "sample and aggregate": partial(minimised, "sample-and-aggregate", tg.ApproxDP(2.0, 1e-5)),
}


@cache
def certificate_of(name):
    return RUNS[name]()


def leaves(data, place=()):
    """Yield every place of plain data, at any depth."""
    if place:
        yield place
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from leaves(data[key], (*place, key))


def pattern(place):
    """The place without list indices, which is equal for all releases."""
    return "".join("[]" if isinstance(key, int) else f".{key}" for key in place)


def value_at(data, place):
    for key in place:
        data = data[key]
    return data


def with_value(data, place, value):
    changed = copy(data)
    changed[place[0]] = with_value(data[place[0]], place[1:], value) if place[1:] else value
    return changed


def forged_values(value):
    """Values to substitute for a value."""
    if isinstance(value, bool) or value is None:
        return [0.001, "no"]
    if isinstance(value, int):
        return [value + 1, max(value // 2, 1) if value > 1 else value + 2, 0, float(value) * 1.5]
    if isinstance(value, float):
        return [value * 0.001, value * 0.9, value * 1.1, value * 1000.0, 0.0, None]
    if isinstance(value, str):
        return [f"{value} ", value[:-1] or "a", "private", "gdp"]
    if isinstance(value, list):
        return [[], value[1:], value[:-1], [*value, *value[:1]]] if value else [["more"]]
    first = next(iter(value), None)
    return [{}, {**value, "more": 1}] + [{k: value[k] for k in value if k != first}] * bool(value)


def forgeries(certificate, rng, per_pattern):
    """Yield place and forged data: a random sample of each kind of place."""
    data = json.loads(certificate.to_json())
    kinds = {}
    for place in leaves(data):
        kinds.setdefault(pattern(place), []).append(place)
    for places in kinds.values():
        changes = [
            (place, value)
            for place in places
            for value in forged_values(value_at(data, place))
            if value != value_at(data, place)
        ]
        for number in rng.permutation(len(changes))[:per_pattern]:
            place, value = changes[number]
            yield place, value, with_value(data, place, value)
