"""The iterative mean: its query by hand, least noise of two proofs, and the books."""

import math
from itertools import pairwise

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from support.sources import QuietSource
from support.stages import once
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.centres import CENTRES
from tailguard.means.iterative import ALL, Iterative, IterativeMean, group_edges
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.events import Gaussian, Parallel, Repeated, Shuffled
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units

MOMENT = tg.Moment(2.0, 4.0, kind="directional")
X = np.random.default_rng(0).standard_t(3.0, (5_000, 3)) + np.arange(3.0)
RAW = Units.raw(3, intercept=False)


def run(method, task, data=X, source=None):
    plan = planned(method, task)
    gate = Gate(make_rows(data), guarantee=plan.guarantee, source=source or SimulationSource(1))
    gate.reserve(plan.event, coordinates=plan.coordinates)
    return plan, gate, method.run(plan, gate)


def asked_of(epsilon, n_rows=5_000, moment=MOMENT, **facts):
    return task_of(n_rows, 3, tg.ApproxDP(epsilon, 1e-6), moment, **facts)


@pytest.mark.long
@pytest.mark.parametrize(
    ("epsilon", "n_groups", "proof", "ratio"),
    [(0.1, 20, "parallel", 4.5), (0.1, 1000, "amplified", 7.9), (1.0, 100, "parallel", 10.0)],
)
def test_the_published_noise_over_that_of_the_clipped_mean(epsilon, n_groups, proof, ratio):
    plan = planned(Iterative(n_groups=n_groups), asked_of(epsilon))
    assert plan.settings["proof"] == proof
    mu = plan.stages[0].mu
    assert math.sqrt(n_groups) * mu_of(epsilon, 1e-6) / mu == pytest.approx(ratio, abs=0.1)
    event = Repeated(Shuffled(mu, n_groups), 1)
    if proof == "parallel":
        event = Parallel("groups", 0, Repeated(Gaussian(mu), 1))
    assert plan.stages[0].event == event
    assert satisfies(plan.event, asked_of(epsilon).guarantee)


@pytest.mark.long
def test_the_proof_of_least_noise_is_taken():
    amounts = {
        proof: planned(Iterative(n_groups=500, proof=proof), asked_of(0.2)).stages[0].mu
        for proof in ("parallel", "amplified", "least")
    }
    assert amounts["least"] == amounts["amplified"] > 1.2 * amounts["parallel"]


@pytest.mark.long
@pytest.mark.parametrize("method", [Iterative(), Iterative(n_groups=500)])
@pytest.mark.parametrize("moment", [MOMENT, None])
def test_what_is_spent_is_what_was_planned(method, moment):
    plan, gate, answer = run(method, asked_of(0.2, moment=moment))
    certificate = gate.certificate()
    assert certificate.total.epsilon <= 0.2
    assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon, rel=1e-3)
    assert certificate.total.epsilon >= 0.2 * (1 - 5e-3)
    assert np.isfinite(answer.coef).all()
    release = certificate.releases[-1]
    assert (release.block_map, release.block) == ("groups", None)
    assert release.parameters["map_blocks"] == plan.settings["groups"]


@pytest.mark.parametrize("guarantee", [tg.GDP(0.5), tg.ZCDP(0.1)])
def test_other_promises_count_on_disjoint_groups(guarantee):
    task = task_of(5_000, 3, guarantee, MOMENT)
    plan, gate, _ = run(Iterative(n_groups=50), task)
    assert plan.settings["proof"] == "parallel"
    assert gate.certificate().spent.mu == pytest.approx(guarantee.gaussian_mu(), rel=1e-6)
    with pytest.raises(InputError, match="unless epsilon and delta"):
        planned(Iterative(proof="amplified"), task)


@pytest.mark.parametrize(
    ("method", "task", "words"),
    [
        (Iterative(), task_of(1_000, 3, tg.PureDP(1.0)), "PureDP"),
        (Iterative(n_groups=1_001), task_of(1_000, 3, tg.GDP(1.0)), "n_groups must be at most"),
        (Iterative(n_groups=0), task_of(1_000, 3, tg.GDP(1.0)), "n_groups"),
        (Iterative(clip_norm=-1.0), task_of(1_000, 3, tg.GDP(1.0)), "clip_norm"),
        (Iterative(centre="mean"), task_of(1_000, 3, tg.GDP(1.0)), "centre"),
        (Iterative(proof="hope"), task_of(1_000, 3, tg.GDP(1.0)), "proof"),
    ],
)
def test_what_is_refused_is_refused_from_public_facts(method, task, words):
    with pytest.raises(InputError, match=words):
        planned(method, task)


