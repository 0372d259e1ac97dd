"""A ledger charges before it releases, keeps its cap, and outlives the process."""

import pickle
import warnings
from datetime import date

import numpy as np
import pytest
from sklearn.base import clone

import tailguard as tg
from tailguard.checks import LONGEST_NAME, BudgetError, InputError, TailguardError
from tailguard.gate import Gate
from tailguard.ledger.store import one_sentence
from tailguard.privacy.accounting.total_cost import calibrate, smallest_epsilon, total_mu
from tailguard.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    Parallel,
    Pure,
    Sampled,
    Unbounded,
    ZeroConcentrated,
    event_from_dict,
)
from tailguard.solvers import WhitenedNewton

X = np.random.default_rng(0).standard_normal((3_000, 2))
Y = X[:, 0]
FIT = {"epsilon": 1.0, "delta": 1e-6}
CAP = {"epsilon": 2.0, "delta": 1e-5}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.sqlite"


@pytest.fixture
def ledger(path):
    return tg.Ledger(path, "claims", **CAP)


def kinds(ledger):
    return [line.kind for line in ledger.lines()]


def test_every_fit_is_charged_settled_and_named_by_its_certificate(ledger):
    fits = [tg.LinearRegression(ledger=ledger, **FIT).fit(X, Y) for _ in range(2)]
    assert kinds(ledger) == ["created", *["reserved", "settled"] * 2]
    total = total_mu(ledger.reserved)
    assert total == pytest.approx(fits[0].certificate_.total.mu * 2**0.5, rel=1e-12)
    for place, fit in zip((2, 4), fits, strict=True):
        (entry,) = fit.certificate_.ledger_entries
        line = ledger.lines()[place - 1]
        assert (entry.ledger, entry.position, entry.digest) == ("claims", place, line.digest)
        assert entry.describe() in fit.certificate_.to_text()
        assert event_from_dict(line.data()["event"]) == fit.certificate_.planned.events[0]
        settled = ledger.lines()[place].data()["releases"]
        assert settled == [release.to_dict() for release in fit.certificate_.releases]
        assert tg.Certificate.from_json(fit.certificate_.to_json()) == fit.certificate_


@pytest.mark.parametrize(
    "run",
    [
        lambda ledger: tg.mean(X, ledger=ledger, **FIT),
        lambda ledger: tg.minimize(tg.losses.Squared(), X, Y, ledger=ledger, **FIT),
    ],
    ids=["mean", "minimize"],
)
def test_whatever_releases_is_charged(ledger, run):
    certificate = run(ledger).certificate
    assert certificate.ledger_entries == (ledger.lines()[1].entry(),)
    assert certificate.ledger_entries[0].digest[:16] in certificate.to_html()


def test_a_run_without_a_ledger_names_none(path):
    certificate = tg.mean(X, **FIT).certificate
    assert certificate.ledger_entries == ()
    assert "ledger       none was charged" in certificate.to_text()


def test_the_charge_is_on_the_disk_before_the_first_query(path, ledger):
    class Interrupted(WhitenedNewton):
        def run(self, plan, gate):
            seen.append(kinds(tg.Ledger(path, "claims")))
            raise KeyboardInterrupt

    seen = []
    with pytest.raises(KeyboardInterrupt):
        tg.LinearRegression(solver=Interrupted(), ledger=ledger, **FIT).fit(X, Y)
    assert seen == [["created", "reserved"]]
    assert kinds(ledger) == ["created", "reserved"]  # counts as spent
    assert ledger.total().epsilon > 0.5


