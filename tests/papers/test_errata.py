"""What the errata say of the papers, worked out: each test is the evidence of a correction."""

import math

import numpy as np
import pytest

import tailguard as tg
from tailguard.papers.solvers.gradient_facts import GradientFacts, PrintedSchedule
from tailguard.papers.solvers.phases import equal_sizes
from tailguard.papers.xu2025 import parameters as xu2025
from tailguard.papers.xu2025 import quoted
from tailguard.papers.xu2025.setting import DoubledNorms

log, sqrt = math.log, math.sqrt


def test_e26_only_the_threshold_of_corollary_1_on_a_block_gives_the_rate():
    """Bias and noise of a block as powers of d and of T: the rate has (1+2v)/(2+2v) and v/(1+v)."""
    n, v = 1e12, 1.0
    thresholds = {
        "theorem": lambda d, steps: (n / (d**1.5 * sqrt(steps))) ** (1 / (1 + v)),
        "lemma": lambda d, steps: (n / sqrt(d * steps)) ** (1 / (1 + v)),
        "ours": lambda d, steps: (n / (sqrt(d) * steps)) ** (1 / (1 + v)),
    }

    def error(name, d, steps):
        tau = thresholds[name](d, steps)
        return sqrt(d) / tau**v + d * tau * steps / n

    def slopes(name):
        base = error(name, 1e3, 1e3)
        return log(error(name, 1e6, 1e3) / base) / log(1e3), log(
            error(name, 1e3, 1e6) / base
        ) / log(1e3)

    rate = (1 + 2 * v) / (2 + 2 * v), v / (1 + v)
    assert slopes("ours") == pytest.approx(rate)
    assert slopes("theorem")[0] > rate[0] + 0.2
    assert slopes("lemma")[1] > rate[1] + 0.2


def test_e57_the_steps_of_lemma_18_are_negative_where_gradients_are_exact():
    for a, b in ((1.0, 1.0), (1.0, 4.0), (0.1, 9.0)):
        assert (a * a + b * b + a * b) / (a * a + b * b) > 1.0
        printed = log((a + b) * 0.01 / (a * b)) / log((a * a + b * b + a * b) / (a * a + b * b))
        right = log((a + b) * 0.01 / (a * b)) / log((a * a + b * b + a * b) / (a + b) ** 2)
        assert printed < 0.0 < right
        # One exact step on the quadratic of curvatures a and b shrinks both coordinates by less.
        step = 1.0 / (a + b)
        assert max(abs(1 - step * a), abs(1 - step * b)) ** 2 <= 1 - a * b / (a + b) ** 2
        assert 1 - a * b / (a + b) ** 2 != pytest.approx(1 - 1 / (a + b))


def test_e58_a_minimiser_on_the_edge_has_a_slope():
    grid = np.linspace(-1.0, 1.0, 2_001)
    minimiser = grid[np.argmin((grid - 2.0) ** 2 / 2.0)]
    assert minimiser == 1.0
    assert abs(minimiser - 2.0) > abs(minimiser - minimiser)  # lambda = 1 times no distance
    assert np.abs(grid - 2.0).max() == 3.0  # the largest slope, that is, of the set


def test_e59_nothing_would_concentrate_over_the_printed_range():
    """inf of ``-lambda t + 3 lambda^2 M^2 / (4 n)`` at t = M: by n only up to n / (2 R)."""
    moment, radius = 1.0, 5.0
    exponents = {}
    for n in (100.0, 10_000.0):
        for name, end in (("printed", 1 / (2 * radius)), ("right", n / (2 * radius))):
            grid = np.linspace(0.0, end, 200_001)
            exponents[name, n] = (-grid * moment + 3 * grid**2 * moment**2 / (4 * n)).min()
    assert exponents["printed", 10_000.0] > -0.11
    assert exponents["right", 10_000.0] == pytest.approx(100 * exponents["right", 100.0])


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_e61_the_term_of_the_lipschitz_constant_does_not_fall_below_the_diameter(exponent):
    facts = GradientFacts(size=10, row_limit=1.0, scale=1.0, order=2.0, largest=1.0)
    for n in (10**3, 10**6):
        steep = 1e4 * n  # so steep that the third of the three is the least
        schedule = PrintedSchedule(n, facts, 1.0, 1e-5, exponent, steep)
        eta = schedule.step_parameter(n, 2.0)
        term = steep**2 * eta * n ** (exponent - 0.5) * sqrt(log(n) * log(1e5))
        assert term == pytest.approx(2.0 * n ** ((exponent - 1) / 2))
        assert term > 1.999


