"""Render the data of a report as one HTML page that loads no other file.

Every text is escaped. The only script that may run is the verifier, identified by its digest. The
verifier reads the data in the page and recomputes the totals of the certificate.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pkgutil import get_data
from typing import Any

from tailguard.printable import Picture, html_table, html_words
from tailguard.privacy.certificate.pages import CONDITIONS, certificate_facts, printed_releases
from tailguard.report.budget import StageShare
from tailguard.report.exports import NOT_STATED
from tailguard.report.odds import FALSE_ALARMS, odds_of, odds_of_mu, percent

SECTIONS = {
    "promise": "What is promised, and to whom",
    "results": "Results",
    "budget": "Where the budget went",
    "ledger": "Ledger",
    "check": "Check of the totals",
    "assumptions": "What accuracy rests on",
    "releases": "Releases",
    "trust": "What this page cannot prove",
}
MOST_ROWS = 500
"""The most rows of a table, which keeps the page readable and below a megabyte."""
MOST_DATA = 700_000
"""The most characters of data that a page includes, so that it stays below a megabyte."""
WHO_IS_PROTECTED = (
    "Everybody whose data are one record of this table. The results would have been almost as "
    "likely if that record had held anything else. This holds for every table, and against an "
    "attacker who knows all other records. A person with several records is protected less, since "
    "the promise covers one record at a time. The number of records is public."
)
WHO_IS_PROTECTED_BY_PERSON = (
    "Everybody whose rows are in this table, with all of their rows. The results would have been "
    "almost as likely if a person had held any other rows, more or fewer. This holds for every "
    "table, and against an attacker who knows the rows of all others, if {person!r} tells persons "
    "apart. The number of persons is public; how many rows a person has is not."
)
WHAT_IS_LEARNED = (
    "The results describe people in general; that is their purpose. They reveal little about any "
    "one person. The table assumes an attacker who knows all other records and two versions of "
    "this one. It bounds how often the best attack finds the true version."
)
NOTHING_PROMISED = "Nothing is promised to anybody: the numbers below are costs of a private run."
UNVERIFIED = (
    "Totals, worked out again by this page: not checked here: run tailguard verify. No script ran, "
    "or the certificate is too large for a page."
)
PICTURES = (
    "Each picture has its own scale: the middle is zero, an edge is the end of the interval that "
    "is farther from zero. Privacy noise is the predicted standard deviation of the added noise "
    "alone; an interval includes sampling error as well."
)


def report_page(
    data: Mapping[str, Any], shares: Sequence[StageShare], unproven: Iterable[str]
) -> str:
    """Render the data of a report, the budget shares of stages, and what no page can prove."""
    certificate = data["certificate"]
    facts, script = certificate_facts(certificate), asset("verifier.js")
    parts = [
        *_head(data, script),
        *_section("promise", _promise(certificate)),
        *_section("results", _results(data)),
        *_section("budget", _budget(facts, shares)),
        *_section("ledger", _paragraph(_ledger(certificate, facts))),
        *_section("check", _check(facts)),
        *_section("assumptions", _sentences(certificate["assumptions_for_accuracy"])),
        *_section("releases", _releases(certificate)),
        *_section("trust", _sentences(unproven)),
        "</main>",
        *_data_and_script(data, script),
        "</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


DATA = '<script type="application/json" id="report-data">'


def page_text(page: str) -> str:
    """Return the JSON data in a page, or an empty text."""
    _, _, rest = page.partition(DATA)
    return rest.partition("</script>")[0]


def asset(name: str) -> str:
    """Return a file of this folder."""
    return (get_data("tailguard.report", name) or b"").decode("utf-8")


def html_head(title: str, script: str) -> Iterator[str]:
    """Yield the head of the page, with a content policy that allows only ``script``."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    style = asset("report.css")
    yield f"<title>{html_words(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>"


def _head(data: Mapping[str, Any], script: str) -> Iterator[str]:
    """Yield the page up to its first section."""
    title, certificate = f"Privacy report: {data['subject']}", data["certificate"]
    yield from html_head(title, script)
    yield f"<header>\n<h1>{html_words(title)}</h1>"
    if certificate["mode"] != "private":
        mode = html_words(certificate["mode"])
        yield f'<p class="panel alarm">This is not a private result: {mode}.</p>'
    declared = {
        **{name: text or NOT_STATED for name, text in data["stated"].items()},
        "protects": certificate["protects"],
        _counted(certificate): f"{certificate['n_rows']}, a public number",
        **data["facts"],
        "made by": f"tailguard {certificate['version']}",
    }
    yield from captioned_table("As declared", (), declared.items())
    links = "".join(f'<li><a href="#{key}">{text}</a></li>' for key, text in SECTIONS.items())
    yield f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n</header>\n<main>'


def _counted(certificate: Mapping[str, Any]) -> str:
    """Return the noun for the public count: records or persons."""
    return "records" if certificate["unit"]["person"] is None else "persons"


def _section(key: str, content: Iterable[str]) -> Iterator[str]:
    """Yield a section with its heading."""
    yield f'<section aria-labelledby="{key}">\n<h2 id="{key}">{SECTIONS[key]}</h2>'
    yield from content
    yield "</section>"


