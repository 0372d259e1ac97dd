"""Nothing that a ledger, its texts or a certificate show follows the secret number of tries."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import tailguard as tg
from support.solvers import FEW_ROUNDS
from tailguard.gate.selection import SelectionGate
from tailguard.ledger import store
from tailguard.ledger.report import history_text, summary_text

N_SEARCHES = 20
# The largest of 200 correlations of 20 numbers without any is above it with a chance of 1e-4.
NOISE = 0.875
RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 1))
Y = X[:, 0] + RNG.standard_normal(400)
FAST = tg.LinearRegression(solver=FEW_ROUNDS)


class Clock(datetime):
    """A clock that goes on by twenty seconds a try, and by one for everything else."""

    time = datetime(2026, 1, 1, 23, 0, 0, tzinfo=UTC)

    @classmethod
    def go_on(cls, seconds):
        cls.time += timedelta(seconds=seconds)

    @classmethod
    def now(cls, tz=None):
        cls.go_on(1)
        return cls.time


def numbers_of(shown, name=""):
    """Yield all that is shown as numbers: texts by their length, and dates in seconds."""
    if isinstance(shown, dict):
        shown = sorted(shown.items())
    elif isinstance(shown, list | tuple):
        shown = list(enumerate(shown))
    else:
        yield name, as_number(shown)
        return
    yield f"{name} length", float(len(shown))
    for key, part in shown:
        yield from numbers_of(part, f"{name}.{key}")


def as_number(value):
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()
        except ValueError:
            is_digest = len(value) == 64 and set(value) <= set("0123456789abcdef")
            return float(int(value[:12], 16)) if is_digest else float(len(value))
    return float(value or 0.0)


def searched(folder, monkeypatch, count=N_SEARCHES):
    """Search again and again; return how many tries each made, and what is shown of each.

    Each search has a ledger of its own: what is shown of one follows from no other.
    """
    monkeypatch.setattr(Clock, "time", Clock.time)
    monkeypatch.setattr(store, "datetime", Clock)
    tried, tries = SelectionGate._try, []

    def counted(*given):
        tries[-1] += 1
        Clock.go_on(20)
        return tried(*given)

    monkeypatch.setattr(SelectionGate, "_try", counted)
    shown = []
    for number in range(count):
        tries.append(0)
        ledger = tg.Ledger(folder / f"{number:02}.sqlite", "claims", epsilon=9.0, delta=1e-3)
        before = len(ledger.lines())
        with_key = ledger.with_key(f"search {len(tries):02}")
        search = tg.PrivateSearch(
            FAST, [{}], n_tries=3, epsilon=3.0, delta=1e-6, ledger=with_key
        ).fit(X, Y)
        tg.mean(X, epsilon=0.5, delta=1e-6, ledger=ledger, method="clamped")  # the next line
        lines = ledger.export()["lines"]
        told = {
            "lines": [line | {"content": json.loads(line["content"])} for line in lines[before:]],
            "since": [
                as_number(after["time"]) - as_number(line["time"])
                for line, after in zip(lines[before - 1 :], lines[before:], strict=False)
            ],
            "history": history_text(ledger).splitlines()[-2:],
            "summary": summary_text(ledger).splitlines()[2],
            "certificate": search.certificate_.to_dict(),
            "ledger": [ledger.path, len(ledger.lines())],
        }
        shown.append(dict(numbers_of(told)))
    return np.array(tries), shown


def correlations(tries, shown):
    """Correlate with whatever varies; what there is not of a search counts as another number."""
    names = set().union(*shown)
    columns = {name: np.array([each.get(name, -1e9) for each in shown]) for name in names}
    varied = {name: column for name, column in columns.items() if np.ptp(column) > 0}
    return {name: abs(np.corrcoef(tries, column)[0, 1]) for name, column in varied.items()}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tailguard.checks.BudgetWarning")
def test_nothing_that_is_shown_follows_the_number_of_tries(tmp_path, monkeypatch):
    found = correlations(*searched(tmp_path, monkeypatch))
    assert len(found) > 5
    assert max(found.values()) < NOISE, found


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tailguard.checks.BudgetWarning")
def test_a_ledger_that_wrote_times_of_day_would_be_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_today", lambda: Clock.now(UTC).isoformat(timespec="seconds"))
    found = correlations(*searched(tmp_path, monkeypatch, count=8))
    assert max(found.values()) > 0.95
