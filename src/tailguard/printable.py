"""Text made safe to show on a terminal or a page.

Column names come from files, and a file may hold names with control sequences for a terminal.

Reference
---------
ECMA-48 (control functions, which begin with a C0 or C1 character); Unicode Standard Annex 9
(characters that change the direction of the following text).
"""

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from shutil import get_terminal_size
from textwrap import fill

NARROWEST = 30  # columns of a terminal; texts are not folded further


def printable(text: str) -> str:
    r"""Return a text on one line, with unprintable characters as escapes such as ``\n``."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    r"""Return a text of several lines, with each line printable."""
    return "\n".join(map(printable, text.split("\n")))


def json_words(data: object) -> str:
    r"""Return plain data as JSON with letters of all languages; unprintable characters are escaped.

    Examples
    --------
    >>> json_words({"Größe": "\u202e"})
    '{"Größe": "\\u202e"}'
    """
    text = json.dumps(data, ensure_ascii=False)
    if text.isprintable():
        return text
    # Half of a surrogate pair, which no file in UTF-8 may contain, is unprintable as well.
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def screen_width(most: int) -> int:
    """Return the width of the terminal, at most ``most``; without a terminal, ``most``."""
    return min(most, max(get_terminal_size((most, 24)).columns, NARROWEST))


def folded(text: str, width: int) -> str:
    """Fold the lines of a text that are wider than ``width``."""
    lines = (fill(line, width, subsequent_indent="    ") for line in text.split("\n"))
    return "\n".join(lines)


def four_digits(value: float | int | str) -> str:
    """Return a float in four digits, for people to read, and anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def to_error(value: float, error: float) -> str:
    """Return a number to the third digit of its error; without an error, in four digits.

    Examples
    --------
    >>> to_error(12.34567, 0.0456), to_error(2.5, 0.0), to_error(123456789012.0, 1e5)
    ('12.3457', '2.5', '1.23456789e+11')
    """
    if not (0.0 < error < math.inf and math.isfinite(value)):
        return f"{value + 0.0:.4g}"  # no -0
    place = math.floor(math.log10(error)) - 2
    if error >= 1e-4 and abs(value) < 1e8:
        decimals = max(-place, 0)
        return f"{round(value, decimals) + 0.0:.{decimals}f}"
    digits = math.floor(math.log10(abs(value))) - place + 1 if value else 1
    return f"{value + 0.0:.{min(max(digits, 4), 15)}g}"


def html_words(text: object) -> str:
    """Return a text as HTML, printable and escaped."""
    return escape(printable(str(text)))


class Picture(str):
    """Markup that contains only numbers and is not escaped."""

    __slots__ = ()


def html_table(
    rows: Iterable[Sequence[object]],
    headers: Sequence[object] = (),
    numbers: Iterable[int] = (),
    *,
    caption: str = "",
    key: str = "",
    stacked: bool = False,
) -> str:
    """Return an HTML table; the first cell of each row is its header.

    ``numbers`` are right-aligned columns, and ``key`` is the id of the body. If ``stacked``, each
    cell names its header, so that a style sheet can stack the cells of a row.
    """
    css_class = dict.fromkeys(numbers, ' class="number"')

    def cell(place: int, content: object) -> str:
        if place == 0:
            return f'<th scope="row"{css_class.get(0, "")}>{html_words(content)}</th>'
        if isinstance(content, Picture):
            return f'<td class="plot">{content}</td>'
        label = f' data-label="{html_words(headers[place])}"' if stacked and headers[place] else ""
        return f"<td{label}{css_class.get(place, '')}>{html_words(content)}</td>"

    lines = ['<table class="stacked">' if stacked else "<table>"]
    if caption:
        lines.append(f"<caption>{html_words(caption)}</caption>")
    if headers:
        cells = (
            f'<th scope="col"{css_class.get(place, "")}>{html_words(header)}</th>'
            for place, header in enumerate(headers)
        )
        lines.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    lines.append(f'<tbody id="{key}">' if key else "<tbody>")
    lines += (f"<tr>{''.join(cell(*each) for each in enumerate(row))}</tr>" for row in rows)
    return "\n".join([*lines, "</tbody>\n</table>"])


def notebook_table(
    rows: Iterable[Sequence[object]], headers: Sequence[object] = (), numbers: Iterable[int] = ()
) -> str:
    """Return an HTML table in a box; in a narrow notebook the table scrolls inside the box."""
    table = html_table(rows, headers, numbers)
    return f'<div style="overflow-x: auto" tabindex="0">\n{table}\n</div>'


def html_list(sentences: Iterable[object]) -> str:
    """Return an HTML list, or an empty text if there are no sentences."""
    items = [f"<li>{html_words(sentence)}</li>" for sentence in sentences]
    return "\n".join(["<ul>", *items, "</ul>"]) if items else ""
