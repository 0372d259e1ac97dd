"""Rows of the audit: each holds, sees too little noise, and rejects its mutants."""

import pytest

from support.solvers import SOLVERS
from tailguard.audit import cases
from tailguard.audit.cases import POWER
from tailguard.audit.suite import LONG, PUBLIC, QUICK, audit_row, run_audit
from tailguard.means.choice import MEANS
from tailguard.queries.registry import QUERIES, SMOOTH_QUERIES

FALSE_ALARM = 1e-5
# One of every way to read a release; the others are for `tailguard audit` and `make audit`.
BY_DEFAULT = (
    "query second-moments",
    "query soft-mean, Laplace",
    "query peeled-step, choice",
    "query trimmed-mean",
    "mean clipped, in private units",
)

# docs/audits.md says why neither could have any.
WITHOUT_POWER = ("tg.mean, in one run", "tg.LinearRegression, by its coefficients")


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in BY_DEFAULT else pytest.mark.audit) for name in QUICK],
)
def test_a_row_holds_and_its_mutants_do_not(name):
    row = audit_row(name, false_alarm=FALSE_ALARM)
    assert row.accepted
    assert row.power >= POWER
    assert row.share >= 0.7  # the pair is nearly the worst one
    assert set(row.mutants.values()) == {True}
    assert row.verdict == "holds"


@pytest.mark.audit
@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in WITHOUT_POWER])
def test_a_public_call_shows_nearly_all_and_would_not_hide_less_noise(name):
    row = audit_row(name, false_alarm=FALSE_ALARM)
    assert row.verdict == "holds"
    assert row.share >= 0.7


def test_one_run_shows_something_beside_all_other_rows():
    row = audit_row("tg.mean, in one run", false_alarm=cases.FALSE_ALARM / len(LONG))
    assert row.accepted
    assert row.share > 0.1


def test_every_query_mean_and_solver_has_a_row_and_a_description_has():
    rows = {name.split(",")[0] for name in QUICK}
    wanted = {
        *(f"query {name}" for name in {**QUERIES, **SMOOTH_QUERIES}),
        *(f"mean {name}" for name in MEANS),
        *(f"solver {name}" for name in SOLVERS),
        "summary describe",
    }
    assert rows == wanted
    assert set(QUICK) < set(LONG)


def test_an_audit_of_nothing_is_empty():
    assert list(run_audit(())) == list(run_audit((), n_jobs=2)) == []
