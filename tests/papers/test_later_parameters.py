"""Numbers behind the algorithms of Zhao and Xu, against values worked out by hand."""

import math

import pytest

from tailguard.checks import InputError
from tailguard.papers.common import steps
from tailguard.papers.xu2025 import parameters as xu2025
from tailguard.papers.zhao2024 import parameters as zhao
from tailguard.privacy.accounting.gaussian import mu_of


def close(value, rel=1e-8):
    return pytest.approx(value, rel=rel)


# Zhao and others 2024


@pytest.mark.parametrize(
    ("n_rows", "q", "epsilon", "norm", "n_steps"),
    [
        (10**4, 2.0, 1.0, 63.729, 40.61),
        (10**4, 4.0, 1.0, 14.196, 818.5),
        (10**3, 2.0, 0.5, 14.250, 2.03),
    ],
)
def test_descent_on_the_clipped_mean(n_rows, q, epsilon, norm, n_steps):
    rho = zhao.printed_rho(epsilon=epsilon, delta=1e-5)
    args = {"n_rows": n_rows, "n_features": 10, "rho": rho}
    radius = zhao.mean_clip_norm(moment_order=q, **args)
    assert radius == close(norm, 4e-5)
    assert zhao.steps(clip_norm=radius, **args) == close(n_steps, 2e-3)


def test_the_printed_step_count_falls_below_one():
    args = {"n_rows": 100, "n_features": 20, "rho": zhao.printed_rho(epsilon=0.1, delta=1e-5)}
    count = zhao.steps(clip_norm=zhao.mean_clip_norm(moment_order=2.0, **args), **args)
    assert count == close(0.014, 0.03)
    assert steps.whole_steps(count) == 1


@pytest.mark.parametrize(
    ("clip_norm", "n_steps", "delta", "tight", "printed"),
    [(1.0, 1, 1e-6, 8.449e-4, 1.1927e-3), (10.0, 40, 1e-5, 0.0471892, 0.0696414)],
)
def test_clipped_noise(clip_norm, n_steps, delta, tight, printed):
    args = {"n_rows": 10**4, "clip_norm": clip_norm, "n_steps": n_steps}
    exact = zhao.clipped_noise_std(rho=mu_of(1.0, delta) ** 2 / 2, **args)
    assert exact == close(tight, 1e-4)
    theirs = zhao.clipped_noise_std(rho=zhao.printed_rho(epsilon=1.0, delta=delta), **args)
    assert theirs == close(printed, 1e-4)


@pytest.mark.parametrize(
    ("n_rows", "d", "q", "epsilon", "norm", "n_steps"),
    [
        (10**4, 10, 2.0, 1.0, 177.83, 316.2),
        (10**4, 10, 4.0, 1.0, 23.71, 17782.8),
        (100, 20, 2.0, 0.1, None, 0.112),
    ],
)
def test_descent_on_the_iterative_mean(n_rows, d, q, epsilon, norm, n_steps):
    args = {"n_rows": n_rows, "n_features": d}
    radius = zhao.iterative_clip_norm(moment_order=q, epsilon=epsilon, **args)
    if norm is not None:
        assert radius == close(norm, 2e-4)
    assert zhao.steps(clip_norm=radius, rho=epsilon**2, **args) == close(n_steps, 3e-3)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta", "rho"),
    [(100, 0.5, 1e-6, 4.373805e-6), (1000, 1.0, 1e-5, 2.045896e-4)],
)
def test_the_printed_amplified_budget(k, epsilon, delta, rho):
    found = zhao.printed_amplified_rho(n_groups=k, epsilon=epsilon, delta=delta)
    assert found == close(rho, 1e-6)


def test_groups_and_updates_of_the_iterative_mean():
    assert math.ceil(zhao.iterative_group_count(failure_probability=0.05)) == 2397
    assert zhao.iterative_updates(distance_over_radius=100.0) == 98
    assert zhao.iterative_updates(distance_over_radius=0.5) == 0
    assert zhao.step_size(n_steps=50, smoothness=2.0) == close(0.05)


# Xu and others 2025


def test_one_localised_phase():
    move = xu2025.localized_sensitivity(n_rows=5000, clip_norm=1.0, regularisation=0.1)
    assert move == close(0.004)
    assert move / mu_of(1.0, 1e-5) == close(0.0149225265)
    printed = xu2025.printed_localized_noise_std(sensitivity=move, epsilon=1.0, delta=1e-5)
    assert printed == close(0.0542891234)


