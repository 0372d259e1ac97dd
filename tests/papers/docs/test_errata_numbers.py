"""Numbers on the page of errata are computed again: ``make numbers``.

What does not fit into a few lines is worked out where the code is that the erratum concerns.
"""

import math
import re
from math import erf, exp, log, log2, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom

import tailguard as tg
from docs.test_numbers import ROOT
from queries.test_refused_clipped_minimisers import inside_ratio, quadratic_ratio
from tailguard.gate.plan import Problem
from tailguard.papers.instances import growth_constant
from tailguard.papers.solvers.phases import printed_doubling_sizes
from tailguard.papers.tao2022.parameters import printed_step_noise_over_sensitivity
from tailguard.papers.zhao2024.parameters import printed_amplified_rho
from tailguard.privacy.accounting.gaussian import delta_of, epsilon_of
from tailguard.privacy.amplification.shuffling import clones_epsilon
from tailguard.queries.soft_truncation import soft_limit

PAGE = (ROOT / "docs" / "errata.md").read_text()
MU = tg.ApproxDP(1.0, 1e-5).gaussian_mu()


def erratum(number):
    """The text of an erratum on one line."""
    entries = re.split(r"^(?=\**E\d+\.|##)", PAGE, flags=re.MULTILINE)
    (found,) = (entry for entry in entries if re.match(rf"\**E{number}\.", entry))
    return " ".join(found.split())


def says(number, *figures):
    text = erratum(number)
    assert [figure for figure in figures if figure not in text] == []


def spaced(number):
    return f"{number:,.0f}".replace(",", " ")


def test_e1_and_e4_scales_that_jump():
    still, moved = 2.0 * exp(-20 * 0.1), 1e6 / (100 - 2 * 20)
    ratio = round(moved / still, -3)
    says(1, f"scale {still:.3f}", f"{spaced(moved)}, {spaced(ratio)} times", f"{exp(0.1):.3f} is")
    says(4, f"factor of {exp(9.0):.0f}")  # 2 against 2 exp(-9): test_printed_queries.py


def arsinh_rho(smoothness, shift):
    """Largest Renyi divergence over its order of ``exp(t) Z + s`` and Z, by quadrature."""
    y = np.linspace(-40.0, 40.0, 80_001)
    orders = 1.0 + np.geomspace(1e-4, 30.0, 40)
    worst = 0.0

    def log_density(z):
        t = np.arcsinh(z)
        return -(t**2) / 2.0 - np.logaddexp(t, -t)

    for t in (smoothness, -smoothness):
        for s in (shift * min(1.0, exp(t)), -shift * min(1.0, exp(t))):  # of the smaller scale
            loss = log_density(np.sinh(y)) - log_density((np.sinh(y) - s) * exp(-t)) + t
            for order in orders:
                terms = (order - 1.0) * loss - y**2 / 2.0
                top = terms.max()
                mass = np.exp(terms - top).sum() * (y[1] - y[0]) / sqrt(2.0 * math.pi)
                worst = max(worst, (top + log(mass)) / (order - 1.0) / order)
    return worst


def test_e2_the_constants_hold_up_to_15():
    spent = {e: arsinh_rho(e**2 / 16.0, e / 4.0) / (e**2 / 2.0) for e in (0.1, 15.0, 16.0)}
    assert spent[15.0] < 1.0 < spent[16.0]
    assert 1.0 / 22.0 < spent[0.1] < 1.0 / 20.0
    says(2, "up to epsilon = 15, at one twentieth", "at 16 they fail")


def test_e3_noise_of_descent_on_trimmed_means():
    nats = log(1e5)
    rho = (sqrt(1.0 + nats) - sqrt(nats)) ** 2  # what the textbook's conversion leaves
    step = sqrt(2.0 * rho / (100 * 10))
    noise = sqrt(math.expm1(2.0) / 2.0)  # the standard deviation of sinh of a normal number
    floor = exp(-5_000 * step**2 / 16.0)
    says(3, f"is {noise * floor / (step / 4.0):.0f} times the range")


def test_e5_and_e6_chances_of_sample_and_aggregate():
    accepted = binom.cdf(4, 16, 1.0 / 16.0) ** 1e4
    assert round(math.log10(accepted)) == -10
    says(5, "draw of 16 from 10⁴", "chance of 10⁻¹⁰")
    says(6, f"add up to {1.0 - 1.0 / 6.0 - 1.0 / 10.0:.3f} and not to 3/4")


