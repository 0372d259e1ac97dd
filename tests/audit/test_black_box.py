"""``tg.audit``: keeps what holds, catches what does not, and refuses what is no question."""

import dataclasses

import numpy as np
import pytest

import tailguard as tg

LOW, HIGH = np.r_[-9.0, np.zeros(39)], np.r_[9.0, np.zeros(39)]


def mean_at(mu):
    facts = {"method": "clipped", "clip_norm": 1.0}
    return lambda seed: lambda x: tg.mean(x, guarantee=tg.GDP(mu), random_state=seed, **facts)


def test_a_mean_keeps_what_its_certificate_claims():
    found = tg.audit(mean_at(2.5), (LOW, HIGH), n_runs=250)
    assert found.accepted
    assert found.share > 0.55  # with 1500 runs it was 0.86
    assert found.claim == "mu = 2.5"
    assert "NOT PRIVATE" in str(found)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.shown = 0.0


def test_the_same_seeds_give_the_same_verdict_and_others_do_not():
    one, same, other = (
        tg.audit(mean_at(2.5), (LOW, HIGH), n_runs=60, random_state=seed) for seed in (0, 0, 1)
    )
    assert one == same
    assert one.shown != other.shown


def test_noise_that_is_half_of_what_is_claimed_is_caught():
    found = tg.audit(mean_at(5.0), (LOW, HIGH), claim=tg.GDP(2.5), n_runs=200)
    assert found.verdict == "BROKEN"


def test_an_estimator_and_a_function_of_ones_own_are_audited():
    X, y = np.ones((40, 1)), np.zeros(40)
    other = y.copy()
    y[0], other[0] = -1e9, 1e9
    fitted = tg.audit(
        lambda seed: tg.LinearRegression(guarantee=tg.GDP(2.0), random_state=seed),
        ((X, y), (X, other)),
        n_runs=40,
    )
    assert fitted.name == "LinearRegression"
    assert fitted.accepted

    def leaky(seed):
        return lambda x: np.clip(x, -1, 1).sum() + np.random.default_rng(seed).normal()

    assert tg.audit(leaky, (LOW, HIGH), claim=tg.ZCDP(0.1), n_runs=200).verdict == "BROKEN"


def test_what_is_no_pair_of_neighbours_is_refused():
    for pair, words in (
        ((LOW, HIGH[:9]), "of the same size"),
        ((LOW, LOW + 1.0), "differ in 40"),
        (LOW, "must be two data sets"),
        ((1, 2), "must be two data sets of records; got numbers"),
    ):
        with pytest.raises(tg.InputError, match=words):
            tg.audit(mean_at(1.0), pair)


def test_what_returns_no_numbers_or_has_no_claim_is_refused():
    with pytest.raises(tg.InputError, match="claim must be given"):
        tg.audit(lambda seed: lambda x: 0.0, (LOW, HIGH))
    with pytest.raises(tg.InputError, match="factory must lead to numbers"):
        tg.audit(lambda seed: lambda x: "text", (LOW, HIGH), claim=tg.GDP(1.0))
    with pytest.raises(tg.InputError, match="factory must return an estimator"):
        tg.audit(lambda seed: 1.0, (LOW, HIGH), claim=tg.GDP(1.0))
    with pytest.raises(tg.InputError, match=r"factory must be a function of a seed; got 1\.0"):
        tg.audit(1.0, (LOW, HIGH), claim=tg.GDP(1.0))
    with pytest.raises(tg.InputError, match="tester must be"):
        tg.audit(mean_at(1.0), (LOW, HIGH), tester="guess")
