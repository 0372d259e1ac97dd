"""A certificate beside the ledger that it names: forged in any way that counts, it is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

import tailguard as tg
from support.forging import APPROX, X, Y, certificate_of_stopped, forgeries, pattern
from tailguard.checks import BudgetError, InputError
from tailguard.ledger.verification import check_certified
from tailguard.privacy.accounting.total_cost import Distance
from tailguard.privacy.books.books import LedgerEntry
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Composed, Gaussian
from tailguard.privacy.unit import Unit

CAP = {"epsilon": 9.0, "delta": 1e-4}
# What a ledger does not know of a run, beside words.
UNKNOWN = {
    *(".n_rows", ".unused_stages", ".tailguard_certificate"),
    *(".assumptions_for_accuracy", ".assumptions_for_accuracy[]"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ledgers")


@pytest.fixture(scope="module")
def ledger(folder):
    return tg.Ledger(folder / "budget.sqlite", "claims", **CAP)


@pytest.fixture(scope="module")
def certificate(ledger):
    ledger.charge(Gaussian(0.01), key="before")
    return tg.LinearRegression(ledger=ledger, **APPROX).fit(X, Y).certificate_


def test_the_certificate_of_a_run_is_found(ledger, certificate):
    again = Certificate.from_json(certificate.to_json())
    assert check_certified(ledger.lines(), again)
    assert ledger.verify(again) == len(ledger.lines())


def test_so_is_one_of_a_key_of_ones_own_and_of_a_checkpoint(ledger, tmp_path):
    keyed = ledger.with_key("report of March")
    options = {"ledger": keyed, "checkpoint": tmp_path / "run", "epsilon": 0.5, "delta": 1e-6}
    for _ in range(2):
        result = tg.mean(X, **options)
        assert check_certified(ledger.lines(), result.certificate)


def test_so_is_one_of_a_plan_that_cuts_blocks(folder):
    ledger = tg.Ledger(folder / "blocks.sqlite", "claims", guarantee=tg.GDP(2.0))
    solver = tg.solvers.NoisyGradientDescent(schedule="disjoint", n_steps=10, clip_norm=1.0)
    options = {"constraint": tg.sets.L2Ball(2.0), "solver": solver, "ledger": ledger}
    solved = tg.minimize(tg.losses.Huber(1.0), X, Y, guarantee=tg.GDP(1.0), **options)
    assert solved.certificate.releases[-1].block_map is not None
    assert check_certified(ledger.lines(), solved.certificate)


@pytest.fixture(scope="module")
def stopped(ledger):
    return certificate_of_stopped(ledger)


def test_the_certificate_of_a_run_that_stopped_early_is_found_with_its_releases(ledger, stopped):
    again = Certificate.from_json(stopped.to_json())
    assert again.counted.epsilon < 0.2 * again.total.epsilon
    assert check_certified(ledger.lines(), again)
    assert ledger.verify(again) == len(ledger.lines())


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "seed", "per_pattern", "unknown"),
    [("certificate", 2, 2, UNKNOWN), ("stopped", 4, 5, {*UNKNOWN, ".unused_stages[]"})],
)
def test_every_forgery_but_of_words_is_refused_beside_the_ledger(
    ledger, request, run, seed, per_pattern, unknown
):
    made, taken, n_refused = request.getfixturevalue(run), set(), 0
    for place, _, data in forgeries(made, np.random.default_rng(seed), per_pattern=per_pattern):
        try:
            ledger.verify(Certificate.from_json(json.dumps(data)))
        except (InputError, BudgetError):
            n_refused += 1
        else:
            taken.add(pattern(place))
    assert taken <= unknown
    assert n_refused >= 150


def test_a_ledger_knows_whether_a_run_counts_with_less(ledger, certificate, stopped):
    spent = Composed(tuple(each.event() for each in certificate.releases))
    forged = [
        replace(certificate, charged=spent),  # it ran to its end
        replace(stopped, charged=None),
        replace(stopped, charged=stopped.planned),
        replace(stopped, charged=Composed((*stopped.charged.events, Gaussian(1e-3)))),
    ]
    for each in forged:
        again = Certificate.from_json(each.to_json())  # the file alone cannot tell
        with pytest.raises(BudgetError, match="counts something else"):
            check_certified(ledger.lines(), again)


CONSISTENT = [
    lambda c: replace(c, guarantee=tg.ApproxDP(2.0, 1e-6)),
    lambda c: replace(c, releases=c.releases[:-1]),
    lambda c: replace(c, releases=()),
    lambda c: replace(c, releases=(replace(c.releases[0], noise_std=1e9), *c.releases[1:])),
    lambda c: replace(c, releases=(replace(c.releases[0], name="count"), *c.releases[1:])),
    lambda c: replace(c, planned=Composed((Gaussian(1e-3),)), releases=()),
    lambda c: replace(c, planned=Gaussian(1e-3), releases=()),
    lambda c: replace(c, planned=Composed((*c.planned.events, Gaussian(1e-6)))),
    lambda c: replace(c, version="0.0.1"),
]


@pytest.mark.parametrize("forge", CONSISTENT)
def test_a_forgery_that_agrees_with_itself_is_refused_beside_the_ledger(ledger, certificate, forge):
    forged = Certificate.from_json(forge(certificate).to_json())  # the file alone cannot tell
    if forged.guarantee != certificate.guarantee:
        assert check_certified(ledger.lines(), forged)  # what was promised a ledger does not know
        return
    with pytest.raises(BudgetError, match="must be of a run that ledger 'claims' was charged with"):
        check_certified(ledger.lines(), forged)


def entry_of(ledger, position):
    return ledger.lines()[position - 1].entry()


@pytest.mark.parametrize(
    "change", [{"position": 5}, {"position": 1000}, {"key": "another"}, {"digest": "0" * 64}]
)
def test_another_line_is_refused(ledger, certificate, change):
    (entry,) = certificate.ledger_entries
    forged = replace(certificate, ledger_entries=(replace(entry, **change),))
    with pytest.raises(BudgetError, match="is no charge there"):
        check_certified(ledger.lines(), forged)


def test_the_charge_of_another_run_is_refused(ledger, certificate):
    other = tg.mean(X, epsilon=0.25, delta=1e-6, ledger=ledger).certificate
    forged = replace(certificate, ledger_entries=other.ledger_entries)
    with pytest.raises(BudgetError, match="charged another plan"):
        check_certified(ledger.lines(), forged)


def test_a_settled_line_is_no_charge(ledger, certificate):
    (entry,) = certificate.ledger_entries
    settled = entry_of(ledger, entry.position + 1)
    assert settled.key == entry.key
    with pytest.raises(BudgetError, match="is no charge there"):
        check_certified(ledger.lines(), replace(certificate, ledger_entries=(settled,)))


def test_a_charge_for_another_tool_is_no_run(ledger):
    entry = ledger.charge(Gaussian(0.02), key="another tool")
    made = Certificate(
        tg.ApproxDP(1.0, 1e-6), 100, Composed((Gaussian(0.02),)), ledger_entries=(entry,)
    )
    with pytest.raises(BudgetError, match="was charged for another tool"):
        check_certified(ledger.lines(), made)


def test_a_run_that_has_not_settled_lists_no_releases(folder):
    ledger = tg.Ledger(folder / "unsettled.sqlite", "claims", **CAP)
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.1), coordinates=1)
    made = Certificate(
        tg.ApproxDP(1.0, 1e-6), 100, Composed((Gaussian(0.1),)), ledger_entries=run.entries
    )
    assert not check_certified(ledger.lines(), made)
    with pytest.raises(BudgetError, match=r"entry 2 of 'claims' .*counts something else"):
        check_certified(ledger.lines(), replace(made, charged=Composed(())))
    run.settle()
    assert check_certified(ledger.lines(), made)


@pytest.mark.parametrize("names", [[], ["patients"], ["claims", "patients"]])
def test_a_certificate_of_other_ledgers_is_refused(ledger, certificate, names):
    entries = [LedgerEntry(name, 2 + place, "3f", "0" * 64) for place, name in enumerate(names)]
    with pytest.raises(InputError, match="must name charges of ledger 'claims' alone"):
        ledger.verify(replace(certificate, ledger_entries=tuple(entries)))


def test_a_wider_distance_of_the_sampler_is_no_matter_of_the_ledger(ledger, certificate):
    """It is within the totals, which are worked out anew; the charge has room for it."""
    wider = replace(certificate, sampler_distance=Distance(1e-11, 1e-22))
    assert check_certified(ledger.lines(), wider)


def test_a_certificate_of_another_unit_is_refused(ledger, certificate):
    persons = replace(certificate, unit=Unit(person="key", max_rows=3))
    with pytest.raises(BudgetError, match="counts rows"):
        check_certified(ledger.lines(), persons)


def test_a_ledger_goes_on_counting_what_it_counts(tmp_path):
    path = tmp_path / "units.sqlite"
    tg.Ledger(path, "rows", **CAP)
    tg.Ledger(path, "persons", person="key", **CAP)
    with pytest.raises(InputError, match="go on counting rows; got persons by 'key'"):
        tg.Ledger(path, "rows", person="key")
    with pytest.raises(InputError, match="go on counting persons by 'key'; got rows"):
        tg.Ledger(path, "persons", **CAP)
    assert tg.Ledger(path, "persons").unit == "persons by 'key'"
