"""Import the package with a fault that acts at import, and run tests: python -m mutation.anew."""

import importlib.machinery
import sys
from pathlib import Path

import pytest

from mutation.faults import faults_of, seeded

__all__: list[str] = []


def main(path: str, turn: str, *names: str) -> int:
    """Return 0 if all tests pass with the ``turn``-th fault of a source, else 1."""
    source = Path(path).read_text()
    tree = seeded(source, faults_of(source)[int(turn)])
    usual = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader, name):
        if loader.path == path:
            return compile(tree, path, "exec")
        return usual(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code
    return min(int(pytest.main([*names, "-x", "-q", "-p", "no:cacheprovider"])), 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
