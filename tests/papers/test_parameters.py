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
from tailguard.privacy.accounting.gaussian import mu_of


def close(value, rel=1e-8):
    return pytest.approx(value, rel=rel)


# Groups and steps


@pytest.mark.parametrize(
    ("n_features", "chance", "count", "even"), [(10, 0.1, 21.193269, 22), (100, 0.1, 30.40361, 32)]
)
def test_group_counts(n_features, chance, count, even):
    real = groups.group_count(n_features=n_features, failure_probability=chance)
    assert real == close(count, 1e-7)
    assert groups.whole_groups(real, n_rows=10**5) == even


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


def test_a_net_of_points_needs_many_groups():
    known = {"n_rows": 1000, "n_features": 2, "diameter": 1.0}
    count = tg.papers.kamath2022.printed.uniform_group_count(**known)
    assert count == close(16 * math.log(3) + 48 * math.log(1000))
    count = tg.papers.tao2022.printed.uniform_group_count(**known, moment_order=2.0)
    assert count == close(4 * math.log(4) + 8 * math.log(1000))


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


@pytest.mark.parametrize(
    ("error", "n_steps", "printed"),
    [(0.1, 18.9306, 11.92659), (0.5, 9.69971, 2.69570), (2.0, 1.74865, -5.25537)],
)
def test_strongly_convex_steps_which_turn_negative_as_printed(error, n_steps, printed):
    shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    assert steps.strongly_convex_steps(error=error, **shape) == close(n_steps, 1e-5)
    assert steps.printed_strongly_convex_steps(error=error, **shape) == close(printed, 1e-5)


@pytest.mark.parametrize("error", [1e-300, 1e-3, 1.0, 1e6, 1e150])
def test_step_counts_are_never_below_one(error):
    shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    assert steps.strongly_convex_steps(error=error, **shape) >= 1
    assert 1 <= steps.settled_steps(lambda n_steps: error * n_steps, **shape) <= 1000
    assert steps.whole_steps(error) == min(1000, max(1, math.floor(error)))


def test_the_circle_of_error_and_steps_settles():
    shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    n_steps = steps.settled_steps(lambda n_steps: 0.01 * n_steps**0.5, **shape)
    count = steps.strongly_convex_steps(error=0.01 * n_steps**0.5, **shape)
    assert n_steps == math.ceil(count)


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


def test_each_strongly_convex_step_may_spend_all():
    args = {"n_rows": 10**5, "n_features": 10, "moment_order": 2.0, "rho": 0.5}
    whole = kamath2022.mean_threshold(**args)
    assert kamath2022.strongly_convex_threshold(n_steps=1, **args) == close(whole)
    assert kamath2022.strongly_convex_threshold(n_steps=16, **args) == close(whole / 4)


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


def test_noise_of_clipped_means():
    args = {"n_rows": 10**4, "clip_norm": 10.0, "n_steps": 40}
    exact = zhao.clipped_noise_std(rho=mu_of(1.0, 1e-5) ** 2 / 2, **args)
    assert exact == close(0.0471892, 1e-5)
    theirs = zhao.clipped_noise_std(rho=zhao.printed_rho(epsilon=1.0, delta=1e-5), **args)
    assert theirs == close(0.0696414, 1e-5)


def test_the_printed_step_count_falls_below_one():
    args = {"n_rows": 100, "n_features": 20, "rho": zhao.printed_rho(epsilon=0.1, delta=1e-5)}
    count = zhao.steps(clip_norm=zhao.mean_clip_norm(moment_order=2.0, **args), **args)
    assert count == close(0.014, 0.03)
    assert steps.whole_steps(count) == 1


def test_groups_and_updates_of_the_iterative_mean():
    assert math.ceil(zhao.iterative_group_count(failure_probability=0.05)) == 2397
    assert zhao.iterative_updates(distance_over_radius=100.0) == 98
    assert zhao.iterative_updates(distance_over_radius=0.5) == 0
    assert zhao.step_size(n_steps=50, smoothness=2.0) == close(0.05)


# Xu and others 2025


def test_noise_of_one_localised_phase():
    move = xu2025.localized_sensitivity(n_rows=5000, clip_norm=1.0, regularisation=0.1)
    assert move == close(0.004)
    printed = xu2025.printed_localized_noise_std(sensitivity=move, epsilon=1.0, delta=1e-5)
    assert printed == close(0.0542891234)


@pytest.mark.parametrize("n_rows", [1, 2, 31, 32, 63, 64, 65, 1000, 12345])
def test_phases_use_every_row(n_rows):
    halved = xu2025.localized_phases(n_rows=n_rows)
    assert sum(halved) == n_rows
    assert min(halved) >= min(32, n_rows)
    for bound in (1.01, 1.2, 2.0, 4.0, 16.0, 1e6) * (n_rows > 1):  # no phase doubles one record
        doubled = xu2025.phase_sizes(n_rows=n_rows, growth_bound=bound)
        assert sum(doubled) == n_rows
        assert min(doubled) >= min(32, n_rows)
        assert list(doubled) == sorted(doubled)


def test_counts_of_phases():
    counts = [xu2025.shrinking_phases(n_rows=n) for n in (1, 2, 10**3, 10**4, 3 * 10**4, 10**6)]
    assert counts == [1, 1, 2, 4, 4, 7]
    for bound, n_phases, first in ((2.0, 3, 752), (1.5, 6, 120), (1.2, 14, 0), (4.0, 1, 2743)):
        sizes = xu2025.printed_phase_sizes(n_rows=10**4, growth_bound=bound)
        assert (len(sizes), sizes[0]) == (n_phases, first)


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


@pytest.mark.parametrize(
    ("epsilon", "n_steps", "parallel", "printed"),
    [(0.03, 10, 0.157, 0.034), (0.03, 200, 3.14, 0.150), (1.0, 10, 0.0068, 0.0010)],
)
def test_accelerated_noise_is_printed_far_too_small(epsilon, n_steps, parallel, printed):
    delta = 1e4**-1.1
    theirs = xu2025.printed_accelerated_noise_std(
        n_rows=10**4, n_steps=n_steps, clip_norm=1.0, epsilon=epsilon, delta=delta
    )
    assert theirs == close(printed, 0.05)
    assert 2.0 / (10**4 // n_steps) / mu_of(epsilon, delta) == close(parallel, 0.01)


def test_a_growth_bound_of_one_is_refused():
    with pytest.raises(InputError, match="growth_bound"):
        xu2025.phase_sizes(n_rows=100, growth_bound=1.0)
