"""Descent over every oracle and schedule: the books, the recursion, and what is refused."""

import numpy as np
import pytest

import tailguard as tg
from support.oracles import wide_oracle
from support.spy import GENEROUS, run_over
from tailguard.gate.plan import Problem
from tailguard.solvers.descent import Batches
from tailguard.solvers.noisy_gradient_descent import NoisyGradientDescent, bisect
from tailguard.solvers.oracles import ORACLES, SMOOTH_ORACLES, make_oracle

N_ROWS, N_STEPS, STEP = 120, 6, 0.2
ANY = sorted({*ORACLES} - {*SMOOTH_ORACLES})  # the smooth one always trims
every_oracle = pytest.mark.parametrize("name", ANY)
every_schedule = pytest.mark.parametrize(
    ("schedule", "n_batches"), [("full", None), ("disjoint", None), ("shuffled", 3)]
)


def regression(n_rows=N_ROWS):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, 3))
    return X, X @ np.array([0.5, -0.25, 0.1]) + 0.1 * rng.standard_normal(n_rows)


def problem_of(n_rows=N_ROWS, loss=None):
    return Problem(loss or tg.losses.Squared(), n_rows, 3, constraint=tg.sets.L2Ball(2.0))


def run(solver, guarantee, *, seed=None, n_rows=N_ROWS):
    return run_over(solver, problem_of(n_rows), *regression(n_rows), guarantee, seed=seed)


def solver_with(name, schedule="full", n_batches=None, **options):
    return NoisyGradientDescent(
        N_STEPS,
        oracle=wide_oracle(name, 1e3),
        step_size=STEP,
        schedule=schedule,
        n_batches=n_batches,
        **options,
    )


@every_oracle
@every_schedule
@pytest.mark.parametrize("guarantee", [tg.ApproxDP(0.2, 1e-5), tg.GDP(0.3)])
def test_what_is_spent_is_what_was_planned(name, schedule, n_batches, guarantee):
    solver = solver_with(name, schedule, n_batches)
    _, gate, plan = run(solver, guarantee, seed=1)
    assert sum(release.times for release in gate.books.releases) == N_STEPS
    certificate = gate.certificate()
    if isinstance(guarantee, tg.ApproxDP):
        assert certificate.spent.epsilon == pytest.approx(certificate.total.epsilon, rel=1e-6)
        assert 0.98 * guarantee.epsilon <= certificate.total.epsilon <= guarantee.epsilon
    else:
        assert plan.total_mu == pytest.approx(guarantee.mu, rel=1e-6)


TAIL = (0.0,) * (N_STEPS // 2) + (1.0,) * (N_STEPS - N_STEPS // 2)  # what is averaged by default


def unbounded_recursion(batches, weights=TAIL, sizes=(STEP,) * N_STEPS):
    """Plain projected descent on mean squared loss, written out."""
    w, points = np.zeros(3), []
    for (X, y), size in zip(batches, sizes, strict=True):
        w = w - size * ((X @ w - y)[:, None] * X).mean(axis=0)
        w = w * min(1.0, 2.0 / max(np.linalg.norm(w), 1e-300))
        points.append(w)
    return np.average(points, axis=0, weights=weights)


@every_oracle
def test_without_noise_and_bounds_it_is_projected_descent(name):
    found, *_ = run(solver_with(name), GENEROUS)
    expected = unbounded_recursion([regression()] * N_STEPS)
    np.testing.assert_allclose(found.coef, expected, atol=1e-9)


@every_oracle
def test_without_noise_every_disjoint_step_sees_its_own_records(name):
    """A quiet source leaves the order of records, so that the blocks are known."""
    found, *_ = run(solver_with(name, "disjoint"), GENEROUS)
    X, y = regression()
    blocks = [(X[i : i + 20], y[i : i + 20]) for i in range(0, N_ROWS, 20)]
    expected = unbounded_recursion(blocks)
    np.testing.assert_allclose(found.coef, expected, atol=1e-9)


@every_oracle
def test_without_noise_every_shuffled_pass_goes_through_all_batches(name):
    found, *_ = run(solver_with(name, "shuffled", 3), GENEROUS)
    X, y = regression()
    batches = [(X[i : i + 40], y[i : i + 40]) for i in range(0, N_ROWS, 40)]
    expected = unbounded_recursion(batches * 2)
    np.testing.assert_allclose(found.coef, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "weights", "sizes"),
    [
        ({"iterate": "last"}, (0,) * 5 + (1,), (STEP,) * 6),
        ({"iterate": "weighted"}, (1, 2, 3, 4, 5, 6), (STEP,) * 6),
        ({}, (0, 0, 0, 1, 1, 1), (STEP,) * 6),
        ({"iterate": "average"}, (1,) * 6, (STEP,) * 6),
        (
            {"iterate": "average", "decay": "root"},
            (1,) * 6,
            tuple(STEP / np.sqrt(t) for t in range(1, 7)),
        ),
    ],
)
def test_iterates_and_decays(options, weights, sizes):
    found, *_ = run(solver_with("clipped", **options), GENEROUS)
    expected = unbounded_recursion([regression()] * N_STEPS, weights, sizes)
    np.testing.assert_allclose(found.coef, expected, atol=1e-9)


