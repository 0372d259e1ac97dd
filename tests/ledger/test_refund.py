"""A ledger gives back what an early stop left unspent, and nothing else."""

import math
import os
from copy import copy, deepcopy
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import tailguard as tg
from ledger.test_lines import written_anew
from tailguard.checks import BudgetError, InputError, ReleaseError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.gate import Gate
from tailguard.gate.stage import Stage
from tailguard.ledger.cap import Cap, within_filter
from tailguard.ledger.charges import charges_of, left_charged
from tailguard.ledger.ledger import Ledger
from tailguard.ledger.report import history_text, summary_text
from tailguard.noise.sources import CryptographicSource
from tailguard.privacy.books import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import (
    Composed,
    Gaussian,
    Laplace,
    Parallel,
    Repeated,
    Shuffled,
)
from tailguard.queries.counts import CountBelow

CAP = {"epsilon": 1.0, "delta": 1e-6}  # its filter in mu ends at .2354
USABLE = Release("usable", "Count", "gaussian", "l2", sensitivity=1.0, noise_std=64.0)
COUNT = Gaussian(1.0 / 64.0)
X = np.random.default_rng(0).standard_normal((2000, 2))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "budget.sqlite", "claims", **CAP)


def run_of(ledger, *events, releases=(USABLE,), stopped_early=True, key="3f"):
    """A run that reserves, releases and settles."""
    run = ledger.opened(key)
    for event in events:
        run.reserve(event, coordinates=7)
    for release in releases:
        run.record(release)
    run.settle(stopped_early=stopped_early)
    return run


def refuses(ledger, event):
    with pytest.raises(BudgetError, match="and nothing is charged or released"):
        ledger.charge(event, key="more")
    return True


def test_an_early_stop_counts_with_what_it_released(ledger):
    run = run_of(ledger, Gaussian(0.2))
    assert ledger.reserved == Composed((Composed((COUNT,)),))
    assert (run.reserved, run.charged) == (Composed((Gaussian(0.2),)), Composed((COUNT,)))
    assert ledger.describe_left() != "no run, whatever its epsilon"
    ledger.charge(Gaussian(0.23), key="all the rest but a little")
    assert refuses(ledger, Gaussian(0.06))
    assert ledger.verify() == 4


def test_any_other_end_counts_with_what_was_reserved(ledger):
    run = run_of(ledger, Gaussian(0.12), Gaussian(0.16), stopped_early=False)
    both = Composed((Gaussian(0.12), Gaussian(0.16)))
    assert run.charged == run.reserved == ledger.reserved == both
    told = ledger.lines()[-1].data()
    assert told == {"keys": ["3f", "3f (2)"], "releases": [USABLE.to_dict()]}
    assert refuses(ledger, Gaussian(0.13))


def test_numbers_that_might_have_been_released_stay_counted(ledger):
    before = ledger.charge(COUNT, key="before") and ledger.total().epsilon
    run_of(ledger, Gaussian(0.2), releases=())
    assert before < ledger.total().epsilon < before * (1 + 1e-6)


def test_a_run_is_settled_by_one_line_in_one_transaction(ledger, monkeypatch):
    appended, append = [], type(ledger._store).append
    monkeypatch.setattr(
        type(ledger._store), "append", lambda *given: appended.append(1) or append(*given)
    )
    run = ledger.opened("3f")
    for _ in range(3):
        run.reserve(Gaussian(0.1))
    run.record(USABLE)
    appended.clear()
    run.settle(stopped_early=True)
    assert len(appended) == 1
    *_, line = ledger.lines()
    assert (line.position, line.kind, line.key) == (5, "settled", "3f")
    assert line.data() == {
        "keys": ["3f", "3f (2)", "3f (3)"],
        "releases": [USABLE.to_dict()],
        "charged": Composed((COUNT,)).to_dict(),
    }
    assert len(charges_of(ledger.lines())) == 1
    ledger.charge(Gaussian(0.23), key="the rest")


