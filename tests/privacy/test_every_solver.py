"""Black-box audits of every solver by name: what runs on a worst pair may show, and what they do.

Of at most 64 records one differs, and methods take at most three steps. Whoever attacks sees all
points of a run, and tells neighbours apart by the discriminant of a pilot. Lower confidence bounds
at 99.9 per cent (Nasr et al. 2023; Clopper and Pearson 1934) must not pass the claim, and must
pass it where the noise is half of what it should be.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import norm

import tailguard as tg
from support.audits import POWER, event_audit, mu_lower_bound
from support.problems import example_of
from support.solvers import SOLVERS, make_solver
from support.spy import gate_over, in_known_order
from tailguard.audit.gates import understated
from tailguard.gate.plan import Problem
from tailguard.solvers.sample_and_aggregate import SampleAndAggregate

pytestmark = pytest.mark.usefixtures("any_query")

N_ROWS, FALSE_ALARM = 60, 1e-3
# 250 runs a side see scores of twice the claimed mu = 1 with a chance of 99.9 per cent.
N_PILOT, FEW, MANY = 150, 250, 1_500
UNITS = {"feature_scale": 1.0, "target_scale": 1.0}


def lonely():
    """Rows that say nothing but for the first, whose target pulls as far as it may."""
    X, y = np.zeros((N_ROWS, 1)), np.zeros(N_ROWS)
    X[0] = 1.0
    for y[0] in (-1e9, 1e9):
        yield X.copy(), y.copy()


def opposed():
    """Columns that are alike but for the first row, which speaks for one and against the other."""
    X, y = np.full((N_ROWS, 2), 0.5), np.full(N_ROWS, 2.0)
    y[0] = 1.0
    for X[0] in ((8.0, -8.0), (-8.0, 8.0)):
        yield X.copy(), y.copy()


@dataclass(frozen=True)
class Audit:
    """A solver of few steps, a worst pair for it, and what is claimed."""

    options: dict = field(default_factory=dict)
    pair: object = lonely
    claimed_mu: float = 1.0


# Most solvers say with which options they show a lonely record; one shows more on another pair.
AUDITS = {
    "hard-thresholding": Audit(
        {"n_nonzero": 1, "n_steps": 1, "threshold": 8.0, "step_size": 1.0, **UNITS},
        opposed,
        claimed_mu=1.5,
    ),
    **{name: Audit(example_of(name).shown) for name in SOLVERS if example_of(name).shown},
}
BY_EPSILON = ("sample-and-aggregate",)  # below: its promise is no mu
BY_TRANSCRIPT = ("whitened-newton",)  # tests/privacy/test_whitened_newton.py: by all releases
every_solver = pytest.mark.parametrize("name", AUDITS)
# Solvers that run as another one does: left to the long audit and `tailguard audit --quick`.
RELATIVES = (
    *("doubling-accelerated", "doubling-localised", "dp-sgd", "population-localised"),
    "shrinking-localised",
)


def test_every_registered_solver_is_audited():
    assert {*AUDITS, *BY_EPSILON, *BY_TRANSCRIPT} == {*SOLVERS}


def points(solver, problem, guarantee, records, seeds, *, known_order=False):
    """Everything that runs return, a run a row."""
    plan = solver.plan(problem, guarantee)
    found = []
    for seed in seeds:
        gate, _ = gate_over(problem, *records, guarantee, seed=seed)
        gate.reserve(plan.event, coordinates=plan.coordinates)
        solution = solver.run(plan, in_known_order(gate) if known_order else gate)
        found.append([*solution.trace.ravel(), *solution.coef, solution.intercept])
    return np.array(found)


def errors(name, guarantee, n_runs):
    """How often the attack takes each of the neighbours for the other one."""
    audit = AUDITS[name]
    pair = list(audit.pair())
    problem = Problem(tg.losses.Squared(), *pair[0][0].shape)
    solver = make_solver(name, **audit.options)

    def both(first, count):
        return [
            points(solver, problem, guarantee, records, range(first + side, first + 2 * count, 2))
            for side, records in enumerate(pair)
        ]

    pilot = both(10**6, N_PILOT)
    means = [found.mean(axis=0) for found in pilot]
    centred = np.concatenate([found - mean for found, mean in zip(pilot, means, strict=True)])
    unit = np.maximum(centred.std(axis=0), 1e-300)
    gap = (means[1] - means[0]) / unit
    weights = np.linalg.lstsq(np.cov((centred / unit).T), gap, rcond=1e-9)[0] / unit
    threshold = weights @ (means[0] + means[1]) / 2.0
    low, high = (found @ weights for found in both(0, n_runs))
    return int((low > threshold).sum()), int((high <= threshold).sum())


def shown_mu(name, true_mu, n_runs):
    """Lower confidence bound on mu of a solver that is told ``true_mu``."""
    return mu_lower_bound(*errors(name, tg.GDP(true_mu), n_runs), n_runs, FALSE_ALARM)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in AUDITS if name not in RELATIVES])
def test_no_run_shows_more_than_was_claimed_and_half_the_noise_is_caught(name):
    claimed = AUDITS[name].claimed_mu
    assert shown_mu(name, claimed, FEW) <= claimed
    assert shown_mu(name, 2.0 * claimed, FEW) > claimed


@pytest.mark.audit
@every_solver
def test_many_runs_show_no_more_and_half_the_noise_is_caught(name):
    claimed, n_runs = AUDITS[name].claimed_mu, MANY
    assert 0.4 * claimed < shown_mu(name, claimed, n_runs) <= claimed
    assert shown_mu(name, 2.0 * claimed, n_runs) > claimed


# Sample and aggregate, on nine blocks of one record, whose minimiser is its target. The first one
# goes from end to end of the ball, and the central one with it: as far as the scale says. In many
# coordinates little of the budget is there for a change of scale, which this pair has not. Against
# a delta that is large the audit needs the fewest runs to see noise that is somewhat too small.

BLOCKS, SIZE, CLAIM = 9, 20, tg.ApproxDP(0.2, 0.8)


def central_audit(shrink, too_much, n_runs):
    """Audit the claim with noise divided by ``shrink``; power is that against ``too_much``."""
    solver = SampleAndAggregate(n_blocks=BLOCKS, diameter=2.0, calibration="numerical")
    problem = Problem(tg.losses.Squared(), BLOCKS, SIZE)
    moved = too_much * solver.plan(problem, CLAIM).settings["shift"] * (1.0 - 1e-4)
    exact = solver._query_for
    object.__setattr__(solver, "_query_for", lambda asked: understated(exact(asked), shrink))
    line = np.array([-1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    X, y, beyond = np.zeros((BLOCKS, SIZE)), np.empty(BLOCKS), []
    X[:, 0] = 1.0
    for side, line[0] in enumerate((-1.0, 1.0)):
        y[:] = line
        seeds = range(side, 2 * n_runs, 2)
        found = points(solver, problem, CLAIM, (X, y.copy()), seeds, known_order=True)[:, 0]
        # In units of such noise: half of the move, and where the likelihood ratio is exp(epsilon).
        beyond.append(int((found > 2.0 * CLAIM.epsilon / moved**2).sum()))
    likely = moved / 2.0 + CLAIM.epsilon / moved
    return event_audit(
        beyond[0],
        n_runs - beyond[1],
        n_runs,
        epsilon=CLAIM.epsilon,
        delta=CLAIM.delta,
        rates=(norm.sf(likely), norm.cdf(likely - moved)),
        false_alarm=1e-6,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("too_much", "n_runs"), [(2.0, 300), pytest.param(1.3, 2_000, marks=pytest.mark.audit)]
)
def test_sample_and_aggregate_shows_no_more_than_it_claims_and_less_noise_is_caught(
    too_much, n_runs
):
    assert central_audit(1.0, too_much, n_runs).accepted
    caught = central_audit(too_much, too_much, n_runs)
    assert not caught.accepted
    assert caught.power >= POWER
