"""Questions to fresh samples: secret, of fixed size, booked with what their price follows from."""

import json

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from scipy.stats import binom, norm

import tailguard as tg
from support.sources import QuietSource
from support.stages import of_sample, once
from tailguard.checks import BudgetError, InputError, QueryError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.noise.sources import CryptographicSource, SimulationSource
from tailguard.privacy.books.releases import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Repeated, Sampled
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.units import Units

N_ROWS, DRAWN = 100, 20
X = np.random.default_rng(0).standard_normal((N_ROWS, 2))
MEAN = MeanClippedGradient(None, Units.raw(2, intercept=False), row_limit=2.0, slope_limit=1.0)
ZERO = np.zeros(2)
PROMISE = tg.ApproxDP(20.0, 1e-6)


def gate_over(data=X, *, mu=0.5, times=10, source=None, n_rows=DRAWN, **facts):
    gate = Gate(make_rows(data), guarantee=PROMISE, source=source or SimulationSource(1), **facts)
    event = Repeated(Sampled(mu, n_rows / len(data)), times)
    gate.reserve(event, coordinates=4 * times)
    return gate


def answers(data, times=200):
    gate = gate_over(data, mu=0.1, times=times)
    return np.array([gate.ask(MEAN, ZERO, of_sample(0.1, DRAWN, N_ROWS)) for _ in range(times)])


def test_a_replaced_record_changes_the_answers_whose_samples_have_it_and_no_others():
    changed = X.copy()
    changed[7] = 1e6
    moved = int((answers(X) != answers(changed)).any(axis=1).sum())
    low, high = binom.ppf([1e-6, 1.0 - 1e-6], 200, DRAWN / N_ROWS)
    assert low <= moved <= high


def test_noise_and_division_follow_the_size_of_the_sample():
    gate = gate_over(np.ones((N_ROWS, 2)), source=QuietSource())
    assert gate.ask(MEAN, ZERO, of_sample(0.5, DRAWN, N_ROWS)) == pytest.approx([1.0, 1.0])
    (release,) = gate.books.releases
    assert release.noise_std == MEAN.calibrate(DRAWN, 2, 0.5).noise_std


def test_the_books_say_how_many_were_drawn_and_not_which():
    gate = gate_over()
    for _ in range(3):
        gate.ask(MEAN, ZERO, of_sample(0.5, DRAWN, N_ROWS, "rounds"))
    (release,) = gate.books.releases
    assert (release.mechanism, release.times, release.block_map) == ("sampled-gaussian", 3, None)
    assert release.stage == "rounds"
    assert release.parameters["sample_rows"] == DRAWN
    assert release.parameters["of_rows"] == N_ROWS
    assert all(isinstance(value, int | float | str) for value in release.parameters.values())
    event = release.event()
    assert (event.times, event.event.rate) == (3, 0.2)
    assert event.event.mu == pytest.approx(0.5, rel=1e-9)
    page = " ".join(str(gate.certificate()).split())
    assert "20 of 100 records, drawn afresh" in page
    assert "Balle, Barthe and Gaboardi 2018" in page


def test_every_question_draws_a_sample_of_its_own():
    def drawn(gate):
        return [tuple(gate._sample(DRAWN)._records.features[:, 0]) for _ in range(3)]

    assert len(set(drawn(gate_over(source=CryptographicSource())))) == 3
    assert drawn(gate_over()) == drawn(gate_over())


@pytest.mark.parametrize(
    ("mu", "n_rows"), [(0.5, DRAWN), (0.51, DRAWN), (0.5, DRAWN + 1), (0.5, N_ROWS)]
)
def test_what_was_not_reserved_is_refused_before_anything_is_drawn(mu, n_rows):
    gate = gate_over(times=2)
    for _ in range(2 if (mu, n_rows) == (0.5, DRAWN) else 1):
        gate.ask(MEAN, ZERO, of_sample(0.5, DRAWN, N_ROWS))
    booked = gate.books.releases
    gate._source = None  # nothing may be drawn
    with pytest.raises(BudgetError, match="reserved budget"):
        gate.ask(MEAN, ZERO, of_sample(mu, n_rows, N_ROWS))
    with pytest.raises(BudgetError, match="reserved budget"):
        gate.ask(MEAN, ZERO, once(0.5))
    assert gate.books.releases == booked


@pytest.mark.parametrize("n_rows", [0, N_ROWS + 1, -3, np.nan])
def test_samples_that_cannot_be(n_rows):
    with pytest.raises(InputError, match="sampled"):
        gate_over().ask(MEAN, ZERO, of_sample(0.5, n_rows, N_ROWS))


def test_only_gaussian_noise_is_priced_by_samples():
    peeled = PeeledStep(tg.losses.Squared(), MEAN.units, threshold=4.0, step_size=0.5, n_nonzero=1)
    gate = gate_over()
    with pytest.raises(InputError, match="Gaussian noise"):
        gate.ask(peeled, ZERO, of_sample(0.5, DRAWN, N_ROWS))
    assert not gate.books.releases


