"""The papers' thresholds, step counts and noise scales, against values computed independently."""

import math

import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.papers.common import groups, steps
from tailguard.papers.kamath2022 import parameters as kamath2022
from tailguard.papers.tao2022 import parameters as tao2022
from tailguard.papers.wang2020 import parameters as wang2020
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


@pytest.mark.parametrize(("error", "n_steps"), [(0.1, 18.9306), (0.5, 9.69971), (2.0, 1.74865)])
def test_strongly_convex_steps(error, n_steps):
    shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    assert steps.strongly_convex_steps(error=error, **shape) == close(n_steps, 1e-5)


@pytest.mark.parametrize(("error", "n_steps"), [(0.1, 11.92659), (0.5, 2.69570), (2.0, -5.25537)])
def test_printed_strongly_convex_steps_turn_negative(error, n_steps):
    shape = {"strong_convexity": 1.0, "smoothness": 4.0}
    assert steps.printed_strongly_convex_steps(error=error, **shape) == close(n_steps, 1e-5)


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


# Kamath, Liu and Zhang 2022


@pytest.mark.parametrize(
    ("rho", "n_rows", "n_features", "tau", "chance", "printed", "even", "odd"),
    [
        (0.5, 10**5, 10, 10.0, 0.1, 0.080422803, 0.02087312, 0.043647725),
        (1.0, 10**4, 5, 20.0, 0.05, 0.80422803, 0.20896108, 0.43718124),
        (0.1, 10**6, 100, 50.0, 0.1, 0.40790723, 0.10733126, 0.22137095),
    ],
)
def test_clamped_noise(rho, n_rows, n_features, tau, chance, printed, even, odd):
    args = {"n_rows": n_rows, "n_features": n_features, "threshold": tau, "rho": rho}
    count = groups.group_count(n_features=n_features, failure_probability=chance)
    m = groups.whole_groups(count, n_rows=n_rows)
    assert kamath2022.printed_noise_std(failure_probability=chance, **args) == close(printed, 1e-7)
    for n_groups, noise in ((m, even), (m + 1, odd)):
        move = groups.median_sensitivity(value_range=6 * tau, n_rows=n_rows, n_groups=n_groups)
        assert move * math.sqrt(n_features / (2 * rho)) == close(noise, 1e-7)


def test_pure_noise():
    args = {"n_rows": 10**5, "n_features": 10, "threshold": 10.0, "epsilon": 1.0}
    printed = kamath2022.printed_noise_scale_pure(failure_probability=0.1, **args)
    assert printed == close(48 * 10 * 10 * math.log(200) / 1e5)


@pytest.mark.parametrize(
    ("variance", "ratio"),
    [(1e-4, 1.7778), (0.1, 1.772), (0.25, 1.620), (0.5, 1.262), (0.7557, 1.0), (1.0, 0.82856)],
)
def test_what_printed_soft_noise_really_costs(variance, ratio):
    cost = kamath2022.printed_soft_noise_rho(rho=0.3, smoothing=1 / variance)
    assert cost == close(0.3 * ratio, 5e-4)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "order", "rho", "tau", "n_steps"),
    [
        (10**5, 10, 2.0, 0.5, 33.437015, 447.2136),
        (10**6, 5, 4.0, 0.1, 10.905077, 1345434),
        (10**3, 10, 2.0, 0.5, 3.3437, 4.472),
    ],
)
def test_convex_descent_on_the_clamped_mean(n_rows, n_features, order, rho, tau, n_steps):
    args = {"n_rows": n_rows, "n_features": n_features, "rho": rho}
    threshold = kamath2022.convex_threshold(moment_order=order, diameter=2.0, **args)
    assert threshold == close(tau, 2e-5)
    count = kamath2022.convex_steps(threshold=threshold, gradient_bound=1.0, **args)
    assert count == close(n_steps, 5e-5)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "rho", "balance", "tau", "n_steps"),
    [
        (10**5, 10, 0.5, 0.92474, 64.841978, 11892.07),
        (10**6, 5, 0.1, 0.6423, 237.13737, 71131.18),
    ],
)
def test_convex_descent_on_the_soft_mean(n_rows, n_features, rho, balance, tau, n_steps):
    q = kamath2022.soft_balance(n_features=n_features, rho=rho)
    assert q == close(balance, 1e-4)
    args = {"n_rows": n_rows, "n_features": n_features, "rho": rho}
    threshold = kamath2022.soft_threshold(diameter=2.0, balance=q, **args)
    assert threshold == close(tau, 1e-7)
    count = kamath2022.soft_steps(threshold=threshold, gradient_bound=1.0, **args)
    assert count == close(n_steps, 1e-6)


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


