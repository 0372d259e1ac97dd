"""Stages of plans: in sequence, over disjoint blocks, over secret ones, and within a block."""

import math

import pytest

import tailguard as tg
from tailguard.gate.plan import Plan, Problem
from tailguard.gate.stage import Stage
from tailguard.privacy.accounting.total_cost import total_mu
from tailguard.privacy.events import Gaussian, Parallel, Repeated, Sampled, Shuffled

PROBLEM = Problem(tg.losses.Squared(), n_rows=1_000, n_features=3)


def plan_of(*stages):
    return Plan("example", PROBLEM, tg.GDP(1.0), stages)


def test_releases_in_sequence():
    stage = Stage("descent", "gradients", 0.1, 4, 3)
    assert stage.event == Repeated(Gaussian(0.1), 4)
    assert (stage.total_mu, stage.coordinates) == (0.2, 12)


def test_disjoint_blocks_cost_as_one():
    stage = Stage("pass", "gradients", 0.1, 4, 3, block_map="batches", n_blocks=50)
    assert stage.event == Parallel("batches", 0, Repeated(Gaussian(0.1), 4))
    assert (stage.total_mu, stage.coordinates) == (0.2, 600)
    assert "4 releases of each of 50 blocks" in plan_of(stage).explain()


def test_secret_blocks_are_shuffled_anew_each_time():
    stage = Stage("pass", "gradients", 0.1, 4, 3, n_blocks=50, shuffled=True)
    assert stage.event == Repeated(Shuffled(0.1, 50), 4)
    assert stage.total_mu == 0.2
    assert "total mu before shuffles = 0.2" in plan_of(stage).explain()


def test_fresh_samples_are_drawn_for_each_release():
    stage = Stage("descent", "gradients", 0.1, 4, 3, sampled=0.05)
    assert stage.event == Repeated(Sampled(0.1, 0.05), 4)
    assert (stage.total_mu, stage.coordinates) == (0.2, 12)
    page = plan_of(stage).explain()
    assert "total mu before samples = 0.2" in page
    assert "4 releases of fresh samples of 0.05 of all at mu = 0.1" in page


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
