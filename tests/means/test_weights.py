"""``tg.mean`` of records that count by weights: what it aims at, what it refuses, what it shows."""

import re

import numpy as np
import pandas as pd
import pytest

import tailguard as tg
from support.transcripts import check_noises
from support.weights import overheard
from tailguard.audit.gates import OverheardGate
from tailguard.data.rows import arrays
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import RecordBlock
from tailguard.gate.plan import Problem
from tailguard.gate.stage import WEIGHT
from tailguard.means.choice import MEANS
from tailguard.means.clipped import Clipped
from tailguard.means.private_units import released_total
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.units import Units
from tailguard.scaling.required_records import WEIGHS_LITTLE

RNG = np.random.default_rng(0)
N_ROWS, BOUND = 6_000, 4.0
TIMES = RNG.integers(0, 5, N_ROWS)
# Rows of higher weight are higher: weights change what is aimed at.
Z = RNG.standard_normal((N_ROWS, 2))
TABLE = pd.DataFrame(
    {"first": 5.0 + Z[:, 0] + 0.5 * TIMES, "second": 8.0 * Z[:, 1], "w": TIMES.astype(float)}
)
NUMBERS = ["first", "second"]
EXPECTED = np.average(TABLE[NUMBERS], axis=0, weights=TIMES)
WEIGHED = {"sample_weight": "w", "weight_bound": BOUND}
CLEAR = {"guarantee": tg.GDP(300.0), "random_state": 0}
PROMISE = {"guarantee": tg.GDP(2.0), "random_state": 0}


def test_whole_weights_are_repeated_rows():
    found = tg.mean(TABLE, **WEIGHED, **CLEAR)
    repeated = tg.mean(TABLE.loc[np.repeat(TABLE.index, TIMES), NUMBERS], **CLEAR)
    assert abs(EXPECTED[0] - TABLE["first"].mean()) > 0.4
    np.testing.assert_allclose(found.value, EXPECTED, atol=0.02)
    np.testing.assert_allclose(found.value, repeated.value, atol=0.04)
    assert found.certificate.n_rows == N_ROWS
    assert found.names == ("first", "second")
    assert "weights above 4 are cut" in " ".join(found.notes)
    assert "total weight" in found.explain()


def test_predicted_noise_is_that_of_the_mean():
    runs = [
        tg.mean(TABLE, **WEIGHED, guarantee=tg.GDP(1.0), random_state=seed) for seed in range(30)
    ]
    values = np.array([run.value for run in runs])
    predicted = np.mean([run.noise_std for run in runs], axis=0)
    ratio = values.std(axis=0) / predicted
    assert ((ratio > 0.7) & (ratio < 1.6)).all()
    np.testing.assert_allclose(values.mean(axis=0), EXPECTED, atol=0.15)


def test_only_ratios_of_weights_matter():
    found, again = (
        tg.mean(TABLE[NUMBERS], sample_weight=f * TIMES, weight_bound=f * BOUND, **PROMISE).value
        for f in (1.0, 1024.0)
    )
    np.testing.assert_array_equal(found, again)


def test_void_rows_and_rows_of_no_weight_do_not_pull_the_mean():
    holed = TABLE.assign(first=np.where(np.arange(N_ROWS) % 3, TABLE["first"], np.nan))
    kept = np.arange(N_ROWS) % 3 > 0
    expected = np.average(TABLE.loc[kept, NUMBERS], axis=0, weights=TIMES[kept])
    np.testing.assert_allclose(tg.mean(holed, **WEIGHED, **CLEAR).value, expected, atol=0.03)