@pytest.mark.parametrize(
    ("n_rows", "v", "u", "epsilon", "delta", "chance", "tau", "printed", "tight"),
    [
        (10**4, 1.0, 1.0, 1.0, 1e-5, 0.1, 35.60504114, 0.03449989814, 0.02656585857),
        (10**4, 0.5, 2.0, 0.5, 1e-5, 0.05, 98.28572592, 0.1904700809, 0.1382256379),
        (10**6, 0.25, 1.0, 0.1, 1e-6, 0.1, 1783.599162, 0.1890187949, 0.1295060308),
    ],
)
def test_scalar_mean(n_rows, v, u, epsilon, delta, chance, tau, printed, tight):
    privacy = {"epsilon": epsilon, "delta": delta}
    threshold = tao2022.scalar_threshold(
        n_rows=n_rows, moment_order=1 + v, moment_bound=u, failure_probability=chance, **privacy
    )
    assert threshold == close(tau)
    args = {"n_rows": n_rows, "threshold": threshold, **privacy}
    assert tao2022.printed_scalar_noise_std(**args) == close(printed)
    assert 2.0 * threshold / (n_rows * mu_of(epsilon, delta)) == close(tight)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "tau", "epsilon", "chance", "m", "printed", "even", "odd"),
    [
        (10**5, 10, 10.0, 1.0, 0.1, 22, 0.06493880328, 0.02595664043, 0.05427786095),
        (10**4, 5, 3.0, 0.5, 0.05, 22, 0.275512009, 0.1039007211, 0.2173775454),
    ],
)
def test_truncated_noise(n_rows, n_features, tau, epsilon, chance, m, printed, even, odd):
    args = {"n_rows": n_rows, "n_features": n_features, "threshold": tau, "epsilon": epsilon}
    args["delta"] = 1e-5
    assert tao2022.printed_noise_std(failure_probability=chance, **args) == close(printed)
    for n_groups, noise in ((m, even), (m + 1, odd)):
        move = groups.median_sensitivity(value_range=2 * tau, n_rows=n_rows, n_groups=n_groups)
        assert move * math.sqrt(n_features) / mu_of(epsilon, 1e-5) == close(noise)


def test_the_true_cost_of_printed_noise_with_an_odd_number_of_groups():
    """Seven groups of twenty rows: a record moves the median 1.8 times as far as printed."""
    move = groups.median_sensitivity(value_range=2.0, n_rows=20, n_groups=7)
    assert move / (2.0 * 5.545 / 20) == close(1.80, 2e-3)


@pytest.mark.parametrize(
    ("epsilon", "n_steps", "printed", "tight"),
    [
        (1.0, 1, 49.2686, 3.7306),
        (1.0, 10, 169.6195, 11.7973),
        (1.0, 100, 576.7814, 37.3063),
        (1.0, 1000, 1943.3105, 117.9729),
        (0.5, 100, 1153.5627, 70.3183),
        (0.1, 100, 5767.8136, 307.4957),
    ],
)
def test_noise_of_adaptive_steps(epsilon, n_steps, printed, tight):
    args = {"epsilon": epsilon, "delta": 1e-5, "n_steps": n_steps}
    assert tao2022.printed_step_noise_over_sensitivity(**args) == pytest.approx(printed, abs=1e-4)
    assert math.sqrt(n_steps) / mu_of(epsilon, 1e-5) == pytest.approx(tight, abs=1e-4)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "v", "tau", "n_steps", "whole", "size"),
    [(10**5, 10, 1.0, 56.234133, 316.22777, 316, 0.11250879), (10**6, 5, 0.5, 2000, 400, 400, 0.1)],
)
def test_convex_descent_on_the_truncated_mean(n_rows, n_features, v, tau, n_steps, whole, size):
    args = {"n_rows": n_rows, "n_features": n_features, "epsilon": 1.0}
    threshold = tao2022.convex_threshold(moment_order=1 + v, **args)
    assert threshold == close(tau)
    count = tao2022.convex_steps(threshold=threshold, gradient_bound=1.0, **args)
    assert count == close(n_steps, 1e-7)
    assert steps.whole_steps(count + 1e-9) == whole
    step = steps.descent_step_size(diameter=2.0, gradient_bound=1.0, n_steps=whole)
    assert step == close(size, 1e-7)


