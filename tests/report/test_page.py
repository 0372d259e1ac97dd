"""The page of a report: each of its numbers, worked out here from model and certificate."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tailguard as tg
from support.certificates import certify, gaussian, laplace
from support.forging import certificate_of
from support.pages import Page
from tailguard.privacy.books.releases import Release
from tailguard.privacy.events import Composed, Gaussian, Laplace, Repeated, ZeroConcentrated
from tailguard.privacy.unit import Unit
from tailguard.report import page as page_module
from tailguard.report.content import Report, ReportedEstimate, ReportTable, Stated
from tailguard.report.page import page_text

N_ROWS = 20_000
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?(?![\w])")


@pytest.fixture(scope="module")
def model():
    """A linear model of two columns, of which one never varies, on a ledger."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.gamma(4.0, 12.0, N_ROWS), np.zeros(N_ROWS)])
    y = 20.0 * X[:, 0] + rng.normal(0.0, 50.0, N_ROWS)
    return tg.LinearRegression(epsilon=4.0, delta=1e-6).fit(X, y)


@pytest.fixture(scope="module")
def text(model):
    return model.report(dataset="Claims of 2026", date="2026-11-26").to_html()


def table(page, begin):
    [found] = [rows for caption, rows in page.tables.items() if caption.startswith(begin)]
    return found


def at_most(share):
    """A share in percent with three digits, rounded up."""
    factor = 10.0 ** (2 - math.floor(math.log10(100.0 * share)))
    return f"{math.ceil(100.0 * share * factor - 1e-9) / factor:g} %"


def test_what_is_declared(model, text):
    assert table(Page(text), "As declared") == [
        ["dataset", "Claims of 2026"],
        ["date", "2026-11-26"],
        ["curator", "not stated"],
        ["protects", "one row, and not a person with several rows"],
        ["records", f"{N_ROWS}, a public number"],
        ["made by", f"tailguard {tg.__version__}"],
    ]


def test_a_person_with_all_of_her_rows_is_protected_where_the_promise_says_so():
    by_row = certificate_of("fit in mu")
    by_person = replace(by_row, unit=Unit(person="patient_id", max_rows=20))
    rows, persons = (
        Page(Report(subject="fit", certificate=each).to_html()) for each in (by_row, by_person)
    )
    said = " ".join(persons.words)
    less = "A person with several records is protected less"
    assert less in " ".join(rows.words)
    assert less not in said
    assert "with all of their rows" in said
    assert "'patient_id' tells persons apart" in said
    declared = dict(table(persons, "As declared"))
    assert declared["persons"] == f"{by_row.n_rows}, a public number"
    assert "records" not in declared


def test_the_odds_are_those_of_the_promise_and_of_the_noise(model, text):
    mu = math.sqrt(
        sum(r.times * (r.sensitivity / r.noise_std) ** 2 for r in model.certificate_.releases)
        + (model.certificate_.total.mu**2 - model.certificate_.spent.mu**2)
    )
    promised = [math.exp(4.0) / (1.0 + math.exp(4.0))]
    promised += [
        min(math.exp(4.0) * alarms + 1e-6, 1.0 - (1.0 - 1e-6 - alarms) / math.exp(4.0))
        for alarms in (0.001, 0.01, 0.1)
    ]
    drawn = [norm.cdf(mu / 2.0)]
    drawn += [norm.sf(norm.isf(alarms) - mu) for alarms in (0.001, 0.01, 0.1)]
    head, *rows = table(Page(text), "Success of the best attack")
    assert head == ["attack", "at most, by the promise", "at most, by the noise of this run"]
    assert [row[1:] for row in rows] == [
        [at_most(a), at_most(b)] for a, b in zip(promised, drawn, strict=True)
    ]
    assert [re.findall(r"[\d.]+ %", row[0]) for row in rows] == [
        *(["50 %"], ["0.1 %"], ["1 %"], ["10 %"])
    ]


@pytest.mark.parametrize(("name", "columns"), [("fit in mu", 2), ("mean in rho", 3), ("search", 2)])
def test_the_odds_of_a_run_are_said_where_they_are_others(name, columns):
    """Of a promise in mu they would be the same, and the best of many tries has no mu."""
    page = Page(Report(subject=name, certificate=certificate_of(name)).to_html())
    assert {len(row) for row in table(page, "Success of the best attack")} == {columns}


