"""One fault at a time in a process of its own, and the tests that reach it, until one fails.

The tests are collected once. A process is forked for each fault: where the fault is inside a
function, the function gets new code in place; where it acts at import, a new interpreter takes
over. Machine code is kept by the content of sources, so a compiled function is run by Python.
"""

import ast
import contextlib
import gc
import os
import resource
import signal
import sys
import time
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol

from mutation.faults import Fault, seeded
from mutation.reach import ROOT, collected, live_caches
from tailguard.noise.sources import CryptographicSource

__all__ = ["CAUGHT", "SURVIVED", "Trials"]

SURVIVED, CAUGHT = "survived", "caught"
SPARE_SECONDS, SLOWER = 20, 10  # what tests may take beyond what they took, and how many times
WARM = "test_query.py::test_some_pair_attains_nine_tenths_of_the_ideal_sensitivity["
WALL_SECONDS = 900  # on a machine that others use, too


class Trials:
    """A plugin that runs trials in the place of tests.

    ``trials`` yields a source's path, a fault and the names of tests, and is sent what came of it.
    """

    def __init__(self, trials, seconds: dict[str, float]) -> None:
        self.trials, self.seconds = trials, seconds

    def pytest_collection_modifyitems(self, items):
        """Leave out the examples of other rooms."""
        items[:] = collected(items)

    def pytest_runtestloop(self, session):
        """Run all trials."""
        items = {item.nodeid: item for item in session.items}
        warmed_up(session.items)
        self.caches = live_caches()  # this thaws all objects, so that they are listed
        self.functions = live_functions()
        gc.freeze()  # memory of what is here stays shared
        verdict = None
        with contextlib.suppress(StopIteration):
            while True:
                path, fault, names = self.trials.send(verdict)
                names = [name for name in names if name in items]
                verdict = self.tried(path, fault, [items[name] for name in names])
        return True

    def tried(self, path: Path, fault: Fault, items: list[pytest.Item]) -> str:
        """Return what came of a fault."""
        if not items:
            return SURVIVED
        limit = SPARE_SECONDS + SLOWER * sum(self.seconds[item.nodeid] for item in items)
        child = os.fork()
        if child == 0:
            self._child(path, fault, items, int(limit))
        return verdict_of(child)

    def _child(self, path, fault, items, limit):
        code = 3
        try:
            os.setsid()
            repeat_noise()
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(nowhere, stream)
            if self._in_place(path, fault):
                code = first_failure(items)
            else:
                names = [item.nodeid for item in items]
                command = ["-m", "mutation.anew", str(path), str(fault.turn), *names]
                os.execv(sys.executable, [sys.executable, *command])
        finally:
            os._exit(code)

    def _in_place(self, path: Path, fault: Fault) -> bool:
        """Give functions the code with the fault; return whether there is one that has it."""
        if not fault.inside:
            return False
        source = path.read_text()
        old = codes_of(compile(ast.parse(source), str(path), "exec"))
        new = codes_of(compile(seeded(source, fault), str(path), "exec"))
        changed = [key for key in old if key in new and old[key] != new[key]]
        found = [(each, new[key]) for key in changed for each in self.functions.get(key, ())]
        for function, code in found:
            function.__code__ = code
        if "compiled(" in source:
            module = sys.modules[module_name(path)]
            module.compiled = lambda function, *_, **__: function
        for cache in self.caches:
            cache.cache_clear()
        return bool(found)


def repeat_noise() -> None:
    """Draw what follows from the names of tests here, too, and nothing that fails by chance."""
    noise = CryptographicSource.words.__self__
    noise.follow()


def verdict_of(child: int) -> str:
    """Wait for a trial, and say what it showed."""
    begin = time.monotonic()
    while time.monotonic() - begin < WALL_SECONDS:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # what the tests may have left behind
            if os.WIFSIGNALED(status):
                return f"{CAUGHT}: too slow or dead"
            return {0: SURVIVED, 1: CAUGHT}.get(os.WEXITSTATUS(status), f"{CAUGHT}: error")
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"{CAUGHT}: too slow or dead"


def warmed_up(items: list[pytest.Item]) -> None:
    """Run a test of every query, so that no trial need load machine code again."""
    chosen = [item for item in items if WARM in item.nodeid]
    if chosen:
        first_failure(chosen)


def first_failure(items: list[pytest.Item]) -> int:
    """Run tests until one fails; return 1 then, else 0."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
            return 1
    return 0


def module_name(path: Path) -> str:
    """Return how a source is imported."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


def codes_of(code: CodeType) -> dict[tuple[str, str, int, int], CodeType]:
    """Return the code of all functions inside a module's, by where they stand."""
    found, open_ = {}, [code]
    while open_:
        for part in open_.pop().co_consts:
            if isinstance(part, CodeType):
                open_.append(part)
                found[place(part)] = part
    return found


def place(code: CodeType) -> tuple[str, str, int, int]:
    """Return where a function stands; lambdas of one line are told apart by their columns."""
    column = next((at[2] for at in code.co_positions() if at[2]), 0)
    return code.co_filename, code.co_qualname, code.co_firstlineno, column


def live_functions() -> dict[tuple[str, str, int, int], list[FunctionType]]:
    """Return all functions of the package that there are, by where they stand."""
    found: dict[tuple[str, str, int, int], list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename.startswith(str(ROOT)):
            found.setdefault(place(each.__code__), []).append(each)
    return found