def test_sparse_descent():
    sizes = {"n_rows": 10**5, "n_features": 1000, "n_kept": 4, "n_steps": 10, "smoothness": 2.0}
    privacy = {"epsilon": 0.5, "delta": 1e-5, "failure_probability": 0.1}
    threshold = tao2022.sparse_threshold(moment_order=1.5, moment_bound=3.0, **sizes, **privacy)
    nats = 10 * math.log(1e5) * math.sqrt(4 * math.log(1e5))
    assert threshold == close((2 * 3 * 1e5 * 0.5 / nats) ** (2 / 3))
    assert tao2022.sparse_width(n_features=100, n_nonzero=3, condition=1.5) == 100


# Wang, Xiao, Devadas and Xu 2020


@pytest.mark.parametrize(
    ("epsilon", "n_rows", "n_features", "n_steps", "scale", "printed", "tight_k", "tight"),
    [
        (1.0, 10**5, 10, 100, 232.99530089, 0.6808417499, 0.5183024541, 0.5017812061),
        (0.5, 10**5, 10, 100, 232.99530089, 1.3476559628, 0.9769426145, 0.9458018952),
        (0.1, 10**5, 10, 100, 232.99530089, 6.6811118499, 4.2720850382, 4.1359093828),
        (1.0, 2 * 10**4, 20, 50, 104.19866625, 1.5224084347, 1.1589595204, 1.1220168868),
    ],
)
def test_noise_of_descent_on_the_smoothed_mean(
    epsilon, n_rows, n_features, n_steps, scale, printed, tight_k, tight
):
    facts = {"n_rows": n_rows, "moment_bound": 5.0, "failure_probability": 0.01}
    sizes = {"n_features": n_features, "n_steps": n_steps}
    s = wang2020.printed_scale(**facts)
    assert s == close(scale)
    noise = wang2020.printed_noise_std(epsilon=epsilon, delta=1e-5, **facts, **sizes)
    assert noise == close(printed, 1e-7)
    smoothing = wang2020.printed_smoothing(failure_probability=0.01)
    move = wang2020.sensitivity(n_rows=n_rows, n_features=n_features, scale=s, smoothing=smoothing)
    exact = move * math.sqrt(n_steps) / mu_of(epsilon, 1e-5)
    assert exact == close(tight)
    limit = 2 * math.sqrt(2) / 3
    assert exact * limit / wang2020.psi_limit(smoothing=smoothing) == close(tight_k)
    if epsilon == 1.0 and n_rows == 10**5:
        assert move * math.sqrt(n_steps) / noise == close(0.19755401, 1e-7)


@pytest.mark.parametrize(
    ("smoothing", "limit"),
    [
        (1.0, 0.643645825779912),
        (2.0, 0.794505926941366),
        (math.log(100), 0.912756353496949),
        (2 * math.log(100), 0.940540153277542),
        (20.0, 0.942801740264792),
        (100.0, 0.942809041582063),
    ],
)
def test_limits_of_the_smoothed_truncation(smoothing, limit):
    assert wang2020.psi_limit(smoothing=smoothing) == close(limit, 1e-14)


def test_the_noise_aware_scale_is_six_times_smaller():
    facts = {"n_rows": 10**5, "moment_bound": 5.0, "failure_probability": 0.01}
    aware = wang2020.noise_aware_scale(n_features=10, n_steps=100, mu=mu_of(1.0, 1e-5), **facts)
    assert wang2020.printed_scale(**facts) / aware == close(6.30, 1e-3)