def closed_form(a, smoothing):
    """Smoothed truncation as it is printed, in floats."""
    b, root2 = abs(a) / sqrt(smoothing), sqrt(2.0)
    low, high = (root2 - a) / b, (root2 + a) / b
    below, above = ndtr(-low), ndtr(-high)
    e_low, e_high = exp(-(low**2) / 2.0), exp(-(high**2) / 2.0)
    per = 1.0 / sqrt(2.0 * math.pi)
    parts = (
        2.0 * root2 / 3.0 * (below - above),
        -(a - a**3 / 6.0) * (below + above),
        b * per * (1.0 - a**2 / 2.0) * (e_high - e_low),
        a * b**2 / 2.0 * (above + below + per * (high * e_high + low * e_low)),
        b**3 * per / 6.0 * ((2.0 + low**2) * e_low - (2.0 + high**2) * e_high),
    )
    return a * (1.0 - b**2 / 2.0) - a**3 / 6.0 + sum(parts)


def test_e10_and_e11_the_smoothed_truncation():
    smoothing = log(100.0)
    assert closed_form(3.0, smoothing) == pytest.approx(0.89, abs=0.03)
    off = abs(closed_form(1e8, smoothing) - soft_limit(smoothing))  # its digits are those of libm
    power = math.floor(math.log10(off))
    says(10, f"off by more than 10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[power]} where {soft_limit(smoothing):.3f} is true")
    less = [1.0 - erf(sqrt(beta / 2.0)) for beta in (smoothing, 1.0)]
    says(11, f"{100 * less[0]:.0f} to {100 * less[1]:.0f} percent less")


def test_e13_what_a_smoothed_mean_spends():
    def spent(variance):
        return 2.0 * (2.0 * sqrt(2.0) / 3.0 * erf(1.0 / sqrt(2.0 * variance))) ** 2

    assert spent(1e-9) == pytest.approx(16.0 / 9.0)
    least = brentq(lambda variance: spent(variance) - 1.0, 0.1, 2.0)
    says(13, "16/9 as c goes to 0", f"c >= {math.ceil(1e4 * least) / 1e4} only")


def test_e16_the_chance_that_a_block_fails_is_held():
    rho = (sqrt(0.6 - log(1e-6)) - sqrt(-log(1e-6))) ** 2
    told = {"n_rows": 7777, "n_features": 5, "guarantee": tg.ApproxDP(0.6, 1e-6)}
    told |= {"diameter": 3.0, "strong_convexity": 1.0, "smoothness": 5.0}
    theorem = tg.papers.kamath2022.strongly_convex(
        **told, moment=tg.Moment(2.0, 1.0), calibration="printed"
    )
    steps = theorem.solver.n_steps
    chance = 5 * steps / 7777 + 5 * sqrt(5) * steps**1.5 / (sqrt(rho) * 7777)
    says(16, f"{chance:.2f} for {steps} steps at n = 7777, d = 5, epsilon = 0.6 and delta = 10⁻⁶")
    assert theorem.solver.oracle.parameters["n_groups"] == 2 * math.ceil(2 * log(2 * 5 / 0.5))


def test_e48_printed_sizes_by_both_powers():
    power = log(2.0) / log(1.6)
    last = math.floor(power * log2(log2(7777))) - 1
    found = [
        [math.floor(2**i * 7777 / log2(7777) ** k) for i in (0, last)] for k in (power, power**2)
    ]
    says(48, "rounds of {} to {} of 7777".format(*found[0]), "gives {} to {}.".format(*found[1]))
    assert printed_doubling_sizes(7777, 1.6)[::last] == tuple(found[0])


def test_e27_textbook_noise_over_exact_noise():
    ratios = [
        printed_step_noise_over_sensitivity(n_steps=steps, epsilon=epsilon, delta=delta)
        / (sqrt(steps) / tg.ApproxDP(epsilon, delta).gaussian_mu())
        for steps in (10, 100, 1_000)
        for epsilon in (0.1, 1.0)
        for delta in (1e-6, 1e-5, 1e-4)
    ]
    says(27, f"takes {min(ratios):.0f} to {max(ratios):.0f} times the noise")
    says(27, "10 to 1000 steps, epsilon of 0.1 to 1 and delta of 10⁻⁶ to 10⁻⁴")