def test_a_query_cannot_claim_a_sample_in_its_own_words():
    class Boasting(MeanClippedGradient):
        def parameters(self):
            return {**super().parameters(), "sample_rows": 1, "of_rows": 1_000_000}

    boasting = Boasting(None, MEAN.units, row_limit=2.0, slope_limit=1.0)
    for stage in (once(0.5), of_sample(0.5, DRAWN, N_ROWS)):
        with pytest.raises(QueryError, match="query must be one of"):
            gate_over().ask(boasting, ZERO, stage)


@pytest.mark.parametrize(
    "parameters", [{}, {"sample_rows": 3}, {"sample_rows": 4, "of_rows": 3}, {"of_rows": 3}]
)
def test_a_release_without_its_sizes_has_no_price(parameters):
    numbers = {"sensitivity": 1.0, "noise_std": 2.0, "parameters": parameters}
    release = Release("step", "Mean", "sampled-gaussian", "l2", **numbers)
    with pytest.raises(InputError, match="_rows must be"):
        release.event()


def test_the_answer_has_the_same_bits_for_any_number_of_threads(monkeypatch):
    data = np.random.default_rng(1).standard_normal((30_000, 60))
    query = MeanClippedGradient(None, Units.raw(60, intercept=False), 2.0, 1.0)
    found = []
    for n_threads in ("1", "3"):
        monkeypatch.setenv("TAILGUARD_NUM_THREADS", n_threads)
        gate = Gate(make_rows(data), guarantee=PROMISE, source=SimulationSource(3))
        gate.reserve(Sampled(0.5, 2 / 3))
        found.append(gate.ask(query, np.zeros(60), of_sample(0.5, 20_000, 30_000)))
    np.testing.assert_array_equal(*found)


def test_hostile_records_are_drawn_like_all_others():
    bad = X.copy()
    bad[::2], bad[1::4] = np.nan, 1e308
    gate = gate_over(bad)
    assert np.isfinite(gate.ask(MEAN, ZERO, of_sample(0.5, DRAWN, N_ROWS))).all()


def recomputed_epsilon(release, times, delta):
    """Epsilon from a release's numbers by dp-accounting and the textbook formula.

    Delta of the pair at every epsilon, in both orders, on a grid; then convolution.
    """
    mu = release["sensitivity"] / release["noise_std"]
    rate = release["parameters"]["sample_rows"] / release["parameters"]["of_rows"]
    step = 2e-4
    e = step * np.arange(60_000)
    inner = np.log(1.0 + np.expm1(e) / rate)
    inside = norm.cdf(mu / 2 - inner / mu) - np.exp(inner + norm.logcdf(-mu / 2 - inner / mu))
    ahead = rate * np.maximum(inside, 0.0)
    last = int(np.argmax(ahead < 1e-18))  # what is left there counts as an infinite loss
    e, ahead = e[: last + 1], ahead[: last + 1]
    back = 1.0 - np.exp(-e) + np.exp(-e) * ahead
    curve = np.minimum.accumulate(np.append(back[:0:-1], ahead))
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -last, last, curve)
    return PrivacyLossDistribution(pmf).self_compose(times).get_epsilon_for_delta(delta)


@pytest.mark.long
@pytest.mark.parametrize(("mu", "n_rows", "times"), [(0.5, 5, 40), (1.5, 2, 12), (0.3, 50, 6)])
def test_certificates_can_be_recomputed_from_their_releases(mu, n_rows, times):
    gate = gate_over(mu=mu, n_rows=n_rows, times=times)
    for _ in range(times):
        gate.ask(MEAN, ZERO, of_sample(mu, n_rows, N_ROWS))
    certificate = gate.certificate()
    read = json.loads(certificate.to_json())
    (release,) = read["releases"]
    assert release["times"] == times
    assert release["parameters"]["of_rows"] == read["n_rows"]
    theirs = recomputed_epsilon(release, times, PROMISE.delta)
    assert certificate.spent.epsilon == pytest.approx(theirs, rel=1e-3)
    assert certificate.total.epsilon == pytest.approx(theirs, rel=1e-3)
    assert Certificate.from_dict(read).spent == certificate.spent


def test_no_sample_is_drawn_of_a_block():
    gate = gate_over()
    blocks = gate.partition("halves", 2)
    with pytest.raises(InputError, match="block must be None where a stage draws samples"):
        gate.ask(MEAN, ZERO, of_sample(0.5, DRAWN, N_ROWS), block=blocks[0])
    with pytest.raises(InputError, match="block must be None where a stage draws samples"):
        gate.ask(MEAN, ZERO, of_sample(0.5, DRAWN, N_ROWS), blocks=blocks)
    assert not gate.books.releases