def test_a_person_s_rows_count_by_their_weights_and_shares():
    cells = TABLE.assign(id=np.arange(N_ROWS) // 2)
    found = tg.mean(cells, person="id", max_rows=2, **WEIGHED, **CLEAR)
    assert found.certificate.n_rows == N_ROWS // 2
    np.testing.assert_allclose(found.value, EXPECTED, atol=0.03)


SPOILED = {-1.0: 0.0, np.nan: 0.0, np.inf: 0.0, -np.inf: 0.0, 1e300: BOUND, 4.0000001: BOUND}


@pytest.mark.parametrize("weight", SPOILED)
def test_a_weight_that_is_none_counts_nothing_and_a_larger_one_as_the_bound(weight):
    found, expected = (
        tg.mean(TABLE.assign(w=np.append(first, TIMES[1:])), **WEIGHED, **PROMISE)
        for first in (weight, SPOILED[weight])
    )
    np.testing.assert_array_equal(found.value, expected.value)


@pytest.mark.parametrize("column", [0.0, 1e-300, 4.0, 1e300])
def test_answers_are_finite_whatever_weights_are(column):
    found = tg.mean(TABLE.assign(w=column), **WEIGHED, **PROMISE)
    assert np.isfinite(found.value).all()
    assert np.isfinite(found.noise_std).all()


OTHERS = [{"method": name} for name in MEANS if name != "clipped"]
STATED = [{"clip_norm": 9.0}, {"moment": tg.Moment(2, 99.0, kind="norm")}]
PURE = [{"guarantee": tg.PureDP(2.0)}, {"guarantee": tg.PureDP(2.0), "method": "soft"}]


@pytest.mark.parametrize(
    "options", [*OTHERS, *({"method": "clipped", **each} for each in STATED), *PURE]
)
def test_what_does_not_release_the_total_weight_refuses_weights(options):
    with pytest.raises(tg.InputError, match="sample_weight must be None unless"):
        tg.mean(TABLE, **{**WEIGHED, "guarantee": tg.ZCDP(2.0), **options})


def test_a_moment_is_replaced_by_released_scales():
    moment = tg.Moment(2, 99.0, kind="norm")
    found = tg.mean(TABLE, moment=moment, **WEIGHED, **CLEAR)
    np.testing.assert_allclose(found.value, EXPECTED, atol=0.02)


def test_a_pair_weighs_as_its_lighter_record():
    """Three pairs, of which two differ by more than one; the last record has none."""
    features = np.array([[0.0], [3.0], [5.0], [5.5], [0.0], [4.0], [9.0]])
    weight = np.array([1.0, 0.25, 1.0, 0.75, 0.5, 1.0, 1.0])
    query = CountMagnitudes(Units.raw(1, intercept=False), (1.0, 10.0), "differences")
    steps = query.sum_block(RecordBlock(features, weight=weight), None, 2.0**-10)
    np.testing.assert_array_equal(steps * 2.0**-10, [0.75, 0.75, 0.0])


def test_noise_of_a_small_total_is_stated():
    """Of records that weigh a fortieth the total is noisy: it moves the mean as the sums do."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((2_000, 2)) * [1.0, 3.0] + [2.0, -5.0]
    weight = rng.uniform(0.0, 0.05, len(X))
    own, promise = np.average(X, axis=0, weights=weight), {"guarantee": tg.GDP(2.0)}
    found = [
        tg.mean(X, sample_weight=weight, weight_bound=1.0, random_state=seed, **promise)
        for seed in range(150)
    ]
    missed = [(one.value - own) / one.noise_std for one in found]
    assert (np.mean(np.abs(missed) < 1.96, axis=0) > 0.88).all()
    assert found[0].found["total weight, in weight_bound"] < 200


def test_records_that_weigh_far_less_than_their_bound_are_noted():
    """With a bound at twice the mean weight nothing is said, and noise is much smaller."""
    weight, promise = np.where(np.arange(N_ROWS) % 2, 0.05, 0.0), {"epsilon": 4.0, "delta": 1e-6}
    loose, close = (
        tg.mean(TABLE[NUMBERS], sample_weight=weight, weight_bound=bound, random_state=0, **promise)
        for bound in (2.0, 0.05)
    )
    noted = [note for note in loose.notes if note.startswith(WEIGHS_LITTLE)]
    assert len(noted) == 1
    times = float(re.search(r"about 1/(\d+) of weight_bound", noted[0])[1])
    assert times == pytest.approx(80.0, rel=0.2)
    assert noted[0] in loose.explain()
    assert not any(note.startswith(WEIGHS_LITTLE) for note in close.notes)
    assert (loose.noise_std > 10.0 * close.noise_std).all()


def test_the_total_is_released_without_squares_and_has_the_noise_of_one_sum():
    plan = Clipped().plan(Problem(None, N_ROWS, 2, has_weights=True), tg.GDP(1.0))
    stage = plan.stage(WEIGHT)
    assert stage.coordinates == 1
    rows = make_rows(TABLE[NUMBERS], sample_weight=TABLE["w"], weight_bound=BOUND)
    gate = OverheardGate.over_rows(rows, rows, guarantee=plan.guarantee, neighbour=False, seed=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    _, noise_std = released_total(plan, gate)
    assert noise_std == pytest.approx(1.0 / stage.mu, rel=1e-3)


# A whole mean, overheard ------------------------------------------------------------------------

AUDITED_ROWS, AUDITED_MU = 200, 1.5
# The first record: its cells and its weight.
NEIGHBOURS = {
    "cells": ([1e4, 1e4, 9.0], [-1e4, -1e4, 9.0]),
    "weight": ([1e4, 1e4, 9.0], [1e4, 1e4, np.nan]),
}


def runs_of(name, n_runs):
    """Runs of everything that a mean releases, on either table by turns."""
    table = np.random.default_rng(0).standard_normal((AUDITED_ROWS, 3))
    table[:, 2] = np.random.default_rng(1).uniform(0.5, 1.0, AUDITED_ROWS)
    plan = Clipped().plan(Problem(None, AUDITED_ROWS, 2, has_weights=True), tg.GDP(AUDITED_MU))
    assert WEIGHT in plan.by_name
    return overheard(Clipped(), plan, table, NEIGHBOURS[name], n_runs)


@pytest.mark.long
@pytest.mark.parametrize(("name", "least"), [("cells", 0.8), ("weight", 0.4)])
def test_a_whole_mean_shows_most_of_what_it_claims_of_a_record_and_never_more(name, least):
    told = list(runs_of(name, 250))
    for one in told:
        assert least * AUDITED_MU <= one.mu <= AUDITED_MU * (1.0 + 1e-9)
    moved = {"clipped mean by shells"}
    moved |= {"total weight of usable records"} if name == "weight" else set()
    assert {query.name for query in told[0].queries} >= moved
    check_noises(np.concatenate([one.noises for one in told]))


def test_weights_that_are_not_cut_are_overheard(monkeypatch):
    uncut = lambda weight, n_rows: np.nan_to_num(weight.column / weight.bound)  # noqa: E731
    monkeypatch.setattr(arrays, "weight_parts", uncut)
    assert min(one.mu for one in runs_of("cells", 4)) > 2.0 * AUDITED_MU


def test_where_persons_are_protected_the_note_speaks_of_them():
    persons = {"person": np.arange(N_ROWS) // 2, "max_rows": 2}
    light = {"sample_weight": np.full(N_ROWS, 0.02), "weight_bound": 1.0}
    found = tg.mean(TABLE[NUMBERS], **persons, **light, guarantee=tg.GDP(1.0), random_state=0)
    (note,) = (note for note in found.notes if note.startswith(WEIGHS_LITTLE))
    assert "persons weigh on average" in note
