"""Text made safe to show on a terminal or a page.

Column names come from files, and a file may hold names with control sequences for a terminal.

Reference
---------
ECMA-48 (control functions, which begin with a C0 or C1 character); Unicode Standard Annex 9
(characters that change the direction of the following text).
"""

from collections.abc import Iterable, Sequence
from html import escape


def printable(text: str) -> str:
    r"""Return a text on one line, with unprintable characters as escapes such as ``\n``."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    r"""Return a text of several lines, with each line printable."""
    return "\n".join(map(printable, text.split("\n")))


def four_digits(value: float | int | str) -> str:
    """Return a float in four digits, for people to read, and anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def html_words(text: object) -> str:
    """Return a text as HTML, printable and escaped."""
    return escape(printable(str(text)))


def html_table(rows: Iterable[Sequence[object]], headers: Sequence[object] = ()) -> str:
    """Return an HTML table; the first cell of each row is its header."""
    lines = ["<table>"]
    if headers:
        cells = "".join(f'<th scope="col">{html_words(header)}</th>' for header in headers)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    for row in rows:
        data = "".join(f"<td>{html_words(cell)}</td>" for cell in row[1:])
        lines.append(f'<tr><th scope="row">{html_words(row[0])}</th>{data}</tr>')
    return "\n".join([*lines, "</table>"])


def html_list(sentences: Iterable[object]) -> str:
    """Return an HTML list, or an empty text if there are no sentences."""
    items = [f"<li>{html_words(sentence)}</li>" for sentence in sentences]
    return "\n".join(["<ul>", *items, "</ul>"]) if items else ""
