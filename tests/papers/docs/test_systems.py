"""The table of 33 systems in the docs: every call runs as it stands, and keeps what it promises."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import tailguard as tg
from tailguard.gate.plan import Problem
from tailguard.papers.common.theorem import Theorem
from tailguard.papers.reproduce.runner import find_experiments
from tailguard.privacy.accounting.total_cost import satisfies

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "papers.md").read_text()
ROW = re.compile(
    r"^\| (\d+) \| ([^|]+) \| (.+) \| (`[^`]+`|-) \| ([^|]+) \| (.+) \|$", re.MULTILINE
)
ROWS = {int(row[0]): row[1:] for row in ROW.findall(PAGE)}
BREAK_THEIR_PROMISE = {number for number, row in ROWS.items() if row[0].endswith(" *")}
PRINTED = [number for number, row in ROWS.items() if row[2] != "-"]
ERRATA = (ROOT / "docs" / "errata.md").read_text()
EXPLAINED = re.compile(
    r"tg\.papers\.(wang2020|kamath2022|tao2022|zhao2024|xu2025)\.(?!\w*bound)\w+\("
)
MOST_STEPS = 50  # that a theorem runs here: what takes more is planned as it stands, and runs these


@pytest.fixture(scope="module")
def page():
    """What the page's own blocks of Python define, up to the table."""
    names = {}
    text = PAGE.partition("| | system |")[0]
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for block in blocks:
        if not block.startswith(("print", "tg.")):  # these define nothing
            exec(block, names)
    return names


def calls(number):
    return re.findall(r"`([^`]+)`", ROWS[number][1])


def solved(call, page, *, kept=True):
    """What a call found, run on the page's records where it is a theorem."""
    found = eval(call, page)
    if not isinstance(found, Theorem):
        return found
    if (getattr(found.solver, "n_steps", None) or 0) > MOST_STEPS:
        problem = Problem(page["loss"], *page["rows"].shape, constraint=found.constraint)
        planned = found.plan(problem, found.guarantee)
        assert planned.stages[-1].times == found.solver.n_steps
        assert satisfies(planned.event, promised(call, page)) == kept
        found = eval(f"{call[:-1]}, n_steps={MOST_STEPS})", page)
    solved = found.minimize(page["loss"], page["rows"], page["column"], random_state=1)
    assert np.any(solved.coef)  # it moves
    return solved


def errata(text):
    return set(re.findall(r"E\d+", text))


def explained(call, page, more=""):
    """What a row's call says of itself: a theorem as it is planned, a mean once it has run."""
    state = ", random_state=1" if "_mean(" in call else ""
    return eval(f"{call[:-1]}{more}{state})", page).explain()


@pytest.mark.long
@pytest.mark.parametrize("number", ROWS)
def test_a_row_is_explained_by_the_errata_that_change_it(number, page):
    found = set()
    for call in filter(EXPLAINED.match, calls(number)):
        for told in {call, call.replace(', groups="uniform"', "")}:
            found |= errata(explained(told, page))
        if ROWS[number][2] != "-" and "shuffle" not in call:
            found |= errata(explained(call, page, f", {ROWS[number][2].strip('`')}"))
    assert found == errata(ROWS[number][3])


def test_every_erratum_changes_a_row_or_is_said_to_change_none():
    listed = set(re.findall(r"^\**(E\d+)\.", ERRATA, re.MULTILINE))
    changing = set().union(*(errata(row[3]) for row in ROWS.values()))
    others = errata(ERRATA.partition("## Which of them change what runs")[2])
    assert len(others) > 20
    assert changing | others == listed
    assert not changing & others


def promised(call, page):
    """The guarantee that a call names, or that of the page's facts."""
    named = re.search(r"guarantee=(\w+)|\*\*(wide)", call)
    word = (named.group(1) or named.group(2)) if named else "guarantee"
    return page["wide"]["guarantee"] if word == "wide" else page[word]


def keeps(certificate, promise):
    """Whether what is certified is at most what is promised."""
    if isinstance(promise, tg.ZCDP):
        return certificate.total.rho <= promise.rho
    return certificate.total.epsilon <= promise.epsilon


def test_all_33_are_there():
    assert [*ROWS] == [*range(1, 34)]
    assert len(PRINTED) == 23


@pytest.mark.long
@pytest.mark.parametrize("number", ROWS)
def test_the_call_runs_and_certifies_no_more_than_it_promises(number, page):
    for call in calls(number):
        if call.startswith("tailguard reproduce "):
            assert find_experiments(call.split()[2])
            continue
        found = solved(call, page)
        certificate = getattr(found, "certificate", None)
        if "tg.mean(" in call or "tg.minimize(" in call or ".papers." in call:
            private = not re.search(r"bound|\.(instances|baselines)\.", call.partition("(")[0])
            assert (certificate is not None) == private
        if certificate is not None:
            assert keeps(certificate, promised(call, page))
        elif isinstance(found, float):
            assert 0.0 < found < math.inf


@pytest.mark.long
@pytest.mark.parametrize("number", PRINTED)
def test_the_printed_mode_runs_and_certifies_what_it_really_costs(number, page):
    more = ROWS[number][2].strip("`")
    for call in calls(number):
        state = ", random_state=1" if "_mean(" in call else ""
        printed = f"{call[:-1]}, {more}{state})"
        if "shuffle" in call:  # printed noise is not that of a shuffle that holds
            with pytest.raises(tg.InputError, match="shuffle must be False"):
                eval(printed, page)
            continue
        kept = number not in BREAK_THEIR_PROMISE
        ran = solved(printed, page, kept=kept)
        certificate = ran.certificate
        assert "stayed at the origin" not in str(getattr(ran, "notes", ""))
        assert keeps(certificate, promised(call, page)) == kept
        assert ("reproduction" in certificate.mode) != kept
