"""Which tests reach which lines of the trusted rooms, and how long each takes."""

import functools
import gc
import json
import signal
import time
from pathlib import Path

import pytest

__all__ = [
    "ROOMS",
    "SOURCE",
    "TESTS",
    "Reach",
    "collected",
    "live_caches",
    "times",
    "trusted_files",
]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/tailguard"
ROOMS = ("privacy", "noise", "queries", "means", "gate", "ledger")
CONTRACTS = (
    *("accountant", "mean", "mechanism", "order", "peeling_mechanism", "query", "smooth_query"),
)
TESTS = (
    "tests/docs/test_doctests.py",
    *(f"tests/{room}" for room in ("privacy_core", "noise", "ledger", "queries", "means", "gate")),
    *(
        f"tests/contracts/test_{name}.py"
        for name in (*CONTRACTS, "total", "replacement", "weights", "persons", "rows_of_persons")
    ),
    *("tests/test_notebooks.py", "tests/test_planning.py"),
)
"""The tests of these rooms. Others, that run whole fits, would see more faults at greater cost."""
SLOWEST_SECONDS = 5.0
"""Of a test, with coverage: on one fault tests of some 10 seconds are tried."""


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

    It goes on where it stopped: what was noted is kept in a file after each file of tests. A test
    that takes too long is interrupted, and kept without its time: trials leave it out.
    """

    def __init__(self, coverage, path: Path) -> None:
        self.coverage, self.path = coverage, path
        self.seconds: dict[str, float | None] = {}
        if path.exists():
            self.seconds = json.loads(path.read_text())
        self.file = ""

    def pytest_collection_modifyitems(self, items):
        """Run what was not run before."""
        items[:] = [item for item in collected(items) if item.nodeid not in self.seconds]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Note lines under the name of the test."""
        if self.file != item.location[0]:
            self.file = item.location[0]
            self.keep()
            for cache in live_caches():  # else only the first test of all reaches what is cached
                cache.cache_clear()
        self.coverage.switch_context(item.nodeid)
        self.failed, self.slow, begin = False, False, time.process_time()
        signal.signal(signal.SIGPROF, self.interrupt)
        signal.setitimer(signal.ITIMER_PROF, SLOWEST_SECONDS, SLOWEST_SECONDS)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if self.slow or not self.failed:
            self.seconds[item.nodeid] = None if self.slow else time.process_time() - begin

    def interrupt(self, *_):
        """End a test that takes too long."""
        self.slow = True
        raise TooSlow

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


class TooSlow(BaseException):
    """Interrupts a test; no test expects it."""


def times(path: Path) -> dict[str, float]:
    """Return what each test took, without those that take too long."""
    found = json.loads(path.read_text())
    return {name: taken for name, taken in found.items() if taken is not None}


def live_caches() -> list:
    """Return all caches of functions of ours, but that of machine code, which no fault changes."""
    gc.unfreeze()  # the collector lists no frozen objects, and the tests' own settings froze some
    kind = type(functools.lru_cache(collected))
    caches = [each for each in gc.get_objects() if type(each) is kind]  # some lie about theirs
    codes = [(each, getattr(each.__wrapped__, "__code__", None)) for each in caches]
    return [
        each
        for each, code in codes
        if code
        and code.co_filename.startswith(str(ROOT))
        and not code.co_filename.endswith("machine_code.py")
    ]