def test_a_release_or_a_reservation_after_settling_is_refused(ledger):
    for number, stopped_early in enumerate((True, False)):
        run = run_of(ledger, Gaussian(0.1), stopped_early=stopped_early, key=f"{number}")
        before = ledger.lines()
        for write in (
            lambda run=run: run.record(USABLE),
            lambda run=run: run.check(USABLE),
            lambda run=run: run.reserve(COUNT),
        ):
            with pytest.raises(BudgetError, match="before their run is settled"):
                write()
        for again in (True, False):  # says nothing more
            run.settle(stopped_early=again)
        assert ledger.lines() == before


MEAN = Release("mean", "Mean", "gaussian", "l2", sensitivity=1.0, noise_std=4.0)
SMOOTH = {"smoothness": 0.01, "shift": 0.1, "calibration": "tight", "coordinates": 2}
HALVES = {"map_blocks": 2}
SECRET = {"map_blocks": 4, "map_order": "shuffled"}
SAMPLE = {"sample_rows": 3, "of_rows": 12}
PEELED = {"n_selected": 3, "n_free": 1}
# What a run may do besides Gaussian sums over all records.
OTHERS = {
    "arsinh": Release("mean", "Mean", "arsinh-normal", "linf", None, None, parameters=SMOOTH),
    "laplace": Release("count", "Count", "laplace", "l1", 1.0, 4.0),
    "sample": replace(MEAN, mechanism="sampled-gaussian", parameters=SAMPLE),
    "peeling": Release("step", "Step", "peeled-gaussian", "linf", 1.0, 4.0, parameters=PEELED),
    "block": replace(MEAN, block_map="halves", block=1),
    "every block": replace(MEAN, block_map="halves", parameters=HALVES),
    "secret": replace(MEAN, block_map="secret", block=0, parameters=SECRET),
}
BEST = replace(
    MEAN, mechanism="selected-gaussian", parameters={"law": "poisson", "mean_tries": 5.0}
)
WIDE = {"epsilon": 8.0, "delta": 1e-5}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_priced_as_a_whole_stays_charged_once_it_has_begun(tmp_path, name):
    other = OTHERS[name]
    both = Composed((Gaussian(0.5), Shuffled(0.25, 4) if name == "secret" else other.event()))
    for number, releases in enumerate([(USABLE,), (USABLE, other)]):
        ledger = Ledger(tmp_path / f"{number}.sqlite", "claims", **WIDE)
        before = ledger.charge(COUNT, key="before")
        assert before.position == 2
        run_of(ledger, both, releases=releases)
        left = ledger.reserved.events[1]
        assert left == (both if number else Composed((COUNT,)))
        assert ledger.verify() == 4


def test_a_search_is_final_once_its_tries_have_begun(tmp_path):
    event, begun = Composed((Gaussian(0.1), BEST.event())), (USABLE, BEST)
    for number, (releases, stopped_early, lines) in enumerate(
        [
            (begun, False, 3),
            (begun, True, 3),
            ((USABLE,), False, 3),
            ((USABLE,), True, 4),
        ]
    ):
        ledger = Ledger(tmp_path / f"{number}.sqlite", "claims", **WIDE)
        ledger.charge(COUNT, key="before")
        run = run_of(ledger, event, releases=releases, stopped_early=stopped_early)
        assert ledger.verify() == lines
        assert ledger.reserved.events[1] == (Composed((COUNT,)) if lines == 4 else event)
        with pytest.raises(BudgetError, match="before their run is settled"):
            run.record(USABLE)


def test_what_was_released_beyond_what_is_priced_by_itself_stays_charged():
    asked = Release("mean", "Mean", "gaussian", "l2", sensitivity=0.5, noise_std=1.0)
    halves = [Parallel("halves", 0, Gaussian(0.4)), Parallel("halves", 1, Laplace(0.4))]
    assert left_charged([Gaussian(0.3), *halves], [asked]) is None
    assert left_charged([Gaussian(0.5), *halves], [asked]) == Composed((Gaussian(0.5),))
    assert left_charged([Gaussian(0.5)], [asked]) == Composed((Gaussian(0.5),))
    assert left_charged([Repeated(Gaussian(0.5), 2)], [asked]) == Composed((Gaussian(0.5),))


