"""The charge for a sampler that is nearly ideal, on pairs of laws where everything is exact."""

import math

import numpy as np
import pytest

from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.total_cost import EXACT, Distance, epsilon_at_distance
from tailguard.privacy.events import Gaussian, Laplace


def hockey_stick(first, second, epsilon):
    """The smallest delta at epsilon, of two laws on finitely many outcomes."""
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


def perturbed(law, log_ratio, variation, rng):
    """A law within that distance: every outcome by the ratio, then some mass elsewhere."""
    signs = rng.choice([-1.0, 1.0], law.size)
    moved = law * np.exp(0.499 * log_ratio * signs)
    moved /= moved.sum()
    assert np.abs(np.log(moved / law)).max() <= log_ratio + 1e-15
    moved[np.argmax(law)] -= variation
    moved[np.argmin(law)] += variation
    return moved


@pytest.mark.parametrize("log_ratio", [0.0, 1e-3, 0.2])
@pytest.mark.parametrize("variation", [0.0, 1e-4, 1e-2])
def test_what_is_sampled_keeps_what_is_charged(log_ratio, variation):
    rng = np.random.default_rng(0)
    for _ in range(200):
        accounted = rng.dirichlet(np.full(12, 0.7), size=2) + 1e-3
        accounted[:, 0] += 0.2
        accounted /= accounted.sum(axis=1, keepdims=True)
        sampled = [perturbed(law, log_ratio, variation, rng) for law in accounted]
        for epsilon in (0.1, 0.5, 1.5):
            delta = hockey_stick(*accounted, epsilon)
            stated = epsilon + 2.0 * log_ratio
            worst = math.exp(log_ratio) * delta + (1.0 + math.exp(stated)) * variation
            assert hockey_stick(*sampled, stated) <= worst + 1e-15


def test_a_charge_without_the_ratio_would_be_too_small():
    """The test above can fail: outcomes that all lean the wrong way cost twice the ratio."""
    accounted = np.array([[0.6, 0.4], [0.4, 0.6]])
    epsilon, ratio = math.log(1.5), 0.05
    leaning = np.array([[0.6, 0.4], [0.4, 0.6]]) * np.exp(ratio * np.array([[1, 0], [-1, 0]]))
    leaning[:, 1] = 1.0 - leaning[:, 0]
    assert hockey_stick(*accounted, epsilon) < 1e-15
    assert hockey_stick(*leaning, epsilon + ratio) > 1e-3
    assert hockey_stick(*leaning, epsilon + 2.0 * ratio) < 1e-15


@pytest.mark.parametrize("log_ratio", [0.0, 1e-12, 1e-6, 0.01])
@pytest.mark.parametrize("variation", [0.0, 1e-20, 1e-10, 1e-9])
def test_epsilon_is_the_smallest_that_meets_the_charge(log_ratio, variation):
    distance = Distance(log_ratio, variation)
    found = epsilon_at_distance(Gaussian(1.0), 1e-6, distance).epsilon
    epsilon, delta = distance.accounted_cost(found, 1e-6)
    assert epsilon == pytest.approx(epsilon_of(1.0, delta), rel=1e-9)
    assert epsilon >= epsilon_of(1.0, delta) * (1 - 1e-14)


def test_a_sampler_that_is_too_far_off_costs_everything():
    def epsilon(event, delta, variation):
        return epsilon_at_distance(event, delta, Distance(variation=variation)).epsilon

    assert epsilon(Gaussian(1.0), 1e-6, 1e-7) == math.inf
    assert epsilon(Gaussian(60.0), 1e-6, 1e-300) == math.inf
    assert epsilon(Laplace(1.0), 0.0, 1e-30) == math.inf
    assert epsilon(Laplace(1.0), 0.0, 0.0) == 1.0


def test_distances_add_up():
    assert Distance(0.25, 0.125).times(2) + Distance(0.0, 0.5) == Distance(0.5, 0.75)
    assert not EXACT
    assert Distance(variation=1e-300)
    assert Distance(1.0 / 8, 0.5).accounted_cost(1.0, 0.9)[0] == 0.75


def test_a_distance_is_within_itself_and_within_none_that_is_smaller_in_a_number():
    distance = Distance(1e-12, 1e-26)
    assert distance.within(distance)
    assert not distance.within(Distance(1e-13, 1e-25))
    assert not distance.within(Distance(1e-11, 1e-27))
