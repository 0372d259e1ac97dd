"""Lists of public names that are kept by hand say what the code has: the page, and help texts."""

import inspect
import re
from pathlib import Path

import pytest
import typer

import tailguard as tg
from support.registered import ESTIMATORS
from tailguard.cli.app import app
from tailguard.datasets.registry import SIMULATORS
from tailguard.losses.registry import LOSSES, RECORD_LOSSES
from tailguard.means.choice import MEANS
from tailguard.sets.registry import SETS
from tailguard.solvers.registry import SOLVERS
from tailguard.wing import wing

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "api.md").read_text()
WING = set() if wing("rates") else {"papers", "reproduce"}  # listed, and perhaps not installed
CALLS = [name for name in tg.__all__ if inspect.isfunction(getattr(tg, name))]


def row_of(name):
    """What the page says of a name."""
    (row,) = re.findall(rf"^\| `{re.escape(name)}` \|(.*)\|$", PAGE, re.MULTILINE)
    return row


def parameters_of(doc):
    """The names that the section of parameters of a docstring describes."""
    _, _, section = inspect.cleandoc(doc).partition("\nParameters\n----------\n")
    section, *_ = re.split(r"\n\n\w+\n-", section)
    lines = re.findall(r"^\S.*", section, re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def test_public_names_are_listed_and_exist():
    listed = set(re.findall(r"`tg\.(\w+)", PAGE))
    shown = {name for name in tg.__all__ if not name.startswith("__")}
    assert listed - WING == shown - WING, "docs/api.md must list what tailguard shows, and no more"


def test_every_command_is_listed():
    listed = set(re.findall(r"\| `tailguard (\w+)", PAGE))
    assert listed - WING == set(typer.main.get_command(app).commands) - WING


ROOMS = {
    "losses": LOSSES | RECORD_LOSSES,
    "sets": SETS,
    "solvers": SOLVERS,
    "datasets": SIMULATORS,
}


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_room_registers_and_shows_is_listed(room):
    listed = set(re.findall(r"`(\w+)`", row_of(f"tg.{room}")))
    shown = set(getattr(tg, room).__all__)
    registered = {place.partition(":")[2] for place in ROOMS[room].values()}
    missing, gone = (registered & shown) - listed, listed - shown
    assert not missing, f"docs/api.md, the row of tg.{room}, needs {missing}: what each does"
    assert not gone, f"docs/api.md, the row of tg.{room}, must not list {gone}: not shown"


@pytest.mark.parametrize("name", CALLS)
def test_the_help_of_a_call_describes_its_parameters(name):
    call = getattr(tg, name)
    assert parameters_of(call.__doc__) == set(inspect.signature(call).parameters)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_help_of_an_estimator_describes_its_parameters(name):
    model = ESTIMATORS[name]
    assert parameters_of(model.__doc__) == set(inspect.signature(model).parameters)
    own = set(inspect.signature(model.fit).parameters) - {"self"}
    assert parameters_of(model.fit.__doc__) == own


@pytest.mark.parametrize("method", MEANS)
def test_the_help_of_means_names_every_method(method):
    assert f'``"{method}"``' in tg.mean.__doc__
    page = (DOCS / "means.md").read_text()
    assert f"\n| `{method}` | " in page, f"docs/means.md needs a row of `{method}`: what it does"
