"""Instances under a noise condition: their constant, their moments, their separations."""

import math

import numpy as np
import pytest

from tailguard.checks import InputError
from tailguard.papers.fano import fano_bound
from tailguard.papers.instances.hard_instances import SpikeLaw
from tailguard.papers.instances.tsybakov import (
    TsybakovInstance,
    growth_constant,
    hard_tsybakov,
    hard_tsybakov_sampling,
)

SIZES = {"n_rows": 10**5, "rho": 0.5}


@pytest.mark.parametrize("growth", [2.0, 2.001, 2.5, 3.0, 4.0, 6.0, 20.0])
def test_the_condition_holds_everywhere_and_is_attained(growth):
    rng = np.random.default_rng(8)
    law = SpikeLaw(point=np.array([0.8, -0.6, 0.0]), chance=1.0)  # minimiser of norm 1
    instance = TsybakovInstance(law, growth, radius=1.0)
    best, constant = instance.minimiser, instance.growth_constant
    points = rng.standard_normal((4000, 3)) * rng.exponential(2.0, (4000, 1))
    points[:2000] = -np.linspace(0.0, 40.0, 2000)[:, None] * best
    ratios = [
        instance.excess(point) / np.linalg.norm(point - best) ** growth
        for point in points
        if np.linalg.norm(point - best) > 0.1
    ]
    assert constant * (1 - 1e-9) <= min(ratios) <= constant * (1 + 1e-3)


@pytest.mark.parametrize("growth", [2.0, 3.0, 4.0])
@pytest.mark.parametrize("order", [2.0, 4.0])
def test_private_instances_keep_their_assumptions(growth, order):
    shape = {"growth": growth, "moment_order": order, "moment_bound": 3.0}
    instances = hard_tsybakov(40, 4, **SIZES, **shape)
    chance = 0.1 * math.sqrt(40 / 0.5) / 1e5
    scale = 3 ** (1 / order)
    for instance in instances:
        assert instance.law.chance == pytest.approx(chance)
        mean = np.linalg.norm(instance.law.mean)
        assert mean == pytest.approx(chance ** (1 - 1 / order) * scale / 2)
        assert np.linalg.norm(instance.minimiser) == pytest.approx(instance.radius)
        assert instance.gradient_moment(order) <= 3.0
        assert instance.excess(instance.minimiser) == 0.0
    apart = [
        np.linalg.norm(a.minimiser - b.minimiser)
        for a in instances
        for b in instances
        if a is not b
    ]
    assert min(apart) >= 2 * instances[0].radius * math.sqrt(1 / 8) * (1 - 1e-12)


def test_the_printed_radius_breaks_the_moment_bound():
    chance, size = 0.01, 0.5  # moments of order 2, at most 1, one feature
    law = SpikeLaw(point=np.array([size / math.sqrt(chance)]), chance=chance)
    printed = TsybakovInstance(law, 2.0, radius=chance**-0.5 / 2)
    corrected = TsybakovInstance(law, 2.0, radius=chance**0.5 / 2)
    assert printed.gradient_moment(2.0) == pytest.approx(25.75)
    assert corrected.gradient_moment(2.0) == pytest.approx(0.2575, rel=1e-3)


def test_the_gradient_moment_is_that_of_the_worst_point():
    instance = hard_tsybakov(4, 1, n_rows=100, rho=0.5, growth=3.0, moment_order=2.0)[0]
    worst = -instance.radius * instance.law.point / np.linalg.norm(instance.law.point)
    lengths = [
        np.linalg.norm(np.linalg.norm(worst) * worst - row)
        for row in (instance.law.point, np.zeros(4))
    ]
    chance = instance.law.chance
    moment = chance * lengths[0] ** 2 + (1 - chance) * lengths[1] ** 2
    assert instance.gradient_moment(2.0) == pytest.approx(moment)


@pytest.mark.parametrize("growth", [2.0, 3.0])
def test_sampling_instances(growth):
    instances = hard_tsybakov_sampling(64, 4, n_rows=1000, growth=growth, moment_scale=2.0)
    for instance in instances:
        assert np.linalg.norm(instance.law.mean) == pytest.approx(0.1 / math.sqrt(1000))
        assert np.linalg.norm(instance.minimiser) <= instance.radius
        assert instance.gradient_moment(5.0) == pytest.approx(2.0**5)


def test_only_the_corrected_bias_says_something():
    """All places may differ; the logarithm of the number of words is d log(2) / 20."""
    d, n_rows = 200, 1000
    law = hard_tsybakov_sampling(d, 1, n_rows=n_rows, growth=2.0)[0].law
    laws = {"separation": 1.0, "log_n_laws": d * math.log(2) / 20, "n_rows": n_rows}
    other = {"rho": 1e9, "total_variation": 1.0}
    assert fano_bound(divergence=law.divergence(d), **laws, **other) > 0
    bias = math.sqrt(d / n_rows)
    printed = d * bias * math.log((1 + bias) / (1 - bias))
    assert fano_bound(divergence=printed, **laws, **other) == 0


@pytest.mark.parametrize("growth", [1.9, math.nan, "3"])
def test_small_growth_is_refused(growth):
    with pytest.raises(InputError, match="growth"):
        growth_constant(growth)


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="moment_bound"):
        hard_tsybakov(4, 1, growth=2.0, moment_order=2.0, moment_bound=0.0, **SIZES)
    with pytest.raises(InputError, match="point"):
        hard_tsybakov_sampling(4, 1, n_rows=10, growth=2.0)[0].excess([0.0])
