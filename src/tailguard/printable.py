"""Texts that may be shown on a terminal, whoever wrote them.

Names of columns come from files, and whoever makes a file may put into them what a terminal obeys.

Reference
---------
ECMA-48 (control functions, which begin with a sign of the sets C0 or C1); Unicode Standard Annex 9
(signs that change the direction of what follows).
"""


def printable(text: str) -> str:
    r"""Return a text on one line, in which Python spells out what is not printable."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def printable_lines(text: str) -> str:
    r"""Return a text of several lines, each of them printable."""
    return "\n".join(map(printable, text.split("\n")))