def test_e62_the_proof_has_fewer_rounds_than_the_algorithm():
    n, beta = 10**6, 1e-6
    rounds = xu2025.shrinking_phases(n_rows=n)
    assert len(equal_sizes(n)) == rounds == 7
    part = n // rounds
    proof = math.log2(0.25 * sqrt(2 * n / math.log2(n)) / (log(part) * sqrt(-log(beta))))
    assert proof < rounds - 3


def test_e63_the_experiments_are_far_outside_of_the_range():
    n, delta = 10**4, 1e4**-1.1
    nats = -log(delta)
    follows = sqrt(nats / (32 * n))

    def epsilon_0(epsilon):
        """Of one record, at the noise that the proof takes and delta_0 = delta / (e^eps n)."""
        both = log(math.exp(epsilon) * n / delta)
        sigma = sqrt(nats * both) / (epsilon * sqrt(n))
        return 2 * sqrt(2) * sqrt(both) / sigma

    assert epsilon_0(follows) == pytest.approx(0.5)
    claimed = sqrt(log(n / delta) / n)
    assert epsilon_0(claimed) > 2.0


def test_e64_a_strong_convexity_of_lambda_is_a_growth_of_half_of_it():
    grid = np.linspace(-1.0, 1.0, 401)
    risk = 3.0 / 2.0 * grid**2  # strongly convex with 3
    growth = (risk[grid != 0] / grid[grid != 0] ** 2).min()
    assert growth == pytest.approx(1.5)
    assert tg.papers.instances.growth_constant(2.0) == pytest.approx(0.5)
    assert max(22_696, 32_561, 24_692) < 35_000


GROWN = {"diameter": 2.0, "growth_constant": 0.5}  # of half the squared distance


def doubling(call, n, mu, **facts):
    """Return Theorem 3 or its like for 8 columns of unit scale."""
    return call(n, 8, tg.ZCDP(mu**2 / 2), **facts, **GROWN)


LOCALISED = {"moment": tg.Moment(4.0, 64.0, kind="norm"), "row_limit": 2.0 * sqrt(8)}
SMOOTH = {"moment": tg.Moment(2.0, 8.0, kind="norm"), "smoothness": 1.0}
NUMBERS = (10**5, 10**6, 10**7, 10**8)


def test_e65_the_printed_power_is_below_what_is_left():
    n = 4 * 10**6
    theorem = doubling(tg.papers.xu2025.unknown_growth, n, 10.0, **LOCALISED)
    told = {"guarantee": theorem.guarantee, "moment": LOCALISED["moment"], "diameter": 2.0}
    facts = DoubledNorms(n, 8, **told)
    size = xu2025.phase_sizes(n_rows=n, growth_bound=2.0)[-1]
    printed = facts.grown(facts.risk(size), 2.0, 0.5)
    assert printed == pytest.approx(7.0e-4, rel=0.01)
    assert theorem.predicted_excess(1.0) > 1.2 * printed


@pytest.mark.parametrize("mu", [1.0, 10.0])
@pytest.mark.parametrize("n", NUMBERS)
def test_e65_our_bounds_are_above_what_is_left(n, mu):
    papers = tg.papers.xu2025
    for call, facts in ((papers.unknown_growth, LOCALISED), (papers.accelerated_growth, SMOOTH)):
        theorem = doubling(call, n, mu, **facts)
        assert theorem.bound > theorem.predicted_excess(1.0)


@pytest.mark.parametrize("growth", [1.5, 2.0, 3.0])
def test_e65_a_near_start_takes_off_half(growth):
    """Distance and clipping go, noise stays; the reach of a risk is that of its mean square."""
    facts = DoubledNorms(10**6, 8, tg.ZCDP(50.0), LOCALISED["moment"], diameter=2.0)
    alone, after = facts.risk(10**6), facts.doubling_risk((10**6, 10**6), growth, 0.5)
    assert 0.45 * alone < after < alone
    assert facts.reach(1e9, growth, 0.5) == 2.0
    risk = 0.5 * 0.1 ** max(growth, 2.0)
    assert facts.reach(risk, growth, 0.5) >= 0.1


def test_e66_the_quoted_lower_bound_is_above_its_upper_one():
    n, d, epsilon = 10**4, 10, 1.0
    upper = quoted.lipschitz_strongly_convex_bound(n_rows=n, n_features=d, epsilon=epsilon)
    assert 1 / sqrt(n) + d / (n * epsilon) ** 2 > 50 * upper