def test_blocks_of_which_none_was_asked_are_given_back_and_may_be_asked_of_all_records():
    """Of blocks the costliest counts, and what one was to be asked may be asked of everyone."""
    asked = Release("mean", "Mean", "gaussian", "l2", sensitivity=0.375, noise_std=1.0)
    blocks = [Parallel("halves", each, Gaussian(mu)) for each, mu in enumerate((0.25, 0.5))]
    assert left_charged([Gaussian(0.125), *blocks], [asked]) == Composed((Gaussian(0.375),))
    assert left_charged([*blocks, *blocks], []) == left_charged([Laplace(0.4)], []) == Composed(())
    asked = Release("mean", "Mean", "gaussian", "l2", sensitivity=0.625, noise_std=1.0)
    assert left_charged([Gaussian(0.125), *blocks], [asked]) is None


def test_the_smaller_of_what_was_reserved_and_released_counts():
    nearly = math.nextafter(0.5, 0.0)
    asked = Release("mean", "Mean", "gaussian", "l2", sensitivity=0.5, noise_std=1.0)
    assert left_charged([Gaussian(nearly)], [asked]) == Composed((Gaussian(nearly),))


def delta_of_the_attack(usable, pure, gaussian, epsilon):
    """Delta of a count at mu and what follows: pure noise, or after a stop a Gaussian release.

    The stop is the worst one, for each answer to the count.
    """
    answer = np.linspace(-9.0, 9.0, 200_001)
    left = epsilon - (usable * answer - usable**2 / 2.0)
    by_gaussian = norm.cdf(gaussian / 2 - left / gaussian) - np.exp(left) * norm.cdf(
        -gaussian / 2 - left / gaussian
    )
    by_pure = np.maximum(0.0, np.exp(pure) - np.exp(left)) / (1.0 + np.exp(pure))
    worst = np.maximum(by_gaussian, by_pure)
    return float((norm.pdf(answer - usable) * worst).sum() * (answer[1] - answer[0]))


def test_a_first_charge_that_meets_no_filter_gives_nothing_back(ledger):
    """Else one answer decided between two ends, each of which costs the cap, and both do not."""
    first, cap = Composed((Gaussian(0.1), Laplace(0.61))), Cap(ledger.cap)
    assert delta_of_the_attack(0.1, 0.61, 0.21, epsilon=1.0) > 1.5e-6
    assert cap.admits([cap.charge(first)])
    assert not cap.meets_filter([cap.charge(first)])
    assert cap.meets_filter([cap.charge(Gaussian(0.1)), cap.charge(Gaussian(0.21))])
    asked = Release("usable", "Count", "gaussian", "l2", sensitivity=1.0, noise_std=10.0)
    run = run_of(ledger, first, releases=[asked])
    assert run.charged == run.reserved
    assert ledger.reserved == Composed((first,))
    for event in (Gaussian(0.21), Gaussian(0.01), Laplace(0.61)):
        assert refuses(ledger, event)
    assert ledger.verify() == 3


@pytest.mark.parametrize("rest", [Gaussian(0.21), Laplace(0.61)])
def test_the_two_ends_of_that_attack_cannot_be_reserved_apart(ledger, rest):
    """The count alone meets the filter in mu; pure noise beside it does not."""
    asked = Release("usable", "Count", "gaussian", "l2", sensitivity=1.0, noise_std=10.0)
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.1))
    with pytest.raises(BudgetError, match="nothing is charged or released"):
        run.reserve(Laplace(0.61))
    run.record(asked)
    run.settle(stopped_early=True)
    if isinstance(rest, Laplace):
        assert refuses(ledger, rest)
    else:
        ledger.charge(rest, key="within the filter")  # .1 and .21 are, whatever the count said
        assert ledger.total().epsilon < 1.0