def test_few_records_make_few_groups():
    plans = [planned(Iterative(), task_of(n, 3, tg.GDP(1.0), MOMENT)) for n in (10, 100, 1_000)]
    assert [plan.settings["groups"] for plan in plans] == [1, 5, 20]


def answer(query, X, y=None, state=None, mu=1e3):
    gate = Gate(make_rows(X, y, loss=query.loss), guarantee=tg.GDP(1e6), source=QuietSource())
    gate.reserve(Gaussian(mu), coordinates=10_000)
    return gate.ask(query, np.zeros(3) if state is None else state, once(mu))


@pytest.mark.parametrize("n_groups", [1, 4, 7])
def test_the_median_of_clipped_group_means_by_hand(n_groups):
    X = np.random.default_rng(n_groups).standard_t(2, (101, 3))
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    clipped = X * np.minimum(1.0, 2.0 / norms)
    edges = group_edges(101, n_groups)
    means = [clipped[a:b].mean(axis=0) for a, b in pairwise(edges)]
    query = IterativeMean(None, RAW, clip_norm=2.0, n_groups=n_groups, centre="median")
    np.testing.assert_allclose(answer(query, X), np.median(means, axis=0), atol=1e-6)


def test_one_group_is_the_clipped_mean():
    rng = np.random.default_rng(1)
    X, y, w = rng.standard_normal((200, 3)), rng.standard_normal(200), np.array([0.1, 0.2, -0.3])
    loss = tg.losses.Squared()
    whole = MeanClippedGradient(loss, RAW, clip_norm=1.5)
    expected = answer(whole, X, y, w)
    for centre in CENTRES:
        query = IterativeMean(loss, RAW, clip_norm=1.5, n_groups=1, centre=centre)
        np.testing.assert_allclose(answer(query, X, y, w), expected, atol=1e-9)


@pytest.mark.parametrize(
    "facts",
    [
        {"clip_norm": 0.0},
        {"n_groups": 0},
        {"centre": "mean"},
        {"level": 0.0},
        {"level": 1.0},
        {"start": "mean"},
    ],
)
def test_options_that_cannot_be(facts):
    with pytest.raises(InputError):
        IterativeMean(None, RAW, **{"clip_norm": 1.0, **facts})


def test_more_groups_than_records_are_refused_from_public_numbers():
    with pytest.raises(InputError, match="n_groups must be at most n_rows"):
        IterativeMean(None, RAW, clip_norm=1.0, n_groups=20).calibrate(19, 3, 1.0)


def test_the_largest_group_bounds_the_sums():
    by_rows = [IterativeMean(None, RAW, 1.0, n_groups=3).sensitivity(n, 3) for n in (6, 7, 9)]
    assert by_rows[0] != by_rows[1] == by_rows[2]


def test_whatever_the_noise_is_the_answer_is_finite():
    query = IterativeMean(None, RAW, clip_norm=1e-100, n_groups=6)
    for noised in (np.full(18, 1e200), np.zeros(18), np.arange(18.0) * 1e-300):
        with np.errstate(all="ignore"):
            assert np.isfinite(query.finish(noised, 600)).all()


def test_all_group_means_are_told_where_a_mean_of_its_own_follows():
    X = np.arange(36.0).reshape(12, 3) / 100.0
    query = IterativeMean(None, RAW, clip_norm=2.0, n_groups=4, centre=ALL)
    expected = X.reshape(4, 3, 3).mean(axis=1).ravel()
    np.testing.assert_allclose(answer(query, X), expected, atol=1e-6)


def columnwise_median(means):
    return np.median(means, axis=0)


CLIPPED = {"method": "iterative", "clip_norm": 5.0, "n_groups": 8, "guarantee": tg.GDP(1.0)}


