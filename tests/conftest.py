"""Settings of the whole suite: Hypothesis, the noise and the data of a test are fixed."""

import gc
import os
import re
import shutil

import numpy as np
import pytest
from hypothesis import settings

from support.repeatable_noise import RepeatableNoise

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

NOISE = RepeatableNoise()
GENERATORS = {}
"""Of a test module: its generators, and their states when it was imported."""

MEMORY, ROOM = "/dev/shm", 2 * 10**9
"""A folder in memory on Linux, and how much of it must be free; files of tests take far less."""


def pytest_addoption(parser):
    parser.addoption("--fresh-noise", action="store_true", help="draw noise that no run repeats")
    parser.addoption(
        "--about", metavar="IDEA", help="run tests of a loss, mean, query, set, solver or file"
    )


def pytest_configure(config):
    os.environ.pop("COLUMNS", None)  # workers of xdist set it, and printed tables are as wide
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        # Ledgers flush each line: on a disk, tests would mostly wait for it.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)
    if not config.getoption("--fresh-noise"):
        NOISE.install()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Thousands of tests are no garbage: looking through them takes a third of their collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config, items):
    """Keep tests whose names have the idea in them, be it called ``lp_loss`` or ``LpLoss``."""
    if idea := letters(config.getoption("--about") or ""):
        config.hook.pytest_deselected(items=[i for i in items if idea not in letters(i.nodeid)])
        items[:] = [item for item in items if idea in letters(item.nodeid)]
        if not items:
            raise pytest.UsageError(
                f"no test is about {config.getoption('--about')!r}: spell it as its file or class "
                "is, after its line is in the registry"
            )


def letters(name):
    return re.sub(r"[-_ ]", "", name).lower()


def pytest_collection_finish(session):
    for module in {item.module for item in session.items}:
        found = [g for g in vars(module).values() if isinstance(g, np.random.Generator)]
        GENERATORS[module] = [(generator, generator.bit_generator.state) for generator in found]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test's numbers do not depend on which tests ran before it in the same process."""
    for generator, state in GENERATORS[item.module]:
        generator.bit_generator.state = state
    with NOISE.named(None if item.get_closest_marker("audit") else item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """A fixture may serve many tests: which of them comes first must not decide its noise."""
    if request.scope == "function" or not NOISE.repeats:
        return (yield)
    with NOISE.named(f"{fixturedef.baseid}::{fixturedef.argname}[{request.param_index}]"):
        return (yield)


@pytest.fixture
def secret_noise():
    """Noise that no name repeats, for as long as it is entered."""
    return NOISE.named(None)
