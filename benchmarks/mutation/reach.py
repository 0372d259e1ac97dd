"""Which tests reach which lines of the trusted rooms, and how long each takes."""

import json
import time
from pathlib import Path

import pytest

__all__ = ["ROOMS", "SOURCE", "TESTS", "Reach", "collected", "trusted_files"]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/tailguard"
ROOMS = ("privacy", "noise", "queries", "gate", "ledger")
CONTRACTS = ("accountant", "mechanism", "order", "peeling_mechanism", "query", "smooth_query")
TESTS = (
    "tests/docs/test_doctests.py",
    *(f"tests/{room}" for room in ("privacy_core", "noise", "ledger", "queries", "checkpoint")),
    *(f"tests/test_gate{part}.py" for part in ("", "_admission", "_blocks", "_hostile")),
    "tests/test_gate_samples.py",
    "tests/test_release_errors.py",
    *(f"tests/contracts/test_{name}.py" for name in (*CONTRACTS, "total", "replacement")),
)
"""The tests of these rooms. Others, that run whole fits, would see more faults at greater cost."""


def trusted_files() -> list[Path]:
    """Return the sources of the trusted rooms."""
    return [path for room in ROOMS for path in sorted((SOURCE / room).rglob("*.py"))]


def collected(items: list[pytest.Item]) -> list[pytest.Item]:
    """Leave out the examples of other rooms."""
    rooms = tuple(f"[tailguard.{room}." for room in ROOMS)
    return [
        item
        for item in items
        if "test_doctests.py" not in item.nodeid or any(room in item.nodeid for room in rooms)
    ]


class Reach:
    """A plugin that notes what each test reaches.

    It goes on where it stopped: what was noted of tests that passed is kept in a file.
    """

    def __init__(self, coverage, path: Path) -> None:
        self.coverage, self.path = coverage, path
        self.seconds: dict[str, float] = {}
        if path.exists():
            self.seconds = json.loads(path.read_text())

    def pytest_collection_modifyitems(self, items):
        """Run what was not run before."""
        items[:] = [item for item in collected(items) if item.nodeid not in self.seconds]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Note lines under the name of the test."""
        self.coverage.switch_context(item.nodeid)
        self.failed, begin = False, time.process_time()
        yield
        if not self.failed:
            self.seconds[item.nodeid] = time.process_time() - begin
        if len(self.seconds) % 50 == 0:
            self.keep()

    def pytest_runtest_logreport(self, report):
        """See whether it failed."""
        self.failed |= report.failed

    def pytest_sessionfinish(self):
        """Keep what was noted."""
        self.keep()

    def keep(self):
        """Write it down."""
        self.coverage.save()
        self.path.write_text(json.dumps(self.seconds, indent=0))
