"""``tailguard audit``: a table and exit codes."""

from dataclasses import replace

import pytest

from tailguard.audit import suite
from tailguard.audit.cases import AuditResult
from tailguard.audit.suite import LONG

GOOD = AuditResult("a mean", "mu = 2", 2.0, 1.7, 0.999, 0.97, 1200, "threshold", {"less": True})


@pytest.fixture
def found(monkeypatch):
    """What the audits of the command find."""
    rows = []
    monkeypatch.setattr(suite, "run_audit", lambda names, n_jobs: iter(rows))
    return rows


def test_a_row_is_printed_with_what_it_proves(call):
    answer = call("audit", "--only", "query soft-mean, Laplace")
    assert (answer.code, answer.err) == (0, "")
    for part in ("epsilon = 2", "holds", "2/2", "NOT PRIVATE"):
        assert part in answer.out


def test_names_are_whole_at_any_width(call, found, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found.extend(replace(GOOD, name=name) for name in LONG)
    printed = " ".join(call("audit", "--all").out.split())
    assert "…" not in printed
    assert all(word in printed for name in LONG for word in name.split())


@pytest.mark.parametrize(
    ("row", "code", "word"),
    [
        (GOOD, 0, "holds"),
        (replace(GOOD, power=0.3), 0, "low power"),
        (replace(GOOD, shown=2.1), 1, "BROKEN"),
        (replace(GOOD, mutants={"less": False}), 1, "MISSED"),
    ],
)
def test_the_exit_code_tells_whether_all_is_as_it_should_be(call, found, row, code, word):
    found.append(row)
    answer = call("audit", "--quick")
    assert answer.code == code
    assert word in answer.out
