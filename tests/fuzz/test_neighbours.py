"""Neighbouring tables under declarations of any kind: no answer moves further than stated.

A run on the neighbour is handed the noised answers of the run on the table. So both must ask and
say the same, and the answers before the noise show how far the replaced record moved them.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

import tailguard as tg
from support.fuzzing import FEW, attempt, often
from tailguard.gate import Gate
from tailguard.privacy.calibration import Calibration
from tailguard.quiet import quietly

N_ROWS = 90
FAR = [1e308, -1e308, 0.0, -0.0, 5e-324, 1e3, None, np.nan, np.inf, "word", "1e5", 10**30, True]
CELLS = {
    "a": FAR,
    "b": FAR,
    "level": ["u", "v", b"u", "other", None, 1.5],
    "day": ["0001-01-01", "2021-01-01", "9999-12-31", "no day", None, 20200101],
    "weight": [0.0, 2.0, 1e308, 5e-324, -1.0, None, "word"],
    "offset": [0.0, 1e308, -1e308, np.inf, None, "word"],
    "y": [0, 1, 2, True, "1", -1.0, 1e308, None, np.nan, "word"],
}
SCHEMA = {
    "categorical": {"level": ["u", "v"]},
    "dates": {"day": {"origin": "2020-01-01", "unit": "days"}},
    "missing": {"a": 1.0, "level": "v", "day": 3.0},
}
TERMS = ["cut(a, 0, 1)", "spline(b, -9, 0, 9)", "level:a", "level:day", "missing(a)", "log1p(a)"]
MODELS = {
    "linear": tg.LinearRegression,
    "ridge": lambda **options: tg.LinearRegression(alpha=1.0, **options),
    "labels": lambda **options: tg.LogisticRegression(classes=(0, 1), **options),
    "classes": lambda **options: tg.LogisticRegression(classes=(0, 1, 2), **options),
    "huber": tg.HuberRegression,
    "counts": tg.PoissonRegression,
    "median": tg.QuantileRegression,
    "describe": tg.describe,
    "by level": lambda X, **options: tg.describe(X, by="level", **options),
}
NO_OFFSET = ("classes", "describe", "by level")
PROMISES = [tg.GDP(3.0), tg.GDP(100.0), tg.ZCDP(8.0), tg.ApproxDP(8.0, 1e-6)]


def neighbours(rng, *, persons):
    """Two tables of objects that differ in one record: a row, or all rows of a person."""
    columns = {
        "a": rng.standard_normal(N_ROWS),
        "b": rng.standard_t(2, N_ROWS) * 10.0 ** rng.integers(-200, 200),
        "level": rng.choice(["u", "v"], N_ROWS),
        "day": rng.choice(["2020-03-01", "2021-05-05"], N_ROWS),
        "weight": rng.uniform(0.0, 2.0, N_ROWS),
        "offset": rng.uniform(0.1, 1.0, N_ROWS),
        "y": rng.integers(0, 2, N_ROWS),
        "key": np.arange(N_ROWS) // 3,
    }
    table = pd.DataFrame({name: pd.Series(c.tolist(), dtype=object) for name, c in columns.items()})
    own = table.index // 3 == rng.integers(N_ROWS // 3)
    own &= persons | (table.index % 3 == 0)
    rows = rng.choice(np.flatnonzero(own), 1 + 7 * persons)
    places = np.append(np.flatnonzero(~own), rows) if persons else np.arange(N_ROWS)
    other = table.iloc[places].reset_index(drop=True)
    replaced = np.arange(len(other) - 8, len(other)) if persons else rows
    for name, cells in CELLS.items():
        for row in replaced:
            if rng.random() < 0.7:
                other.at[row, name] = cells[rng.integers(len(cells))]
    return table, other


def run_of(rng, kind, guarantee, *, persons):
    """A run with declarations of any kind, as a function of the table."""
    schema, columns = dict(SCHEMA), ["a", "b", "level", "day"]
    if rng.random() < 0.5:
        columns.append("weight")
        schema |= {"weight": "weight", "weight_bound": 1.5}
    if rng.random() < 0.5 and kind not in NO_OFFSET:
        columns.append("offset")
        schema["exposure" if kind == "counts" else "offset"] = "offset"
    if persons:
        columns.append("key")
        schema |= {"person": "key", "max_rows": int(rng.integers(1, 5))}
    is_summary = MODELS[kind] is tg.describe or kind == "by level"
    if not is_summary:
        columns.append("y")
        schema |= {"target": "y", "terms": ["...", *rng.choice(TERMS, 2, replace=False).tolist()]}
    options = {"schema": schema, "guarantee": guarantee, "random_state": 0}
    options["on_unusable"] = str(rng.choice(["stop", "fit"]))

    def run(table):
        if is_summary:
            return MODELS[kind](table[columns], **options)
        return MODELS[kind](**options).fit(table[columns])

    return run


def said_by(run, table, answers, *, replays):
    """What a run says and asks; its answers before the noise, with their calibrations."""
    asked, raw, noised = [], [], Gate._noised

    def answer(gate, query, state, calibration, read):
        found = noised(gate, query, state, calibration, read)
        asked.append(repr((query.name, query.parameters(), calibration)))
        with quietly():
            raw.append((query.answer(read(), state, calibration), calibration))
        if not replays:
            answers.append(found)
        return answers[len(asked) - 1]

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        patch.setattr(Gate, "_noised", answer)
        found, words = attempt(lambda: run(table))
    parts = [] if found is None else [found.explain(), *texts_of(found)]
    return [words, *parts, asked, [str(each.message) for each in warned]], raw


def texts_of(found):
    """Results and certificate of a model or a summary, as text."""
    if hasattr(found, "certificate_"):
        return found.summary(), found.certificate_.to_json()
    return repr(found), found.certificate.to_json()


def share_moved(first, second):
    """How far an answer moved, as a share of what its calibration allows."""
    (answer, calibration), (other, _) = first, second
    assert isinstance(calibration, Calibration)
    moved = np.linalg.norm((answer - other).astype(np.float64))
    return moved * calibration.grid / calibration.charged


def check_pair(run, table, other):
    """Check that both runs say the same, and return the largest share moved."""
    answers = []
    said, raw = said_by(run, table, answers, replays=False)
    same, moved = said_by(run, other, answers, replays=True)
    assert said == same
    return max((share_moved(*pair) for pair in zip(raw, moved, strict=True)), default=0.0)


@pytest.mark.long
@pytest.mark.parametrize("count", [FEW, pytest.param(2_000, marks=pytest.mark.audit)])
def test_no_answer_moves_further_than_stated_whatever_is_declared(count):
    shares = []

    def check(kind, guarantee, persons, seed):
        rng = np.random.default_rng(seed)
        table, other = neighbours(rng, persons=persons)
        run = run_of(rng, kind, guarantee, persons=persons)
        shares.append(check_pair(run, table, other))
        assert shares[-1] <= 1.0 + 1e-9

    often(
        count,
        check,
        kind=st.sampled_from([*MODELS]),
        guarantee=st.sampled_from(PROMISES),
        persons=st.booleans(),
        seed=st.integers(0, 2**32 - 1),
    )
    assert max(shares) > 0.9  # the bound is nearly attained, so a smaller one would be noticed


def test_a_run_that_tells_of_a_record_is_noticed():
    table, other = neighbours(np.random.default_rng(0), persons=False)

    def run(X):
        level = 0.5 if X.equals(table) else 0.6
        return tg.quantile(X[["a", "b"]], level, guarantee=tg.GDP(3.0), random_state=0)

    with pytest.raises(AssertionError):
        check_pair(run, table, other)