def test_the_coefficients_are_those_of_the_model(model, text):
    page, frame = Page(text), model.coef_frame()
    head, *rows = table(page, "Each picture")
    assert head == ["coefficient", "value", "privacy noise", "95 % interval", "picture"]
    assert [row[0] for row in rows] == ["x0", "x1", "(intercept)"]
    for row, (name, told) in zip(rows, frame.iterrows(), strict=True):
        if name == "x1":
            assert row[1:] == ["not estimated", "", "", ""]
            continue
        assert row[1:3] == [f"{told.coefficient:.6g}", f"{told.noise_std:.3g}"]
        assert row[3] == f"{told.low:.4g} to {told.high:.4g}"
    assert f"x1: {frame.reason['x1']}" in page.words
    assert "not estimated" in frame.reason["x1"]
    assert model.notes_[0] in page.words
    assert model.notes_[0].startswith("the result rests on")


def test_cells_below_one_another_name_their_headers(text):
    """Of a wide table, on a narrow screen; what is empty, or a picture, needs no name."""
    [wide] = re.findall(
        r'<table class="stacked">\n<caption>Each picture.*?</table>', text, re.DOTALL
    )
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", wide)
    assert len(rows) == 3
    for row in rows:
        labels = re.findall(r'<td data-label="([^"]*)"', row)
        assert labels[:3] == ["value", "privacy noise", "95 % interval"]
    narrow = re.search(
        r"<table[^>]*>\n<caption>Success of the best attack.*?</table>", text, re.DOTALL
    )
    assert "stacked" not in narrow[0]
    assert "data-label" not in narrow[0]


def test_names_stand_on_the_left_and_wide_tables_take_the_window():
    headers = ["group", "column", *map(str, range(7))]
    rows = [
        ["a", "cost", "1,200", "-", "nan", "inf", "1e-05", "-0.3", "95 %"],
        ["b", "x3", *"1234567"],
    ]
    tables = [ReportTable("wide", headers, rows), ReportTable("narrow", headers[:8], [rows[0][:8]])]
    text = Report(subject="sums", certificate=certificate_of("fit"), tables=tables).to_html()
    frames = re.findall(r'<div class="([^"]*)"[^>]* aria-label="(wide|narrow)">', text)
    assert frames == [("scroll wide", "wide"), ("scroll", "narrow")]
    assert '<td data-label="column">cost</td>' in text
    for place, cell in enumerate(rows[0][2:]):
        assert f'<td data-label="{place}" class="number">{cell}</td>' in text


def test_pictures_show_intervals_on_their_own_scale(model, text):
    low, high = model.conf_int()[0]
    lines = [line for line in Page(text).all("line") if line["class"] == "interval"]
    assert len(lines) == 2  # x0 and the intercept
    assert float(lines[0]["x2"]) == 200.0  # above zero, so the far end
    assert float(lines[0]["x1"]) == pytest.approx(100.0 + 100.0 * low / high, abs=0.1)
    [intercept_low, intercept_high] = model.conf_int()[2]
    far = max(abs(intercept_low), abs(intercept_high))
    assert float(lines[1]["x1"]) == pytest.approx(100.0 + 100.0 * intercept_low / far, abs=0.1)


def test_the_budget_went_where_the_releases_say(model, text):
    certificate, page = model.certificate_, Page(text)
    total, spent = certificate.total, certificate.spent
    rows = dict(table(page, "What is reserved"))
    reserved = f"epsilon = {total.epsilon:.6g} at delta = 1e-06, mu = {total.mu:.6g}"
    assert rows["reserved"].startswith(f"{reserved}, rho = {total.rho:.6g};")
    assert rows["released"].startswith(f"epsilon = {spent.epsilon:.6g} at delta = 1e-06, mu = ")
    for name, value in certificate.unused.items():
        assert f"{name} {value:.6g} lower" in rows["unused"]
    stages = {}
    for release in certificate.releases:
        cost, times = stages.get(release.stage, (0.0, 0))
        cost += release.times * (release.sensitivity / release.noise_std) ** 2
        stages[release.stage] = cost, times + release.times
    head, *shown = table(page, "Shares of the reserved budget")
    assert head == ["stage", "releases", "share", "picture", "what was released"]
    assert [row[:3] for row in shown] == [
        [stage, str(times), f"{100.0 * cost / total.mu**2:.1f} %"]
        for stage, (cost, times) in stages.items()
    ]
    bars = [float(bar["width"]) for bar in page.all("rect") if bar["class"] == "bar"]
    costs = np.array([cost for cost, _ in stages.values()])
    assert bars == pytest.approx(100.0 * costs / costs.max(), rel=1e-3)


def test_every_release_is_listed(model, text):
    head, *rows = table(Page(text), "All releases, in order")
    assert head == ["release", "times", "sensitivity", "noise std", "mechanism and query"]
    assert sum(int(row[1]) for row in rows) == sum(r.times for r in model.certificate_.releases)
    listed = {tuple(row[2:4]) for row in rows}
    for release in model.certificate_.releases:
        assert (f"{release.sensitivity:.6g}", f"{release.noise_std:.6g}") in listed


