"""Tests that need Node or a browser are left out where there is none."""

from support.javascript import BROWSER, NODE

collect_ignore = [
    *([] if NODE else ["test_verifier.py"]),
    *([] if BROWSER else ["test_browser.py"]),
]