@pytest.mark.parametrize("stated", [{"clip_norm": 5.0}, {"moment": MOMENT}, {}])
def test_a_centre_of_a_users_own_is_as_the_registered_one_of_the_same_kind(stated):
    told = {"method": "iterative", "guarantee": tg.GDP(2.0), "random_state": 4, **stated}
    own, ours = (tg.mean(X, centre=centre, **told) for centre in (columnwise_median, "median"))
    np.testing.assert_allclose(own.value, ours.value, rtol=1e-9, atol=1e-12)
    assert own.certificate.total == ours.certificate.total
    assert own.certificate.releases == ours.certificate.releases
    assert np.isnan(own.noise_std).all()  # nobody knows what the function does with noise
    assert np.isfinite(ours.noise_std).all()


def test_it_is_handed_the_released_group_means_and_nothing_else(monkeypatch):
    released, handed = [], []
    ask = Gate.ask

    def spied(gate, query, *rest, **more):
        answer = ask(gate, query, *rest, **more)
        if isinstance(query, MeanClippedGradient):
            released.append((answer.copy(), len(gate.certificate().releases)))
        return answer

    def first(*given, **named):
        handed.append((given, named))
        return np.zeros(3)

    monkeypatch.setattr(Gate, "ask", spied)
    result = tg.mean(X, centre=first, random_state=1, **CLIPPED)
    ((means,), named) = handed[0]
    assert (len(handed), len(released), named) == (1, 1, {})
    answer, n_booked = released[0]
    assert n_booked == len(result.certificate.releases)  # all is paid for before it is called
    np.testing.assert_array_equal(means, answer)
    assert answer.shape == (8, 3)
    assert type(means) is np.ndarray
    assert means.base is None
    assert not np.shares_memory(means, X)


def test_it_sees_means_in_the_units_of_the_data():
    handed = []

    def kept(means):
        handed.append(means)
        return means.mean(axis=0)

    data = 50.0 + 3.0 * np.random.default_rng(2).standard_normal((20_000, 2))
    result = tg.mean(data, method="iterative", centre=kept, guarantee=tg.GDP(5.0), random_state=1)
    assert np.abs(handed[0] - 50.0).max() < 5.0
    np.testing.assert_allclose(result.value, handed[0].mean(axis=0))


def test_what_is_no_number_counts_as_zero_and_another_shape_is_refused():
    told = {"random_state": 1, **CLIPPED}
    result = tg.mean(X, centre=lambda means: np.full(3, np.nan), **told)
    assert np.array_equal(result.value, np.zeros(3))
    with pytest.raises(InputError, match=r"centre must return a vector of 3 entries; got shape"):
        tg.mean(X, centre=lambda means: means, **told)


@pytest.mark.long
def test_an_audit_of_the_greediest_function_keeps_the_promise_and_of_a_leak_does_not():
    """The one that shows most of a group, and one that breaks its word and looks at records."""
    low, high = np.zeros(32), np.r_[9.0, np.zeros(31)]
    told = {"method": "iterative", "clip_norm": 1.0, "n_groups": 4, "guarantee": tg.GDP(4.0)}
    less = told | {"guarantee": tg.GDP(2.0)}  # so many runs show at most mu = 3.9

    def greedy(seed):
        return lambda x: tg.mean(x, centre=lambda q: q[q.argmax(0)[0]], random_state=seed, **told)

    def leaky(seed):
        return lambda x: tg.mean(
            x, centre=lambda q: q[0] + x.max(keepdims=True), random_state=seed, **less
        )

    kept, broken = (tg.audit(each, (low, high), n_runs=300) for each in (greedy, leaky))
    assert kept.accepted
    assert kept.share > 0.15  # a good part of what is claimed is seen
    assert not broken.accepted


@pytest.mark.parametrize(("shift", "noted"), [(0.0, True), (9.0, False)])
def test_updates_that_do_not_leave_their_start_are_noted(shift, noted):
    """Groups around the origin hold updates there; groups apart from it draw them in."""
    records = np.random.default_rng(2).standard_normal((5_000, 3)) + shift
    told = {"guarantee": tg.GDP(2.0), "clip_norm": 20.0, "random_state": 0}
    found = tg.mean(records, method="iterative", start="origin", **told)
    assert np.any(found.value) != noted
    assert any("stayed at the origin" in note for note in found.notes) == noted
    assert ("stayed at the origin" in found.explain()) == noted
    other = tg.mean(records, method="iterative", **told)
    assert np.any(other.value)
    assert "stayed at the origin" not in other.explain()
