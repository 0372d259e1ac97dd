"""A ledger gives back what an early stop left unspent, and nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import tailguard as tg
from tailguard.checks import BudgetError
from tailguard.ledger.cap import Cap, within_filter
from tailguard.ledger.charges import charges_of, left_charged
from tailguard.ledger.ledger import Ledger
from tailguard.privacy.books import Release
from tailguard.privacy.events import Composed, Gaussian, Laplace, Parallel, Repeated, Shuffled

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


@pytest.mark.parametrize("asked", ["mean", "minimize"])
def test_whoever_asks_for_the_whole_cap_meets_its_filter(ledger, asked):
    calls = {
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
