"""A report's data: written, read back, and refused where they are none."""

import json
import math

import numpy as np
import pytest

import tailguard as tg
from support.certificates import certify, gaussian
from tailguard.checks import InputError
from tailguard.privacy.events import Gaussian
from tailguard.report.content import Report, ReportedEstimate, ReportTable, Stated


def example():
    return Report(
        subject="mean",
        certificate=certify(Gaussian(0.5), [gaussian(0.5)]),
        estimates=(ReportedEstimate("age", 1.5, 0.1, 1.0, 2.0), ReportedEstimate("fee", math.nan)),
        tables=(ReportTable("Quantiles", ("column", "median"), (("age", "41"),)),),
        notes=("a note",),
        facts={"target": "cost"},
        stated=Stated(date="2026-11-26"),
    )


def test_a_report_is_written_and_read_back():
    report = example()
    found = Report.from_dict(json.loads(report.to_json()))
    assert found.to_dict() == report.to_dict()
    assert found.to_html() == report.to_html()
    assert math.isnan(found.estimates[1].value)
    assert (found.tables, found.stated) == (report.tables, report.stated)


def test_a_report_is_one_line_where_it_is_shown():
    """A notebook whose cell ended with model.report(path) showed the whole certificate."""
    shown = repr(example())
    assert "\n" not in shown
    assert shown == "<Report of mean, mode: private; save(path) writes the page>"


@pytest.mark.parametrize(
    "change",
    [
        {"tailguard_report": 99},
        {"estimates": 3},
        {"estimates": [{"value": 1.0}]},
        {"tables": [{}]},
        {"notes": None},
        {"stated": {"other": "x"}},
        {"stated": {"dataset": 3}},
        {"more": 1},
        {"level": "high"},
        {"facts": 3},
        {"estimates": [{"name": "age", "value": "1", "noise_std": 1.0, "low": 0, "high": 1}]},
        {"estimates": [{"name": "age", "value": 1.0, "noise_std": "x", "low": 0, "high": 1}]},
        {"certificate": {}},
    ],
)
def test_what_is_no_report_is_refused(change):
    data = {**example().to_dict(), **change}
    with pytest.raises(InputError):
        Report.from_dict(data)


def test_a_certificate_that_does_not_agree_is_refused():
    data = json.loads(example().to_json())
    data["certificate"]["total"]["mu"] = 0.4
    with pytest.raises(InputError, match=r"certificate must state what follows"):
        Report.from_dict(data)


@pytest.mark.parametrize("name", ["dataset", "date", "curator"])
def test_what_is_stated_is_a_text(name):
    with pytest.raises(InputError, match=rf"^{name} must be a text or None; got 3\.$"):
        Stated(**{name: 3})


def test_a_report_is_saved_or_says_why_not(tmp_path):
    result = tg.mean(np.arange(200.0), guarantee=tg.GDP(1.0), random_state=0)
    made = result.report(tmp_path / "mean.html", dataset="counts")
    assert (tmp_path / "mean.html").read_text() == made.to_html()
    with pytest.raises(InputError, match=r"^path must be that of a file that can be written; "):
        result.report(tmp_path / "none" / "mean.html")


def test_only_fitted_models_have_a_report():
    with pytest.raises(ValueError, match="not fitted"):
        tg.LinearRegression(epsilon=1.0, delta=1e-6).report()