@pytest.mark.long
def test_e28_noise_of_peeling_over_that_of_an_exact_accounting():
    known = {"feature_scale": 1.0, "target_scale": 1.0, "threshold": 3.0, "step_size": 0.3}
    known |= {"choice_share": 0.0}  # the paper compares no fits
    problem = Problem(tg.losses.Squared(), n_rows=10_000, n_features=1_000, intercept=False)
    ratios = []
    for kept in (1, 3, 4, 100):  # Laplace noise up to 3 entries, normal noise from 4 on
        solver = tg.solvers.HardThresholding(n_nonzero=kept, n_steps=5, **known)
        exact = solver.plan(problem, tg.ApproxDP(1.0, 1e-5)).settings["noise_over_sensitivity"]
        printed = sqrt(2.0) * 4.0 * sqrt(2.0 * kept * log(1e5))
        ratios.append(printed / exact)
    says(28, f"{min(ratios):.1f} to {max(ratios):.1f} times", "(1, 1e-5) and 1 to 100 entries")


def test_e40_what_fixed_groups_hide():
    def claimed_and_true(n_groups):
        """At the largest epsilon that the theorem admits."""
        epsilon = 8.0 * exp(2.0) * sqrt(log(4e6) / n_groups)
        rho = printed_amplified_rho(n_groups=n_groups, epsilon=epsilon, delta=1e-6)
        return epsilon, epsilon_of(sqrt(2.0 * rho), 1e-6)

    claimed, true = claimed_and_true(10**6)
    says(40, f"{claimed:.2f} is claimed at 10⁶ groups where {true:.2f} is true")
    hidden = brentq(lambda n: np.subtract(*claimed_and_true(round(n))), 1e5, 1e6, xtol=100.0)
    says(40, f"below {spaced(round(hidden, -4))} groups")
    # Half of delta is for groups that do not keep 0.5, the other half for the shuffle.
    one = tg.ApproxDP(0.5, 0.5e-6 / 1_000 / (1.0 + exp(0.5)) / (1.0 + exp(-0.5) / 2.0))
    claim = clones_epsilon(1_000, 0.5, 0.5e-6)
    says(40, f"claim {claim:.2f} where {epsilon_of(one.gaussian_mu(), 1e-6):.2f} is true")
    assert round(64.0 * exp(4.0) * log(8e5), -4) == 5e4
    says(40, "some 50 000")


def test_e43_how_far_one_record_moves_the_end():
    moved = quadratic_ratio(10**4)
    limit = (1.0 + 100.0) / (2.0 * sqrt(100.0))
    true = epsilon_of(moved * MU, 1e-5)
    says(43, f"moves {moved:.2f} times", f"and {limit:.2f} in the limit")
    says(43, f"then gives {true:.2f}")
    ends = []
    for last in (1.0, -1.0):
        w = 0.0
        for _ in range(200):
            w -= (999 * np.clip(10.0 * w, -1.0, 1.0) + last) / 1_000 + 0.1 * w
        ends.append(w)
    says(43, f"too long ({abs(ends[0] - ends[1]) / (2.0 / (1_000 * 0.1)):.1f} times)")
    says(43, f"inside the clip ({inside_ratio():.1f} times)")


def test_e44_e60_and_e61_conversions_and_printed_noise():
    says(44, f"the truth is {epsilon_of(1.0, 1e-5):.2f} where 1 is claimed")
    says(44, f"is {4.0 * sqrt(log(1e5)) * MU:.1f} times too large")
    share = 1.0 / (2.0 * sqrt(2.0 * log(2e5)))
    groups = 64.0 * exp(4.0) * log(4.0 / (1e-5 / 2.0)) / share**2
    says(60, f"groups: {groups / 1e6:.1f}·10⁶ for a single step")
    # mu = k sqrt(L) / 4 at epsilon = k L: a tail of (4 - k / 8) sqrt(L) is delta = exp(-L).
    enough = 8.0 * (4.0 - sqrt(2.0))
    for nats in (7.0, 14.0, 700.0):
        assert delta_of(enough * sqrt(nats) / 4.0, enough * nats) <= exp(-nats)
    assert delta_of(1.01 * enough * sqrt(700.0) / 4.0, 1.01 * enough * 700.0) > exp(-700.0)
    says(61, f"enough up to `{enough:.1f} log(1/delta)`")


