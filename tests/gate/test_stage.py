"""A stage has one cost: what it tells, what it asks for and what it books agree."""

from dataclasses import replace

import pytest

from tailguard.checks import InputError
from tailguard.gate.stage import Stage
from tailguard.privacy.accounting.gaussian import mu_of
from tailguard.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    Repeated,
    Sampled,
    ZeroConcentrated,
)

SHARES = {
    "gaussian": (Gaussian(0.5), 0.5),
    "laplace": (Laplace(0.5), 0.5),
    "concentrated": (ZeroConcentrated(0.125), 0.5),
    "approximate": (Approximate(0.5, 1e-6), mu_of(0.5, 1e-6)),
}


@pytest.mark.parametrize("kind", SHARES)
def test_it_asks_for_what_it_books_and_tells(kind):
    share, mu = SHARES[kind]
    stage = Stage.of(share, "mean", "", 3, 2)
    assert stage.asked == stage.cost == share
    assert stage.event == Repeated(share, 3)
    assert stage.mu == pytest.approx(mu, rel=1e-12)


@pytest.mark.parametrize("kind", ["laplace", "concentrated", "approximate"])
def test_another_amount_beside_its_share_is_refused(kind):
    stage = Stage.of(SHARES[kind][0], "mean", "", 3, 2)
    with pytest.raises(InputError, match=r"mu must be that of .*; got 0\.05\."):
        replace(stage, mu=0.05)


@pytest.mark.parametrize("how", [{"sampled": 0.1}, {"shuffled": True, "n_blocks": 4}])
def test_samples_and_shuffles_are_of_gaussian_noise(how):
    assert Stage.of(Gaussian(0.5), "mean", "", 3, 2, **how).share is None
    with pytest.raises(InputError, match="share must be None in samples or a shuffle"):
        Stage.of(Laplace(0.5), "mean", "", 3, 2, **how)


def test_costs_that_no_noise_has_are_refused():
    with pytest.raises(InputError, match="share must be Gaussian, Laplace, ZeroConcentrated or"):
        Stage.of(Sampled(0.1, 0.1), "mean", "", 3, 2)
