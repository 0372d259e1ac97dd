"""The default method as a solver: what it spends, what it survives, where it goes."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tailguard as tg
from support.spy import run_over, spent_mu
from tailguard.gate import Gate
from tailguard.gate.plan import Problem
from tailguard.solvers.newton import solver, start
from tailguard.solvers.newton.allocation import shares_for
from tailguard.solvers.newton.schedule import Shares
from tailguard.solvers.newton.solver import WhitenedNewton

LOSSES = {
    "squared": tg.losses.Squared(),
    "huber": tg.losses.Huber(1.345),
    "quantile": tg.losses.Quantile(0.8),
    "l4": tg.losses.LpLoss(4.0),
    "logistic": tg.losses.Logistic(),
    "poisson": tg.losses.Poisson(),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


def data(name, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    score = 0.5 + X @ [0.6, -0.4, 0.0]
    if name == "logistic":
        return X, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(float)
    if name == "poisson":
        return X, rng.poisson(np.exp(score)).astype(float)
    return X, score + 0.5 * rng.standard_normal(n_rows)


def run(name, X, y, guarantee, *, seed=0, intercept=True, exposure=None):
    problem = Problem(LOSSES[name], *X.shape, intercept, has_offset=exposure is not None)
    return run_over(WhitenedNewton(), problem, X, y, guarantee, seed=seed, exposure=exposure)


@cache
def fitted(name):
    """The fit of 20,000 records at a mu of 1, the gate and the plan."""
    return run(name, *data(name, 20_000), tg.GDP(1.0))


def overflowing(*_, **__):
    """A stage in which plain floats overflow."""
    return 1e300**2


def unreadable(session, fit):
    """A choice that leaves no whitening."""
    whitening = fit.geometry.whitening
    return fit.through(replace(whitening, matrix=whitening.matrix * np.nan))


@pytest.mark.parametrize(
    ("file", "stage", "broken"),
    [
        (solver, "step", overflowing),
        (start, "choose_bound", unreadable),
        (solver, "debias", overflowing),
    ],
)
def test_what_goes_beyond_the_floats_leaves_the_fit_where_it_stands(
    file, stage, broken, monkeypatch
):
    monkeypatch.setattr(file, stage, broken)
    X, y = data("squared", 20_000)
    solution, gate, plan = run("squared", X, y, tg.GDP(1.0))
    np.testing.assert_allclose(solution.coef, [0.6, -0.4, 0.0], atol=0.12)
    assert any("overflowed" in note for note in solution.notes)
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)


@every_loss
def test_every_loss_finds_its_coefficients(name):
    solution, gate, plan = fitted(name)
    np.testing.assert_allclose(solution.coef, [0.6, -0.4, 0.0], atol=0.12)
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)
    known = solution.coef_std >= solution.coef_noise_std
    assert not known.any() if name == "l4" else known.all()
    assert (solution.coef_noise_std > 0).all()


def test_the_certificate_names_stages_and_groups_rounds():
    _, gate, plan = fitted("squared")
    named = {release.stage for release in gate.books.releases}
    assert {
        "target typical size",
        "location",
        "scale",
        "row norms",
        "slopes",
        "debiasing",
        "contribution rounds",
    } < named
    assert named - {""} <= {stage.name for stage in plan.stages}
    page = gate.certificate().to_text().splitlines()
    rounds = [line.split() for line in page if "rounds of phase" in line]
    last = len([stage for stage in plan.stages if stage.name.startswith("rounds")])
    times = plan.stage(f"rounds of phase {last}").times
    assert [int(line[0]) for line in rounds][-1] == times > 1
    assert len(rounds) == last


def test_exposure_shifts_the_score():
    rng = np.random.default_rng(1)
    X, exposure = rng.standard_normal((20_000, 3)), rng.uniform(0.1, 2.0, 20_000)
    y = rng.poisson(exposure * np.exp(0.5 + X @ [0.6, -0.4, 0.0])).astype(float)
    solution, _, _ = run("poisson", X, y, tg.GDP(1.0), exposure=exposure)
    np.testing.assert_allclose(solution.coef, [0.6, -0.4, 0.0], atol=0.1)
    assert solution.intercept == pytest.approx(0.5, abs=0.1)


SPOILED = ("void", "huge", "tiny", "constant", "ties", "random")


@pytest.mark.filterwarnings("ignore::tailguard.BudgetWarning")
@every_loss
@pytest.mark.parametrize("spoil", SPOILED)
def test_spent_stays_within_the_plan_and_answers_are_finite_on_any_records(name, spoil):
    X, y = data(name, 600)
    rng = np.random.default_rng(2)
    spoiled = {
        "void": lambda v: np.where(rng.random(v.shape) < 0.5, np.nan, v),
        "huge": lambda v: v * 1e306,
        "tiny": lambda v: v * 1e-310,
        "constant": lambda v: np.full(v.shape, 3.0),
        "ties": lambda v: np.where(rng.random(v.shape) < 0.9, 0.0, v),
        "random": lambda v: np.exp(200.0 * rng.standard_normal(v.shape)),
    }[spoil]
    X = spoiled(X)
    if name not in ("logistic", "poisson"):
        y = spoiled(y)
    turn = (list(LOSSES).index(name) + SPOILED.index(spoil)) % 3  # budgets take turns
    mu, intercept = ((0.05, True), (1.0, False), (20.0, True))[turn]
    solution, gate, plan = run(name, X, y, tg.GDP(mu), intercept=intercept)
    assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)
    planned = sum(stage.times for stage in plan.stages)
    assert sum(release.times for release in gate.books.releases) <= planned
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.intercept)


@every_loss
def test_a_plan_says_what_its_predicted_error_means(name):
    solution, _, plan = fitted(name)
    sentence, *_ = plan.remarks  # the other, if there is one, says what is aimed at
    assert sentence in plan.explain()
    unit = {"logistic": "log-odds", "poisson": "logarithm"}.get(name, "scales of the residuals")
    assert unit in sentence
    low, high = (float(part.split()[0]) for part in sentence.split(" had ")[1].split(" to "))
    noise = np.sqrt(np.sum(solution.coef_noise_std**2) + solution.intercept_noise_std**2)
    scale = 0.5 if "residuals" in unit else 1.0  # columns are standard normal
    assert low < noise / scale / plan.settings["predicted_privacy_error"] < high


@pytest.mark.parametrize("stage", ["find_units", "start"])
@every_loss
def test_nothing_before_the_rounds_can_end_in_an_error(name, stage, monkeypatch):
    def refused(*_, **__):
        raise tg.InputError("a share that no lattice carries")

    for broken in (overflowing, refused):
        monkeypatch.setattr(solver, stage, broken)
        solution, gate, plan = run(name, *data(name, 600), tg.GDP(1.0))
        assert (solution.coef == 0.0).all()
        assert np.isfinite(solution.intercept)
        assert any("overflowed" in note for note in solution.notes)
        assert spent_mu(gate.books) <= plan.total_mu * (1.0 + 1e-9)


class VoidGate(Gate):
    """A gate over billions of void records: it answers with noise alone."""

    n_rows = n_records = 10**10

    def ask(self, query, state, stage, *, block=None, total=None):
        calibration = query.calibrate(self.n_rows, self.n_features, stage.mu)
        noise = np.random.default_rng(0).standard_normal(calibration.sensitivity.size)
        return query.finish(calibration.noise_std * noise, self.n_rows)

    def partition(self, *_, **__):
        return [None]


@pytest.mark.parametrize("name", ["logistic", "poisson"])
def test_billions_of_void_records_end_in_a_constant(name):
    problem = Problem(LOSSES[name], VoidGate.n_rows, 3, intercept=True)
    plan = WhitenedNewton().plan(problem, tg.GDP(0.24))
    gate = VoidGate.over(np.zeros((3, 3)), np.zeros(3), guarantee=tg.GDP(0.24), random_state=0)
    with np.errstate(all="ignore"):
        solution = WhitenedNewton().run(plan, gate)
    assert (solution.coef == 0.0).all()
    assert np.isfinite(solution.intercept)
    assert any("constant" in note for note in solution.notes)


def test_a_plan_predicts_a_larger_error_where_the_budget_is_smaller():
    problem = Problem(tg.losses.Squared(), 10_000, 5, intercept=True)
    errors = [
        WhitenedNewton().plan(problem, tg.GDP(mu)).settings["predicted_privacy_error"]
        for mu in (0.01, 0.1, 1.0)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert "only a constant is fitted" in WhitenedNewton().plan(problem, tg.GDP(3e-3)).explain()


@every_loss
@pytest.mark.parametrize("n_rows", [2_000, 50_000])
@pytest.mark.parametrize("mu", [0.03, 3.0])
def test_shares_leave_enough_of_the_budget_to_the_rounds(name, n_rows, mu):
    for intercept in (False, True):
        problem = Problem(LOSSES[name], n_rows, 10, intercept)
        plan = WhitenedNewton().plan(problem, tg.GDP(mu))
        shares = shares_for(problem, mu)
        assert max(shares.size, shares.location, shares.pair_differences) <= 0.12
        assert max(shares.target / 0.8, shares.size_retry) <= 0.2
        rounds = [s.total_mu**2 for s in plan.stages if "round" in s.name or "debias" in s.name]
        least = 0.39 if n_rows * mu > 1_000 else 0.15
        assert sum(rounds) >= least * plan.total_mu**2
        alone = [s.total_mu**2 for s in plan.stages if "round" in s.name]
        assert sum(alone) >= min(least, 0.29) * plan.total_mu**2


def test_rare_events_start_from_their_rate():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50_000, 2))
    y = (rng.random(50_000) < 0.01).astype(float)
    solution, _, _ = run("logistic", X, y, tg.GDP(1.0))
    assert solution.intercept == pytest.approx(np.log(0.01 / 0.99), abs=0.4)
    assert np.abs(solution.coef).max() < 0.4


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_a_scale_that_was_only_noise_spoils_its_own_column_alone(name, monkeypatch):
    honest = solver.find_units

    def mistaken(session, problem, **more):
        units, seen = honest(session, problem, **more)
        return replace(units, scale=units.scale * [1.0, 1.0, 1e-12]), seen

    X, y = data(name, 20_000)
    monkeypatch.setattr(solver, "find_units", mistaken)
    solution, _, _ = run(name, X, y, tg.GDP(1.0))
    monkeypatch.undo()
    honestly, _, _ = run(name, X[:, :2], y, tg.GDP(1.0))
    np.testing.assert_allclose(solution.coef[:2], honestly.coef, atol=0.1)
    ends = solution.feature_bounds[2] * solution.coef[2] + solution.intercept
    np.testing.assert_allclose(ends, honestly.intercept, atol=0.5)


def test_a_small_budget_moves_a_likelihood_as_far_as_its_noise_allows():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((10_000, 8))
    truth = np.full(8, 0.7)
    y = (rng.random(10_000) < 1.0 / (1.0 + np.exp(-X @ truth))).astype(float)
    errors = [
        np.linalg.norm(run("logistic", X, y, tg.GDP(0.06), seed=seed)[0].coef - truth)
        for seed in range(6)
    ]
    assert np.median(errors) < 0.5 * np.linalg.norm(truth)


@pytest.mark.parametrize("loss", [tg.losses.Logistic(), tg.losses.Poisson()])
def test_shares_that_cannot_start_a_likelihood_are_refused_by_the_plan(loss):
    method = WhitenedNewton(shares=Shares(constant=0.0))
    with pytest.raises(tg.InputError, match="constant > 0"):
        method.plan(Problem(loss, 1_000, 2, intercept=True), tg.GDP(1.0))
    without = Problem(loss, 1_000, 2)
    assert "constant" not in [stage.name for stage in method.plan(without, tg.GDP(1.0)).stages]
