"""A stage has one cost, in sequence or over blocks: what it tells, asks for and books agree."""

import math
from dataclasses import replace

import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.gate.plan import Plan, Problem
from tailguard.gate.stage import Stage, concentrated_budget, usable_guarantee
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.accounting.total_cost import total_mu
from tailguard.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    Parallel,
    Repeated,
    Sampled,
    Shuffled,
    ZeroConcentrated,
)

PROBLEM = Problem(tg.losses.Squared(), 1_000, 3)
SHARES = {
    "gaussian": (Gaussian(0.5), 0.5),
    "laplace": (Laplace(0.5), 0.5),
    "concentrated": (ZeroConcentrated(0.125), 0.5),
    "approximate": (Approximate(0.5, 1e-6), mu_of(0.5, 1e-6)),
}


def plan_of(*stages):
    return Plan("any", PROBLEM, tg.GDP(1.0), stages)


@pytest.mark.parametrize("kind", SHARES)
def test_it_asks_for_what_it_books_and_tells(kind):
    share, mu = SHARES[kind]
    stage = Stage.of(share, "mean", "", 3, 2)
    assert stage.asked == share
    assert stage.event == Repeated(share, 3)
    assert stage.mu == pytest.approx(mu, rel=1e-12)


@pytest.mark.parametrize("share", [share for share, _ in SHARES.values()], ids=SHARES)
def test_a_plan_refuses_a_stage_whose_mu_is_not_that_of_its_share(share):
    stage = replace(Stage.of(share, "mean", "", 3, 2), share=share, mu=0.05)
    with pytest.raises(InputError, match=r"mu must be that of .*; got 0\.05\."):
        Plan("any", PROBLEM, tg.GDP(1.0), (stage,))


@pytest.mark.parametrize("how", [{"sampled": 0.1}, {"shuffled": True, "n_blocks": 4}])
def test_samples_and_shuffles_are_of_gaussian_noise(how):
    assert Stage.of(Gaussian(0.5), "mean", "", 3, 2, **how).share is None
    with pytest.raises(InputError, match="share must be None in samples or a shuffle"):
        Plan("any", PROBLEM, tg.GDP(1.0), (Stage.of(Laplace(0.5), "mean", "", 3, 2, **how),))


def test_costs_that_no_noise_has_are_refused():
    with pytest.raises(InputError, match="share must be Gaussian, Laplace, ZeroConcentrated or"):
        Stage.of(Sampled(0.1, 0.1), "mean", "", 3, 2)


@pytest.mark.parametrize(("mu", "told"), [(1e9, "smaller"), (1e-300, "larger")])
def test_a_share_that_no_lattice_carries_is_refused_with_the_plan(mu, told):
    with pytest.raises(InputError, match=f"epsilon must be {told}: stage 'mean' would release"):
        Plan("any", PROBLEM, tg.GDP(1.0), (Stage("mean", "", mu, 1, 1),))


def test_a_plan_says_what_its_costs_add_up_to():
    concentrated = Stage.of(ZeroConcentrated(0.125), "mean", "", 1, 2, kept=Gaussian(0.5))
    plan = Plan("any", PROBLEM, tg.ZCDP(1.0), (concentrated, Stage("more", "", 0.5, 1, 1)))
    assert "total rho = 0.25" in plan.explain()
    assert concentrated.price == ZeroConcentrated(0.125)  # mu**2 / 2
    assert Plan("any", PROBLEM, tg.GDP(1.0), ()).admits_check
    assert not Plan("any", PROBLEM, tg.GDP(1.0), (), printed=True).admits_check


@pytest.mark.parametrize(
    ("share", "how", "adds_up"),
    [
        (Gaussian(0.5), {}, True),
        (ZeroConcentrated(0.125), {}, True),
        (Gaussian(0.5), {"block_map": "batches", "n_blocks": 4}, True),
        (Gaussian(0.5), {"sampled": 0.1}, False),
        (Gaussian(0.5), {"shuffled": True, "n_blocks": 4}, False),
        (Laplace(0.5), {}, False),
        (Approximate(0.5, 1e-6), {}, False),
    ],
)
def test_costs_add_up_as_squares_where_no_stage_is_hidden_or_of_other_noise(share, how, adds_up):
    stages = Stage("first", "", 0.1, 1, 1), Stage.of(share, "mean", "", 1, 2, **how)
    assert Plan("any", PROBLEM, tg.GDP(1.0), stages).adds_up == adds_up


