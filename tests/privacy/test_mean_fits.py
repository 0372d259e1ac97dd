"""Audits of whole means, scales and all, by everything that they release.

The pair moves every release by nearly all that it may: the first record has a partner that is far
out, so that its difference to it changes, and its bins in the histograms of size, place and
magnitude, and its side for the mean. Whoever attacks overhears all
releases, and reads them by the likelihood ratio. False alarms at 1e-6. By default the noise of
every release is tested; in the audit whole means are told apart, often enough to catch noise that
is 1.3 times too small with a chance of 99.9 per cent.
"""

from functools import cache
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import tailguard as tg
from support.audits import (
    POWER,
    event_audit,
    gdp_audit,
    hidden_rates,
    hidden_ratio,
    runs_for_event,
    runs_for_mu,
)
from support.statistics import gaussian_scale_test, laplace_scale_test
from tailguard.audit.gates import AttackedGate, OverheardGate, Relayed
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.gaussian import delta_of

FALSE_ALARM, TOO_MUCH = 1e-6, 1.3
N_ROWS, CLAIMED = 200, 2.5
FAR, ON_THE_OTHER_SIDE = -1e300, 2.0**13
# Columns, and what the pair attains. For three columns "auto" does not choose "clipped".
MEANS = {"clipped": (1, 0.99), "auto": (3, 0.97)}
OTHERS = {"clamped": (1, 0.0), "truncated": (1, 0.0), "soft": (1, 0.0)}
N_FITS = 192


def audited(methods):
    """By default methods that are often chosen are tried, and these in the audit."""
    return [pytest.param(name, marks=pytest.mark.audit) for name in methods]


module = import_module("tailguard.estimators.mean")  # tailguard.estimators.mean is the function


@pytest.fixture
def heard(monkeypatch):
    """Ask for a mean through a gate of another kind; return that gate.

    Plans are made from public facts, and once for all runs.
    """
    monkeypatch.setattr(module, "choose", cache(module.choose))

    def fit(make_gate, X, seed, **asked):
        gates = []

        def over(matrix, y=None, *, guarantee, random_state, **undeclared):
            assert y is None
            assert not any(undeclared.values())
            gates.append(make_gate(guarantee, random_state))
            return gates[0]

        monkeypatch.setattr(module, "Gate", SimpleNamespace(over=over))
        result = tg.mean(X, random_state=seed, **asked)
        assert result.certificate.releases == gates[0].books.releases
        return gates[0]

    return fit


def pair_of(n_features):
    """Ordinary records but for the first, and for the second, which makes a pair with it."""
    X = np.random.default_rng(0).standard_normal((N_ROWS, n_features))
    X[1] = FAR
    pair = []
    for X[0] in (FAR, ON_THE_OTHER_SIDE):
        pair.append((X.copy(), None))
    return pair


def transcript(heard, method, n_features, mu, seed, *, neighbour):
    """All that one mean tells about the pair."""
    pair = pair_of(n_features)

    def overheard(guarantee, seed):
        facts = {"guarantee": guarantee, "neighbour": neighbour, "seed": seed}
        return OverheardGate.between(pair, **facts)

    X, _ = pair[neighbour]
    return heard(overheard, X, seed, guarantee=tg.GDP(mu), method=method).transcript


@pytest.mark.long
@pytest.mark.parametrize("method", [*MEANS, *audited(OTHERS)])
def test_every_release_moves_as_was_booked_and_carries_the_noise_that_was(method, heard):
    n_features, least = {**MEANS, **OTHERS}[method]
    told = [
        transcript(heard, method, n_features, CLAIMED, seed, neighbour=seed % 2 == 1)
        for seed in range(N_FITS)
    ]
    mus = [one.mu for one in told]
    assert max(mus) <= CLAIMED
    # In one fit of some hundred the tail that noise shows is so heavy that the pair is near in it.
    assert np.quantile(mus, 0.01) >= least * CLAIMED
    noises = np.concatenate([one.noises for one in told])
    ratios = 1.0 / TOO_MUCH, TOO_MUCH
    verdict = gaussian_scale_test(noises, 1.0, false_alarm=FALSE_ALARM, ratios=ratios)
    assert verdict.accepted
    assert verdict.power >= POWER
    assert not gaussian_scale_test(noises / TOO_MUCH, 1.0, false_alarm=FALSE_ALARM).accepted


@pytest.mark.audit
@pytest.mark.parametrize("factor", [1.0, TOO_MUCH])
@pytest.mark.parametrize("method", MEANS)
def test_a_whole_mean_shows_no_more_than_mu(method, factor, heard):
    n_features, attained = MEANS[method]
    true_mu = TOO_MUCH * attained * CLAIMED
    claim = {"claimed_mu": CLAIMED, "true_mu": true_mu, "threshold": true_mu / 2.0}
    n_runs = runs_for_mu(**claim, false_alarm=FALSE_ALARM)
    scores = [
        [
            transcript(
                heard, method, n_features, factor * CLAIMED, seed, neighbour=neighbour
            ).score(neighbour=neighbour)
            for seed in range(neighbour, 2 * n_runs, 2)
        ]
        for neighbour in (False, True)
    ]
    verdict = gdp_audit(*scores, **claim, false_alarm=FALSE_ALARM)
    assert verdict.accepted is (factor == 1.0)
    assert verdict.power >= POWER


