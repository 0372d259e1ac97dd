"""What every solver promises: plans need no records, spent is planned, answers are in the set."""

import re
from dataclasses import fields
from itertools import product

import numpy as np
import pytest

import tailguard as tg
from support.problems import example_of, planned, problem_for, promises
from support.registered import class_of
from support.solvers import SOLVERS, make_solver
from support.spy import GENEROUS, gate_over, run_over, spent_mu
from tailguard.checks import BudgetError
from tailguard.gate.plan import Problem
from tailguard.privacy.accounting.total_cost import spent_share
from tailguard.privacy.events import Composed, Repeated
from tailguard.solvers.registry import solver_for

N_ROWS = 300
# Histograms that columns whose size is not seen are not asked for, or need not be.
LATER = {"location", "fine location", "scale", "target location", "target scale"}
every_solver = pytest.mark.parametrize("name", SOLVERS)


def regression(seed=0, n_rows=N_ROWS, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    return X, X @ np.array([0.5, -0.25, 0.1]) + 0.1 * rng.standard_normal(n_rows)


def gaussian(plan):
    """Whether all releases have Gaussian noise, of which a total mu tells."""
    return all(stage.currency == "mu" and stage.sampled is None for stage in plan.stages)


@every_solver
def test_a_plan_needs_public_numbers_only_and_keeps_the_guarantee(name):
    problem = problem_for(name)
    for guarantee in promises(name):
        plan = make_solver(name).plan(problem, guarantee)
        share = spent_share(guarantee, plan.event)
        assert 0.999 <= share <= 1.0, f"plan spends {share:.4g} of {guarantee}: share out usable_mu"
        if gaussian(plan):
            assert plan.total_mu <= guarantee.gaussian_mu()
        assert guarantee.describe() in plan.explain()
        for stage in plan.stages:
            assert stage.purpose in plan.explain()


# Where delta is large, accountants take their time: each epsilon is tried at one such delta. Where
# it is tiny, the sampler's distance counts, whatever the solver: each takes one epsilon for each.
EPSILONS, DELTAS = (0.1, 1.0, 8.0, 20.0), (1e-3, 1e-6, 1e-12, 1e-17, 1e-18)
ORDINARY = {(0.1, 1e-6), (1.0, 1e-3), (8.0, 1e-6), (20.0, 1e-6)}


def promised_pairs():
    """Every solver with every epsilon and delta, most of them for the long audit."""
    for turn, name in enumerate(SOLVERS):
        often = ORDINARY | {(EPSILONS[(turn + k) % 4], DELTAS[2 + k]) for k in range(3)}
        for pair in product(EPSILONS, DELTAS):
            marks = () if pair in often else pytest.mark.audit
            yield pytest.param(name, *pair, marks=marks)


@pytest.mark.filterwarnings("ignore::tailguard.BudgetWarning")
@pytest.mark.parametrize(("name", "epsilon", "delta"), list(promised_pairs()))
def test_the_certified_total_never_exceeds_the_promise(name, epsilon, delta):
    """The sampler's distance from ideal noise is inside: it matters where delta is tiny."""
    X, y = regression()
    problem, guarantee = problem_for(name), tg.ApproxDP(epsilon, delta)
    gate, _ = gate_over(problem, X, y, guarantee, seed=1)
    plan, refused = planned(name, problem, guarantee)
    if refused:
        assert epsilon in (0.1, 20.0) or delta < 1e-17
        told = "nothing was spent|epsilon must be (smaller|below)|delta must be above"
        assert re.search(told, refused)
        return
    assert epsilon < 20.0 or delta >= 1e-12
    gate.reserve(plan.event, coordinates=plan.coordinates)
    make_solver(name).run(plan, gate)
    certificate = gate.certificate()
    assert certificate.total.epsilon <= epsilon
    assert certificate.spent.epsilon <= epsilon
    assert certificate.total.epsilon >= 0.99 * epsilon


@every_solver
def test_what_is_spent_is_what_was_planned(name):
    X, y = regression()
    problem = problem_for(name)
    _, gate, plan = run_over(make_solver(name), problem, X, y, tg.ApproxDP(1.0, 1e-6), seed=1)
    certificate, books = gate.certificate(), gate.books
    times = sum(release.times for release in books.releases)
    planned = sum(stage.times * stage.n_blocks for stage in plan.stages)
    spent, total = certificate.spent, certificate.total
    assert spent.epsilon <= total.epsilon * (1.0 + 1e-9)
    assert times <= planned
    named = {release.stage for release in books.releases}
    assert named - {""} == named & {stage.name for stage in plan.stages} != set()
    if example_of(name).skips:
        return
    later = sum(stage.times for stage in plan.stages if stage.name in LATER)
    # Descent spends what these leave; peeling was calibrated before.
    left = 0.04 if later and not gaussian(plan) else 0.0
    as_planned = spent.epsilon == pytest.approx(total.epsilon, rel=1e-6 + left)
    assert as_planned, "run must ask every stage as often as planned, or its example says skips"
    if total.rho is not None:  # fresh samples have none
        # Counts are on a lattice of whole steps, and cost a hair less than was asked for.
        assert spent.rho == pytest.approx(total.rho, rel=1e-7 + 2.0 * left)
    plain = [Repeated(stage.asked, stage.times) for stage in plan.stages]
    if gaussian(plan) and plan.event == Composed(tuple(plain)):
        assert spent_mu(books) == pytest.approx(plan.total_mu, rel=1e-7)
    assert planned - later <= times <= planned
    assert "" not in named


@every_solver
def test_pure_privacy_is_refused_in_one_sentence(name):
    with pytest.raises(tg.InputError, match="pure"):
        make_solver(name).plan(problem_for(name), tg.PureDP(1.0))


@every_solver
def test_a_run_beyond_its_reserve_is_stopped_before_it_reads(name):
    X, y = regression()
    problem, guarantee = problem_for(name), promises(name)[0]
    less = tg.GDP(0.9) if guarantee == tg.GDP(1.0) else tg.ApproxDP(0.9, 1e-6)
    plan = make_solver(name).plan(problem, guarantee)
    gate, _ = gate_over(problem, X, y, guarantee, seed=1)
    gate.reserve(make_solver(name).plan(problem, less).event, coordinates=plan.coordinates)
    with pytest.raises(BudgetError):
        make_solver(name).run(plan, gate)


@every_solver
def test_a_plan_above_the_guarantee_is_not_reserved(name):
    X, y = regression()
    problem = problem_for(name)
    more = promises(name)[0]
    less = tg.GDP(0.999) if more == tg.GDP(1.0) else tg.ApproxDP(0.999, 1e-6)
    plan = make_solver(name).plan(problem, more)
    gate, _ = gate_over(problem, X, y, less, seed=1)
    with pytest.raises(BudgetError, match=r"0[.]999"):
        gate.reserve(plan.event)


def solve(name, X, y, *, seed=None, guarantee=GENEROUS, loss=None, **options):
    problem = problem_for(name, loss)
    return run_over(make_solver(name, **options), problem, X, y, guarantee, seed=seed)[0]


@every_solver
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(name):
    X, y = regression()
    runs = [solve(name, X, y, seed=seed, guarantee=promises(name)[0]) for seed in (5, 5, 6)]
    np.testing.assert_array_equal(runs[0].coef, runs[1].coef)
    assert (runs[0].coef != runs[2].coef).any()


@every_solver
def test_the_answer_is_finite_and_in_the_set_whatever_the_records_are(name):
    X, y = regression()
    for spoiled in (np.nan, 1e308, 5e-324):
        bad_X, bad_y = X.copy(), y.copy()
        bad_X[:50], bad_y[50:100] = spoiled, spoiled
        solution = solve(name, bad_X, bad_y, seed=3, guarantee=promises(name)[0])
        assert np.isfinite(solution.coef).all()
        assert np.isfinite(solution.intercept)
        constraint = problem_for(name).constraint
        if constraint is not None:
            inside = constraint.contains(solution.coef)
            assert inside, "run must project what it returns onto problem.constraint"


@pytest.mark.parametrize(
    "name", [name for name in SOLVERS if "iterate" in (example_of(name).exact or ())]
)
def test_averages_are_inside_the_set_and_differ_from_the_last_point(name):
    X, y = regression()
    last, tail, average = (
        solve(name, X, y, seed=4, guarantee=tg.GDP(1.0), iterate=iterate)
        for iterate in ("last", "tail", "average")
    )
    assert (last.coef != tail.coef).any()
    assert (tail.coef != average.coef).any()


def test_auto_stands_for_the_default_method_unless_a_set_or_a_record_loss_asks_otherwise():
    squared = tg.losses.Squared()
    free = Problem(squared, N_ROWS, 3, intercept=True)
    bounded = Problem(squared, N_ROWS, 3, constraint=tg.sets.L1Ball(1.0))
    own = Problem(tg.losses.RecordGradient(lambda w, x, y: w), N_ROWS, 3)
    sparse = Problem(squared, N_ROWS, 3, constraint=tg.sets.SparseBall(1))
    chosen = [solver_for("auto", problem) for problem in (free, bounded, own, sparse)]
    assert [type(solver).__name__ for solver in chosen] == [
        *("WhitenedNewton", "NoisyGradientDescent", "NoisyGradientDescent"),
        "HardThresholding",
    ]


def test_an_unknown_solver_is_one_sentence_with_the_known_ones():
    with pytest.raises(tg.InputError, match="solver must be one of 'auto'"):
        solver_for("newton", problem_for("whitened-newton"))


@every_solver
@pytest.mark.parametrize("mu", [1e-5, 1e-6, 1e-7, 1e-9, 1e-12])
def test_what_is_planned_is_never_refused_later(name, mu):
    """A refusal after budget was reserved would cost it for nothing."""
    X, y = regression()
    problem, guarantee = problem_for(name), tg.GDP(mu)
    gate, _ = gate_over(problem, X, y, guarantee, seed=1)
    try:
        plan = make_solver(name).plan(problem, guarantee)
    except tg.InputError:
        return
    gate.reserve(plan.event, coordinates=plan.coordinates)
    assert np.isfinite(make_solver(name).run(plan, gate).coef).all()


# What is out of the range of an option, by its name; solvers test other names themselves.
OUTSIDE = {
    **dict.fromkeys(("batch_rows", "least_rows", "n_batches", "n_nonzero"), (0, 1.5)),
    **dict.fromkeys(("n_passes", "n_steps", "smallest_phase"), (0, 1.5)),
    **dict.fromkeys(("start", "target_center"), (np.nan, np.inf)),
    **dict.fromkeys(("clip_norm", "diameter", "gradient_scale"), (0.0, -1.0, np.inf, np.nan)),
    **dict.fromkeys(("lipschitz_bound", "radius", "ridge"), (0.0, -1.0, np.inf, np.nan)),
    **dict.fromkeys(("row_limit", "smoothness", "step_parameter"), (0.0, -1.0, np.inf, np.nan)),
    **dict.fromkeys(("step_size", "target_scale", "threshold"), (0.0, -1.0, np.inf, np.nan)),
    **dict.fromkeys(("growth_bound", "moment_order"), (1.0, 0.5, np.nan, np.inf)),
    **dict.fromkeys(("calibration", "decay", "iterate"), ("loose", 1.0)),
    **dict.fromkeys(("layout", "sampling", "schedule"), ("loose", 1.0)),
    **{"units_share": (0.0, 1.0), "penalty": (-0.1,), "exponent": (0.5,), "shrinks": (1, 0.0)},
}


@every_solver
def test_an_option_out_of_its_range_is_refused_by_its_name(name):
    for option in OUTSIDE.keys() & {field.name for field in fields(class_of(SOLVERS[name]))}:
        for value in OUTSIDE[option]:
            with pytest.raises(tg.InputError, match=f"^{option} must be"):
                make_solver(name, **{option: value})