@pytest.mark.parametrize(
    ("guarantee", "coordinates", "told"),
    [
        (tg.ApproxDP(1.0, 1e-24), 10**6, r"delta must be above \S+ at epsilon = 1 for 1000000"),
        (tg.ApproxDP(1e-9, 1e-6), 10**6, "epsilon must be above"),
        (tg.ApproxDP(5e-6, 1e-6), 10**6, "epsilon must be above 5.2e-06"),
        (tg.ApproxDP(690.0, 1e-6), 10**3, r"epsilon must be below 37.4 at delta = 1e-06 for 1000"),
        (tg.ApproxDP(50.0, 1e-6), 1, "at epsilon = 50 for one released number, whose"),
    ],
)
def test_promises_that_sampled_noise_cannot_keep_are_refused(guarantee, coordinates, told):
    assert usable_guarantee(tg.GDP(1.0), coordinates) == tg.GDP(1.0)
    with pytest.raises(InputError, match=told):
        usable_guarantee(guarantee, coordinates)


def test_gaussian_promises_buy_no_concentrated_noise():
    assert concentrated_budget(tg.ZCDP(0.5)) == pytest.approx(0.5, rel=1e-8)
    assert concentrated_budget(tg.ApproxDP(1.0, 1e-5)) == pytest.approx(0.030557, abs=1e-6)
    with pytest.raises(InputError, match="guarantee must be ApproxDP or ZCDP for noise"):
        concentrated_budget(tg.GDP(1.0))


@pytest.mark.parametrize(
    ("how", "event", "coordinates", "told"),
    [
        ({}, Repeated(Gaussian(0.1), 4), 12, ("total mu = 0.2",)),
        (
            {"block_map": "batches", "n_blocks": 50},
            Parallel("batches", 0, Repeated(Gaussian(0.1), 4)),
            600,
            ("4 releases of each of 50 blocks",),
        ),
        (
            {"n_blocks": 50, "shuffled": True},
            Repeated(Shuffled(0.1, 50), 4),
            600,
            ("total mu before shuffles = 0.2",),
        ),
        (
            {"sampled": 0.05},
            Repeated(Sampled(0.1, 0.05), 4),
            12,
            ("total mu before samples = 0.2", "4 releases of fresh samples of 0.05 of all"),
        ),
    ],
    ids=["in sequence", "disjoint blocks", "secret blocks", "fresh samples"],
)
def test_a_stage_costs_what_its_blocks_or_samples_do(how, event, coordinates, told):
    stage = Stage("descent", "gradients", 0.1, 4, 3, **how)
    assert stage.event == event
    assert (stage.total_mu, stage.coordinates) == (0.2, coordinates)
    assert all(words in plan_of(stage).explain() for words in told)


def test_stages_within_one_block_add_up_and_across_blocks_the_costliest_counts():
    phases = [
        Stage("first", "gradients", 0.3, 1, 3, within=("phases", 0)),
        Stage("also first", "gradients", 0.4, 1, 3, within=("phases", 0)),
        Stage("second", "gradients", 0.45, 1, 3, within=("phases", 1)),
    ]
    everywhere = Stage("units", "scales", 1.2, 1, 3)
    plan = plan_of(*phases, everywhere)
    assert plan.total_mu == pytest.approx(math.hypot(0.5, 1.2))
    assert total_mu(plan.event) == pytest.approx(plan.total_mu, rel=1e-12)
    nested = Stage("pass", "means", 0.1, 1, 3, n_blocks=9, shuffled=True, within=("phases", 2))
    assert nested.event == Parallel("phases", 2, Repeated(Shuffled(0.1, 9), 1))