def test_no_other_number_is_said(model, text):
    """Outside of tables stand those of the promise, of notes, and of constant sentences."""
    page, certificate = Page(text), model.certificate_
    distance = certificate.sampler_distance
    known = {"4", "1e-06"}
    known |= {f"{distance.log_ratio:.3g}", f"{distance.variation:.3g}"}
    taken_on_trust = certificate.unproven()
    for words in (*model.notes_, *certificate.assumptions_for_accuracy, *taken_on_trust):
        known |= {*NUMBER.findall(words)}
    said = {number for words in page.words for number in NUMBER.findall(words)}
    assert said <= known
    captions = {n for caption in page.tables for n in NUMBER.findall(caption)}
    assert captions <= {"100"}  # success without noise


def test_the_ledger_that_was_charged_is_named():
    page = Page(Report(subject="stopped", certificate=certificate_of("early stop")).to_html())
    [entry] = certificate_of("early stop").ledger_entries
    assert f"The charge is {entry.describe()}." in page.words
    page = Page(Report(subject="fit", certificate=certificate_of("fit")).to_html())
    assert any(words.startswith("No ledger was charged:") for words in page.words)


def test_an_interval_of_no_width_is_none():
    certificate = certify(Gaussian(0.5), [gaussian(0.5)])
    estimates = (ReportedEstimate("x", 0.0, 0.1, 0.0, 0.0), ReportedEstimate("y", 1.0, 0.1))
    page = Page(Report(subject="s", certificate=certificate, estimates=estimates).to_html())
    _, *rows = table(page, "Each picture")
    assert [row[3:] for row in rows] == [["unknown", ""], ["unknown", ""]]


def test_a_mean_has_no_interval_and_says_its_noise():
    result = tg.mean(np.arange(2000.0), guarantee=tg.PureDP(1.0), random_state=0)
    page = Page(result.report().to_html())
    [_, row] = table(page, "Each picture")
    noise = "unknown" if math.isnan(result.noise_std) else f"{result.noise_std:.3g}"
    assert row == ["x0", f"{result.value:.6g}", noise, "unknown", ""]
    assert "This is not a private result: simulation: NOT PRIVATE." in page.words
    assert any(words.startswith("Nothing is promised to anybody") for words in page.words)


@pytest.mark.long
def test_a_search_says_what_was_chosen():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    search = tg.PrivateSearch(
        tg.LinearRegression(), {"alpha": [0.0, 0.1]}, epsilon=4.0, delta=1e-6
    ).fit(X, X[:, 0])
    page = Page(search.report(curator="me").to_html())
    assert ["curator", "me"] in table(page, "As declared")
    [chosen] = [words for words in page.words if words.startswith("chosen among 2 settings")]
    assert str(search.best_params_) in chosen
    shares = [row[2] for row in table(page, "Shares of the reserved budget")]
    assert "unknown" in shares  # the best of many tries has no rho


def test_certificates_alone_and_tables_of_words():
    planned = Composed((Gaussian(0.5), Laplace(0.25), ZeroConcentrated(0.1)))
    certificate = certify(planned, [gaussian(0.5), laplace(0.25)])
    page = Page(Report(subject="certificate", certificate=certificate).to_html())
    assert "This report describes a certificate alone." in page.words
    shares = [row[2] for row in table(page, "Shares of the reserved budget")[1:]]
    rhos = [0.125, 0.25 + math.expm1(-0.25), 0.1]
    assert shares == [f"{100.0 * rho / sum(rhos):.1f} %" for rho in rhos[:2]]
    quantiles = ReportTable("Quantiles", ("column", "median"), (("age", "41"),), "of noisy counts")
    page = Page(Report(subject="s", certificate=certificate, tables=(quantiles,)).to_html())
    assert table(page, "Quantiles") == [["column", "median"], ["age", "41"]]
    assert "of noisy counts" in page.words


def test_a_description_has_its_tables():
    rng = np.random.default_rng(2)
    region = rng.choice(["north", "south"], 20_000)
    table_ = pd.DataFrame({"age": rng.normal(40.0, 9.0, 20_000), "region": region})
    schema = {"categorical": {"region": ["north", "south"]}}
    found = tg.describe(table_, guarantee=tg.GDP(1.0), schema=schema)
    page = Page(found.report(dataset="people").to_html())
    head, row = table(page, "columns")
    assert head[:3] == ["column", "usable", "missing"]
    assert row[:2] == ["age", f"{round(found.usable[0, 0]):,}"]
    stated = [found.mean, found.mean_low, found.mean_high, found.std]
    assert row[3:7] == [f"{part[0, 0]:.6g}" for part in stated]
    assert row[7:] == [f"{value:.6g}" for value in found.quantiles[0, 0]]
    shares = {row[1]: row[2] for row in table(page, "shares of levels")[1:]}
    assert shares == {level: f"{share:.6g}" for level, share in found.shares["region"].items()}
    assert all(note in page.words for note in found.notes)


