"""Means with printed noise: what it is worth, and what a run of too little noise may not do."""

import json
import math

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.noise.discrete_gaussian import lattice_std
from tailguard.papers.zhao2024.means import PrintedIterative
from tailguard.papers.zhao2024.parameters import printed_amplified_rho, printed_rho
from tailguard.privacy.accounting.total_cost import satisfies
from tailguard.privacy.accounting.zcdp import rho_of_simple
from tailguard.privacy.events import Shuffled

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
PAIR = {"epsilon": 1.0, "delta": 1e-5}
RAW = tg.Moment(2.0, 5.0, kind="raw")
ALONG = tg.Moment(2.0, 4.0, kind="directional")
PRINTED = {"calibration": "printed", "random_state": 0}
kamath, tao, wang, zhao = (
    getattr(tg.papers, name) for name in ("kamath2022", "tao2022", "wang2020", "zhao2024")
)
# Each with the method of tg.mean that it is where noise is tight, and options that both take.
MEANS = {
    "kamath2022.clamped_mean": ("clamped", {"threshold": 3.0, "guarantee": tg.ZCDP(0.5)}),
    "kamath2022.soft_mean": ("soft", {"threshold": 3.0, "guarantee": tg.ZCDP(0.5)}),
    "tao2022.truncated_mean": ("truncated", {"threshold": 3.0, **PAIR}),
    "wang2020.soft_mean": ("soft", {"moment": RAW, **PAIR}),
    "wang2020.trimmed_mean": ("trimmed", {"low": -9.0, "high": 9.0, **PAIR}),
    "zhao2024.clipped_mean": ("clipped", {"clip_norm": 3.0, **PAIR}),
    "zhao2024.iterative_mean": ("iterative", {"clip_norm": 3.0, **PAIR}),
}


def heavy(n_rows=20_000, n_features=3, seed=0):
    return 5.0 + np.random.default_rng(seed).standard_t(3, (n_rows, n_features))


def called(name):
    paper, _, mean = name.partition(".")
    return getattr(getattr(tg.papers, paper), mean)


@pytest.mark.parametrize("name", MEANS)
def test_a_tight_mean_is_that_of_the_core(name):
    method, told = MEANS[name]
    X = heavy(5_000)
    ours = tg.mean(X, method=method, random_state=3, **told)
    papers = called(name)(X, calibration="tight", random_state=3, **told)
    np.testing.assert_array_equal(papers.value, ours.value)
    assert papers.certificate.to_json() == ours.certificate.to_json()
    assert "differs from the paper: " in papers.explain()
    assert "differs from the paper: " not in ours.explain()
    printed = called(name)(X, **PRINTED, **told)
    assert (printed.value != ours.value).any()


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_has_one_switch_of_two_positions(name):
    _, told = MEANS[name]
    with pytest.raises(tg.InputError, match="calibration must be one of 'tight', 'printed'"):
        called(name)(heavy(500), calibration="paper", **told)
    with pytest.raises(tg.InputError, match="half must be an option of the method object itself"):
        called(name)(heavy(500), half=1, **told)


UNPRINTED = [
    (wang.soft_mean, PRIVACY, "calibration='printed' needs moment="),
    (kamath.soft_mean, {"guarantee": tg.PureDP(1.0), "threshold": 3.0}, "must not be PureDP here"),
    (zhao.iterative_mean, {"guarantee": tg.GDP(1.0), "moment": ALONG}, "unless epsilon and delta"),
    (zhao.clipped_mean, PAIR, "the paper has no private scale"),
]


@pytest.mark.parametrize(("mean", "told", "words"), UNPRINTED)
def test_what_no_paper_prints_is_refused(mean, told, words):
    with pytest.raises(tg.InputError, match=words):
        mean(heavy(500), **told, **PRINTED)


