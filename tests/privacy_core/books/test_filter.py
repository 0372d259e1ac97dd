"""The books against adversaries who choose each price in the light of earlier answers.

Everything is exact: the transcript of an adversary is compared, by hockey-stick divergences in both
directions, with what was reserved. An adversary who spends more where luck is good breaks that
bound, and is refused by the books.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import tailguard as tg
from support.count_below import CountBelow
from support.events import books_with
from support.stages import once
from tailguard.checks import BudgetError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.gaussian import delta_of
from tailguard.privacy.books.releases import Release
from tailguard.privacy.events import Gaussian, Laplace

MU, SHARE = 1.2, 0.7  # what is reserved in mu; what the first question costs
REST = math.sqrt(MU**2 - SHARE**2)
PURE = 0.6  # a Laplace release in mixed plans
GRID = np.linspace(-9.0, 10.0, 20_001)
STEP = GRID[1] - GRID[0]
EPSILONS = (0.05, 0.3, 0.8, 1.5, 3.0)
DENSITY = np.exp(-(GRID**2) / 2.0) / math.sqrt(2.0 * math.pi)


def gaussian_delta(mu, epsilon):
    """Delta of a Gaussian release at every epsilon, of either sign; mu may be zero."""
    safe = np.maximum(mu, 1e-12)
    found = ndtr(safe / 2 - epsilon / safe) - np.exp(epsilon) * ndtr(-safe / 2 - epsilon / safe)
    return np.where(np.asarray(mu) > 0.0, found, np.maximum(0.0, -np.expm1(epsilon)))


def laplace_delta(pure, epsilon, then=lambda left: np.maximum(0.0, -np.expm1(left))):
    """Delta of a Laplace release, and of what follows it at what is left of epsilon."""
    edge = np.linspace(-pure, pure, 301)
    weight = np.exp((edge - pure) / 2.0) / 4.0  # of the loss, between both of its atoms
    inside = np.trapezoid(weight * then(np.subtract.outer(epsilon, edge)), edge, axis=-1)
    return 0.5 * then(epsilon - pure) + 0.5 * math.exp(-pure) * then(epsilon + pure) + inside


def transcript_delta(epsilon, then, *, reverse=False):
    """Delta of a first Gaussian release at SHARE, and of ``then(answers, what is left)``."""
    away = -1.0 if reverse else 1.0
    loss = away * SHARE * GRID - SHARE**2 / 2.0  # of an answer, drawn from the second law
    left = epsilon - loss
    return float(np.sum(DENSITY * np.exp(loss) * then(GRID, left)) * STEP)


def policies():
    """How much of mu the second question costs, by the first answer; all within what is left."""
    yield "constant", lambda y: np.full(y.size, REST)
    yield "nothing", lambda y: np.zeros(y.size)
    for cut in (-1.0, 0.0, 0.35, 1.0, 2.0):
        yield f"above {cut}", lambda y, cut=cut: np.where(y > cut, REST, 0.0)
        yield f"below {cut}", lambda y, cut=cut: np.where(y < cut, REST, 0.1 * REST)
    yield "smooth", lambda y: REST * ndtr(2.0 * y)
    yield "often", lambda y: REST * np.abs(np.sin(3.0 * y))


POLICIES = dict(policies())
both_ways = pytest.mark.parametrize("reverse", [False, True])


@both_ways
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_gaussian_prices_may_be_chosen_on_the_way(policy, reverse):
    for epsilon in EPSILONS:
        delta = transcript_delta(
            epsilon, lambda y, left: gaussian_delta(policy(y), left), reverse=reverse
        )
        assert delta <= delta_of(MU, epsilon) + 1e-9


def test_to_spend_all_of_it_in_any_way_that_does_not_look_attains_the_bound():
    for epsilon in EPSILONS:
        delta = transcript_delta(epsilon, lambda y, left: gaussian_delta(REST, left))
        assert delta == pytest.approx(delta_of(MU, epsilon), abs=1e-8)


def test_to_spend_more_where_luck_is_good_breaks_the_bound():
    """Were the books to forget the first price after a lucky answer."""
    lucky = [
        transcript_delta(e, lambda y, left: gaussian_delta(np.where(y > 0.0, MU, 0.0), left))
        for e in EPSILONS
    ]
    assert any(delta > 1.05 * delta_of(MU, e) for delta, e in zip(lucky, EPSILONS, strict=True))


def gaussian(mu):
    return Release("count", "Count", "gaussian", "l2", sensitivity=1.0, noise_std=1.0 / mu)


def laplace(epsilon):
    scale = 1.0 / epsilon
    return Release(
        "count", "Count", "laplace", "l1", sensitivity=1.0, noise_std=scale * math.sqrt(2.0)
    )


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_books_grant_these_adversaries_what_they_ask_and_no_more(policy):
    for answer in (-2.0, 0.2, 3.0):
        second = float(policy(np.array([answer]))[0])
        books = books_with(Gaussian(MU))
        books.record(gaussian(SHARE))
        if second > 0.0:
            books.record(gaussian(second))
        beyond = math.sqrt(max(MU**2 - SHARE**2 - second**2, 0.0)) + 1e-4
        with pytest.raises(BudgetError, match="must be covered by the reserved budget"):
            books.record(gaussian(beyond))
        assert len(books.releases) == 1 + (second > 0.0)


MIXED = {
    "Laplace if lucky, else the rest": lambda y, left: np.where(
        y > 0.4, laplace_delta(PURE, left), gaussian_delta(REST, left)
    ),
    "the rest after a smaller Laplace": lambda y, left: laplace_delta(
        0.5 * PURE, left, lambda inner: gaussian_delta(REST, inner)
    ),
    "all of it, split by luck": lambda y, left: np.where(
        y > 0.0,
        laplace_delta(PURE, left, lambda inner: gaussian_delta(REST, inner)),
        laplace_delta(PURE, left, lambda inner: gaussian_delta(0.3, inner)),
    ),
}
FEWER = slice(None, None, 20)  # of the grid, where two integrals are nested


def mixed_delta(epsilon, then, *, reverse=False):
    """As above, on a coarser grid."""
    away = -1.0 if reverse else 1.0
    answers = GRID[FEWER]
    loss = away * SHARE * answers - SHARE**2 / 2.0
    terms = DENSITY[FEWER] * np.exp(loss) * then(answers, epsilon - loss)
    return float(np.sum(terms) * STEP * 20)


@both_ways
@pytest.mark.parametrize("then", MIXED.values(), ids=MIXED)
def test_so_may_the_order_in_which_releases_of_several_kinds_are_asked_for(then, reverse):
    for epsilon in EPSILONS:
        reserved = laplace_delta(PURE, epsilon, lambda left: gaussian_delta(MU, left))
        assert mixed_delta(epsilon, then, reverse=reverse) <= reserved + 1e-6


def test_a_second_laplace_release_is_refused_however_small_the_first_turned_out():
    books = books_with(Gaussian(MU), Laplace(PURE))
    books.record(gaussian(SHARE))
    books.record(laplace(0.5 * PURE))
    with pytest.raises(BudgetError):
        books.record(laplace(0.5 * PURE))
    books.record(gaussian(0.99 * REST))


def test_a_larger_laplace_release_than_was_reserved_is_refused_and_would_break_the_bound():
    with pytest.raises(BudgetError):
        books_with(Gaussian(MU), Laplace(PURE)).record(laplace(1.5 * PURE))
    epsilon = 1.5
    reserved = laplace_delta(PURE, epsilon, lambda left: gaussian_delta(SHARE, left))
    lucky = mixed_delta(
        epsilon, lambda y, left: np.where(y > 0.0, laplace_delta(2.0 * PURE, left), 0.0)
    )
    assert lucky > 1.05 * reserved


def test_an_adversary_at_the_gate_never_gets_beyond_what_was_reserved():
    """Prices follow the noise of the answer before, until the gate refuses."""
    rows = make_rows(np.zeros((50, 1)))
    for seed in range(20):
        gate = Gate(rows, guarantee=tg.GDP(MU), source=SimulationSource(seed))
        gate.reserve(Gaussian(MU))
        answers = asked_until_refused(gate)
        assert 1 <= len(answers) < 500
        assert MU - 0.6 < gate.certificate().spent.mu <= MU


def asked_until_refused(gate):
    """All answers of an adversary who asks for more where answers are high."""
    mu, answers = 0.3, []
    while True:
        try:
            answers.append(gate.ask(CountBelow(columns=(0,)), np.zeros(1), once(mu))[0])
        except BudgetError:
            return answers
        mu = 0.05 + 0.5 * float(ndtr((answers[-1] - 50.0) * mu))