def test_disjoint_steps_may_spend_everything_and_full_ones_share_it():
    problem = problem_of(1200)
    stages = {
        schedule: solver_with("clipped", schedule).plan(problem, tg.GDP(1.0)).stage("descent")
        for schedule in ("full", "disjoint")
    }
    assert stages["disjoint"].mu == pytest.approx(1.0)
    assert stages["full"].mu == pytest.approx(1.0 / np.sqrt(N_STEPS))


def test_many_secret_batches_cost_less_than_their_parts():
    guarantee = tg.ApproxDP(0.2, 1e-6)
    shuffled = Batches("shuffled", n_steps=400).stage(guarantee, 0.0, 40_000, 3)
    assert shuffled.shuffled
    assert shuffled.mu > 1.5 * guarantee.gaussian_mu()
    assert not Batches("shuffled", n_steps=400).stage(tg.GDP(0.1), 0.0, 40_000, 3).shuffled


def test_spent_counts_passes():
    guarantee = tg.GDP(1.0)
    *_, plan = run(solver_with("clipped", "shuffled", 3), guarantee, seed=1)
    assert plan.stage("descent").times == 2
    assert plan.stage("descent").mu == pytest.approx(1.0 / np.sqrt(2.0))
    assert plan.total_mu == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: make_oracle("median"), "oracle must be"),
        (lambda: make_oracle("clamped", limit=1.0), "takes threshold and n_groups; got limit"),
        (lambda: make_oracle("clamped", threshold=1.0), "needs threshold and n_groups"),
        (lambda: make_oracle("clamped", threshold=-1.0, n_groups=2), "threshold must be"),
        (lambda: make_oracle("clipped"), "needs a finite bound among row_limit, slope_limit and"),
        (lambda: NoisyGradientDescent(schedule="random"), "schedule must be"),
        (lambda: NoisyGradientDescent(10, schedule="shuffled", n_batches=3), "must divide"),
        (lambda: NoisyGradientDescent(10, n_batches=5), "n_batches must be None"),
        (lambda: NoisyGradientDescent(oracle=make_oracle("clipped", clip_norm=1.0)), "step_size"),
        (lambda: NoisyGradientDescent(decay="fast"), "decay must be"),
    ],
)
def test_options_are_refused_in_one_sentence(make, sentence):
    with pytest.raises(tg.InputError, match=sentence):
        make()


def test_plans_refuse_more_blocks_than_records_and_oracles_of_unscored_losses():
    solver = solver_with("clipped", "disjoint")
    with pytest.raises(tg.InputError, match="n_steps must be at most n_rows = 5"):
        solver.plan(problem_of(5), tg.GDP(1.0))
    by_record = problem_of(loss=tg.losses.Multinomial(3))
    with pytest.raises(tg.InputError, match="oracle must be None"):
        solver.plan(by_record, tg.GDP(1.0))


# The search for a clip level ------------------------------------------------------------------


def counter(norms, log=None):
    def count_below(threshold):
        if log is not None:
            log.append(threshold)
        return float((norms <= threshold).sum())

    return count_below


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e6, 1e300])
def test_medians_are_found_in_every_unit(scale):
    norms = np.abs(np.random.default_rng(0).standard_normal(2001)) * scale
    found = bisect(counter(norms), 1000.5, steps=60)
    assert found == pytest.approx(np.median(norms), rel=1e-6)


def test_eleven_steps_leave_a_factor_of_two():
    for unit in (1e-9, 1.0, 1e9):
        norms = unit * np.abs(np.random.default_rng(1).standard_cauchy(999))
        median, rough = np.median(norms), bisect(counter(norms), 499.5, steps=11)
        assert median <= rough <= 2.0 * median


def test_the_number_of_releases_does_not_depend_on_the_data():
    for norms in (np.zeros(50), np.full(50, 1e308), np.full(50, np.nan)):
        log = []
        bisect(counter(norms, log), 25.0, steps=17)
        assert len(log) == 17
