"""The price of peeling: oracle values of both forms, and their events."""

import math

import pytest

from tailguard.checks import InputError
from tailguard.privacy.accounting.accountant import PureAccountant
from tailguard.privacy.accounting.gaussian import GdpAccountant
from tailguard.privacy.accounting.zcdp import ZcdpAccountant, rho_of, rho_of_laplace
from tailguard.privacy.books.releases import Release
from tailguard.privacy.calibration import PEELINGS, peeling_event, share_factor
from tailguard.privacy.events import Composed, Gaussian, Laplace, Repeated


def rho(form, ratio, n_selected, n_free=0):
    return float(ZcdpAccountant().compose(peeling_event(form, ratio, n_selected, n_free)).total)


# Noise over sensitivity at (n_selected, epsilon, delta), by zCDP alone.
BY_ZCDP = [
    (1, 1.0, 1e-5, 5.7207),
    (5, 1.0, 1e-5, 12.7918),
    (20, 1.0, 1e-5, 25.5837),
    (5, 0.5, 1e-6, 27.4379),
]


@pytest.mark.parametrize(("n_selected", "epsilon", "delta", "noise"), BY_ZCDP)
def test_the_gaussian_form_costs_half_of_each_square_for_choices_and_values(
    n_selected, epsilon, delta, noise
):
    allowed = rho_of(epsilon, delta)
    assert rho("peeled-gaussian", 1.0 / noise, n_selected) == pytest.approx(allowed, rel=1e-4)


@pytest.mark.parametrize("ratio", [0.01, 0.1, 0.5, 2.0])
@pytest.mark.parametrize(("n_selected", "n_free"), [(1, 0), (5, 0), (5, 1), (0, 3)])
def test_the_laplace_form_costs_what_its_closed_form_says(ratio, n_selected, n_free):
    choices = n_selected * 2.0 * ratio * math.tanh(ratio)
    values = (n_selected + n_free) * rho_of_laplace(ratio)
    found = rho("peeled-laplace", ratio, n_selected, n_free)
    assert found == pytest.approx(choices + values, rel=1e-9)
    assert found <= 2.5 * (n_selected + n_free) * ratio**2


@pytest.mark.parametrize(("n_selected", "n_free"), [(1, 0), (4, 0), (4, 2), (0, 5)])
def test_a_share_is_the_square_root_of_twice_rho_or_epsilon(n_selected, n_free):
    counts = n_selected, n_free
    mu = 0.1 * share_factor("peeled-gaussian", *counts)
    assert rho("peeled-gaussian", 0.1, *counts) == pytest.approx(mu**2 / 2.0, rel=1e-9)
    epsilon = PureAccountant().compose(peeling_event("peeled-laplace", 0.1, *counts)).epsilon(0.0)
    assert epsilon == pytest.approx(0.1 * share_factor("peeled-laplace", *counts), rel=1e-9)


def test_gaussian_dp_is_charged_more_for_choices_than_zcdp_is():
    event = peeling_event("peeled-gaussian", 0.1, 5)
    assert GdpAccountant().compose(event).mu > math.sqrt(2.0 * rho("peeled-gaussian", 0.1, 5))


def test_without_choices_only_values_are_paid_for():
    assert peeling_event("peeled-gaussian", 0.1, 0, 4) == Gaussian(0.2)
    assert peeling_event("peeled-laplace", 0.1, 0, 4) == Repeated(Laplace(0.1), 4)


@pytest.mark.parametrize("form", PEELINGS)
def test_a_line_in_the_books_gives_the_event_back(form):
    std = 10.0 * (math.sqrt(2.0) if form == "peeled-laplace" else 1.0)
    counts = {"n_selected": 3, "n_free": 1}
    line = Release("step", "PeeledStep", form, "linf", 1.0, std, parameters=counts)
    assert isinstance(line.event(), Composed)
    found = float(ZcdpAccountant().compose(line.event()).total)
    assert found == pytest.approx(rho(form, 0.1, 3, 1), rel=1e-12)
    assert Release(**line.to_dict()).event() == line.event()


def test_a_line_without_its_counts_has_no_event():
    line = Release("step", "PeeledStep", "peeled-gaussian", "linf", 1.0, 1.0)
    with pytest.raises(InputError, match="n_selected"):
        line.event()


def test_nothing_is_no_peeling():
    with pytest.raises(InputError, match="must not both be 0"):
        peeling_event("peeled-gaussian", 0.1, 0, 0)
    with pytest.raises(InputError, match="form must be"):
        peeling_event("peeled", 0.1, 1)
