"""A page in a browser: the verifier runs under the page's policy, and writes its verdict."""

import json
import re
from html import escape

import pytest

from support.forging import certificate_of
from support.javascript import opened
from support.pages import Page
from tailguard.planning import prediction_grid
from tailguard.report.content import Report, ReportedEstimate, ReportTable
from tailguard.report.page import page_text
from tailguard.report.plan_page import WORDS, plan_page


@pytest.fixture
def page(tmp_path):
    """Write a page; return what a browser makes of it."""

    def made(text):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        return Page(opened(path).removeprefix("<!DOCTYPE html>"))

    return made


def verdict(page):
    [words] = [words for words in page.words if words.startswith("Totals, worked out again")]
    return words.partition("page: ")[2]


def test_a_fit_agrees_and_shows_each_total(page):
    certificate = certificate_of("fit")
    found = page(Report(subject="fit", certificate=certificate).to_html())
    assert verdict(found) == "agrees."
    head, *rows = found.tables["Each total by itself"]
    assert head == ["total", "stated", "worked out", "verdict"]
    stated = {row[0]: row[1] for row in rows}
    for part in ("reserved", "released"):
        total = certificate.total if part == "reserved" else certificate.spent
        for name in ("epsilon", "mu", "rho"):
            assert float(stated[f"{part}: {name}"]) == pytest.approx(getattr(total, name), rel=1e-9)
    assert all(row[3] == "agrees" for row in rows)


def test_a_changed_total_does_not_agree(page):
    text = Report(subject="fit", certificate=certificate_of("fit")).to_html()
    data = json.loads(page_text(text))
    before = json.dumps(data["certificate"]["total"]["epsilon"])
    assert verdict(page(text.replace(f'"epsilon": {before}', '"epsilon": 0.1'))) == (
        "does not agree."
    )


def test_what_has_no_closed_form_is_left_to_python(page):
    text = Report(subject="samples", certificate=certificate_of("samples")).to_html()
    assert verdict(page(text)) == "not checked here: run tailguard verify."


def test_another_script_does_not_run(page):
    text = Report(subject="fit", certificate=certificate_of("fit")).to_html()
    more = "<p id=other></p><script>document.getElementById('other').textContent = 'ran'</script>"
    assert "ran" not in page(text.replace("</body>", f"{more}</body>")).words
    alone = f"<!DOCTYPE html><html><body>{more}</body></html>"
    assert "ran" in page(alone).words  # without the page's policy


@pytest.fixture(scope="module")
def grid():
    return prediction_grid("squared", n_features=3, delta=1e-6)


def test_coefficients_are_read_on_a_telephone_without_scrolling_sideways(tmp_path):
    """The page's policy lets no other script run, so that it is taken out to measure."""
    estimates = [
        ReportedEstimate("a_long_name_of_a_column", -1234.5678, 0.123456, -1300.0, 1200.0)
    ] * 2
    long = "vehicle_power_in_horsepower_at_registration"
    groups = ReportTable("groups", ("group", long, "mean", "std"), (("north", long, "1.5", "2"),))
    shown = {"estimates": estimates, "tables": [groups]}
    report = Report(subject="fit", certificate=certificate_of("fit"), **shown)
    text = re.sub(r"<meta http-equiv.*?>", "", report.to_html(), flags=re.DOTALL)
    measure = (
        "<script>const widths = [...document.querySelectorAll('.stacked')].map((table) => "
        "[innerWidth, table.parentElement.scrollWidth - table.parentElement.clientWidth]);"
        "document.body.dataset.widths = JSON.stringify(widths)</script>"
    )

    # Not every browser has a window as narrow as that: a frame is.
    frame = "<!DOCTYPE html><body><iframe style='border: 0; height: 900px; width: 390px'"
    copied = (
        "<script>onload = () => { document.body.dataset.widths = "
        "document.querySelector('iframe').contentDocument.body.dataset.widths }</script>"
    )

    def beyond(text):
        path = tmp_path / "telephone.html"
        inside = escape(text.replace("</body>", f"{measure}</body>"))
        path.write_text(f"{frame} srcdoc='{inside}'></iframe>{copied}", encoding="utf-8")
        return json.loads(re.search(r'data-widths="(.*?)"', opened(path))[1])

    assert {*map(tuple, beyond(text))} == {(390, 0)}
    beside = beyond(text.replace("(max-width: 40rem)", "(max-width: 1rem)"))
    assert max(wider for _, wider in beside) > 0  # cells beside one another do not fit


@pytest.mark.parametrize("place", [(2, 6, 5), (0, 0, 0)])
def test_a_browser_shows_the_prediction_where_the_sliders_stand(place, grid, tmp_path):
    columns, rows, budget = place
    start = {"n_features": columns, "n_rows": rows, "epsilon": budget}
    path = tmp_path / "plan.html"
    begun, moved = (f'"start": {json.dumps(each)}' for each in (grid["start"], start))
    path.write_text(plan_page(grid).replace(begun, moved))
    page = opened(path)
    cell = grid["cells"][columns][rows][budget]
    said = re.search(r'id="prediction">(.*?)</p>', page)[1]
    if cell is None:
        assert said == WORDS["nothing"]
    else:
        assert f"{grid['methods'][cell[1]]}: predicted error" in said
        assert float(re.search(r"error (\S+?)\.(?: |$)", said)[1]) == pytest.approx(
            cell[0], rel=5e-3
        )
        assert (WORDS["hidden"] in said) == cell[2]
    assert f'id="n_rows-value" for="n_rows">{grid["axes"]["n_rows"][rows]:,}' in page
    assert re.findall("<input[^>]*disabled", page) == []
    assert re.search(r'class="chosen"><th scope="row">' + f"{grid['axes']['n_rows'][rows]:,}", page)