class LaplaceHeard(AttackedGate):
    """Notes how far the pair moves every release, in noise scales, and the noise on all numbers."""

    def _noised(self, query, state, public, read):
        clean = []
        told = Relayed(query, lambda answer: clean.append(answer) or answer)
        noised = super()._noised(told, state, public, read)
        with np.errstate(all="ignore"):
            other = query.answer(self.there, state, public)
        self.moved.append(float(np.abs(other - clean[0]).sum()) / public.lattice_scale)
        self.noises.extend((noised - clean[0]) / public.lattice_scale)
        return noised


@pytest.mark.parametrize("method", ["auto", *audited(OTHERS)])
def test_with_pure_privacy_every_release_moves_as_was_booked_too(method, heard):
    here, there = (make_rows(X) for X, _ in pair_of(1))

    def overheard(guarantee, seed):
        gate = LaplaceHeard.of(here, guarantee=guarantee, seed=seed)
        gate.there, gate.moved, gate.noises = there, [], []
        return gate

    X, _ = pair_of(1)[0]
    asked = {"guarantee": tg.PureDP(CLAIMED), "method": method}
    gates = [heard(overheard, X, seed, **asked) for seed in range(N_FITS)]
    for gate in gates:
        assert 0.1 * CLAIMED < sum(gate.moved) <= CLAIMED
    noises = np.concatenate([gate.noises for gate in gates])
    ratios = 1.0 / TOO_MUCH, TOO_MUCH
    verdict = laplace_scale_test(noises, 1.0, false_alarm=FALSE_ALARM, ratios=ratios)
    assert verdict.accepted
    assert verdict.power >= POWER
    assert not laplace_scale_test(noises / TOO_MUCH, 1.0, false_alarm=FALSE_ALARM).accepted


# The iterative mean, on groups of two records that agree, but for the first one.


class GroupsHeard(Gate):
    """Keeps what was released of the groups, and in which of them the first record is."""

    def ask(self, query, state, stage, **asked):
        answers = super().ask(query, state, stage, **asked)
        if "blocks" in asked:
            # The mean of a group is 1, or 0 with a first record of -1; its noise has 1 / mu.
            self.noises = (1.0 - answers[:, 0]) * stage.mu
        return answers

    def reserve(self, event, **told):
        super().reserve(event, **told | {"unprotected": self.unprotected})

    def partition(self, name, *sizes, **facts):
        blocks = super().partition(name, *sizes, **facts)
        places = self._partitions._cuts[name].places
        (self.home,) = (j for j in range(len(blocks)) if 0 in places(j))
        return blocks


def groups(heard, n_groups, first, seeds, **asked):
    """Noise of all groups, a run a row, and that of the first record's group."""
    X = np.ones((2 * n_groups, 1))
    X[0] = first
    rows, checked = make_rows(X), []

    def gate(guarantee, seed):
        # The first gate holds the plan against the promise; to do so again takes long.
        promise = tg.GDP(1.0) if checked else guarantee
        made = GroupsHeard(rows, guarantee=promise, source=SimulationSource(seed))
        made.unprotected = bool(checked)
        checked.append(guarantee)
        return made

    options = {"method": "iterative", "clip_norm": 1.0, "n_groups": n_groups, "centre": "median"}
    gates = [heard(gate, X, seed, **asked, **options) for seed in seeds]
    return np.array([g.noises for g in gates]), np.array([g.noises[g.home] for g in gates])


@pytest.mark.long
@pytest.mark.parametrize(
    "too_much", [2.0, pytest.param(TOO_MUCH, marks=pytest.mark.audit)], ids=["gross", "slight"]
)
def test_groups_that_are_known_show_no_more_than_mu(too_much, heard):
    true_mu = too_much * CLAIMED
    claim = {"claimed_mu": CLAIMED, "true_mu": true_mu, "threshold": true_mu / 2.0}
    n_runs = runs_for_mu(**claim, false_alarm=FALSE_ALARM)
    for factor in (1.0, too_much):
        asked = {"guarantee": tg.GDP(factor * CLAIMED), "proof": "parallel"}
        scores = [
            groups(heard, 3, first, range(side, 2 * n_runs, 2), **asked)[1]
            for side, first in enumerate((1.0, -1.0))
        ]
        verdict = gdp_audit(*scores, **claim, false_alarm=FALSE_ALARM)
        assert verdict.accepted is (factor == 1.0)
    assert verdict.power >= POWER


@pytest.mark.long
@pytest.mark.parametrize(
    "too_much", [2.0, pytest.param(TOO_MUCH, marks=pytest.mark.audit)], ids=["gross", "slight"]
)
def test_groups_that_are_secret_show_no_more_than_was_promised(too_much, heard):
    """Of two groups: where there are more, a shuffle hides more than any proof can say."""
    n_groups, epsilon, mu = 2, 1.0, 2.0
    claim = {"epsilon": epsilon, "delta": delta_of(mu, epsilon), "false_alarm": FALSE_ALARM}
    claim["rates"] = hidden_rates(0.995 * too_much * mu, n_groups, epsilon)
    n_runs = runs_for_event(**claim)
    for factor in (1.0, too_much):
        asked = {"epsilon": epsilon, "delta": delta_of(factor * mu, epsilon)}
        runs = [
            groups(heard, n_groups, first, range(side, 2 * n_runs, 2), proof="amplified", **asked)
            for side, first in enumerate((1.0, -1.0))
        ]
        beyond = [hidden_ratio(noises, factor * mu) > epsilon for noises, _ in runs]
        counts = int(beyond[0].sum()), int((~beyond[1]).sum())
        verdict = event_audit(*counts, n_runs, **claim)
        assert verdict.accepted is (factor == 1.0)
    assert verdict.power >= POWER