def _paragraph(text: str, begin: str = "") -> Iterator[str]:
    """Yield a paragraph; ``begin`` is its first words, in bold."""
    strong = f"<strong>{html_words(begin)}</strong> " if begin else ""
    yield f"<p>{strong}{html_words(text)}</p>"


def _sentences(sentences: Iterable[str]) -> Iterator[str]:
    """Yield a list, or "Nothing." for an empty one."""
    items = [f"<li>{html_words(sentence)}</li>" for sentence in sentences]
    yield "<ul>\n" + "\n".join(items) + "\n</ul>" if items else "<p>Nothing.</p>"


NOT_A_NUMBER = re.compile(r"(?!(?:nan|inf)\b)[^\W\d_]")
"""Matches the beginning of a cell that is not a number."""
SVG_OPTIONS = 'preserveAspectRatio="none" aria-hidden="true" focusable="false"'
"""Attributes of pictures. Screen readers skip them, since the numbers beside them say the same."""
MOST_SIDE_BY_SIDE = 3
"""The most columns that fit side by side on a telephone, 390 pixels wide."""
MOST_IN_TEXT = 8
"""The most columns that fit into the width of the text; wider tables may use the whole window."""


def _interval_picture(value: float, low: float, high: float) -> Picture:
    """Draw an interval; the end farther from zero touches the edge of the picture."""
    farther_end = max(abs(low), abs(high))
    left, middle, right = (100.0 + 100.0 * (x / farther_end) for x in (low, value, high))
    return Picture(
        f'<svg viewBox="-4 0 208 10" {SVG_OPTIONS}>'
        '<line class="axis" x1="0" x2="200" y1="5" y2="5"/>'
        '<line class="zero" x1="100" x2="100" y1="0" y2="10"/>'
        f'<line class="interval" x1="{left:.4g}" x2="{right:.4g}" y1="5" y2="5"/>'
        f'<rect class="point" x="{middle - 1.5:.4g}" width="3" y="1" height="8"/></svg>'
    )


def _bar(share: float) -> Picture:
    """Draw a share as a bar, which is full at 1."""
    return Picture(
        f'<svg viewBox="0 0 100 10" {SVG_OPTIONS}><rect class="bar" x="0" y="1" height="8" '
        f'width="{min(100.0, 100.0 * share):.4g}"/></svg>'
    )


def captioned_table(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Iterable[int] = (),
    key: str = "",
) -> Iterator[str]:
    """Yield a table whose rows begin with a heading; ``numbers`` are right-aligned columns.

    On a narrow screen the cells of a wide table are stacked, each beside its header.
    """
    body = [*rows]
    frame = "scroll wide" if len(headers) > MOST_IN_TEXT else "scroll"
    yield f'<div class="{frame}" role="region" tabindex="0" aria-label="{html_words(caption)}">'
    stacked = bool(body) and len(headers) > MOST_SIDE_BY_SIDE
    yield html_table(body[:MOST_ROWS], headers, numbers, caption=caption, key=key, stacked=stacked)
    yield "</div>"
    if len(body) > MOST_ROWS:
        yield f"<p>The table shows the first {MOST_ROWS} of {len(body)} rows.</p>"


def _promise(certificate: Mapping[str, Any]) -> Iterator[str]:
    """Yield the promise in words, and bounds on the success of an attacker."""
    yield f'<p class="panel">Promised: {html_words(certificate["promise"])}.</p>'
    if certificate["mode"] != "private":
        yield from _paragraph(NOTHING_PROMISED)
    for condition in certificate.get("conditions", ()):
        yield from _paragraph(f"{condition}.", f"{CONDITIONS}:")
    person = certificate["unit"]["person"]
    who = WHO_IS_PROTECTED if person is None else WHO_IS_PROTECTED_BY_PERSON.format(person=person)
    yield from _paragraph(who, "Who is protected.")
    yield from _paragraph(f"{certificate['neighbours']}.", "What is compared:")
    yield from _paragraph(WHAT_IS_LEARNED, "What an attacker learns.")
    yield from _odds(certificate)


def _odds(certificate: Mapping[str, Any]) -> Iterator[str]:
    """Yield the odds of an attack under the promise and, if known, under the noise of the run."""
    columns = {"at most, by the promise": odds_of(certificate["guarantee"])}
    total = certificate["total"]
    if total["accountant"] == "gdp" and certificate["guarantee"]["kind"] != "gdp" and total["mu"]:
        columns["at most, by the noise of this run"] = odds_of_mu(total["mu"])
    rows = [
        ("Guesses right (a coin toss: 50 %)", [each.right_guesses for each in columns.values()])
    ]
    for place, alarms in enumerate(FALSE_ALARMS):
        label = f"Finds the true version, with {percent(alarms)} false alarms"
        rows.append((label, [each.hits[place] for each in columns.values()]))
    shown = ((label, *map(percent, shares)) for label, shares in rows)
    caption = "Success of the best attack; without noise every row would be 100 %"
    yield from captioned_table(caption, ("attack", *columns), shown, range(1, 3))


