"""The certificate as one page of HTML that needs no other file, made from the JSON's dictionary."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from tailguard.privacy.certificate.text import (
    ASSUMED,
    RELEASED,
    REMARKS,
    TITLE,
    certificate_facts,
    printed_releases,
)

STYLE = """\
body { font: 1rem/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.8rem 0.2rem 0; }
thead th { border-bottom: 1px solid; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""
COLUMNS = ("times", "sensitivity", "noise std")


def certificate_html(data: Mapping[str, Any]) -> str:
    """Render a certificate's dictionary as a page for a browser.

    It says what the page of plain text says. Every word of it is escaped, and it asks for nothing
    from elsewhere: no script, font or picture.
    """
    remarks, assumptions = data["remarks"], data["assumptions_for_accuracy"] or ("nothing",)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f"<title>{escape(TITLE)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>",
        f"<h1>{escape(TITLE)}</h1>",
        *_facts_table(certificate_facts(data)),
        *_releases_table(data["releases"]),
        *(_listed(REMARKS, remarks) if remarks else ()),
        *_listed(ASSUMED, assumptions),
        "</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def _facts_table(facts: Mapping[str, str]) -> Iterator[str]:
    """Yield the table of promise and totals."""
    yield "<table>"
    for label, text in facts.items():
        yield f'<tr><th scope="row">{escape(label)}</th><td>{escape(text)}</td></tr>'
    yield "</table>"


def _releases_table(releases: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of releases."""
    yield f"<h2>{escape(RELEASED)}</h2>"
    if not releases:
        yield "<p>nothing</p>"
        return
    head = "".join(f'<th scope="col" class="number">{escape(name)}</th>' for name in COLUMNS)
    yield f'<table>\n<thead><tr>{head}<th scope="col">what</th></tr></thead>\n<tbody>'
    for line in printed_releases(releases):
        numbers = (str(line.times), line.sensitivity, line.noise_std)
        cells = "".join(f'<td class="number">{escape(number)}</td>' for number in numbers)
        yield f"<tr>{cells}<td>{escape(line.what)} {escape(line.how)}</td></tr>"
    yield "</tbody>\n</table>"


def _listed(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a heading and a list."""
    yield f"<h2>{escape(title)}</h2>\n<ul>"
    yield from (f"<li>{escape(line)}</li>" for line in lines)
    yield "</ul>"
