"""The verifier of a page, run by Node: it agrees with Python, or says that it cannot tell."""

import json
import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import erfcx

from support.forging import RUNS, certificate_of, forgeries
from support.javascript import SOURCE, called, verdicts
from support.random_certificates import certificate_of_promise, changed
from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import epsilon_of, log_delta
from tailguard.privacy.certificate import Certificate

AGREES, DIFFERS = "agrees", "does not agree"
UNCHECKED = "not checked here: run tailguard verify"
# Runs that a page can add up: all others have a mechanism or an accountant without a closed form.
CLOSED = {"fit", "fit in mu", "seeded fit", "mean in rho", "pure mean", "early stop", "blocks"}
CLOSED |= {"shuffled passes"}  # so few that they are added up block by block


def python_agrees(data):
    try:
        Certificate.from_dict(data)
    except InputError:
        return False
    return True


def test_special_functions_are_those_of_scipy():
    points = [*np.linspace(-5.0, 5.0, 401), *np.geomspace(5.0, 1e8, 60)]
    answers = called([["erfcx", x] for x in points])
    assert answers == pytest.approx(erfcx(points), rel=2e-14)


def test_epsilon_and_delta_are_those_of_python():
    pairs = [(10.0**a, 10.0**b) for a in np.linspace(-4, 1.5, 23) for b in np.linspace(-14, -2, 13)]
    answers = called([["epsilonOfMu", *pair] for pair in pairs])
    for (mu, delta), answer in zip(pairs, answers, strict=True):
        assert answer == pytest.approx(epsilon_of(mu, delta), rel=2e-10, abs=1e-11)
    pairs = [(10.0**a, 10.0**b) for a in np.linspace(-3, 1, 17) for b in np.linspace(-3, 1, 9)]
    answers = called([["logDelta", *pair] for pair in pairs])
    for (mu, epsilon), answer in zip(pairs, answers, strict=True):
        if answer > -600.0:  # what a float can be the logarithm of
            assert answer == pytest.approx(log_delta(mu, epsilon), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_added_up_or_left_to_python(name):
    [(verdict, rows)] = verdicts([json.loads(certificate_of(name).to_json())])
    assert verdict == (AGREES if name in CLOSED else UNCHECKED)
    assert [row["verdict"] for row in rows if row["verdict"] == DIFFERS] == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["fit", "pure mean", "blocks", "early stop"])
def test_no_forged_run_is_judged_wrongly(name):
    """Where the page says more than that it cannot tell, Python says the same of the totals."""
    rng = np.random.default_rng(5)
    forged = [data for _, _, data in forgeries(certificate_of(name), rng, per_pattern=4)]
    forged = [data for data in forged if {"planned", "releases", "total", "spent"} <= {*data}]
    for data, (verdict, _) in zip(forged, verdicts(forged), strict=True):
        assert verdict != DIFFERS or not python_agrees(data)


def expected(data):
    """Agrees; but whether blocks of Laplace noise cover one another is left to Python."""
    in_blocks = any(release["block_map"] for release in data["releases"])
    return UNCHECKED if in_blocks and data["guarantee"]["kind"] == "pure" else AGREES


@lru_cache
def right_and_wrong(n_certificates, seed):
    """Certificates as a page holds them, and as many with a changed number that Python refuses."""
    rng = np.random.default_rng(seed)
    right = [certificate_of_promise(rng) for _ in range(n_certificates)]
    wrong = [changed(certificate, rng) for certificate in right]
    wrong = [data for data in wrong if not python_agrees(data)]
    assert len(wrong) > 0.95 * n_certificates
    return [json.loads(certificate.to_json()) for certificate in right], wrong


def judged_wrongly(n_certificates, seed, source=None):
    """How many right certificates the page refuses, and how many changed ones it takes."""
    stated, wrong = right_and_wrong(n_certificates, seed)
    found = [v for v, _ in verdicts([*stated, *wrong], source)]
    refused = [v for v, data in zip(found, stated, strict=False) if v != expected(data)]
    of_wrong = found[len(stated) :]
    return len(refused), of_wrong.count(AGREES), of_wrong.count(UNCHECKED)


@pytest.mark.long
def test_right_totals_agree_and_changed_ones_do_not():
    refused, taken, unchecked = judged_wrongly(150, seed=1)
    assert (refused, taken) == (0, 0)
    assert unchecked < 15


@pytest.mark.audit
def test_of_ten_thousand_certificates_none_is_judged_wrongly():
    refused, taken, unchecked = judged_wrongly(10_000, seed=2)
    assert (refused, taken) == (0, 0)
    assert unchecked < 500


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("leaf.mu ** 2 / 2", "leaf.mu ** 2"),
        ("Math.max(...[...blocks", "Math.min(...[...blocks"),
        ("sum += times * price(leaf)", "sum += price(leaf)"),
        ("ratio * Math.SQRT2", "ratio"),
        ("gap <= SAME * found", "gap <= 0.01 * found"),
        ("found <= limit", "true"),
        ("(1 + Math.exp(charged)) * variation", "1e20 * variation"),
    ],
)
def test_a_fault_in_the_verifier_is_seen(right, wrong):
    source = SOURCE.read_text()
    assert source.count(right) == 1
    assert judged_wrongly(150, seed=1, source=source.replace(right, wrong))[:2] != (0, 0)


def test_infinite_and_missing_numbers_are_not_taken():
    [data] = [json.loads(certificate_of("fit").to_json())]
    for value in (None, "infinite", -1.0, 0.0):
        total = {**data["total"], "epsilon": value}
        [(verdict, _)] = verdicts([{**data, "total": total}])
        assert verdict == DIFFERS
    releases = [{**data["releases"][0], "noise_std": 0.0}, *data["releases"][1:]]
    [(verdict, rows)] = verdicts([{**data, "releases": releases}])
    assert verdict == UNCHECKED
    assert all(row.get("found") is None or math.isfinite(row["found"]) for row in rows)


def test_it_is_short_enough_to_be_read():
    assert len(SOURCE.read_text().splitlines()) <= 230