def test_a_whole_cap_is_planned_within_the_filter_and_given_back(ledger):
    model = tg.LinearRegression(**CAP, ledger=ledger).fit(X, X[:, 0])
    cap, charges = Cap(ledger.cap), charges_of(ledger.lines())
    assert cap.meets_filter(charges)
    assert not cap.admits((*charges, cap.charge(Gaussian(1e-3))))
    assert model.certificate_.guarantee == tg.ApproxDP(1.0, 9.9e-7)
    assert 0.999 < model.certificate_.total.epsilon <= 1.0


@pytest.mark.parametrize("asked", ["fit", "mean", "minimize"])
def test_whoever_asks_for_the_whole_cap_meets_its_filter(ledger, asked):
    calls = {
        "fit": lambda: tg.HuberRegression(**CAP, ledger=ledger).fit(X, X[:, 0]),
        "mean": lambda: tg.mean(X, **CAP, ledger=ledger, method="clamped"),
        "minimize": lambda: tg.minimize(
            tg.losses.Huber(1.0), X, X[:, 0], **CAP, ledger=ledger,
            constraint=tg.sets.L2Ball(2.0),
        ),
    }  # fmt: skip
    calls[asked]()
    assert Cap(ledger.cap).meets_filter(charges_of(ledger.lines()))


def test_only_the_whole_of_such_a_cap_is_planned_so(ledger, tmp_path):
    whole = tg.ApproxDP(**CAP)
    in_mu = Ledger(tmp_path / "mu.sqlite", "claims", guarantee=tg.GDP(1.0))
    assert within_filter(whole, ledger) == tg.ApproxDP(1.0, 9.9e-7)
    for asked, held in [
        (tg.ApproxDP(0.9, 1e-6), ledger),
        (tg.ApproxDP(1.0, 1e-7), ledger),
        (tg.GDP(0.2), ledger),
        (whole, in_mu),
        (tg.GDP(1.0), in_mu),
        (whole, tg.privacy.MemoryBooks()),
        (whole, None),
    ]:
        assert within_filter(asked, held) == asked


STAGE = Stage("usable", "how many records can be used", mu=0.0125, times=1, size=1)
REST = Stage("descent", "gradients", mu=0.2, times=1, size=2)


def gate_over(rows, ledger, **more):
    gate = Gate(rows, guarantee=tg.ApproxDP(**CAP), source=CryptographicSource(), ledger=ledger,
                **more)  # fmt: skip
    gate.reserve(Composed((STAGE.event, REST.event)), coordinates=3)
    return gate


def usable(gate, stage=STAGE):
    return gate.ask(CountBelow(columns=(0,)), np.ones(1), stage)


def test_the_certificate_says_what_was_reserved_released_and_counts(ledger):
    gate = gate_over(ArrayRows(X), ledger)
    usable(gate)
    assert gate.certificate().charged is None
    gate.settle(stopped_early=True)
    told = gate.certificate()
    assert told.total.mu == pytest.approx(math.hypot(0.2, 0.0125))
    assert told.spent.mu == told.counted.mu == pytest.approx(0.0125)
    assert told.charged == charges_of(ledger.lines())[0].event
    assert told.ledger_entries == (ledger.lines()[1].entry(),)
    for page in (told.to_text(), told.to_html()):
        words = " ".join(page.split())
        assert "the run stopped early, and the ledger counts epsilon = " in words
        assert "all of it counts as spent" not in words
    again = Certificate.from_json(told.to_json())
    assert (again, again.to_json()) == (told, told.to_json())


@pytest.mark.parametrize("mu", [0.0124, 0.3])
def test_a_certificate_that_counts_too_little_or_too_much_is_refused(ledger, mu):
    gate = gate_over(ArrayRows(X), ledger)
    usable(gate)
    gate.settle(stopped_early=True)
    told = gate.certificate().to_dict()
    with pytest.raises(InputError, match="must say what a ledger counts after"):
        Certificate.from_dict(told | {"charged": Gaussian(mu).to_dict()})


