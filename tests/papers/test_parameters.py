"""Numbers behind the algorithms of the papers beside those that ``test_rows.py`` has."""

import math

import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.papers.common import groups, steps
from tailguard.papers.kamath2022 import parameters as kamath2022
from tailguard.papers.tao2022 import parameters as tao2022
from tailguard.papers.xu2025 import parameters as xu2025
from tailguard.papers.zhao2024 import parameters as zhao


def close(value, rel=1e-8):
    return pytest.approx(value, rel=rel)


# Groups and steps


@pytest.mark.parametrize(("n_rows", "even"), [(1, 1), (3, 1), (4, 2), (9, 4), (43, 20), (44, 22)])
def test_groups_are_even_and_of_two_rows_at_least(n_rows, even):
    assert groups.whole_groups(21.2, n_rows=n_rows) == even


def test_the_median_is_as_sensitive_as_its_smallest_group():
    move = {"value_range": 1.0, "n_rows": 20}
    assert groups.median_sensitivity(n_groups=7, **move) == 1 / 2
    assert groups.median_sensitivity(n_groups=8, **move) == 1 / 4
    assert groups.median_sensitivity(n_groups=1, **move) == 1 / 20
    with pytest.raises(InputError, match="n_groups"):
        groups.median_sensitivity(n_groups=21, **move)


@pytest.mark.parametrize("printed", [0.2, 1.0, 7.9, 80.0, 5000.0])
@pytest.mark.parametrize("noise_ratio", [0.5, 1.0, 1.4, 4.0, 100.0])
@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_steps_are_the_best_between_the_rule_at_either_noise(printed, noise_ratio, noise):
    def excess_of(n_steps):
        return 20.0 / math.sqrt(n_steps) + noise * math.sqrt(n_steps)

    low = min(1000, max(1, math.floor(printed)))
    high = max(low, min(1000, max(1, math.floor(printed * noise_ratio**2))))
    found = steps.worthwhile_steps(excess_of, printed=printed, noise_ratio=noise_ratio)
    assert found == min(range(low, high + 1), key=excess_of)


@pytest.mark.parametrize("error", [1e-300, 1e-3, 1.0, 1e6, 1e150])
def test_step_counts_are_never_below_one(error):
    shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    assert steps.strongly_convex_steps(error=error, **shape) >= 1
    assert 1 <= steps.settled_steps(lambda n_steps: error * n_steps, **shape) <= 1000
    assert steps.whole_steps(error) == min(1000, max(1, math.floor(error)))


@pytest.mark.parametrize(("paper", "kind"), [("kamath2022", "central"), ("tao2022", "raw")])
def test_every_block_has_two_records_a_group(paper, kind):
    theorem = getattr(tg.papers, paper).strongly_convex(
        1_000, 3, tg.ApproxDP(1.0, 1e-5), moment=tg.Moment(2.0, 1.0, kind=kind), diameter=2.0,
        strong_convexity=1.0, smoothness=200.0,
    )  # fmt: skip
    # 17 groups; by their errors alone there would be 323 steps, of three records each.
    assert theorem.solver.n_steps == 1_000 // (2 * 17)


# Kamath, Liu and Zhang 2022


@pytest.mark.parametrize(
    ("n_features", "rho", "balance"), [(1, 9.0, 1), (3, 1e9, 2), (3, 1e-9, 0.5)]
)
def test_the_balance_stays_in_its_range(n_features, rho, balance):
    assert kamath2022.soft_balance(n_features=n_features, rho=rho) == balance


# Tao, Wu, Cheng and Wang 2022


def test_sparse_descent():
    sizes = {"n_rows": 10**5, "n_features": 1000, "n_kept": 4, "n_steps": 10, "smoothness": 2.0}
    privacy = {"epsilon": 0.5, "delta": 1e-5, "failure_probability": 0.1}
    threshold = tao2022.sparse_threshold(moment_order=1.5, moment_bound=3.0, **sizes, **privacy)
    nats = 10 * math.log(1e5) * math.sqrt(4 * math.log(1e5))
    assert threshold == close((2 * 3 * 1e5 * 0.5 / nats) ** (2 / 3))
    assert tao2022.sparse_width(n_features=100, n_nonzero=3, condition=1.5) == 100


# Wang, Xiao, Devadas and Xu 2020


def test_the_noise_aware_scale_is_six_times_smaller():
    arguments = {"moment": tg.Moment(2.0, 5.0, kind="raw"), "diameter": 2.0, "n_steps": 100}
    printed, balanced = (
        tg.papers.wang2020.smoothed_convex(
            10**5, 10, tg.ApproxDP(1.0, 1e-5), smoothness=1.0, scale=scale, **arguments
        )
        for scale in ("printed", "balanced")
    )
    assert printed.noise_std / balanced.noise_std == close(6.30, 2e-3)
    assert balanced.bound < printed.bound


# Zhao and others 2024


def test_a_start_within_the_radius_needs_no_update():
    assert zhao.iterative_updates(distance_over_radius=0.5) == 0
    assert zhao.step_size(n_steps=50, smoothness=2.0) == close(0.05)


# Xu and others 2025


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


def test_accelerated_noise_is_as_printed():
    sizes = {"n_rows": 10**4, "n_steps": 50, "clip_norm": 3.0, "epsilon": 0.5, "delta": 1e-6}
    noise = 3.0 * math.sqrt(50 * math.log(1e6)) / (1e4 * 0.5)
    assert xu2025.printed_accelerated_noise_std(**sizes) == close(noise)


def test_a_growth_bound_of_one_is_refused():
    with pytest.raises(InputError, match="growth_bound"):
        xu2025.phase_sizes(n_rows=100, growth_bound=1.0)
