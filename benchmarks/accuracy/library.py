"""Which tailguard is fitted: what a line of it says of the code that made it."""

import subprocess
from functools import cache
from pathlib import Path

import tailguard as tg


@cache
def library():
    """Return the version, and the commit and the day of its last change where git knows them."""
    source = Path(tg.__file__).parent
    commit = _git(source, "log", "-1", "--format=%h of %cs", "--", ".")
    changed = " and changes" if commit and _git(source, "status", "--porcelain", "--", ".") else ""
    return f"{tg.__version__} at {commit}{changed}" if commit else tg.__version__


def _git(folder, *words):
    """Return what git answers; nothing where it fails or is not installed."""
    try:
        asked = ["git", "-C", str(folder), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