def test_without_a_ledger_all_counts(tmp_path):
    for ledger in (None, tg.privacy.MemoryBooks()):
        gate = gate_over(ArrayRows(X), ledger)
        usable(gate)
        gate.settle(stopped_early=True)
        assert gate.certificate().charged is None
        with pytest.raises(BudgetError, match="before their run is settled"):
            usable(gate)


def test_a_gate_releases_and_reserves_nothing_more(ledger):
    gate = gate_over(ArrayRows(X), ledger)
    usable(gate)
    gate.settle(stopped_early=True)
    before = ledger.lines()
    for write in (lambda: usable(gate, REST), lambda: gate.reserve(Gaussian(0.01), coordinates=1)):
        with pytest.raises(BudgetError, match="before their run is settled"):
            write()
    assert ledger.lines() == before


class FailingRows(ArrayRows):
    """Rows that fail while they are read, once."""

    def __init__(self, failure):
        super().__init__(X)
        self.failure = failure

    def reduce(self, kernel, n_threads=None):
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        return super().reduce(kernel, n_threads)


@pytest.mark.parametrize(
    ("failure", "heard"),
    [
        (ValueError("a record"), ReleaseError),
        (MemoryError(), ReleaseError),
        (SystemExit(), ReleaseError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=repr,
)
def test_what_fails_while_records_are_read_forfeits_the_rest(ledger, failure, heard):
    gate = gate_over(FailingRows(failure), ledger)
    with pytest.raises(heard):
        usable(gate)
    gate.settle(stopped_early=True)
    assert ledger.reserved == Composed((Composed((STAGE.event, REST.event)),))
    assert gate.certificate().charged is None
    assert "charged" not in ledger.lines()[-1].data()


def test_a_run_with_a_checkpoint_gets_nothing_back(ledger, tmp_path):
    for _ in range(2):  # and once more from its end
        gate = gate_over(ArrayRows(X), ledger, checkpoint=tmp_path / "checkpoint")
        usable(gate)
        gate.settle(stopped_early=True)
        gate.close()
        assert ledger.reserved == Composed((Composed((STAGE.event, REST.event)),))
        assert [line.kind for line in ledger.lines()] == ["created", "reserved", "settled"]


def test_a_settlement_that_cannot_be_written_gives_nothing_back(ledger, monkeypatch):
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.2))
    run.record(USABLE)

    def full(*_):
        raise BudgetError("ledger must have room to grow; the disk is full.")

    monkeypatch.setattr(type(ledger._store), "append", full)
    with pytest.warns(tg.BudgetWarning, match="entry 2 .* stays unsettled: .* the disk is full"):
        run.settle(stopped_early=True)
    monkeypatch.undo()
    run.settle(stopped_early=True)  # it was closed then, and is not asked again
    assert [line.kind for line in ledger.lines()] == ["created", "reserved"]
    assert run.charged == run.reserved
    assert refuses(ledger, Gaussian(0.13))
    with pytest.raises(BudgetError, match="before their run is settled"):
        run.record(USABLE)


def test_what_others_release_is_never_given_back(ledger):
    ledger.charge(Gaussian(0.2), key="another tool")
    run = ledger.with_key("another tool").opened("3f")
    with pytest.raises(BudgetError, match="key must be new"):
        run.reserve(Gaussian(0.2))
    run.settle(stopped_early=True)
    assert ledger.reserved == Composed((Gaussian(0.2),))
    assert len(ledger.lines()) == 2


def test_the_copy_of_a_fork_settles_nothing(ledger, monkeypatch):
    """It would give back what the run itself goes on to release."""
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.2))
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(BudgetError, match="by the process that opened them"):
        run.settle(stopped_early=True)
    monkeypatch.undo()
    assert len(ledger.lines()) == 2
    run.record(USABLE)