EVIL = "</script><script src=https://example.org/x.js>alert(1)</script>&\"'\u2028\x1b[31m"


def test_the_page_trusts_no_word():
    release = Release(EVIL, EVIL, "gaussian", "l2", 1.0, 2.0, stage=EVIL)
    certificate = certify(Gaussian(0.5), [release], assumptions_for_accuracy=(EVIL,))
    stated = Stated(dataset=EVIL, date=EVIL, curator=EVIL)
    report = Report(
        subject=EVIL,
        certificate=certificate,
        quantity=EVIL,
        estimates=(ReportedEstimate(EVIL, 1.0), ReportedEstimate(EVIL, math.nan, reason=EVIL)),
        tables=(ReportTable(EVIL, (EVIL, EVIL), ((EVIL, EVIL),), EVIL),),
        notes=(EVIL,),
        facts={EVIL: EVIL},
        stated=stated,
    )
    text = report.to_html()
    page = Page(text)
    assert [each.get("src") for each in page.all("script")] == [None, None]
    assert "\x1b" not in text
    assert "\u2028" not in text
    assert Report.from_dict(json.loads(page_text(text))).to_html() == text


def test_the_page_asks_for_nothing_and_runs_the_verifier_alone(text):
    page = Page(text)
    [policy] = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    used = {name for _, attributes in page.elements for name in attributes}
    assert not used & {"src", "srcset", "action", "onclick", "onload", "style", "data"}
    assert all(link["href"].startswith("#") for link in page.all("a"))
    assert "url(" not in text
    assert "@import" not in text
    assert len(text.encode()) < 200_000


def test_links_lead_to_the_sections_and_the_verdict_is_read_aloud(text):
    page = Page(text)
    targets = [link["href"][1:] for link in page.all("a")]
    labels = [section["aria-labelledby"] for section in page.all("section")]
    assert targets == labels
    assert {*labels} <= {attributes.get("id") for _, attributes in page.elements}
    [verdict] = [each for each in page.all("p") if each.get("role") == "status"]
    assert verdict["id"] == "verdict"


@pytest.mark.long
def test_long_results_stay_below_a_megabyte(monkeypatch):
    releases = [gaussian(1e-4 * (1 + n / 4000), stage=f"stage {n}") for n in range(3000)]
    certificate = certify(Repeated(Gaussian(2e-4), 3000), releases)
    many = tuple(ReportedEstimate(f"x{n}", 1.0, 0.1, 0.5, 1.5) for n in range(4000))
    report = Report(subject="many", certificate=certificate, estimates=many)
    text = report.to_html()
    assert len(text.encode()) < 1_000_000
    assert page_text(text) == ""
    page = Page(text)
    assert len(table(page, "Each picture")) == 1 + page_module.MOST_ROWS
    assert "The table shows the first 500 of 4000 rows." in page.words
    [verdict] = [words for words in page.words if words.startswith("Totals, worked out again")]
    assert "not checked here: run tailguard verify" in verdict
    assert len(page.all("script")) == 0


def test_a_table_that_is_just_as_long_as_shown_says_nothing():
    certificate = certify(Gaussian(0.5), [gaussian(0.5)])
    many = tuple(ReportedEstimate(f"x{n}", 1.0) for n in range(page_module.MOST_ROWS))
    page = Page(Report(subject="many", certificate=certificate, estimates=many).to_html())
    assert not any(words.startswith("The table shows") for words in page.words)


def test_the_report_of_a_minimum_has_its_coefficients(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 2))
    known = {"guarantee": tg.GDP(2.0), "random_state": 0, "intercept": True}
    found = tg.minimize(tg.losses.Huber(), X, X[:, 0], **known)
    report = found.report(tmp_path / "report.html", dataset="Simulated")
    assert report.stated.dataset == "Simulated"
    values = {each.name: each.value for each in report.estimates}
    assert values == {"x0": found.coef[0], "x1": found.coef[1], "(intercept)": found.intercept}
    text = (tmp_path / "report.html").read_text()
    assert "Privacy report: minimum of Huber" in text
    assert f"{found.coef[0]:.6g}" in text