def test_a_fit_beyond_the_cap_reads_nothing_and_the_sentence_says_what_fits(ledger, monkeypatch):
    tg.mean(X, ledger=ledger, **FIT)
    before = ledger.lines()
    monkeypatch.setattr(Gate, "ask", lambda *_: pytest.fail("a query was asked"))
    with pytest.raises(BudgetError, match="the rest of the budget fits a run of") as caught:
        tg.LinearRegression(epsilon=2.0, delta=1e-5, ledger=ledger).fit(X, Y)
    assert str(caught.value).count(". ") == 0
    assert ledger.lines() == before
    monkeypatch.undo()
    said = str(caught.value).split("epsilon = ")[2].split(",")[0]
    with pytest.raises(BudgetError):
        tg.mean(X, epsilon=float(said) * 1.001, delta=1e-5, ledger=ledger)
    tg.mean(X, epsilon=float(said), delta=1e-5, ledger=ledger)
    assert ledger.left is None or ledger.left.epsilon < 0.2
    with pytest.raises(BudgetError, match="must keep"):
        tg.mean(X, **FIT, ledger=ledger)


@pytest.mark.parametrize(
    ("cap", "event", "times"),
    [
        (tg.GDP(1.0), Gaussian(0.5), 4),
        (tg.ZCDP(0.5), ZeroConcentrated(0.125), 4),
        (tg.PureDP(1.0), Laplace(0.25), 4),
        (tg.PureDP(1.0), Pure(0.5), 2),
        (tg.ApproxDP(1.0, 1e-6), Laplace(0.25), 4),
    ],
    ids=str,
)
def test_a_cap_in_any_guarantee_is_spent_to_the_last(path, cap, event, times):
    ledger = tg.Ledger(path, "claims", guarantee=cap)
    for number in range(times):
        ledger.charge(event, key=str(number))
    assert ledger.left is None
    with pytest.raises(BudgetError, match="budget fits no run, whatever its epsilon"):
        ledger.charge(type(event)(1e-3), key="more")
    assert ledger.verify() == times + 1


@pytest.mark.parametrize(
    ("cap", "said"),
    [
        (tg.GDP(1.0), "mu = 0.866, such as one of epsilon = 4.1"),
        (tg.ZCDP(0.5), "rho = 0.375, such as one of epsilon = 4.1"),
        (tg.ApproxDP(1.0, 1e-2), "a run of epsilon = 0.84"),
        (tg.PureDP(2.0), None),
    ],
)
def test_what_is_left_is_told_in_the_caps_currency(path, cap, said):
    ledger = tg.Ledger(path, "claims", guarantee=cap)
    if said is None:
        ledger.charge(Laplace(0.5), key="1")
        assert "a run of pure epsilon = 1.5" in ledger.describe_left()
        return
    ledger.charge(Gaussian(0.25 if isinstance(cap, tg.ApproxDP) else 0.5), key="1")
    assert said in ledger.describe_left()
    fits = ledger.left
    ledger.charge(Gaussian(fits.gaussian_mu()), key="2")
    with pytest.raises(BudgetError):
        ledger.charge(Gaussian(fits.gaussian_mu() / 4), key="3")


@pytest.mark.parametrize(
    ("cap", "event"),
    [
        (tg.PureDP(5.0), Gaussian(0.1)),
        (tg.GDP(5.0), ZeroConcentrated(0.01)),
        (tg.ZCDP(5.0), Sampled(0.1, 0.1)),
        (tg.GDP(5.0), Approximate(0.1, 1e-9)),
        (tg.ApproxDP(5.0, 1e-6), Unbounded()),
        (tg.ApproxDP(5.0, 1e-6), Approximate(0.1, 2e-6)),
    ],
    ids=str,
)
def test_what_has_no_price_in_the_caps_currency_is_refused(path, cap, event):
    ledger = tg.Ledger(path, "claims", guarantee=cap)
    with pytest.raises(BudgetError, match="must keep"):
        ledger.charge(event, key="1")
    assert kinds(ledger) == ["created"]


def test_a_first_run_may_take_the_whole_cap_whatever_its_events(path):
    whole = tg.ApproxDP(1.0, 1e-6)
    for name, event in {
        "gaussian": Gaussian(whole.gaussian_mu()),
        "pure": Pure(1.0),
        "concentrated": ZeroConcentrated(calibrate(ZeroConcentrated, whole)),
        "approximate": Approximate(0.9, 9e-7),
    }.items():
        ledger = tg.Ledger(path, name, guarantee=whole)
        ledger.charge(event, key="1")
        with pytest.raises(BudgetError):
            ledger.charge(Gaussian(0.05), key="2")
        assert ledger.verify() == 2
    model = tg.LinearRegression(**FIT, ledger=tg.Ledger(path, "fit", **FIT)).fit(X, Y)
    assert model.certificate_.ledger_entries[0].position == 2


