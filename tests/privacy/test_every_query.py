"""Black-box audits of every query on a worst pair: by all that it releases, and nothing is hidden.

With Gaussian noise the attacker projects the released numbers onto the line that joins the two
answers, which is the likelihood ratio. With Laplace noise there are fifty equal columns, each with
a release of its own at a fiftieth of the budget, save asking; of one number, whether it passes the
higher answer is as good an event as any. False alarms at 1e-6. The number of runs is the fewest
that catch too little noise with a chance of 99.9 per cent: noise 1.3 times too small in the audit,
half of what it should be by default.
"""

from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.audits import POWER, event_audit, gdp_audit, runs_for_event, runs_for_mu
from support.examples import query_examples
from support.query_example import N_FEATURES
from support.stages import once, pure
from tailguard.audit.gates import AttackedGate
from tailguard.data.rows.arrays import make_rows
from tailguard.queries.registry import QUERIES
from tailguard.queries.units import Units

N_ROWS, FALSE_ALARM = 40, 1e-6
CLAIMED = 2.0  # in mu, or in epsilon of each number
QUICK, AUDITED = 2.0, 1.3  # how much too small the noise is that must be caught
N_COLUMNS = 50

COORDINATE_WISE = ("clamped-mean", "truncated-mean", "soft-mean")
OF_THEIR_OWN = ("peeled-step",)  # test_peeling.py: choices are not Gaussian
WHOLLY = (*COORDINATE_WISE, "clipped-shells", "iterative-mean")  # all examples, not the first
EXAMPLES = {example.name: example for example in query_examples()}


def kind(name):
    return name.split("/")[0]


FIRST = {kind(name): name for name in reversed(EXAMPLES)}
BY_PROJECTION = [
    name
    for name in EXAMPLES
    if kind(name) not in OF_THEIR_OWN and (kind(name) in WHOLLY or FIRST[kind(name)] == name)
]

QUICKLY_BY_PROJECTION = [name for name in BY_PROJECTION if name in FIRST.values()]


def test_every_registered_query_is_audited():
    audited = {kind(name) for name in QUICKLY_BY_PROJECTION}
    assert audited | {*OF_THEIR_OWN} == set(QUERIES)


def released(query, state, rows, n_runs, seed, **share):
    """What so many releases show, one a row, as they leave."""
    stage = once(share["mu"]) if "mu" in share else pure(share["epsilon"])
    gate = AttackedGate.of(rows, guarantee=tg.GDP(1.0), seed=seed)
    gate.reserve(stage.asked, coordinates=10**7, unprotected=True)
    gate.ask_often(query, state, stage, n_runs)
    return np.array(gate.heard)


def exact(query, state, rows, calibration):
    """The answer without noise."""
    with np.errstate(all="ignore"):
        return query.answer(rows, state, calibration) * calibration.grid


def mu_audit(example, mu, factor):
    """Audit releases at ``mu``; power is that against ``factor`` times the claim."""
    query, state = example.query, example.state
    pair = [example.rows(record, N_ROWS) for record in (example.old, example.new)]
    public = query.calibrate(N_ROWS, N_FEATURES, mu)
    low, high = (exact(query, state, rows, public) for rows in pair)
    std, gap = public.noise_std, np.linalg.norm(high - low)
    attained = float(gap / std / mu)
    assert 0.9 <= attained <= 1.0
    true_mu = factor * attained * CLAIMED
    claim = {"claimed_mu": CLAIMED, "true_mu": true_mu, "false_alarm": FALSE_ALARM}
    claim["threshold"] = true_mu / 2.0
    n_runs = runs_for_mu(**claim)
    scores = [
        (released(query, state, rows, n_runs, seed, mu=mu) - low) @ (high - low) / (gap * std)
        for seed, rows in enumerate(pair)
    ]
    return gdp_audit(*scores, **claim)


def check_mu(name, factor):
    assert mu_audit(EXAMPLES[name], CLAIMED, factor).accepted
    caught = mu_audit(EXAMPLES[name], factor * CLAIMED, factor)
    assert not caught.accepted
    assert caught.power >= POWER


@pytest.mark.parametrize("name", QUICKLY_BY_PROJECTION)
def test_all_released_numbers_together_show_no_more_than_mu(name):
    check_mu(name, QUICK)


@pytest.mark.audit
@pytest.mark.parametrize("name", BY_PROJECTION)
def test_gaussian_noise_that_is_a_little_too_small_is_caught(name):
    check_mu(name, AUDITED)


def columns(example):
    """The query on fifty columns, each as the example's first."""
    units = Units.raw(N_COLUMNS, intercept=False)
    return replace(example, query=replace(example.query, units=units), state=np.zeros(N_COLUMNS))


PURE = {
    name: columns(example)
    for name, example in EXAMPLES.items()
    if kind(name) in COORDINATE_WISE and example.loss is None and not example.query.units.intercept
}
QUICK_PURE = ("clamped-mean/6-groups", "truncated-mean/7-groups", "soft-mean/smoothing-4.6")


def columns_with(example, first):
    """Equal columns with one record set."""
    data = np.repeat(example.background(N_ROWS)[:, :1], N_COLUMNS, axis=1)
    data[4] = first
    return make_rows(data)


def pure_audit(example, epsilon, factor):
    """Audit releases at ``epsilon`` a number; power is that against ``factor`` times the claim."""
    query, state, share = example.query, example.state, {"epsilon": epsilon * N_COLUMNS}
    pair = [columns_with(example, record[0]) for record in (example.old, example.new)]
    calibration = query.calibrate_pure(N_ROWS, N_COLUMNS, share["epsilon"])
    low, high = (exact(query, state, rows, calibration) for rows in pair)
    moved = np.abs(high - low) / (calibration.grid * calibration.lattice_scale)
    assert 0.99 * epsilon <= moved.min() <= moved.max() <= epsilon
    rates = 0.5 * np.exp(-factor * CLAIMED * moved.min() / epsilon), 0.5
    claim = {"epsilon": CLAIMED, "delta": 0.0, "rates": rates, "false_alarm": FALSE_ALARM}
    n_asks = -(-runs_for_event(**claim) // N_COLUMNS)
    beyond = [
        (released(query, state, rows, n_asks, seed, **share) - high) * np.sign(high - low) > 0.0
        for seed, rows in enumerate(pair)
    ]
    counts = int(beyond[0].sum()), int((~beyond[1]).sum())
    return event_audit(*counts, n_asks * N_COLUMNS, **claim)


def check_pure(name, factor):
    assert pure_audit(PURE[name], CLAIMED, factor).accepted
    caught = pure_audit(PURE[name], factor * CLAIMED, factor)
    assert not caught.accepted
    assert caught.power >= POWER


@pytest.mark.parametrize("name", QUICK_PURE)
def test_a_number_with_laplace_noise_shows_no_more_than_epsilon(name):
    check_pure(name, QUICK)


@pytest.mark.audit
@pytest.mark.parametrize("name", PURE)
def test_laplace_noise_that_is_a_little_too_small_is_caught(name):
    check_pure(name, AUDITED)
