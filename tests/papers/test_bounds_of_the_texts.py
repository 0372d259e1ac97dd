"""Bounds and scales as the texts have them, each formula written down anew; constants are 1.

Numbers of equations, lemmas and rows are those of the texts.
"""

import math

import numpy as np
import pytest

import tailguard as tg
from tailguard.checks import InputError
from tailguard.papers import kamath2022, tao2022, xu2025, zhao2024
from tailguard.papers.instances import (
    fourth_power_line,
    fourth_power_lipschitz,
    fourth_power_scale,
)
from tailguard.papers.xu2025 import quoted
from tailguard.papers.xu2025.parameters import averaged_scale, expected_scale

N, D, EPS, RHO, DELTA, BETA = 40_000, 6, 0.3, 0.07, 1e-6, 0.02
sqrt, log, exp = math.sqrt, math.log, math.exp
SIZES = {"n_rows": N, "n_features": D}
ORDERS = pytest.mark.parametrize("k", [2.0, 3.0])
LOWER_ORDERS = pytest.mark.parametrize("v", [0.5, 1.0])  # moments of order 1 + v


def same(found, told):
    assert found == pytest.approx(told, rel=1e-12)


def test_xu_table_1_rows_1_and_2_bassily():
    same(quoted.lipschitz_bound(**SIZES, epsilon=EPS), 1 / sqrt(N) + sqrt(D) / (N * EPS))
    strong = quoted.lipschitz_strongly_convex_bound(**SIZES, epsilon=EPS)
    same(strong, 1 / N + D / (N**2 * EPS**2))


@pytest.mark.parametrize("theta", [1.5, 2.0, 4.0])
def test_xu_table_1_row_5_asi_and_su(theta):
    told = (1 / sqrt(N) + sqrt(D) / (N * EPS)) ** (theta / (theta - 1))
    same(quoted.lipschitz_tsybakov_bound(**SIZES, epsilon=EPS, growth=theta), told)


def test_a_growth_of_1_is_refused():
    with pytest.raises(InputError, match="growth must be a number above 1; got 1"):
        quoted.lipschitz_tsybakov_bound(**SIZES, epsilon=EPS, growth=1.0)


@ORDERS
@pytest.mark.parametrize("r", [0.5, 7.0])
def test_xu_table_1_rows_6_to_8_lowy(k, r):
    told, power = {**SIZES, "moment_order": k, "scale": r}, (k - 1) / k
    cost = sqrt(D) / (EPS * N)
    slower = ((1 / r) ** (1 / 4) * cost) ** (4 * (k - 1) / (5 * k - 1))
    convex, strong = 1 / sqrt(N) + cost**power, 1 / N + cost ** (2 * power)
    same(quoted.norm_bound(epsilon=EPS, **told), r * convex)
    same(
        quoted.norm_bound_unlipschitz(epsilon=EPS, **told),
        r * (1 / sqrt(N) + max(slower, cost**power)),
    )
    same(quoted.norm_strongly_convex_bound(epsilon=EPS, **told), r**2 * strong)
    cost = sqrt(D) / (sqrt(RHO) * N)
    convex, strong = 1 / sqrt(N) + cost**power, 1 / N + cost ** (2 * power)
    same(quoted.norm_lower_bound(rho=RHO, **told), r * convex)
    same(quoted.norm_strongly_convex_lower_bound(rho=RHO, **told), r**2 * strong)


def test_the_slower_rate_of_row_7_is_the_slower_one_for_small_scales():
    told = {"moment_order": 2.0, "epsilon": EPS}
    ratios = [
        quoted.norm_bound_unlipschitz(**SIZES, scale=r, **told)
        / quoted.norm_bound(**SIZES, scale=r, **told)
        for r in (0.1, 1.0, 1e9)
    ]
    assert ratios[0] > ratios[1] > 1.2 > ratios[2] == 1.0


