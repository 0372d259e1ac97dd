"""Stages that only steer read a random sample of the records, where public numbers allow it."""

import numpy as np
import pytest

import tailguard as tg
from support.spy import run_over, spent_mu
from tailguard.gate import Gate
from tailguard.gate.plan import Plan, Problem
from tailguard.gate.stage import Stage
from tailguard.queries.histograms import Bins, ColumnHistograms
from tailguard.solvers.newton import allocation
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.schedule import STEERING, stages_for
from tailguard.solvers.newton.solver import WhitenedNewton
from tailguard.solvers.session import SAMPLE, SAMPLED, BudgetSession

LOSSES = {
    "squared": tg.losses.Squared(),
    "huber": tg.losses.Huber(1.345),
    "quantile": tg.losses.Quantile(0.5),
    "logistic": tg.losses.Logistic(),
    "poisson": tg.losses.Poisson(),
}
WEIGHTS = [0.6, -0.4, 0.0]
N_ROWS, SAMPLE_ROWS = 24_000, 6_000
every_loss = pytest.mark.parametrize("name", LOSSES)


@pytest.fixture
def small_samples(monkeypatch):
    """Let a sample of few records do."""
    monkeypatch.setattr(allocation, "SMALLEST_SAMPLE", SAMPLE_ROWS)


def data(name, constant=0.5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 3))
    score = constant + X @ WEIGHTS
    if name == "logistic":
        return X, (rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-score))).astype(float)
    if name == "poisson":
        return X, rng.poisson(np.exp(score)).astype(float)
    return X, score + 0.5 * rng.standard_normal(N_ROWS)


def run(name, X, y, *, seed=0):
    problem = Problem(LOSSES[name], *X.shape, True)
    return run_over(WhitenedNewton(), problem, X, y, tg.GDP(1.0), seed=seed)


@every_loss
@pytest.mark.parametrize(("n_rows", "mu", "sample"), [
    (1_000_000, 0.2, 100_000), (5_000_000, 0.2, 500_000), (300_000, 1.0, 100_000),
    (199_999, 1.0, 0), (1_000_000, 0.02, 0),
])  # fmt: skip
def test_public_numbers_say_which_stages_read_a_sample(name, n_rows, mu, sample):
    problem = Problem(LOSSES[name], n_rows, 50, True)
    shares = shares_for(problem, mu)
    stages = stages_for(problem, shares, mu)
    assert shares.sample == sample
    assert sum(stage.total_mu**2 for stage in stages) == pytest.approx(mu**2)
    sampled = {stage.name for stage in stages if stage.block_map == SAMPLE}
    early = {f"rounds of phase {phase + 1}" for phase in range(shares.early)}
    assert sampled == ((STEERING | early) & {stage.name for stage in stages} if sample else set())
    assert all(("of a random" in stage.purpose) == (stage.name in sampled) for stage in stages)
    rounds = [stage for stage in stages if stage.name.startswith("rounds of")]
    read_all = sum(stage.total_mu**2 for stage in rounds if stage.name not in sampled)
    assert read_all > 0.7 * sum(stage.total_mu**2 for stage in rounds)


@pytest.mark.parametrize(("n_persons", "max_rows", "mu", "sample"), [
    (1_000_000, 10, 0.2, 100_000), (100_000, 10, 0.25, 12_001), (100_000, 1, 1.0, 0),
    (19_999, 10, 1.0, 0), (20_000, 10, 1.0, 10_000), (24_001, 10, 0.25, 0),
    (24_002, 2**20, 0.25, 12_001), (19_999, 2**20, 9.0, 0), (20_000, 2**20, 9.0, 10_000),
    (10**6, 10, 1e-3, 0),
])  # fmt: skip
def test_of_persons_a_sample_counts_by_the_rows_that_they_may_have(n_persons, max_rows, mu, sample):
    problem = Problem(LOSSES["squared"], n_persons, 10, intercept=True, max_rows=max_rows)
    assert shares_for(problem, mu).sample == sample


@every_loss
def test_a_fit_with_a_sample_spends_its_plan_and_finds_the_coefficients(name, small_samples):
    X, y = data(name)
    solution, gate, plan = run(name, X, y)
    np.testing.assert_allclose(solution.coef, WEIGHTS, atol=0.06)
    certificate = gate.certificate()
    assert plan.settings[SAMPLED] == SAMPLE_ROWS
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)
    assert certificate.spent.mu == pytest.approx(spent_mu(gate.books))
    assert certificate.total.mu == pytest.approx(plan.total_mu)
    sampled = [release for release in gate.books.releases if release.block_map == SAMPLE]
    planned = [stage for stage in plan.stages if stage.block_map == SAMPLE]
    assert 8 < sum(release.times for release in sampled) <= sum(s.times for s in planned)


def test_where_events_are_rare_all_records_are_read_at_the_same_cost(small_samples):
    X, y = data("logistic", constant=-5.5)
    solution, gate, plan = run("logistic", X, y)
    releases = gate.books.releases
    maps = [release.block_map for release in releases]
    constant = [release.kind for release in releases].index("LevelGradients")
    assert SAMPLE in maps[:constant]
    assert SAMPLE not in maps[constant:]
    assert any("events are rare" in note for note in solution.notes)
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)


def test_counts_of_a_sample_stand_for_all_records():
    problem = Problem(tg.losses.Squared(), n_rows=400, n_features=1)
    stages = (Stage("some", "", 1.0, 1, 4, block_map=SAMPLE), Stage("all", "", 1.0, 1, 4))
    plan = Plan("example", problem, tg.GDP(1.5), stages, settings={SAMPLED: 100})
    gate = Gate.over(np.ones((400, 1)), guarantee=tg.GDP(1.5), random_state=0)
    gate.reserve(plan.event, coordinates=plan.coordinates)
    session, query = BudgetSession(plan, gate), ColumnHistograms((0,), Bins("linear", -2.0, 1.0, 4))
    for stage, noise, n_rows in zip(stages, (4.0, 1.0), (100, 400), strict=True):
        assert session.n_rows(stage) == n_rows
        state = (np.zeros(1), np.ones(1))
        counts, noise_std = session.histograms(query, state, stage)
        assert noise_std == pytest.approx(noise * np.sqrt(2.0))
        np.testing.assert_allclose(counts[0], [0, 0, 0, 400], atol=6.0 * noise_std)
    session.sample_dropped = True
    assert session.n_rows(stages[0]) == 400


def test_records_are_fitted_again_with_a_sample_of_its_own(small_samples):
    X, y = data("squared")
    problem = Problem(LOSSES["squared"], *X.shape, True)
    plan = WhitenedNewton().plan(problem, tg.GDP(1.0))
    gate = Gate.over(X, y, guarantee=tg.GDP(2.0), loss=LOSSES["squared"], random_state=0)
    for _ in range(2):
        gate.reserve(plan.event, coordinates=plan.coordinates)
        WhitenedNewton().run(plan, gate)
    maps = {release.block_map for release in gate.books.releases}
    assert maps == {None, SAMPLE, f"{SAMPLE} 2"}
    assert spent_mu(gate.books) <= 2.0**0.5 * (1 + 1e-9)