# What a printed noise that is stated in rho has for epsilon and delta.
CONVERTED = {
    "kamath2022.clamped_mean": (rho_of_simple(1.0, 1e-5), {"moment": tg.Moment(2.0, 4.0)}),
    "kamath2022.soft_mean": (rho_of_simple(1.0, 1e-5), {"threshold": 3.0}),
    "zhao2024.clipped_mean": (printed_rho(epsilon=1.0, delta=1e-5), {"moment": ALONG}),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_a_noise_printed_in_rho_has_the_papers_conversion_for_epsilon_and_delta(name):
    """Lemma 2.3 of Kamath and others; equation (15) of Zhao and others."""
    rho, told = CONVERTED[name]
    by_rho, by_mu, by_pair = (
        called(name)(heavy(2_000), guarantee=each, **told, **PRINTED)
        for each in (tg.ZCDP(rho), tg.GDP(math.sqrt(2.0 * rho)), tg.ApproxDP(1.0, 1e-5))
    )
    np.testing.assert_allclose(by_pair.noise_std, by_rho.noise_std, rtol=1e-6)
    np.testing.assert_allclose(by_mu.noise_std, by_rho.noise_std, rtol=1e-6)
    assert by_pair.certificate.total.rho == pytest.approx(by_rho.certificate.total.rho, rel=1e-6)
    assert by_pair.certificate.total.epsilon < 1.0


def test_a_printed_noise_that_keeps_its_promise_is_private_and_charged_what_it_costs(tmp_path):
    ledger = tg.Ledger(tmp_path / "budget.sqlite", name="a", epsilon=4.0, delta=1e-3)
    result = zhao.clipped_mean(
        heavy(1_000), **PAIR, clip_norm=3.0, calibration="printed", ledger=ledger
    )
    assert result.certificate.mode == "private"
    assert result.certificate.ledger_entries
    assert result.certificate.total.epsilon < 0.7


def test_the_printed_noise_of_kamath_reports_what_it_is_worth():
    """Erratum E13: smoothing 10 spends 1.772 rho, and smoothing 1 spends 0.829 rho."""
    told = {"guarantee": tg.ZCDP(1.0), "moment": RAW, **PRINTED}
    broken = kamath.soft_mean(heavy(500), smoothing=10.0, **told).certificate
    assert broken.total.rho == pytest.approx(1.772, abs=1e-3)
    assert broken.mode == "reproduction: NOT PRIVATE"
    assert broken.guarantee == tg.ZCDP(1.0)
    assert "none: this reproduces noise that does not keep" in broken.to_text()
    kept = kamath.soft_mean(heavy(500), smoothing=1.0, **told).certificate
    assert kept.total.rho == pytest.approx(0.829, abs=1e-3)
    assert kept.mode == "simulation: NOT PRIVATE"


def test_the_printed_noise_of_tao_breaks_its_promise_with_odd_groups():
    """Erratum E14, T3: m = 5.545 in the print, 7 groups, 20 rows, 1.80 times too little noise."""
    told = {"threshold": 3.0, "n_groups": 7, "failure_probability": 0.5, **PAIR, **PRINTED}
    broken = tao.truncated_mean(heavy(20, 1), **told).certificate
    classic = math.sqrt(2 * math.log(1.25 / 1e-5))
    assert broken.total.mu == pytest.approx(1.8034 / classic, rel=1e-3)
    assert broken.total.epsilon > 1.0
    assert broken.mode == "reproduction: NOT PRIVATE"
    valid = tao.truncated_mean(heavy(20_000, 1), **told | {"n_groups": 1, "threshold": 10.0})
    assert valid.certificate.total.epsilon < 1.0
    assert valid.certificate.total.mu == pytest.approx(1 / classic, rel=1e-6)


def test_the_printed_trimmed_mean_gives_no_privacy_and_says_so():
    told = {"low": -9.0, "high": 9.0, "n_trimmed": 500, "calibration": "printed", **PRIVACY}
    with pytest.raises(tg.BudgetError, match="random_state must be given"):
        wang.trimmed_mean(heavy(), **told)
    broken = wang.trimmed_mean(heavy(), random_state=0, **told).certificate
    assert broken.total.epsilon == math.inf
    assert broken.to_dict()["promise"].startswith("none")
    assert "infinite: the scale is not smooth" in " ".join(broken.to_text().split())
    json.loads(broken.to_json().replace("Infinity", "1e999"))
    read = type(broken).from_json(broken.to_json())
    assert read.to_text() == broken.to_text()


def test_the_printed_noise_of_groups_is_worth_far_more_than_its_promise():
    plan = PrintedIterative(n_groups=1000).plan(
        Problem(None, 5_000, 3, moment=ALONG), tg.ApproxDP(1.0, 1e-6)
    )
    rho = printed_amplified_rho(n_groups=1000, epsilon=1.0, delta=1e-6)
    cost, rounding = plan.stages[0].event.event, (1.0 + 2.0**-8) * math.sqrt(3) / lattice_std(5)
    assert isinstance(cost, Shuffled)
    assert cost.n_units == 1000
    assert cost.mu == pytest.approx(math.sqrt(2.0 * rho) + rounding, rel=1e-9)
    result = zhao.iterative_mean(heavy(5_000), n_groups=1000, moment=ALONG, **PRIVACY, **PRINTED)
    assert result.certificate.spent.epsilon < 0.02


@pytest.mark.parametrize("epsilon", [4.0, 10.0])
def test_the_printed_noise_of_many_groups_breaks_its_promise(epsilon):
    """Far beyond the theorem's condition on epsilon, its formula goes on rising."""
    problem = Problem(None, 2_000_000, 3, moment=ALONG)
    promise = tg.ApproxDP(epsilon, 1e-6)
    plan = PrintedIterative(n_groups=1_000_000).plan(problem, promise)
    assert plan.printed
    assert plan.guarantee == promise
    assert not satisfies(plan.event, promise)
