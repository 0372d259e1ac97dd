"""What a caller names of a ledger, checked before the file is touched: file, data set and key.

What is no text must not get there: SQLite would write a number down as the text that it spells, and
the chain of lines, which covers what was given, would be broken for good.
"""

import os

from tailguard.checks import LONGEST_NAME, InputError, check_text, shown
from tailguard.ledger.storage import check_no_side_file, check_regular_file

OTHERS = "others"
"""By whom ``Ledger.charge`` says that an event is released."""


def checked_path(path: object) -> str:
    """Return the absolute path of a file.

    Examples
    --------
    >>> checked_path("/tmp/budget.sqlite")
    '/tmp/budget.sqlite'
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError(f"path must be that of a file; got {shown(path)}.")
    check_regular_file("path", text)
    check_no_side_file("path", text)
    return os.path.abspath(text)


def checked_name(name: object) -> str:
    """Return the name of a data set.

    Examples
    --------
    >>> checked_name("claims")
    'claims'
    """
    text = check_text("name", name)
    if not text.strip():
        raise InputError(f"name must be a text of 1 to {LONGEST_NAME} signs; got {shown(name)}.")
    return text


def checked_key(key: object) -> str:
    """Return the key of a charge.

    Examples
    --------
    >>> checked_key(2026)
    Traceback (most recent call last):
    tailguard.checks.InputError: key must be a text of 1 to 200 signs; got 2026.
    """
    return check_text("key", key)


def checked_run(run: object) -> str:
    """Return the name that a run goes by, which is its key where no other is given.

    What other tools release is told from what a run does by this name.

    Examples
    --------
    >>> checked_run("3f")
    '3f'
    """
    text = check_text("run", run)
    if text == OTHERS:
        raise InputError(f"run must have a name of its own; {OTHERS!r} is that of other tools.")
    return text