def test_blocks_of_two_runs_are_not_taken_for_the_same(ledger):
    for run in ("3f", "40"):
        ledger.charge(Parallel(f"{run}/halves", 0, Gaussian(0.1)), key=run)
    assert total_mu(ledger.reserved) == pytest.approx(0.1 * 2**0.5)


def test_a_key_is_charged_once(ledger):
    keyed = ledger.with_key("report of March")
    tg.mean(X, ledger=keyed, **FIT)
    before = ledger.lines()
    with pytest.raises(BudgetError, match="new to ledger 'claims'; entry 2 was charged"):
        tg.mean(X, ledger=keyed, **FIT)
    assert ledger.lines() == before
    first = ledger.charge(Gaussian(0.1), key="a", coordinates=3)
    assert ledger.charge(Gaussian(0.1), key="a", coordinates=3) == first
    for other, coordinates in ((Gaussian(0.2), 3), (Gaussian(0.1), 4)):
        with pytest.raises(BudgetError, match="key must be new"):
            ledger.charge(other, key="a", coordinates=coordinates)
    assert kinds(ledger) == ["created", "reserved", "settled", "reserved"]


def test_a_gate_charges_its_own_blocks_and_its_coordinates(ledger):
    for _ in range(2):
        gate = Gate.over(X, guarantee=tg.GDP(1.0), ledger=ledger)
        gate.reserve(Parallel("halves", 0, Gaussian(0.1)), coordinates=7)
    first, second = ledger.lines()[1:]
    for line in (first, second):
        assert line.data()["coordinates"] == 7
        assert line.data()["event"]["block_map"] == f"{line.key}/halves"
    assert first.key != second.key


def test_an_existing_ledger_keeps_its_cap(path, ledger):
    assert tg.Ledger(path, "claims").cap == tg.ApproxDP(**CAP)
    assert tg.Ledger(path).name == "claims"
    tg.Ledger(path, "claims", **CAP)
    assert kinds(ledger) == ["created"]
    with pytest.raises(InputError, match=r"must keep its cap, .* epsilon = 2 .*; got .* = 9 "):
        tg.Ledger(path, "claims", epsilon=9.0, delta=1e-5)
    tg.Ledger(path, "patients", guarantee=tg.ZCDP(0.5)).charge(Gaussian(0.5), key="1")
    assert ledger.left == ledger.cap
    with pytest.raises(InputError, match=r"name must be given; ledgers .*: 'claims', 'patients'"):
        tg.Ledger(path)


def test_names_have_at_most_so_many_signs(path):
    assert tg.Ledger(path, "a" * LONGEST_NAME, **CAP).verify() == 1
    with pytest.raises(InputError, match=f"name must be a text of 1 to {LONGEST_NAME} characters"):
        tg.Ledger(path, "a" * (LONGEST_NAME + 1), **CAP)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (
            ("b.sqlite", "a"),
            {},
            "must exist in .*, which does not exist; to begin it, pass its cap",
        ),
        (("b.sqlite",), CAP, "name must be given"),
        (("b.sqlite",), {}, "ledger .* must be a file; there is none"),
        (("b.sqlite", "a"), {"epsilon": 1.0}, "delta is missing"),
        (("b.sqlite", "a"), {"guarantee": 3}, "guarantee must be"),
        (("b.sqlite", "a"), {"epsilon": -1.0, "delta": 1e-6}, "epsilon must be"),
    ],
)
def test_a_wrong_argument_is_one_sentence(arguments, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TailguardError, match=words):
        tg.Ledger(*arguments, **options)
    assert list(tmp_path.iterdir()) == []


