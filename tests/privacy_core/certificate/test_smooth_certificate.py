"""What books and certificates say about noise that follows the records."""

import json
from dataclasses import replace

import pytest

import tailguard as tg
from support.events import books_with
from tailguard.checks import BudgetError, InputError
from tailguard.privacy.accounting.total_cost import satisfies, smallest_epsilon, total_cost
from tailguard.privacy.books.releases import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import (
    Approximate,
    Composed,
    Gaussian,
    Parallel,
    Repeated,
    Unbounded,
    ZeroConcentrated,
)

ARSINH = {"smoothness": 0.1, "shift": 0.2, "calibration": "tight", "coordinates": 2}
GAUSSIAN = {**ARSINH, "calibration": "published", "delta": 1e-6}


def trimmed(calibration="tight", **changes):
    facts = ("arsinh-normal", "linf", None, None)
    parameters = {**ARSINH, "calibration": calibration}
    return Release("trimmed mean", "TrimmedMean", *facts, parameters=parameters, **changes)


def central(**changes):
    facts = ("smooth-gaussian", "l2", None, None)
    return Release("center", "SampleAggregate", *facts, parameters=GAUSSIAN, **changes)


def certified(*releases, guarantee=None, **facts):
    planned = Composed(tuple(release.event() for release in releases))
    promise = guarantee or tg.ApproxDP(50.0, 1e-3)
    return Certificate(promise, n_rows=1000, planned=planned, releases=releases, **facts)


def test_the_cost_is_recomputed_from_the_parameters_alone():
    assert isinstance(trimmed().event(), ZeroConcentrated)
    assert isinstance(central().event(), Approximate)
    more_noise = {**ARSINH, "shift": 0.1}
    assert (
        Release("r", "Q", "arsinh-normal", "linf", None, None, parameters=more_noise).event().rho
        < trimmed().event().rho
    )
    assert trimmed(times=3).event() == Repeated(trimmed().event(), 3)
    assert trimmed(block_map="m", block=1).event() == Parallel("m", 1, trimmed().event())


@pytest.mark.parametrize(
    ("facts", "parameters"),
    [
        (("arsinh-normal", "linf", 1.0, None), ARSINH),
        (("arsinh-normal", "linf", None, 1.0), ARSINH),
        (("arsinh-normal", "l2", None, None), ARSINH),
        (("gaussian", "l2", None, None), {}),
        (("gaussian", "l2", 1.0, None), {}),
    ],
)
def test_hidden_numbers_belong_to_smooth_mechanisms_and_to_no_others(facts, parameters):
    with pytest.raises(InputError):
        Release("r", "Q", *facts, parameters=parameters)


def test_books_cover_what_was_reserved_and_no_more():
    books = books_with(trimmed().event())
    books.reserve(central().event())
    books.record(trimmed())
    books.record(central())
    for further in (trimmed(), central(), trimmed("printed")):
        with pytest.raises(BudgetError):
            books.record(further)


def test_the_certificate_hides_the_scale_and_says_what_the_cost_rests_on():
    certificate = certified(trimmed(), trimmed(), central())
    text = certificate.to_text()
    assert text.count("hidden") == 4  # equal releases in a row share a line
    apart = certified(trimmed(), trimmed("numerical"), central()).to_text()
    assert apart.count("hidden") == 6
    assert max(map(len, text.splitlines())) < 80
    words = " ".join(text.split())
    for part in ("smoothness 0.1", "shift 0.2", "proved in real arithmetic", "never shown"):
        assert part in words
    read = Certificate.from_dict(json.loads(certificate.to_json()))
    assert read == certificate
    assert read.total == certificate.spent
    assert len(certificate.to_dict()["remarks"]) == 2


def test_the_certificate_says_what_is_certified_numerically_only():
    (remark,) = certified(trimmed("numerical")).to_dict()["remarks"]
    assert "numerically certified" in remark
    assert "not proved" in remark
    assert "real arithmetic" in remark


def test_ordinary_releases_need_no_remark():
    plain = Release("slope", "Mean", "gaussian", "l2", sensitivity=2.0, noise_std=8.0)
    certificate = certified(plain)
    assert certificate.to_dict()["remarks"] == []
    assert "Remarks" not in certificate.to_text()


def test_concentrated_totals_add_up_and_failures_are_set_aside():
    certificate = certified(trimmed(), central())
    assert certificate.spent.mu is None
    assert certificate.spent.rho is None
    assert certified(trimmed()).spent.rho == pytest.approx(trimmed().event().rho)
    assert certificate.spent.epsilon > central().event().epsilon


def test_an_unbounded_release_costs_everything_in_every_currency():
    mixed = Composed((Gaussian(0.1), Parallel("m", 0, Repeated(Unbounded(), 2))))
    for event in (Unbounded(), mixed):
        assert smallest_epsilon(event, 1e-6).epsilon == float("inf")
        total = total_cost(event, 1e-6)
        assert (total.epsilon, total.mu, total.rho, total.accountant) == (
            *(float("inf"), None, float("inf")),
            "none",
        )
        assert total_cost(event, None).epsilon is None
        for promise in (tg.ApproxDP(1e6, 0.5), tg.ZCDP(1e9), tg.GDP(1e9), tg.PureDP(1e9)):
            assert not satisfies(event, promise)


def test_books_count_unbounded_releases():
    books = books_with(Unbounded())
    books.record(trimmed("printed"))
    with pytest.raises(BudgetError):
        books.record(trimmed("printed"))
    with pytest.raises(BudgetError):
        books.record(trimmed())


def test_the_certificate_of_a_reproduction_states_an_infinite_cost():
    mode = "reproduction: NOT PRIVATE"
    certificate = replace(
        certified(trimmed("printed"), guarantee=tg.ApproxDP(1.0, 1e-6)), mode=mode
    )
    data = json.loads(certificate.to_json())
    assert data["total"]["epsilon"] == data["spent"]["epsilon"] == "infinite"
    assert data["promise"].startswith("none")
    assert data["guarantee"] == tg.ApproxDP(1.0, 1e-6).to_dict()
    assert "infinite" in data["remarks"][0]
    assert data["unused"] == {}
    assert Certificate.from_dict(data) == certificate
    text = " ".join(certificate.to_text().split())
    assert "epsilon = infinite at delta = 1e-06" in text