@pytest.mark.parametrize("n", [2, 1000, 4096])
def test_xu_averaged_scale(n):
    """R~_{k,n}^2 = sum_{i=1}^l 2^-i r~_{k,n_i}^2, n_i = 2^-i n, l = log2 n (before Lemma 2)."""
    told = sum(2.0**-i * (3 + 5 / (n // 2**i)) ** 2 for i in range(1, math.floor(math.log2(n)) + 1))
    same(averaged_scale(lambda m: 3 + 5 / m, n_rows=n), sqrt(told))
    assert averaged_scale(lambda m: 8.0, n_rows=n) <= 8.0  # Lemma 2


def test_xu_expected_scale():
    """r^_m(X)^(k) = sup_w mean |grad f(w, x_i)|^k, r~_{k,m} = E[r^_m]^(1/k) (before Lemma 2)."""
    norms, k, m = np.random.default_rng(0).random((3, 12)), 4.0, 5
    batches = [norms[:, :5], norms[:, 5:10]]  # the two that are left over are not used
    told = np.mean([max((row**k).mean() for row in batch) for batch in batches]) ** (1 / k)
    same(expected_scale(norms, n_rows=m, moment_order=k), told)


def test_xu_lemma_2_larger_batches_have_smaller_scales():
    x = np.random.default_rng(1).standard_t(9.0, (4096, 2))
    points = np.array([(s, t) for s in (-1, 0, 1) for t in (-1, 0, 1)])
    norms = np.linalg.norm(points[:, None] - x, axis=2)  # gradients of |w - x|^2 / 2
    scales = [expected_scale(norms, n_rows=m, moment_order=2.0) for m in (1, 2, 4, 64, 4096)]
    assert scales == sorted(scales, reverse=True)
    assert scales[0] > 1.2 * scales[-1]


@pytest.mark.parametrize(("n", "match"), [(13, "n_rows"), (0, "n_rows"), (2.5, "n_rows")])
def test_batches_beyond_the_records_are_refused(n, match):
    with pytest.raises(InputError, match=match):
        expected_scale(np.ones((3, 12)), n_rows=n, moment_order=2.0)
    if n < 2:
        with pytest.raises(InputError, match="n_rows"):
            averaged_scale(lambda m: 1.0, n_rows=n)


class TestTheFourthPowersOfXuSection4:
    """min over |w|_1 <= 1 of E (<w, x> - y)^4, x normal on [-n, n]^d, y bounded."""

    def test_the_largest_gradient_is_a_power_of_n_and_is_attained(self):
        n, d = 50, 4
        x, w, y = np.full(d, float(n)), np.eye(d)[0], -1.0
        gradient = 4 * (w @ x - y) ** 3 * x
        same(fourth_power_lipschitz(n_rows=n, n_features=d), np.linalg.norm(gradient))

    def test_moments_do_not_know_n(self):
        """On the l1 ball the largest residual of a record is its largest entry plus |y|."""
        n, d, p = 20_000, 4, 4.0
        data = fourth_power_line(n, d, seed=3)
        assert np.abs(data.features).max() <= n
        assert np.abs(data.target).max() <= 1.0
        residual = np.abs(data.features).max(axis=1) + np.abs(data.target)
        norms = 4 * residual**3 * np.linalg.norm(data.features, axis=1)
        bound = fourth_power_scale(n_features=d, moment_order=p)
        assert expected_scale(norms[None], n_rows=1, moment_order=p) < bound
        assert bound < 1e-10 * fourth_power_lipschitz(n_rows=n, n_features=d)

    @pytest.mark.parametrize("p", [2.0, 4.0])
    def test_the_bound_on_the_moment_is_the_formula(self, p):
        """4 (|M|_{6p} + 1)^3 ||x||_{2p}, by Cauchy-Schwarz and Minkowski, and by quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(120)
        moment = (weights @ np.abs(nodes) ** (6 * p)) / sqrt(2 * math.pi)
        d = 3
        chi = 2**p * math.gamma(d / 2 + p) / math.gamma(d / 2)
        told = 4 * ((d * moment) ** (1 / (6 * p)) + 1) ** 3 * chi ** (1 / (2 * p))
        found = fourth_power_scale(n_features=d, moment_order=p)
        assert found == pytest.approx(told, rel=1e-9)

    def test_the_rate_is_far_below_that_of_lipschitz_losses(self):
        """As Section 4 says of (2) against Asi and Su, for a growth of 4."""
        n, d = 10**5, 5
        moment = fourth_power_scale(n_features=d, moment_order=4.0) ** 4
        told = {"n_rows": n, "n_features": d, "epsilon": 1.0, "growth": 4.0}
        own = xu2025.tsybakov_bound(moment_order=2.0, delta=1e-6, moment_bound=moment, **told)
        lipschitz = fourth_power_lipschitz(n_rows=n, n_features=d) ** (4 / 3)
        assert own < 1e-15 * lipschitz * quoted.lipschitz_tsybakov_bound(**told)


@LOWER_ORDERS
@pytest.mark.parametrize("u", [1.0, 5.0])
def test_row_22_and_lemma_21_of_tao(v, u):
    told = {**SIZES, "moment_order": 1 + v, "moment_bound": u}
    pure = sqrt(D) * u ** (1 / (1 + v)) * (D / (EPS * N)) ** (v / (1 + v))
    same(tao2022.mean_lower_bound_pure(epsilon=EPS, **told), pure)
    # sqrt(log(1/delta)) / epsilon stands for 1 / (2 sqrt(rho)) (E23)
    squared = u ** (2 / (1 + v)) * D * (sqrt(D) / (2 * sqrt(RHO) * N)) ** (2 * v / (1 + v))
    same(tao2022.mean_lower_bound(rho=RHO, **told) ** 2, squared)
    # Theorem 8 is the square of Lemma 21, Theorem 9 the lemma itself
    same(tao2022.strongly_convex_lower_bound(rho=RHO, **told), squared)
    same(tao2022.strongly_convex_lower_bound_pure(epsilon=EPS, **told), pure**2)
    same(tao2022.convex_lower_bound(rho=RHO, **told), sqrt(squared))
    same(tao2022.convex_lower_bound_pure(epsilon=EPS, **told), pure)


@LOWER_ORDERS
@pytest.mark.parametrize("u", [1.0, 5.0])
@pytest.mark.parametrize("n", [2, N])
def test_row_22_and_lemma_27_of_tao(v, u, n):
    s, d = 3, 500
    told = {"n_rows": n, "n_features": d, "n_nonzero": s, "moment_order": 1 + v, "moment_bound": u}
    pure = u ** (1 / (1 + v)) * min(1, (s * log(d) / (EPS * n)) ** (v / (1 + v)))
    unscaled = sqrt(2 * s)  # (E32)
    same(tao2022.sparse_mean_lower_bound_pure(epsilon=EPS, **told), unscaled * pure)
    cost = sqrt(s * log(d)) / (2 * sqrt(RHO) * n)
    zcdp = u ** (1 / (1 + v)) * min(1, cost ** (v / (1 + v)))
    same(tao2022.sparse_mean_lower_bound(rho=RHO, **told), unscaled * zcdp)
    if n == N:  # Theorem 11 is its square, where it holds
        same(tao2022.sparse_lower_bound(rho=RHO, **told), (unscaled * zcdp) ** 2)
        same(tao2022.sparse_lower_bound_pure(epsilon=EPS, **told), (unscaled * pure) ** 2)


@ORDERS
def test_zhao_equation_31(k):
    R, groups = 40.0, 3200
    told = (
        sqrt((D + log(1 / BETA)) / N)
        + R / N * sqrt(groups / RHO) * sqrt(D + log(1 / BETA))
        + D ** (k / 2) * R ** (1 - k)
    )
    facts = {**SIZES, "n_groups": groups, "moment_order": k, "clip_norm": R, "rho": RHO}
    same(zhao2024.iterative_mean_bound(failure_probability=BETA, **facts), told)
    # In units of M = 2 everything is twice as large at twice the clip norm.
    scaled = {**facts, "clip_norm": 2 * R, "moment_bound": 2.0**k}
    same(zhao2024.iterative_mean_bound(failure_probability=BETA, **scaled), 2 * told)


@ORDERS
@pytest.mark.parametrize("beta", [BETA, 0.5])
def test_zhao_theorem_5_equation_21(k, beta):
    R, nats = 40.0, log(1 / DELTA)
    inner = max(0.0, log(log(1 / beta)))  # below 1/e; else the text has no such number
    told = (
        sqrt((D + log(1 / beta)) / N)
        + D ** (k / 2) * R ** (1 - k)
        + R / (N * EPS) * sqrt(D + log(1 / beta)) * (nats + sqrt(nats * inner))
    )
    facts = {**SIZES, "moment_order": k, "clip_norm": R, "epsilon": EPS, "delta": DELTA}
    same(zhao2024.iterative_mean_bound_amplified(failure_probability=beta, **facts), told)


def test_zhao_21_follows_from_31_and_24_up_to_constants():
    """Both are within a constant of each other, whatever epsilon and the sizes."""
    ratios = []
    for n in (10**7, 10**9):
        for eps in (1e-3, 1e-2):
            groups = round(800 * log(1 / BETA))
            rho = zhao2024.parameters.printed_amplified_rho(
                n_groups=groups, epsilon=eps, delta=DELTA
            )
            facts = {"n_rows": n, "n_features": D, "moment_order": 2.0, "clip_norm": 1e6}
            facts |= {"failure_probability": BETA}
            ratios.append(
                zhao2024.iterative_mean_bound(n_groups=groups, rho=rho, **facts)
                / zhao2024.iterative_mean_bound_amplified(epsilon=eps, delta=DELTA, **facts)
            )
    assert max(ratios) < 1.01 * min(ratios)
    assert 8 * exp(2) < min(ratios) < 3 * 8 * exp(2)  # 8 e^2 and what the logarithms hide


@ORDERS
def test_kamath_theorem_4_1(k):
    """Appendix B.3: sqrt(d) (10 sqrt(m / n) + 3 (C / tau)^(k-1)), m = 4 log(2 d / beta), C = 14."""
    tau, m = 300.0, 4 * log(2 * D / BETA)
    free = sqrt(D) * (10 * sqrt(m / N) + 3 * (14 / tau) ** (k - 1))
    facts = {**SIZES, "moment_order": k, "threshold": tau, "failure_probability": BETA}
    same(kamath2022.mean_error(**facts), free)
    sigma = sqrt(72 * tau**2 * m**2 * D / (RHO * N**2))
    private = free + 2 * sigma * (sqrt(D) + sqrt(log(1 / BETA)))
    same(kamath2022.mean_error(noise_std=sigma, **facts), private)
    laplace = 48 * tau * D * log(2 * D / BETA) / (EPS * N)
    pure = free + 48 * tau * D**1.5 / (EPS * N) * log(2 * D / BETA) ** 2
    same(kamath2022.mean_error(noise_scale=laplace, **facts), pure)
    scaled = {**facts, "threshold": 2 * tau, "moment_bound": 2.0**k}
    same(kamath2022.mean_error(**scaled), 2 * free)


def test_kamath_theorem_4_1_covers_what_is_drawn():
    """Algorithm 3 with hardly any noise, which is the non-private one, on a law of variance 1."""
    x = np.random.default_rng(5).standard_t(2.5, (20, N // 20, D)) / sqrt(5)
    told = {"method": "clamped", "threshold": 20.0, "n_groups": 26, "guarantee": tg.GDP(1e4)}
    means = [tg.mean(records, random_state=1, **told).value for records in x]
    facts = {"n_rows": N // 20, "n_features": D, "moment_order": 2.0, "threshold": 20.0}
    bound = kamath2022.mean_error(failure_probability=BETA, **facts)
    assert max(np.linalg.norm(means, axis=1)) < bound
    assert 4 * log(2 * D / BETA) == pytest.approx(25.6, abs=0.05)  # groups, made even


@ORDERS
def test_kamath_remark_5_3(k):
    T = 64
    told = (sqrt(RHO) * N / (D**1.5 * sqrt(T))) ** (1 / k)
    facts = {**SIZES, "moment_order": k, "rho": RHO}
    same(kamath2022.parameters.naive_convex_threshold(n_steps=T, **facts), told)
    # At d = 1 the error is 1 / sqrt(T) + (1 / tau)^(k-1), at T = (sqrt(rho) n)^((2k-2)/(2k-1)).
    c = sqrt(RHO) * N
    steps = c ** ((2 * k - 2) / (2 * k - 1))
    naive = (c / sqrt(steps)) ** (1 / k)
    same(1 / sqrt(steps) + naive ** (1 - k), 2 * c ** (-(k - 1) / (2 * k - 1)))
    found = kamath2022.parameters.naive_convex_rate(n_rows=N, moment_order=k, rho=RHO)
    same(found, (1 / c) ** ((k - 1) / (2 * k - 1)))
    assert found > c ** (-(k - 1) / k)  # "much worse bounds"


def test_the_naive_threshold_is_below_that_of_the_theorem_for_many_steps():
    facts = {**SIZES, "moment_order": 2.0, "rho": RHO}
    chosen = kamath2022.parameters.convex_threshold(diameter=1.0, **facts)
    naive = [kamath2022.parameters.naive_convex_threshold(n_steps=T, **facts) for T in (1, 100)]
    same(naive[0], chosen)
    same(naive[1], chosen / 100**0.25)


def test_kamath_remark_5_8():
    """Theorem 5.7 with the logarithms that Theorem B.8 puts before the terms of Theorem 5.2."""
    a, b, M, k = 0.5, 3.0, 2.0, 2.0
    L = log(1 + M * D * N / BETA)
    c = sqrt(D) / (sqrt(RHO) * N)
    shape = (M + 1) ** 2 * (a + b) ** 2 / (a**2 * b)
    facts = {**SIZES, "moment_order": k, "rho": RHO, "diameter": M}
    facts |= {"strong_convexity": a, "smoothness": b}
    found = kamath2022.strongly_convex_bound_with_probability(failure_probability=BETA, **facts)
    same(found, shape * (L * D / N + L**2 * D * c ** ((2 * k - 2) / k)))
    assert found > kamath2022.strongly_convex_bound(**facts)


@ORDERS
def test_zhao_lemmas_5_and_9(k):
    """Equations (17), with one logarithm less, (18), (34) and (35)."""
    r, t, u = 30.0, 12, 5.0
    m, tail = u ** (1 / k), u * D ** (k / 2) * r ** (1 - k)
    told = {**SIZES, "moment_order": k, "moment_bound": u, "clip_norm": r}
    bias, error = zhao2024.clipped_gradient_errors(**told, n_steps=t, rho=RHO)
    same(bias, m * sqrt(D * log(N) / N) + r * D * log(N) / N + tail)
    squares = m**2 * D * log(N) / N + (r * D * log(N) / N) ** 2 + tail**2
    same(error**2, squares + r**2 * t * D / (RHO * N**2))
    bias, error = zhao2024.iterative_gradient_errors(**told, epsilon=EPS, delta=DELTA)
    same(bias, m * sqrt(D / N) + tail)
    nats = log(1 / DELTA)
    noise = r**2 * D / (N**2 * EPS**2) * (nats + sqrt(nats * log(D)))
    same(error**2, m**2 * D / N + noise + tail**2)