def test_it_is_pickled_by_its_path_and_cloned_as_itself(path, ledger):
    model = tg.LinearRegression(ledger=ledger.with_key("once"), **FIT)
    assert clone(model).ledger is model.ledger
    again = pickle.loads(pickle.dumps(model))
    assert again.ledger == model.ledger
    assert hash(again.ledger) == hash(model.ledger)
    assert again.ledger != ledger
    assert repr(again.ledger) == f"Ledger({str(path)!r}, name='claims', key='once')"
    path.unlink()
    gone = pickle.loads(pickle.dumps(ledger))
    with pytest.raises(BudgetError, match="must be a file; there is none"):
        tg.mean(X, ledger=gone, **FIT)


def test_a_simulation_is_not_charged(ledger):
    with pytest.raises(BudgetError, match="random_state must be None when a ledger is given"):
        tg.mean(X, ledger=ledger, random_state=0, **FIT)
    assert kinds(ledger) == ["created"]


def test_what_cannot_be_settled_stays_charged_and_the_answer_is_kept(ledger, monkeypatch):
    def full(*_):
        raise BudgetError("the disk is full")

    monkeypatch.setattr(tg.Ledger, "_write_settlement", full)
    with pytest.warns(tg.BudgetWarning, match="entry 2 of 'claims' .* stays unsettled: the disk"):
        result = tg.mean(X, ledger=ledger, **FIT)
    assert np.isfinite(result.value).all()
    assert kinds(ledger) == ["created", "reserved"]


def test_an_answer_is_kept_though_warnings_are_errors_and_none_says_that_nothing_is_charged(
    ledger, monkeypatch
):
    def full(*_):
        with one_sentence("budget.sqlite"):
            raise OSError

    monkeypatch.setattr(tg.Ledger, "_write_settlement", full)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error", tg.BudgetWarning)
        result = tg.mean(X, ledger=ledger, **FIT)
    assert np.isfinite(result.value).all()
    (warning,) = told
    assert "stays unsettled: ledger 'budget.sqlite' must be a file" in str(warning.message)
    assert "nothing is charged" not in str(warning.message)


def test_the_total_adds_the_distance_of_sampled_noise(path):
    ledger = tg.Ledger(path, "claims", epsilon=2.0, delta=1e-5)
    ledger.charge(Gaussian(0.25), key="1", coordinates=10**9)
    assert ledger.lines()[1].data()["coordinates"] == 10**9
    plain = smallest_epsilon(Gaussian(0.25), 1e-5).epsilon
    assert ledger.total().epsilon == pytest.approx(plain + 2 * 1.3e-3, rel=1e-3)
    assert ledger.total().epsilon > plain + 2 * 1.3e-3


def test_a_plan_that_asks_for_more_than_its_charge_is_refused(ledger):
    class Greedy(WhitenedNewton):
        def run(self, plan, gate):
            super().run(plan, gate)
            return super().run(plan, gate)

    with pytest.raises(BudgetError):
        tg.LinearRegression(solver=Greedy(), ledger=ledger, **FIT).fit(X, Y)
    assert kinds(ledger) == ["created", "reserved"]


def test_what_a_gate_was_charged_for_is_no_charge_of_anybody_else(ledger):
    gate = Gate.over(X, guarantee=tg.GDP(0.2), ledger=ledger.with_key("march"))
    gate.reserve(Gaussian(0.2))
    gate.settle()
    with pytest.raises(BudgetError, match="key must be new"):
        ledger.charge(Gaussian(0.2), key="march")


def test_events_that_a_ledger_shows_are_copies(ledger):
    ledger.charge(Gaussian(0.2), key="report")
    object.__setattr__(ledger.reserved.events[0], "mu", 1e-9)
    assert ledger.reserved.events[0].mu == 0.2


def test_a_line_carries_a_day_and_a_settled_one_no_time(ledger):
    tg.mean(X, ledger=ledger, **FIT)
    days = [date.fromisoformat(line.time) for line in ledger.lines() if line.kind != "settled"]
    assert len(days) == 2
    assert [line.time for line in ledger.lines() if line.kind == "settled"] == [""]
