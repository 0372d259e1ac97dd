"""What a gate answers, books and refuses under a seed, call by call."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.known import outcome
from support.smooth import trimmed
from support.stages import of_sample, once, pure, smooth
from tailguard.gate import Gate
from tailguard.gate.run_books import RunBooks
from tailguard.noise.sources import SimulationSource, make_source
from tailguard.plans.stage import Stage
from tailguard.privacy.accounting.distance import COORDINATE_DISTANCE, Distance
from tailguard.privacy.books import Release
from tailguard.privacy.events import (
    Approximate,
    Composed,
    Gaussian,
    Laplace,
    Parallel,
    Repeated,
    Sampled,
    Shuffled,
    ZeroConcentrated,
)
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.counts import CountBelow
from tailguard.queries.units import Units

X = np.random.default_rng(0).standard_normal((60, 2))
COUNT, PAIRED = CountBelow(columns=(0, 1)), CountBelow(columns=(0,), paired=True)
MEAN = MeanClippedGradient(None, Units.raw(2, intercept=False), clip_norm=1.5)
ZERO = np.zeros(2)


WIDE = tg.ApproxDP(400.0, 1e-3)


def opened(event, guarantee=None, **options):
    guarantee = guarantee or tg.GDP(50.0)
    gate = Gate.over(X, X[:, 0], guarantee=guarantee, random_state=3, **options)
    gate.reserve(event, coordinates=40)
    return gate


def told(gate):
    return [*gate.books.releases], gate.books.reserved, gate.certificate().sampler_distance


@pytest.mark.parametrize("query", [COUNT, PAIRED, MEAN], ids=["count", "pairs", "mean"])
def test_answers(known, query):
    gate = opened(Repeated(Gaussian(2.0), 3))
    state = ZERO[:1] if query is PAIRED else ZERO
    answers = [gate.ask(query, state, once(2.0, name)) for name in ("first", "first", "")]
    known([answers, told(gate), outcome(gate.ask, query, state, once(1e-3))], rel=1e-9)


def test_pure_and_smooth_answers(known):
    gate = opened(Repeated(Laplace(0.5), 2), tg.PureDP(1.0))
    answers = [gate.ask(COUNT, ZERO, pure(0.5, "counts"))]
    example = trimmed("one", 60, 8, rho=3.0, units=Units.raw(2, intercept=False))
    other = opened(ZeroConcentrated(3.0), tg.ZCDP(3.0))
    answers.append(other.ask(example.query, ZERO, smooth(ZeroConcentrated(3.0), "trimmed")))
    known([answers, told(gate), told(other)], rel=1e-9)


def test_samples(known):
    gate = opened(Repeated(Sampled(1.0, 0.25), 3), WIDE)
    answers = [gate.ask(MEAN, ZERO, of_sample(1.0, 15, 60, "drawn")) for _ in range(2)]
    shares = (0.0, 0.004, 0.0084, 1.0, 1.009, 1.0084, -0.5, math.nan, None)
    stages = [Stage("", "", 0.1, 1, 1, sampled=share) for share in shares[:-1]]
    wide = opened(
        Composed((Repeated(Gaussian(0.1), 9), *(Sampled(0.1, r) for r in (0.1, 1 / 60)))), WIDE
    )
    known(
        [
            *(answers, told(gate)),
            [outcome(wide.ask, MEAN, ZERO, each) for each in stages],
            outcome(gate.ask, MEAN, ZERO, None),
            outcome(gate.ask, COUNT, ZERO, Stage("", "", 1.0, 1, 1, sampled=0.25)),
        ],
        rel=1e-9,
    )


def test_blocks(known):
    half = Parallel("halves", 0, Repeated(Gaussian(1.0), 2))
    inner = Parallel("halves", 1, Parallel("inner", 0, Gaussian(1.0)))
    gate = opened(Composed((half, inner, Shuffled(0.5, 4))), WIDE)
    halves = gate.partition("halves", 2)
    cut = gate.partition("inner", 3, within=halves[1])
    secret = gate.partition("secret", 4, amplified=True)
    answers = [
        gate.ask(MEAN, ZERO, once(1.0, "a"), block=halves[0]),
        gate.ask_each(MEAN, ZERO, once(1.0, "b"), blocks=halves),
        gate.ask(MEAN, ZERO, once(1.0), block=cut[2]),
        gate.ask_each(MEAN, ZERO, once(0.5), blocks=secret),
    ]
    odd = gate.partition("odd", sizes=(20, 10))
    example = trimmed("one", 15, 2, rho=3.0, units=Units.raw(2, intercept=False))
    refused = [
        *(outcome(gate.partition, name, 2) for name in ("halves", "", None, 3)),
        *(outcome(gate.partition, "more", n) for n in (0, 61, 1.5, None)),
        outcome(gate.partition, "more", sizes=(61,)),
        outcome(gate.partition, "more", sizes=(3, 4), equal_sizes=True),
        outcome(gate.partition, "more", sizes=(3, 4), amplified=True),
        outcome(gate.ask_each, MEAN, ZERO, once(0.1), blocks=odd),
        outcome(gate.ask, MEAN, ZERO, of_sample(0.1, 15, 60), block=halves[0]),
        outcome(gate.ask_each, MEAN, ZERO, of_sample(0.1, 15, 60), blocks=halves),
        outcome(gate.ask, MEAN, ZERO, once(1.0), block=3),
        outcome(gate.ask, example.query, ZERO, smooth(example.event), block=secret[0]),
        outcome(gate.ask, COUNT, ZERO, pure(0.1), block=secret[0]),
        outcome(gate.ask, MEAN, ZERO, once(1.0), block=opened(half).partition("other", 2)[0]),
    ]
    sizes = [
        gate.partition(f"cut {n} {e}", n, equal_sizes=bool(e)).sizes
        for n in (7, 60)
        for e in (0, 1)
    ]
    names = [gate.has_partition(name) for name in ("halves", "more", "odd")]
    known([answers, told(gate), refused, sizes, names], rel=1e-9)


def test_the_ends_of_a_promise(known):
    guarantees = (tg.GDP(1.0), tg.ZCDP(0.5), tg.PureDP(1.0), tg.ApproxDP(1.0, 1e-6))
    events = [Gaussian(1.0), Gaussian(math.nextafter(1.0, 2.0)), Laplace(1.0),
              Laplace(math.nextafter(1.0, 2.0)), Approximate(0.5, 1e-7)]  # fmt: skip
    found = []
    for guarantee in guarantees:
        for event in events:
            books = RunBooks(guarantee, SimulationSource(1))
            found.append(outcome(books.reserve, event, 3, {}))
    largest = tg.ApproxDP(1.0, 1e-6).gaussian_mu()
    for coordinates in (0, 10**6, 10**11, 10**13):
        books = RunBooks(guarantees[3], SimulationSource(1))
        found.append(outcome(books.reserve, Gaussian(largest * (1 - 1e-9)), coordinates, {}))
    known(found)


def test_numbers_beyond_those_that_were_reserved(known):
    release = Release("mean", "Mean", "gaussian", "l2", 1.0, 4.0)
    far = COORDINATE_DISTANCE
    worse = [Distance(2.0 * far.log_ratio, 0.0), Distance(0.0, 2.0 * far.variation)]
    found = []
    for guarantee in (tg.ApproxDP(8.0, 1e-6), tg.GDP(8.0)):
        for size, distance in ((2, far.times(2)), (3, far), (2, far), *((1, w) for w in worse)):
            books = RunBooks(guarantee, SimulationSource(1))
            books.reserve(Repeated(Gaussian(0.25), 3), 1, {})
            books.reserve(Gaussian(0.25), 1, {})
            first = outcome(books.record, release, size, distance)
            second = outcome(books.record, release, 1, far)
            found.append([first, second, books.distance, len(books.own.releases)])
    books = RunBooks(tg.GDP(1.0), SimulationSource(1))
    found += [outcome(books.reserve, Gaussian(0.1), bad, {}) for bad in (-1, 1.5, None)]
    found += [books.entries, books.has_checkpoint]
    known(found)


def test_who_may_be_charged(known):
    class Bare:
        def opened(self, run):
            return run

    private, seeded = make_source(None), SimulationSource(1)
    known(
        [
            *(outcome(RunBooks, tg.GDP(1.0), private, bad) for bad in (3, "budget", Bare)),
            outcome(RunBooks, tg.GDP(1.0), seeded, Bare()),
            outcome(RunBooks, tg.GDP(1.0), private, Bare(), "file"),
        ]
    )
    books = RunBooks(tg.GDP(1.0), private, Bare())
    assert len(books._namespace) == 16


def test_tables_and_certificates(known):
    gate = opened(Gaussian(1.0), tg.ApproxDP(8.0, 1e-6))
    certificate = gate.certificate(assumptions=("finite moments",))
    known([gate.n_rows, gate.n_features, gate.has_checkpoint, certificate.mode,
           certificate.assumptions_for_accuracy, certificate.planned, certificate.n_rows,
           [*certificate.ledger_entries]])  # fmt: skip
    private = Gate.over(X, guarantee=tg.GDP(1.0))
    assert private.certificate().mode == "private"
    with pytest.raises(tg.InputError):
        Gate.over(X, guarantee=tg.GDP(1.0), loss=object())


def test_rows_that_are_told_apart_by_identifiers(known):
    """The order of rows decides nothing: their identifiers do, under a key of the seed."""
    names, order = [f"row {n}" for n in range(60)], np.random.default_rng(1).permutation(60)
    found = []
    for places in (np.arange(60), order):
        gate = Gate.over(X[places], guarantee=tg.GDP(50.0), random_state=3,
                         row_ids=[names[place] for place in places])  # fmt: skip
        gate.reserve(Gaussian(2.0), coordinates=2)
        found.append(gate.ask(PAIRED, ZERO[:1], once(2.0)))
    np.testing.assert_array_equal(*found)
    known(found[0], rel=1e-9)
