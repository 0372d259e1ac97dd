"""Caps: many runs together keep what was promised."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as package
from scipy.stats import norm

import tailguard as tg
from tailguard.checks import BudgetError, InputError
from tailguard.ledger.cap import Cap, Charge, Filter, filters_of, price
from tailguard.ledger.charges import charges_of
from tailguard.privacy.accounting.accountant import PureAccountant
from tailguard.privacy.accounting.cover import covering_mu
from tailguard.privacy.accounting.gaussian import GdpAccountant, delta_of
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.accounting.zcdp import ZcdpAccountant
from tailguard.privacy.books import Release
from tailguard.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Nothing,
    Pure,
    Repeated,
    Sampled,
    ZeroConcentrated,
)

DELTA = 1e-6
RNG = np.random.default_rng(0)
X = RNG.standard_normal((20_000, 3))
Y = X @ [1.0, -1.0, 0.5] + RNG.standard_t(3, 20_000)


def mixed_fits(ledger):
    """Fit twenty times: regressions with Gaussian noise, and pure means with Laplace noise."""
    gaussian = {"epsilon": 0.5, "delta": DELTA, "ledger": ledger}
    for number in range(10):
        kind = (tg.LinearRegression, tg.HuberRegression, tg.QuantileRegression)[number % 3]
        yield kind(**gaussian).fit(X, Y).certificate_
    for _ in range(4):
        yield tg.mean(X, **gaussian).certificate
    for _ in range(6):
        pure = tg.PureDP(0.1)
        yield tg.mean(X, guarantee=pure, method="soft", threshold=5.0, ledger=ledger).certificate


def by_the_peer(events, step=1e-4):
    """Convolve the losses of single Gaussian and Laplace releases, one by one, at the package."""
    gaussian, others = 0.0, []
    for event in events:
        match event:
            case Composed(events=parts):
                total, rest = by_leaves(parts)
                gaussian, others = gaussian + total, others + rest
            case _:
                raise AssertionError(event)
    losses = package.from_gaussian_mechanism(
        1.0 / math.sqrt(gaussian), value_discretization_interval=step
    )
    for share in others:
        losses = losses.compose(
            package.from_laplace_mechanism(1.0 / share, value_discretization_interval=step)
        )
    return losses.get_epsilon_for_delta(DELTA)


def by_leaves(events):
    """Add up squares of mu, and list the epsilons of Laplace noise; blocks are not among them."""
    gaussian, others = 0.0, []
    for event in events:
        match event:
            case Gaussian(mu=mu):
                gaussian += mu**2
            case Laplace(epsilon=epsilon):
                others.append(epsilon)
            case Repeated(event=part, times=times):
                total, rest = by_leaves([part])
                gaussian, others = gaussian + times * total, others + times * rest
            case Composed(events=parts):
                total, rest = by_leaves(parts)
                gaussian, others = gaussian + total, others + rest
            case Nothing():
                pass
            case _:
                raise AssertionError(event)
    return gaussian, others


@pytest.mark.long
def test_twenty_mixed_fits_cost_far_less_than_their_epsilons_added_up(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=20.0, delta=DELTA)
    fits = list(mixed_fits(ledger))
    added = sum(fit.guarantee.epsilon for fit in fits)
    total = ledger.total()
    assert len(fits) == 20
    assert total.epsilon <= added / 3
    assert total.accountant == "pld"
    peer = by_the_peer([ledger.reserved])
    assert total.epsilon == pytest.approx(peer, rel=1e-3)
    page = " ".join((Path(__file__).parents[2] / "docs/ledger-rules.md").read_text().split())
    said = f"epsilons add up to {added:.1f}, cost {total.epsilon:.2f} together at delta 1e-6"
    assert said in page


def test_gaussian_runs_are_counted_exactly(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", epsilon=2.0, delta=DELTA)
    mu = ledger.cap.gaussian_mu() / math.sqrt(20)
    for number in range(20):
        # a hundredth of delta is kept for events that may fail
        ledger.charge(Gaussian(mu * (1 - 1e-3)), key=str(number))
    assert ledger.total().epsilon == pytest.approx(2.0, rel=2e-3)
    with pytest.raises(BudgetError):
        ledger.charge(Gaussian(mu), key="more")


LEAVES: list[Event] = [
    Gaussian(0.2),
    Laplace(0.15),
    Pure(0.1),
    BoundedRange(0.3),
    Approximate(0.1, 1e-10),
    ZeroConcentrated(0.002),
]


@pytest.mark.parametrize(
    "cap", [tg.ApproxDP(1.0, DELTA), tg.GDP(0.5), tg.ZCDP(0.05), tg.PureDP(1.0)], ids=str
)
def test_whatever_is_admitted_keeps_the_cap_by_every_accountant(cap):
    rng = np.random.default_rng(1)
    held = Cap(cap)
    charged = [held.charge(leaf) for leaf in LEAVES]
    for _ in range(20):
        charges = ()
        for place in rng.integers(len(LEAVES), size=30):
            asked = (*charges, charged[place])
            charges = asked if held.admits(asked) else charges
        if charges:
            assert satisfies(Composed([each.event for each in charges]), cap)
            assert not held.admits((*charges, Charge(Gaussian(5.0))))


def delta_of_branches(first, branches, epsilon):
    """Delta of randomised response at ``first``, and then of a branch that its answer chooses.

    Computed from the probabilities of outcomes: a branch is a list of pairs of them.
    """
    yes = 1.0 / (1.0 + math.exp(-first))
    told = ((yes, 1.0 - yes), (1.0 - yes, yes))
    return sum(
        max(0.0, p * a - math.exp(epsilon) * q * b)
        for (p, q), branch in zip(told, branches, strict=True)
        for a, b in branch
    )


def test_totals_after_the_fact_are_no_filter_and_are_not_used_as_one():
    """A strategy every history of which costs (1, 1e-2) in the end, and that costs more.

    After one answer it takes a release of bounded loss, after the other one that may fail. So a
    ledger that added up what is listed, by whichever accountant, would lie.
    """
    cap, first = tg.ApproxDP(1.0, 1e-2), 0.8
    grid = np.linspace(-12.0, 12.0, 4_001)
    step = grid[1] - grid[0]

    def gaussian(mu):
        return list(zip(norm.pdf(grid, mu) * step, norm.pdf(grid) * step, strict=True))

    def failing(share, failure):
        yes = (1.0 - failure) / (1.0 + math.exp(-share))
        no = 1.0 - failure - yes
        return [(failure, 0.0), (yes, no), (no, yes), (0.0, failure)]

    def largest(branch_of):
        low, high = 1e-6, 5.0
        for _ in range(40):
            middle = (low + high) / 2
            same = [branch_of(middle)] * 2
            low, high = (
                (middle, high)
                if delta_of_branches(first, same, cap.epsilon) <= cap.delta
                else (low, middle)
            )
        return low

    mu = largest(gaussian)
    share = largest(lambda share: failing(share, 0.5 * cap.delta))
    chosen = [failing(share, 0.5 * cap.delta), gaussian(mu)]
    other = chosen[::-1]
    worst = max(delta_of_branches(first, each, cap.epsilon) for each in (chosen, other))
    assert worst > 1.05 * cap.delta
    held = Cap(cap)
    admitted = [
        held.admits((Charge(Pure(first)), Charge(other)))
        for other in (Gaussian(mu), Approximate(share, 0.5 * cap.delta))
    ]
    assert not all(admitted)


def test_what_is_no_promise_is_no_cap():
    with pytest.raises(InputError, match="guarantee must be an ApproxDP, PureDP, ZCDP or GDP"):
        Cap(0.5)


def test_what_is_kept_for_failures_is_taken_off_delta():
    cap = tg.ApproxDP(1.0, DELTA)
    counted = filters_of(cap)[1]
    by_noise = delta_of(math.sqrt(counted.limit), cap.epsilon)
    assert counted.failure > 0
    assert by_noise + float(counted.failure) <= cap.delta * (1 + 1e-9)


def test_a_filter_counts_failures_apart():
    kept = Filter(PureAccountant, limit=price(PureAccountant, Charge(Pure(1.0)))[0])
    assert kept.admits([Charge(Pure(0.5))] * 2)
    assert not kept.admits([Charge(Approximate(0.5, 1e-9))])
    assert price(GdpAccountant, Charge(Sampled(0.5, 0.1))) is None


def test_a_cover_costs_the_square_of_its_mu_and_its_failure():
    charge = Charge(ZeroConcentrated(0.02), cover=(0.25, 2.0**-40))
    assert price(GdpAccountant, charge) == (Fraction(1, 16), Fraction(1, 2**40))


def test_a_cover_that_was_written_down_agrees_with_one_a_thousandth_smaller():
    cap = Cap(tg.ApproxDP(1.0, 1e-6))
    mu, missed = cap.charge(ZeroConcentrated(0.01)).cover
    near = [(0.9991, 1.0), (0.9989, 1.0), (1.0, 0.9991), (1.0, 0.9989), (2.0, 2.0)]
    charges = [Charge(ZeroConcentrated(0.01), (a * mu, b * missed)) for a, b in near]
    assert [cap.agrees(each) for each in charges] == [True, False, True, False, True]
    assert not cap.agrees(Charge(ZeroConcentrated(0.01)))
    assert not cap.agrees(Charge(Gaussian(0.1), (0.1, 1e-9)))
    assert cap.agrees(Charge(Gaussian(0.1)))


def test_gaussian_sums_beside_a_cover_are_priced_by_themselves():
    """And not dearer than all of it at one cover would be, but for a hundredth."""
    cap, gaussian, other = Cap(tg.ApproxDP(4.0, DELTA)), 0.08, ZeroConcentrated(0.02)
    apart = cap.charge(other)
    charge = cap.charge(Composed((Repeated(Gaussian(gaussian), 3), other)))
    assert charge.cover == apart.cover
    cost, failure = price(GdpAccountant, charge)
    assert cost == 3 * Fraction(gaussian) ** 2 + Fraction(apart.cover[0]) ** 2
    assert failure == Fraction(apart.cover[1])
    at_once, _ = covering_mu(charge.event)
    assert 0.95 < math.sqrt(cost) / at_once < 1.02
    assert cap.agrees(charge)


def delta_by_strategy(first, ends, epsilon):
    """Delta of a Gaussian count at ``first`` and of the worst of two ends, for each answer."""
    answer = np.linspace(-9.0, 9.0, 200_001)
    left = epsilon - (first * answer - first**2 / 2.0)
    worst = np.max([delta_of_gaussian(mu, left) for mu in ends], axis=0)
    return float((norm.pdf(answer - first) * worst).sum() * (answer[1] - answer[0]))


def delta_of_gaussian(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def test_what_is_given_back_may_be_spent_by_any_strategy():
    """Whatever a count says, a run that goes on and another one after it keep the filter."""
    cap = tg.ApproxDP(1.0, DELTA)
    limit = math.sqrt(filters_of(cap)[1].limit)
    for count in (0.02, 0.1, 0.2):
        rest = math.sqrt(limit**2 - count**2)
        told = delta_by_strategy(count, (rest, rest / 2), cap.epsilon)
        assert told <= delta_of(limit, cap.epsilon) * (1 + 1e-6)
        assert told > 0.98 * delta_of(limit, cap.epsilon)


@pytest.mark.parametrize("seed", range(5))
def test_interleaved_runs_never_release_more_than_the_cap(tmp_path, seed):
    """Random runs that reserve, release and end early or late, several at one time."""
    rng, limit = np.random.default_rng(seed), 64
    unit = Release("count", "Count", "gaussian", "l2", sensitivity=2.0**-6, noise_std=1.0)
    ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.ZCDP(limit * 2.0**-13))
    released, counted, runs = 0, 0, {}
    for number in range(200):
        if len(runs) < 4 and rng.random() < 0.4:
            size, run = int(rng.integers(1, 24)), ledger.opened(f"{number}")
            try:
                run.reserve(Repeated(Gaussian(2.0**-6), size))
            except BudgetError:
                assert counted + size > limit
                continue
            counted += size
            runs[run] = [size, 0]
        elif runs:
            run = list(runs)[rng.integers(len(runs))]
            size, spent = runs[run]
            if spent < size and rng.random() < 0.9:
                run.record(unit)
                runs[run][1], released = spent + 1, released + 1
            else:
                early = bool(rng.random() < 0.8)
                run.settle(stopped_early=early)
                counted -= size - spent if early else 0
                del runs[run]
        assert released <= counted <= limit
    assert released > limit // 2
    ledger.verify()
    assert sum(price(ZcdpAccountant, each)[0] for each in charges_of(ledger.lines())) == (
        counted * Fraction(2) ** -13
    )