def _results(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield estimates with their intervals, reasons for missing ones, tables and notes."""
    estimates = data["estimates"]
    if estimates:
        level = f"{100.0 * data['level']:g} % interval"
        headers = (data["quantity"], "value", "privacy noise", level, "picture")
        rows = ((each["name"], *_estimate_cells(each)) for each in estimates)
        yield from captioned_table(PICTURES, headers, rows, range(1, 4))
        yield from _reasons(estimates)
    for table in data["tables"]:
        yield from captioned_table(
            table["title"], table["headers"], table["rows"], _number_columns(table["rows"])
        )
        yield from _paragraph(table["note"]) if table["note"] else ()
    if not (estimates or data["tables"]):
        yield from _paragraph("This report describes a certificate alone.")
    yield from _sentences(data["notes"]) if data["notes"] else ()


def _number_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the places of columns that hold only numbers, or dashes for missing numbers."""
    text_places = {
        place for row in rows for place, cell in enumerate(row) if NOT_A_NUMBER.match(cell)
    }
    return [place for place in range(1, len(rows[0]) if rows else 0) if place not in text_places]


def _estimate_cells(estimate: Mapping[str, Any]) -> tuple[str, ...]:
    """Return value, noise, interval and picture of one estimate."""
    value, low, high = (estimate[name] for name in ("value", "low", "high"))
    if value is None:
        return "not estimated", "", "", ""
    noise = "unknown" if estimate["noise_std"] is None else f"{estimate['noise_std']:.3g}"
    if low is None or high is None or not low < high:
        return f"{value:.6g}", noise, "unknown", ""
    return f"{value:.6g}", noise, f"{low:.4g} to {high:.4g}", _interval_picture(value, low, high)


def _reasons(estimates: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of missing numbers, grouped by reason."""
    names_by_reason: dict[str, list[str]] = {}
    for each in estimates:
        if each["reason"]:
            names_by_reason.setdefault(each["reason"], []).append(each["name"])
    if names_by_reason:
        yield from _paragraph("", "Missing numbers and intervals, with the reasons.")
        yield from _sentences(
            f"{', '.join(names[:MOST_ROWS])}: {reason}" for reason, names in names_by_reason.items()
        )


def _budget(facts: Mapping[str, str], shares: Sequence[StageShare]) -> Iterator[str]:
    """Yield the totals, and the budget share of each stage."""
    totals = ("reserved", "released", "unused", "composition")
    rows_of_totals = ((name, facts[name]) for name in totals)
    yield from captioned_table("What is reserved counts as spent", (), rows_of_totals)
    caption = "Shares of the reserved budget, in rho, which adds up; the largest fills its bar"
    headers = ("stage", "releases", "share", "picture", "what was released")
    largest = max((each.share or 0.0 for each in shares), default=0.0)
    rows = (
        (each.stage, str(each.n_releases), *_share(each.share, largest), each.what)
        for each in shares
    )
    yield from captioned_table(caption, headers, rows, (1, 2)) if shares else ()


def _share(share: float | None, largest: float) -> tuple[str, str]:
    """Return a share in percent, and a bar relative to the largest share."""
    if share is None:
        return "unknown", ""
    return f"{100.0 * share:.1f} %", _bar(share / (largest or 1.0))


def _ledger(certificate: Mapping[str, Any], facts: Mapping[str, str]) -> str:
    """Describe the ledger lines of the charge."""
    if not certificate["ledger_entries"]:
        return "No ledger was charged: what other runs on these records cost is not counted."
    return f"The charge is {facts['ledger']}."


def _check(facts: Mapping[str, str]) -> Iterator[str]:
    """Yield the panel that the verifier fills in."""
    yield f'<p id="verdict" class="panel" role="status">{html_words(UNVERIFIED)}</p>'
    yield '<div id="check-table" hidden>'
    headers = ("total", "stated", "worked out", "verdict")
    yield from captioned_table("Each total by itself", headers, (), (1, 2), key="checks")
    yield "</div>"
    yield from _paragraph(f"{facts['sampler']}.", "How noise was drawn:")


def _releases(certificate: Mapping[str, Any]) -> Iterator[str]:
    """Yield every release, in order."""
    releases = printed_releases(certificate["releases"])
    headers = ("release", "times", "sensitivity", "noise std", "mechanism and query")
    rows = ((what, *numbers, how.strip("()")) for *numbers, what, how in releases)
    caption = "All releases, in order"
    yield from captioned_table(caption, headers, rows, range(1, 4))
    yield from _sentences(certificate["remarks"]) if certificate["remarks"] else ()


def safe_json(data: Mapping[str, Any]) -> str:
    r"""Return data as JSON in which no text can end the script element."""
    text = json.dumps(data, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _data_and_script(data: Mapping[str, Any], script: str) -> Iterator[str]:
    """Yield the data and the verifier, if the data are small enough."""
    text = safe_json(data)
    if len(text) <= MOST_DATA:
        yield f"{DATA}{text}</script>\n<script>{script}</script>"
