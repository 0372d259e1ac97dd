"""Settings of the whole suite: examples of Hypothesis are fixed, and so is the noise of a test."""

import re

import pytest
from hypothesis import settings

from support.repeatable_noise import RepeatableNoise

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

NOISE = RepeatableNoise()


def pytest_addoption(parser):
    parser.addoption("--fresh-noise", action="store_true", help="draw noise that no run repeats")
    parser.addoption(
        "--about", metavar="IDEA", help="run tests of a loss, mean, query, set or file"
    )


def pytest_configure(config):
    if not config.getoption("--fresh-noise"):
        NOISE.install()


def pytest_collection_modifyitems(config, items):
    """Keep tests whose names have the idea in them, be it called ``lp_loss`` or ``LpLoss``."""
    if idea := letters(config.getoption("--about") or ""):
        config.hook.pytest_deselected(items=[i for i in items if idea not in letters(i.nodeid)])
        items[:] = [item for item in items if idea in letters(item.nodeid)]


def letters(name):
    return re.sub(r"[-_ ]", "", name).lower()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
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
