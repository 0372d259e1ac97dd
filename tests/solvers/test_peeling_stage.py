"""Which form of peeling is taken, and how little noise it needs."""

import math

import pytest

import tailguard as tg
from tailguard.privacy.accounting.total_cost import spent_share
from tailguard.privacy.calibration import PEELINGS, peeling_event
from tailguard.privacy.events import Gaussian
from tailguard.solvers.hard_thresholding import best_form, peeling_stage

# Noise over sensitivity: the paper's, the Laplace form by loss distributions, the Gaussian by zCDP.
TABLE = [
    (1, 1.0, 1e-5, 19.1941, 3.001, 5.7207),
    (5, 1.0, 1e-5, 42.9193, 14.908, 12.7918),
    (20, 1.0, 1e-5, 85.8386, 35.845, 25.5837),
    (5, 0.5, 1e-6, 94.0315, 29.966, 27.4379),
]


@pytest.mark.parametrize(("n_selected", "epsilon", "delta", "paper", "laplace", "gaussian"), TABLE)
def test_the_smaller_noise_is_taken_and_is_no_more_than_any_known(
    n_selected, epsilon, delta, paper, laplace, gaussian
):
    guarantee = tg.ApproxDP(epsilon, delta)
    form, ratio = best_form(guarantee, (), n_selected, 0)
    assert form == ("peeled-laplace" if laplace < gaussian else "peeled-gaussian")
    assert 0.9 * min(laplace, gaussian) < 1.0 / ratio < 1.0005 * min(laplace, gaussian)
    assert 3.3 < ratio * paper < 6.5


@pytest.mark.parametrize("guarantee", [tg.ApproxDP(1.0, 1e-6), tg.ZCDP(0.05), tg.GDP(0.3)])
@pytest.mark.parametrize("counts", [(1, 0), (4, 1), (0, 3)])
def test_the_whole_guarantee_is_used_and_no_more(guarantee, counts):
    form, ratio = best_form(guarantee, (), *counts)
    assert 0.9999 <= spent_share(guarantee, peeling_event(form, ratio, *counts)) <= 1.0
    other = next(each for each in PEELINGS if each != form)
    noisier = {"peeled-gaussian": 1.0, "peeled-laplace": math.sqrt(2.0)}[other]
    least = ratio * (1.0 if counts[0] else noisier) * 1.001
    assert spent_share(guarantee, peeling_event(other, least, *counts)) > 1.0


def test_pure_privacy_takes_laplace_noise_whatever_else_is_smaller():
    assert best_form(tg.PureDP(1.0), (), 20, 0) == (
        "peeled-laplace",
        pytest.approx(1.0 / 60.0, rel=1e-6),
    )


@pytest.mark.long
def test_what_is_bought_beside_is_paid_for():
    guarantee = tg.ApproxDP(1.0, 1e-6)
    earlier = tg.ApproxDP(0.5, 1e-6).gaussian_mu()
    _, alone = best_form(guarantee, (), 5, 0)
    _, beside = best_form(guarantee, (Gaussian(earlier),), 5, 0)
    assert beside < 0.9 * alone


def test_a_stage_says_what_it_costs():
    stage = peeling_stage("peeled-laplace", 0.1, n_selected=2, n_free=1, n_blocks=3, size=50)
    assert stage.coordinates == 150
    assert stage.currency == "rho"
    assert stage.releases.startswith("1 release of each of 3 blocks at rho = ")
