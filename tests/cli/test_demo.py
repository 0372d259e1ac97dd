"""``tailguard demo``: everything a newcomer should see, in forty lines and one page."""

import io
import json
import re
from contextlib import redirect_stdout

import pytest

from tailguard.cli.app import run
from tailguard.cli.commands.demo import LETTERS_PER_SIDE, picture
from tailguard.report.page import page_text

MOST_LINES = 40


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What a demo prints in a folder of its own, and the folder."""
    folder, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        assert run(["demo", "--rows", "20000"]) == 0
    return printed.getvalue(), folder


def test_the_demo_shows_data_code_truth_and_certificate(demo):
    out, _ = demo
    parts = ["The data", "Nobody's records", "tg.LinearRegression(epsilon=1.0, delta=1e-06)"]
    parts += ["noised releases", "truth", "district_claims_per_km", "(intercept)"]
    parts += ["promise: (epsilon, delta)", "released: epsilon = 1 at delta = 1e-06, mu = "]
    assert [part for part in parts if part not in out] == []
    lines = out.splitlines()
    assert [line for line in lines if len(line) > 79] == []
    assert len(lines) <= MOST_LINES
    assert lines[-1] == "report: demo-report.html; check it by tailguard verify demo-report.html"


def test_the_report_has_the_names_of_the_columns_and_agrees(demo, call):
    out, folder = demo
    data = json.loads(page_text((folder / "demo-report.html").read_text()))
    names = [estimate["name"] for estimate in data["estimates"]]
    assert names[0] == "driver_age_years"
    assert names[-1] == "(intercept)"
    assert all(f"\n{name} " in out for name in names)
    assert data["stated"]["dataset"] == "simulated motor claims"
    assert "word by word" in call("verify", folder / "demo-report.html").out


def test_pictures_show_where_the_truth_lies(demo):
    rows = re.search(r"^-{60,}\n(.*)^95 % intervals", demo[0], re.MULTILINE | re.DOTALL)[1]
    pictures = [row[-(2 * LETTERS_PER_SIDE + 1) :] for row in rows.splitlines()]
    assert len(pictures) == 9
    assert all("|" in each for each in pictures)
    inside = [each for each in pictures if re.search(r"\[.*\|.*\]", each)]
    assert len(inside) >= 5  # of nine intervals that hold in 95 %: fewer with a chance of 4e-5


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "      [----|----]      "),
        (0.8, "          [|---o----]  "),
        (-1.2, "[----o----]|           "),
    ],
)
def test_a_picture_is_in_half_intervals_about_the_truth(value, expected):
    assert picture(5.0, 5.0 + value, 4.0 + value, 6.0 + value) == expected


def test_the_comparison_is_labelled_and_fair(call, tmp_path):
    out = call("demo", "--rows", "20000", "--epsilon", "10", "--out", tmp_path / "a.html").out
    shares = out.partition("Explained variance")[2]
    private, plain = (float(share) for share in re.findall(r"(-?[\d.]+)%", shares)[:2])
    assert "NOT PRIVATE: possible because the data are simulated" in " ".join(out.split())
    assert 50 < private <= plain + 1


def test_no_report_is_written_where_it_cannot_be(call, tmp_path):
    answer = call("demo", "--out", tmp_path / "none" / "a.html")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Error: --out must be a file in a writable directory")
