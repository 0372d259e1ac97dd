"""Black-box audits of the coordinate-wise means: their noise, and what a worst pair reveals.

Lower bounds on mu as in Nasr et al. 2023; false alarms at 1e-6. Three of the queries run at mu = 2
by default, often enough to catch half of the noise with a chance of 99.9 per cent; all of them at 1
and 3 in the audit, where noise that is 1.3 times too small is caught.
"""

import numpy as np
import pytest

import tailguard as tg
from support.audits import POWER, gdp_audit, runs_for_mu
from support.examples import query_examples
from support.query_example import N_FEATURES
from support.sources import QuietSource
from support.stages import once, pure
from support.statistics import gaussian_scale_test, laplace_scale_test
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.clamped import ClampedMean
from tailguard.means.soft import SoftMean
from tailguard.means.truncated import TruncatedMean
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Gaussian, Laplace, Repeated
from tailguard.queries.units import Units

N_ROWS = 40
FALSE_ALARM = 1e-6
AUDITED = {
    example.name: example
    for example in query_examples()
    if example.name.split("/")[0] in ("clamped-mean", "truncated-mean", "soft-mean")
}
CHECKED_BY_DEFAULT = ("clamped-mean/6-groups", "truncated-mean/7-groups", "soft-mean/smoothing-4.6")
WIDE = Units.raw(40, intercept=False)
WIDE_QUERIES = {
    "clamped": ClampedMean(None, WIDE, threshold=1.0, n_groups=6),
    "truncated": TruncatedMean(None, WIDE, threshold=1.0, n_groups=7),
    "soft": SoftMean(None, WIDE, scale=1.0),
}


def answers(example, record, mu, n_runs, source):
    """Released vectors, one a row, with record 4 set to ``record``."""
    data = example.background(N_ROWS)
    data[4] = record
    rows = make_rows(data[:, :-1].copy(), data[:, -1].copy(), loss=example.loss)
    gate = Gate(rows, guarantee=tg.GDP(1e3), source=source)
    gate._partitions._shuffled = rows  # worst pairs are for groups that are known
    gate.reserve(Repeated(Gaussian(mu), n_runs), coordinates=100 * n_runs)
    return np.array([gate.ask(example.query, example.state, once(mu)) for _ in range(n_runs)])


def audit(example, claimed_mu, mu, too_much):
    """Audit a release at ``mu`` against a claim, along the line that joins the two answers."""
    low, high = (
        answers(example, record, mu, 1, QuietSource())[0] for record in (example.old, example.new)
    )
    direction = (high - low) / np.linalg.norm(high - low)
    std = example.query.calibrate(N_ROWS, N_FEATURES, mu).noise_std
    true_mu = too_much * claimed_mu
    claim = {"claimed_mu": claimed_mu, "true_mu": true_mu, "false_alarm": FALSE_ALARM}
    claim["threshold"] = true_mu / 2.0
    n_runs = runs_for_mu(**claim)
    scores = [
        (answers(example, record, mu, n_runs, SimulationSource(seed)) - low) @ direction / std
        for seed, record in enumerate((example.old, example.new))
    ]
    return gdp_audit(*scores, **claim)


def check_claim(name, claimed_mu, too_much):
    assert audit(AUDITED[name], claimed_mu, claimed_mu, too_much).accepted
    caught = audit(AUDITED[name], claimed_mu, too_much * claimed_mu, too_much)
    assert caught.power >= POWER
    assert not caught.accepted


@pytest.mark.parametrize("name", CHECKED_BY_DEFAULT)
def test_a_worst_pair_reveals_what_is_claimed_and_no_more(name):
    check_claim(name, 2.0, 2.0)


@pytest.mark.audit
@pytest.mark.parametrize("claimed_mu", [1.0, 3.0])
@pytest.mark.parametrize("name", AUDITED)
def test_no_worst_pair_reveals_more_than_is_claimed(name, claimed_mu):
    check_claim(name, claimed_mu, 1.3)


@pytest.mark.parametrize("name", WIDE_QUERIES)
def test_the_noise_is_the_one_that_the_books_state(name):
    query, n_runs = WIDE_QUERIES[name], 240
    X = np.random.default_rng(3).standard_t(2, size=(100, 40))
    for event, stage, scale_test, unit in (
        (Gaussian(1.0), once(1.0), gaussian_scale_test, 1.0),
        (Laplace(1.0), pure(1.0), laplace_scale_test, 2.0**0.5),
    ):
        noised, quiet = (
            Gate(make_rows(X), guarantee=tg.GDP(1e3), source=source)
            for source in (SimulationSource(5), QuietSource())
        )
        for gate in (noised, quiet):
            gate.reserve(Repeated(event, n_runs), coordinates=100 * n_runs)
        exact = quiet.ask(query, np.zeros(40), stage)
        draws = np.array([noised.ask(query, np.zeros(40), stage) for _ in range(n_runs)]) - exact
        (release,) = noised.certificate().releases
        verdict = scale_test(draws, release.noise_std / unit, false_alarm=FALSE_ALARM)
        assert verdict.accepted
        assert verdict.power >= 0.999
