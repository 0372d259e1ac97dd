"""``tailguard report``: a page of each file, and what ``verify`` says of that page."""

import json

import pytest

import tailguard as tg
from support.json_schema import breaches
from tailguard.cli.app import run
from tailguard.report.exports import schema_of
from tailguard.report.page import page_text

PRIVACY = ["--epsilon", "4", "--delta", "1e-6"]


@pytest.fixture(scope="module")
def written(csv_file, model_file, tmp_path_factory):
    """A model, means, a description, and a certificate."""
    folder = tmp_path_factory.mktemp("reported")
    (folder / "model.json").write_text(model_file.read_text())
    for command, columns, name in (
        ("mean", "cost", "mean"),
        ("describe", "age,cost", "description"),
    ):
        out = ["--columns", columns, "--out", f"{folder / name}.json"]
        assert run([command, str(csv_file), *PRIVACY, *out]) == 0
    (folder / "certificate.json").write_text(tg.load(model_file).certificate_.to_json())
    return folder


@pytest.mark.parametrize("name", ["model", "mean", "description", "certificate"])
def test_each_file_has_a_page_which_verify_takes(files, call, name):
    answer = call("report", f"{name}.json", "--dataset", "Claims", "--date", "2026-11-26")
    assert (answer.code, answer.out, answer.err) == (0, f"{name}.html\n", "")
    data = json.loads(page_text((files / f"{name}.html").read_text()))
    assert data["stated"] == {"dataset": "Claims", "date": "2026-11-26", "curator": None}
    stored = json.loads((files / f"{name}.json").read_text())
    assert data["certificate"] == stored.get("certificate", stored)
    checked = call("verify", f"{name}.html")
    assert (checked.code, checked.err) == (0, "")
    assert "The page says what its data give, word by word." in checked.out


@pytest.mark.parametrize("form", ["registry", "nist"])
def test_the_same_is_written_for_registries(files, call, form):
    answer = call("report", "model.json", "--form", form, "--curator", "me")
    assert (answer.code, answer.out, answer.err) == (0, f"model.{form}.json\n", "")
    written = json.loads((files / f"model.{form}.json").read_text())
    assert list(breaches(schema_of(form), written)) == []
    answer = call("report", "model.json", "--form", "word")
    assert answer.err.startswith(
        "Error: --form must be one of 'page', 'registry', 'nist'; got 'word'"
    )


def test_a_mean_keeps_its_numbers_and_notes(files, call):
    assert call("report", "mean.json", "--out", "other.html").code == 0
    data = json.loads(page_text((files / "other.html").read_text()))
    stored = json.loads((files / "mean.json").read_text())
    [estimate] = data["estimates"]
    assert estimate["value"] == stored["means"]["cost"]["mean"]
    assert estimate["noise_std"] == stored["means"]["cost"]["privacy_noise"]
    assert data["notes"] == stored["notes"] != []


def test_a_description_keeps_its_tables(files, call):
    assert call("report", "description.json").code == 0
    data = json.loads(page_text((files / "description.html").read_text()))
    stored = json.loads((files / "description.json").read_text())
    assert data["notes"] == stored["notes"]
    titles = ["columns", "95% intervals of quantiles", "correlations"]
    assert [each["title"] for each in data["tables"]] == titles
    for made, kept in zip(data["tables"], stored["tables"], strict=True):
        assert made["headers"] == kept["header"]
        assert [row[0] for row in made["rows"]] == [row[0] for row in kept["rows"]]
        assert made["rows"][0][-1] == f"{kept['rows'][0][-1]:.6g}"


def test_a_model_of_a_file_says_its_target(files, call):
    assert call("report", "model.json").code == 0
    data = json.loads(page_text((files / "model.html").read_text()))
    assert data["facts"] == {"target": "cost"}
    assert data["subject"] == "LinearRegression of cost"
    stored = json.loads((files / "model.json").read_text())
    values = [each["value"] for each in data["estimates"]]
    assert [each["name"] for each in data["estimates"]][:-1] == stored["feature_names"]
    assert len(values) == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Promised: (epsilon, delta)-differential privacy with epsilon = 1", "Promised: nothing"),
        ("not stated", "the ministry"),
        ('<tbody id="checks">', '<tbody id="checks"><tr><td>agrees</td></tr>'),
    ],
)
def test_a_page_of_other_words_is_refused(files, call, old, new):
    assert call("report", "model.json").code == 0
    page = files / "model.html"
    assert old in page.read_text()
    page.write_text(page.read_text().replace(old, new))
    answer = call("verify", "model.html")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "Error: FILE must be a page whose words follow from its data; words of this page differ.\n"
    )


def test_a_page_of_another_version_is_refused(files, call):
    """It was not compared with its data, and looked verified to a script."""
    assert call("report", "model.json").code == 0
    page = files / "model.html"
    page.write_text(page.read_text().replace('"version": "0.1.0"', '"version": "0.0.9"'))
    answer = call("verify", "model.html")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Error: FILE must be a page of this version of tailguard, ")
    assert "tailguard 0.0.9 wrote it" in answer.err


NO_CERTIFICATES = ["", "{", "{}", "[]", "3", '{"certificate": 3}', "<html></html>"]
NO_CERTIFICATES += ['{"certificate": {}, "means": {}}', pytest.param("[" * 100_000, id="deep")]


@pytest.mark.parametrize("content", NO_CERTIFICATES)
@pytest.mark.parametrize("suffix", ["json", "html"])
def test_what_has_no_certificate_is_refused_in_a_sentence(files, call, content, suffix):
    (files / f"other.{suffix}").write_text(content)
    answer = call("verify", f"other.{suffix}")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Error: ")
    assert answer.err.count("\n") == 1


def test_a_path_of_control_signs_is_spelt_out(files, call):
    name = "certificate\x1b[31m.json"
    (files / name).write_text((files / "certificate.json").read_text())
    assert call("report", name).out == "certificate\\x1b[31m.html\n"


def test_no_page_is_made_of_a_page_or_over_its_file(files, call):
    assert call("report", "model.json").code == 0
    again = call("report", "model.html", "--out", "again.html")
    assert (again.code, again.err) == (
        2,
        "Error: FILE must not be a report already; got 'model.html'.\n",
    )
    over = call("report", "model.json", "--out", "model.json")
    assert over.code == 2
    assert over.err.startswith("Error: --out must not be a file of 'model.json'")