def test_e46_printed_steps_of_the_first_phase():
    steps = (10**4 // 2) ** 2  # the square of the number of records of that phase
    says(46, f"printed steps: {steps / 1e7:.1f}·10⁷ in the first phase of 10⁴ records")
    says(46, f"{20_000**0.25:.1f} times at n = 20 000")  # of the powers 1/2 of both fractions


@pytest.mark.parametrize(("n_rows", "kept"), [(20_000, True), (40_000, False)])
def test_e46_and_what_printed_noise_below_the_errors_of_floats_costs(n_rows, kept):
    facts = {"moment": tg.Moment(4.0, 9.0, kind="norm"), "diameter": 2.0, "row_limit": 3.0}
    facts |= {"calibration": "printed", "schedule": "printed"}
    theorem = tg.papers.xu2025.localised(n_rows, 3, tg.ApproxDP(1.0, 1e-5), **facts)
    assert (theorem.spent.gaussian_mu() <= MU) == kept
    says(46, f"{'keeps its promise' if kept else 'breaks it'} at {spaced(n_rows)}")


def test_e47_an_observer_of_batches_finds_the_record():
    """All other gradients are 0; the one of unknown batch is C or -C."""
    epsilon, steps, delta = 0.5, 10, 1e4**-1.1
    half = epsilon * sqrt(steps / -log(delta))  # half of the shift, in deviations of the noise
    x = np.random.default_rng(0).standard_normal((500_000, steps))
    x[:, 0] += half
    loss = np.log(np.exp(half * x).sum(axis=1)) - np.log(np.exp(-half * x).sum(axis=1))
    excess = np.maximum(1.0 - np.exp(epsilon - loss), 0.0).mean()
    told = re.search(r"probability is (0\.\d+) against a delta of 4·10⁻⁵", erratum(47))
    assert float(told[1]) == pytest.approx(excess, abs=3e-4)
    assert delta == pytest.approx(4e-5, rel=0.01)


def test_e53_e54_and_e55_constants_and_numbers_of_groups():
    constants = (growth_constant(theta) for theta in (3.0, 4.0))
    says(53, "constants 1/2, {:.3f}, {:.3f} for theta 2, 3, 4".format(*constants))
    uniform = 8 * 10 * log(3 * 2 * 1e5**3), 4 * log(2 * 10) + 8 * 10 * log(2 * sqrt(1e5))
    says(55, "{:.0f} and {:.0f} at n = 10⁵".format(*uniform))
    says(55, "where one point needs 22")  # and as code has it: test_printed.py
    ratios = [
        8 * log(3 * diameter * n**3) / log(d * diameter * n / chance)
        for n in (1e3, 1e6)
        for d in (2, 100)
        for diameter in (1.0, 10.0)
        for chance in (0.01, 0.1)
    ]
    says(54, f"{min(ratios):.0f} to {max(ratios):.0f} times as many")


def test_e63_experiments_beyond_the_range():
    n, delta = 1e4, 1e4**-1.1
    beyond = 0.5 / sqrt(-log(delta) / (32.0 * n)), 0.5 / sqrt(log(n / delta) / n)
    says(63, "{:.0f} times that range and more, and {:.1f} times".format(*beyond))


def test_e65_what_theorem_3_leaves():
    says(65, "Theorem 3 say 0.00070")  # worked out in test_errata.py
    facts = {"moment": tg.Moment(4.0, 64.0, kind="norm"), "row_limit": 2.0 * sqrt(8.0)}
    facts |= {"diameter": 2.0, "growth_constant": 0.5}

    def left(n_rows):
        theorem = tg.papers.xu2025.unknown_growth(n_rows, 8, tg.ZCDP(50.0), **facts)
        return theorem.predicted_excess(1.0)

    says(65, f"Algorithm 5 is planned to leave {left(4 * 10**6):.5f}")
    slope = log(left(10**8) / left(10**5)) / log(1_000.0)
    told = re.search(r"Theorem 3 stays at (-0\.\d+) up to 10⁸", erratum(65))
    assert float(told[1]) == pytest.approx(slope, abs=0.01)


def test_a_wrong_figure_is_seen():
    with pytest.raises(AssertionError):
        says(6, "add up to 0.734")
    assert Path(__file__).name not in PAGE
