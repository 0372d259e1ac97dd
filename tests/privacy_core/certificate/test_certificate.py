"""Certificates: round trips, words, and totals against an independent recomputation."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from dp_accounting.pld import privacy_loss_distribution as package

from support.certificates import PROMISE, certify, example, gaussian, laplace
from tailguard.checks import InputError
from tailguard.privacy.accounting.gaussian import epsilon_of
from tailguard.privacy.accounting.total_cost import EXACT, Distance
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.books.releases import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.certificate.certificate import KEY, VERSION
from tailguard.privacy.events import (
    Composed,
    Gaussian,
    Laplace,
    Selected,
)
from tailguard.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP
from tailguard.version import __version__


def test_totals_are_recomputed_from_the_events():
    certificate = example()
    assert certificate.total.mu == pytest.approx(math.sqrt(0.75))
    assert certificate.total.epsilon == pytest.approx(epsilon_of(math.sqrt(0.75), 1e-6), rel=1e-9)
    assert certificate.spent.mu == pytest.approx(math.sqrt(0.03))
    assert certificate.spent.epsilon == pytest.approx(epsilon_of(math.sqrt(0.03), 1e-6), rel=1e-9)
    assert certificate.spent.epsilon < certificate.total.epsilon <= PROMISE.epsilon
    assert certificate.unused["epsilon"] == pytest.approx(
        certificate.total.epsilon - certificate.spent.epsilon
    )
    assert set(certificate.unused) == {"epsilon", "mu", "rho"}


def test_round_trip():
    certificate = example()
    text = certificate.to_json()
    again = Certificate.from_dict(json.loads(text))
    assert again == certificate
    assert again.to_json() == text
    assert json.loads(text)[KEY] == VERSION
    assert again.to_text() == certificate.to_text() == str(certificate)
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert certificate.version == __version__


@pytest.mark.parametrize("guarantee", [GDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6), PureDP(1.0)])
def test_every_promise_goes_round(guarantee):
    event, release = (
        (Laplace(0.5), laplace(0.5)) if guarantee.kind == "pure" else (Gaussian(0.1), gaussian(0.1))
    )
    certificate = certify(event, [release], guarantee)
    assert Certificate.from_dict(json.loads(certificate.to_json())) == certificate
    words = " ".join(certificate.to_text().split())
    assert guarantee.describe() in words
    assert certificate.total.delta == guarantee.delta
    assert (certificate.total.epsilon is None) == (guarantee.delta is None)
    assert ("the promise holds up to these" in words) == (guarantee.delta is None)


def test_a_file_whose_releases_were_never_planned_is_refused():
    for changes in (
        {"planned": Gaussian(0.1).to_dict()},
        {"releases": [gaussian(0.1, times=76).to_dict()]},
        {"releases": [laplace(0.1).to_dict()]},
    ):
        data = json.loads(example().to_json()) | changes
        with pytest.raises(InputError, match="must plan for all that was released"):
            Certificate.from_dict(data)
    whole = replace(example(), releases=(gaussian(0.1, times=75),))
    assert Certificate.from_json(whole.to_json()).spent.mu == pytest.approx(math.sqrt(0.75))


def test_the_page_says_what_an_officer_needs():
    page = example().to_text()
    assert max(map(len, page.splitlines())) <= 79
    words = " ".join(page.split())
    for expected in (
        "mode private",
        "epsilon = 5 and delta = 1e-06",
        "replace-one, n public",
        "n = 1000",
        "at delta = 1e-06",
        "all of it counts as spent",
        "refinement: the first stage was already precise",
        "Dong, Roth and Su 2022",
        "charged inside epsilon and delta",
        "gradient (gaussian, ClippedGradient)",
        "finite fourth moments",
    ):
        assert expected in words


def test_every_number_of_a_release_stays_on_its_line():
    """Also the widest numbers, beside the longest name that a solver gives and a longer one."""
    names = ["counts of pair differences below thresholds", "sum of gradients " * 8, "a" * 50]
    releases = [
        Release(name, "MeanClippedGradient", "gaussian", "l2", 1.234567e-10, 1.234567e10, 12345)
        for name in names
    ]
    page = Certificate(PROMISE, 10**9, Gaussian(1.0), tuple(releases)).to_text().splitlines()
    assert max(map(len, page)) <= 79
    lines = [line for line in page if line.startswith("  12345  1.23457e-10  1.23457e+10  ")]
    assert len(lines) == len(names)
    assert lines[0].endswith(names[0])
    assert page[page.index(lines[0]) + 1].strip() == "(gaussian, MeanClippedGradient)"


def lines_of(page):
    return [line for line in page.splitlines() if line[:7].strip().isdigit()]


def test_the_page_says_what_each_release_was_for():
    named, again, plain = gaussian(0.1, stage="place"), gaussian(0.1, stage="slopes"), gaussian(0.1)
    certificate = certify(Gaussian(0.5), [named, named, again, plain])
    stages = [(r.stage, r.times) for r in certificate.releases]
    assert stages == [("place", 2), ("slopes", 1), ("", 1)]
    words = [line.split(maxsplit=3)[3] for line in lines_of(certificate.to_text())]
    what = "gradient (gaussian, ClippedGradient)"
    assert words[:3] == [f"place: {what}", f"slopes: {what}", what]
    assert Certificate.from_dict(json.loads(certificate.to_json())) == certificate


def test_the_page_groups_what_rounds_to_the_same_and_the_books_do_not():
    shares = [0.1, 0.1 * (1.0 + 1e-12), 0.1 * (1.0 - 1e-12), 0.11, 0.1]
    certificate = certify(Gaussian(0.5), [gaussian(mu, stage="rounds") for mu in shares])
    assert [release.times for release in certificate.releases] == [1] * 5
    assert [int(line.split()[0]) for line in lines_of(certificate.to_text())] == [3, 1, 1]
    assert certificate.spent.mu == pytest.approx(math.sqrt(0.0521), rel=1e-12)


def test_only_what_looks_alike_in_a_row_shares_a_line():
    facts = {"sensitivity": 1.0, "noise_std": 2.0, "parameters": {"map_blocks": 4}}
    releases = [
        Release(
            name, "Mean", "gaussian", "l2", stage=stage, block_map="batches", block=block, **facts
        )
        for name, stage, block in [("a", "", 0), ("b", "", 0), ("b", "c", 0), ("b", "c", 1)]
    ]
    page = Certificate(PROMISE, 1000, Gaussian(1.0), tuple(releases)).to_text()
    assert [int(line.split()[0]) for line in lines_of(page)] == [1, 1, 1, 1]


def test_the_page_of_an_empty_run():
    certificate = certify(Gaussian(0.1), [])
    assert certificate.spent.epsilon == 0.0
    assert certificate.to_text().count("nothing") == 2


def test_blocks_show_on_the_page():
    release = gaussian(0.1, block_map="batches", block=7)
    certificate = Certificate(PROMISE, 1000, planned=Composed(()), releases=(release,))
    assert "block 7 of 'batches'" in " ".join(certificate.to_text().split())


def test_an_impossible_total_is_said_in_words():
    certificate = certify(Gaussian(0.1), [], guarantee=PureDP(1.0))
    assert certificate.total.epsilon == math.inf
    assert json.loads(certificate.to_json())["total"]["epsilon"] == "infinite"
    assert "epsilon = infinite" in certificate.to_text()


def test_the_sampler_is_inside_the_total():
    distance = Distance(1e-3, 1e-9)
    ideal, sampled = (
        certify(Gaussian(1.0), [], sampler_distance=each) for each in (EXACT, distance)
    )
    epsilon, delta = distance.accounted_cost(sampled.total.epsilon, 1e-6)
    assert sampled.total.epsilon > ideal.total.epsilon + 2e-3
    assert epsilon == pytest.approx(epsilon_of(1.0, delta), rel=1e-9)


@pytest.mark.parametrize("facts", [{"n_rows": 0}, {"mode": "public"}, {"unit": "row"}])
def test_bad_facts_are_refused(facts):
    with pytest.raises(InputError):
        Certificate(**{"guarantee": PROMISE, "n_rows": 10, "planned": Gaussian(1.0), **facts})


def test_gaussian_totals_agree_with_an_independent_recomputation():
    generator = np.random.default_rng(20250101)
    for _ in range(50):
        n_lines = generator.integers(1, 6)
        lines = list(
            zip(
                generator.uniform(0.01, 5.0, n_lines),
                generator.uniform(2.0, 50.0, n_lines),
                generator.integers(1, 40, n_lines),
                strict=True,
            )
        )
        releases = [
            Release("r", "Q", "gaussian", "l2", sensitivity, noise_std, times=int(times))
            for sensitivity, noise_std, times in lines
        ]
        delta = 10.0 ** generator.uniform(-9, -3)
        certificate = certify(
            Composed([release.event() for release in releases]), releases, ApproxDP(1.0, delta)
        )
        listed = certificate.to_dict()["releases"]
        mu = math.sqrt(sum(r["times"] * (r["sensitivity"] / r["noise_std"]) ** 2 for r in listed))
        theirs = gaussian_mechanism.get_epsilon_gaussian(1.0 / mu, delta)
        assert certificate.spent.epsilon == pytest.approx(theirs, rel=1e-6)
        assert certificate.total.epsilon == pytest.approx(certificate.spent.epsilon, rel=1e-9)


@pytest.mark.long
def test_mixture_totals_agree_with_an_independent_recomputation():
    generator = np.random.default_rng(20250102)
    for _ in range(8):
        times = int(generator.integers(1, 30))
        mu, share = generator.uniform(0.2, 1.5), generator.uniform(0.02, 0.2)
        releases = [gaussian(mu / 2, times=4), laplace(share, times=times)]
        planned = Composed([release.event() for release in releases])
        certificate = certify(planned, releases)
        step = {"value_discretization_interval": 1e-4}
        losses = package.from_gaussian_mechanism(1.0 / mu, **step).compose(
            package.from_laplace_mechanism(1.0 / share, **step).self_compose(times)
        )
        theirs = losses.get_epsilon_for_delta(1e-6)
        assert certificate.spent.epsilon == pytest.approx(theirs, rel=1e-3)
        assert certificate.spent.accountant == "pld"


def test_a_certificate_names_where_a_ledger_was_charged():
    entry = LedgerEntry("claims & <co>", 7, "3f", "9b1d" * 16)
    certificate = replace(example(), ledger_entries=(entry,))
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert "ledger       entry 7 of 'claims & <co>' (9b1d9b1d9b1d9b1d)" in certificate.to_text()
    assert "claims &amp; &lt;co&gt;" in certificate.to_html()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({KEY: VERSION + 1}, f"got version {VERSION + 1}, which a newer tailguard wrote"),
        ({KEY: 0}, "; got 0."),
        ({KEY: "1"}, "; got '1'."),
        ({KEY: None}, "; got None."),
        ({"releases": None}, "certificate must hold what to_dict wrote"),
        ({"releases": [{"what": 1}]}, "certificate must hold what to_dict wrote"),
        ({"planned": {"kind": "unheard of"}}, "kind must be one of"),
        ({"guarantee": []}, "certificate must hold what to_dict wrote"),
        ({"n_rows": 0}, "n_rows must be"),
        ({"mode": "safe"}, "mode must be one of"),
        ({"ledger_entries": 3}, "certificate must hold what to_dict wrote"),
        ({"ledger_entries": [{"ledger": "a"}]}, "certificate must hold what to_dict wrote"),
        ({"unused_stages": [1]}, "certificate must hold what to_dict wrote"),
        ({"assumptions_for_accuracy": [1]}, "certificate must hold what to_dict wrote"),
        ({"sampler_log_ratio": 10**400}, "must be a num"),
        ({"sampler_total_variation": 10**400}, "must be a num"),
        ({"version": math.nan}, "must be a text"),
    ],
    ids=str,
)
def test_what_is_no_certificate_is_one_sentence(change, words):
    text = json.dumps(json.loads(example().to_json()) | change)
    with pytest.raises(InputError) as caught:
        Certificate.from_json(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "{}", "[]", "3", "null", "{", "[" * 100_000])
def test_other_json_is_no_certificate(text):
    with pytest.raises(InputError, match="certificate must"):
        Certificate.from_json(text)


def test_the_best_of_many_tries_is_told_with_how_many_were_expected():
    told = {"mean_tries": 10.0, "law": "poisson"}
    best = Release("best", "Search", "selected-gaussian", "l2", 0.3, 3.0, parameters=told)
    text = certify(Selected(0.1, 10.0, "poisson"), [best]).to_text()
    assert "(selected-gaussian, Search, 10 tries expected, poisson)" in " ".join(text.split())