def test_first_phase_of_the_practical_schedule():
    n_rows, mu = 10**4, mu_of(1.0, 1e4**-1.1)
    assert mu == close(0.2932000118)
    eta = xu2025.localized_step_parameter(
        n_rows=n_rows, n_features=10, diameter=2.0, clip_norm=1.0, gradient_scale=1.0, mu=mu
    )
    assert eta == close(0.0433152, 1e-6)
    size = n_rows // 2
    move = xu2025.localized_sensitivity(
        n_rows=size, clip_norm=1.0, regularisation=4.0 / (eta * size)
    )
    assert move == close(0.0216576, 1e-6)
    assert move / mu == close(0.0738662, 1e-6)


@pytest.mark.parametrize("n_rows", [1, 31, 63, 64, 65, 1000, 12345])
def test_phases_use_every_row(n_rows):
    sizes = xu2025.localized_phases(n_rows=n_rows)
    assert sum(sizes) == n_rows
    assert min(sizes) >= min(32, n_rows)


def test_shrinking_phases():
    counts = {n: xu2025.shrinking_phases(n_rows=n) for n in (1, 2, 10**3, 10**4, 3 * 10**4, 10**6)}
    assert list(counts.values()) == [1, 1, 2, 4, 4, 7]


@pytest.mark.parametrize(
    ("bound", "n_phases", "first", "last"),
    [
        (2.0, 3, 752, 3010),
        (1.5, 6, 120, 3842),
        (1.3, 9, 10, None),
        (1.2, 14, 0, None),
        (4.0, 1, 2743, 2743),
    ],
)
def test_printed_doubling_phases(bound, n_phases, first, last):
    sizes = xu2025.printed_phase_sizes(n_rows=10**4, growth_bound=bound)
    assert len(sizes) == n_phases
    assert sizes[0] == first
    assert last in {None, sizes[-1]}


@pytest.mark.parametrize("bound", [1.01, 1.2, 2.0, 4.0, 16.0, 1e6])
@pytest.mark.parametrize("n_rows", [2, 31, 32, 100, 10**4])
def test_doubling_phases_use_every_row(bound, n_rows):
    sizes = xu2025.phase_sizes(n_rows=n_rows, growth_bound=bound)
    assert sum(sizes) == n_rows
    assert min(sizes) >= min(32, n_rows)
    assert list(sizes) == sorted(sizes)


def test_a_growth_bound_of_one_is_refused():
    with pytest.raises(InputError, match="growth_bound"):
        xu2025.phase_sizes(n_rows=100, growth_bound=1.0)


@pytest.mark.parametrize(
    ("epsilon", "n_steps", "parallel", "printed"),
    [
        (0.03, 10, 0.157, 0.034),
        (0.03, 200, 3.14, 0.150),
        (0.1, 50, 0.271, 0.023),
        (0.5, 50, 0.0636, 0.0045),
        (1.0, 10, 0.0068, 0.0010),
    ],
)
def test_accelerated_noise_is_printed_far_too_small(epsilon, n_steps, parallel, printed):
    delta = 1e4**-1.1
    theirs = xu2025.printed_accelerated_noise_std(
        n_rows=10**4, n_steps=n_steps, clip_norm=1.0, epsilon=epsilon, delta=delta
    )
    assert theirs == close(printed, 0.05)
    assert 2.0 / (10**4 // n_steps) / mu_of(epsilon, delta) == close(parallel, 0.01)


def test_accelerated_steps_and_their_size():
    args = {"n_rows": 10**4, "n_features": 10, "moment_order": 2.0, "smoothness": 2.0}
    few = xu2025.accelerated_steps(epsilon=0.1, delta=1e-5, diameter=2.0, **args)
    reach = 1e4 * 0.1 / math.sqrt(10 * math.log(1e5))
    assert few == close(2 * reach**0.25)
    many = xu2025.accelerated_steps(epsilon=1e6, delta=1e-5, diameter=2.0, **args)
    assert many == close(2 * 10.0)
    shape = {"smoothness": 2.0, "diameter": 2.0}
    quiet = xu2025.accelerated_step_parameter(n_steps=10, gradient_std=1e-9, **shape)
    assert quiet == 4.0
    loud = xu2025.accelerated_step_parameter(n_steps=10, gradient_std=10.0, **shape)
    assert loud == close(10 * math.sqrt(2 * 10 * 11 * 12 / 3) / 2)
