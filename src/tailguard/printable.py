"""Texts that are safe to show on a terminal or a page, from any source.

Names of columns come from files, and whoever makes a file may put into them what a terminal obeys.

Reference
---------
ECMA-48 (control functions, which begin with a sign of the sets C0 or C1); Unicode Standard Annex 9
(signs that change the direction of what follows).
"""

from collections.abc import Iterable, Sequence
from html import escape


def printable(text: str) -> str:
    r"""Return a text on one line, in which Python spells out what is not printable."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def printable_lines(text: str) -> str:
    r"""Return a text of several lines, each of them printable."""
    return "\n".join(map(printable, text.split("\n")))


def html_words(text: object) -> str:
    """Return a text as HTML, printable and escaped."""
    return escape(printable(str(text)))


def html_table(rows: Iterable[Sequence[object]], headers: Sequence[object] = ()) -> str:
    """Return a table of HTML; the first cell of a row names it, and headers come on top."""
    lines = ["<table>"]
    if headers:
        cells = "".join(f'<th scope="col">{html_words(header)}</th>' for header in headers)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    for row in rows:
        data = "".join(f"<td>{html_words(cell)}</td>" for cell in row[1:])
        lines.append(f'<tr><th scope="row">{html_words(row[0])}</th>{data}</tr>')
    return "\n".join([*lines, "</table>"])


def html_list(sentences: Iterable[object]) -> str:
    """Return a list of HTML; nothing where there are no sentences."""
    items = [f"<li>{html_words(sentence)}</li>" for sentence in sentences]
    return "\n".join(["<ul>", *items, "</ul>"]) if items else ""