@pytest.mark.parametrize("events", [[Gaussian(0.2)], [Gaussian(0.1), Gaussian(0.1)]], ids=len)
def test_nobody_goes_on_with_a_run_that_was_given_back_what_it_left(ledger, events):
    run_of(ledger, *events)
    again = ledger.resumed("3f", start=None)
    with pytest.raises(BudgetError, match="key must be new"):
        again.reserve(events[0], coordinates=7)
    with pytest.raises(BudgetError, match="must be covered by the reserved budget"):
        again.record(USABLE)
    with pytest.raises(BudgetError, match="must be the latest of its run"):
        ledger.resumed("3f", start=1)


def test_a_copy_of_a_run_is_the_run_itself(ledger):
    """A copy that settles would leave the run open, to release what was given back."""
    run = ledger.opened("3f")
    run.reserve(Gaussian(0.2))
    copy(run).settle(stopped_early=True)
    with pytest.raises(BudgetError, match="before their run is settled"):
        run.record(USABLE)
    with pytest.raises(TypeError, match="cannot pickle"):
        deepcopy(run)


def test_settlements_count_from_their_own_line_on(ledger):
    """What was charged after a line was settled may be more than before it was."""
    first = ledger.opened("first")
    first.reserve(Gaussian(0.2))
    first.record(USABLE)
    assert refuses(ledger, Gaussian(0.2))
    first.settle(stopped_early=True)
    ledger.charge(Gaussian(0.2), key="second")
    assert ledger.verify() == 4
    lines = ledger.lines()
    again = [lines[0], lines[1], lines[3], lines[2]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "lines", lambda _: tuple(again))
        written_anew(ledger, lambda old: old)
    with pytest.raises(BudgetError, match="line 3 charges more than was left"):
        ledger.verify()


CHARGED = Composed((COUNT,)).to_dict()
FORGED = {
    "less": {"charged": Composed((Gaussian(1e-4),)).to_dict()},
    "nothing": {"charged": Composed(()).to_dict()},
    "fewer releases": {"releases": []},
    "a release beside": {"releases": [USABLE.to_dict(), OTHERS["laplace"].to_dict()]},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_settlement_that_gives_back_more_is_found(ledger, name):
    run_of(ledger, Gaussian(0.2))
    written_anew(ledger, lambda old: old | (FORGED[name] if "releases" in old else {}))
    with pytest.raises(BudgetError, match="line 3 gives back more than was left"):
        ledger.verify()


def test_a_refund_of_a_first_charge_without_a_filter_is_found(ledger):
    first = Composed((Gaussian(0.1), Laplace(0.61)))
    run_of(ledger, first)
    written_anew(ledger, lambda old: old | ({"charged": CHARGED} if "releases" in old else {}))
    with pytest.raises(BudgetError, match="line 3 gives back more than was left"):
        ledger.verify()


@pytest.mark.parametrize(
    "told",
    [
        {"keys": []},
        {"keys": ["other"]},
        {"keys": ["3f", "other"]},
        {"keys": ["3f (2)", "3f"]},
        {"keys": None},
        {"charged": None},
        {"charged": {"kind": "gaussian", "mu": -1.0}},
        {"releases": None},
        {"releases": [{}]},
    ],
    ids=str,
)
def test_a_settlement_that_no_run_writes_is_one_sentence(ledger, told):
    run_of(ledger, Gaussian(0.1), Gaussian(0.1))
    written_anew(ledger, lambda old: {k: told.get(k, v) for k, v in old.items()})
    with pytest.raises(BudgetError, match="line 4 was changed"):
        ledger.verify()


def test_history_and_summary_tell_an_early_stop(ledger):
    run_of(ledger, Gaussian(0.1), Gaussian(0.1))
    run_of(ledger, COUNT, stopped_early=False, key="whole")
    ledger.charge(COUNT, key="others")
    listed = history_text(ledger).splitlines()[2:]
    assert [line.split("  ")[-1].strip() for line in listed] == [
        "3f, stopped early",
        "3f (2), stopped early",
        "whole",
        "others, not settled",
    ]
    assert " nothing " in listed[1]
    summary = summary_text(ledger)
    assert "4 runs, 3 settled; 2 stopped early, all others count as reserved" in summary
