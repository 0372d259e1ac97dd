"""The gate: books before answers, refusals before reading, no answer without noise."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import tailguard as tg
from support.count_below import CountBelow
from support.sources import QuietSource
from support.stages import once, pure
from support.statistics import gaussian_scale_test
from tailguard.checks import BudgetError, InputError, ReleaseError
from tailguard.data.inputs import read_inputs
from tailguard.data.readers.lazy import of_polars
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.means.clamped import ClampedMean
from tailguard.noise.discrete_gaussian import coordinate_distance
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.accounting.total_cost import EXACT
from tailguard.privacy.books import MemoryBooks
from tailguard.privacy.events import Composed, Gaussian, Laplace, Repeated
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.units import Units
from tailguard.queries.usable_records import UsableRecords

X = np.random.default_rng(0).standard_normal((500, 2))
COUNT = CountBelow(columns=(0, 1))
AT_ZERO = np.zeros(2)


class UnreadableRows:
    """Rows that fail as soon as anybody reads them."""

    n_rows, n_features, feature_names = 500, 2, None
    has_target = has_offset = has_weight = False

    def reduce(self, kernel, n_threads=None):
        raise AssertionError("a record was read")


class LastingBooks:
    """Books of a user's own, such as a ledger."""

    def __init__(self):
        self._books = MemoryBooks()
        self.reserved, self.releases = self._books.reserved, self._books.releases

    def opened(self, run):
        return self

    entries = ()

    @property
    def charged(self):
        return self.reserved

    def settle(self, *, stopped_early=False):
        self.settled = True

    def reserve(self, event, *, coordinates=0):
        self._books.reserve(event)
        self.reserved = self._books.reserved

    def check(self, release):
        self._books.check(release)

    def record(self, release):
        self._books.record(release)
        self.releases = self._books.releases


def gate(rows=None, *, guarantee=None, ledger=None, source=None):
    return Gate(
        make_rows(X) if rows is None else rows,
        guarantee=guarantee or tg.GDP(1.0),
        source=source or SimulationSource(1),
        ledger=ledger,
    )


MEAN = ClampedMean(None, Units.raw(2, intercept=False), threshold=1.0, n_groups=4)


@pytest.mark.parametrize(
    ("guarantee", "query", "reserved", "stages"),
    [
        (tg.GDP(1.0), COUNT, Gaussian(0.5), (once(0.1), once(0.51))),
        (tg.PureDP(1.0), MEAN, Laplace(0.5), (pure(0.1), pure(0.51))),
    ],
)
def test_a_spend_beyond_the_reserve_is_refused_before_any_record_is_read(
    guarantee, query, reserved, stages
):
    closed = gate(UnreadableRows(), guarantee=guarantee)
    with pytest.raises(BudgetError):  # nothing is reserved
        closed.ask(query, AT_ZERO, stages[0])
    closed.reserve(reserved)
    with pytest.raises(BudgetError, match="reserved budget"):
        closed.ask(query, AT_ZERO, stages[1])


def test_the_books_are_written_before_the_records_are_read():
    broken = gate(UnreadableRows())
    broken.reserve(Gaussian(0.5))
    with pytest.raises(ReleaseError, match="it failed while records were read") as caught:
        broken.ask(COUNT, AT_ZERO, once(0.5))
    assert "a record was read" in str(caught.value.__cause__)
    assert len(broken.books.releases) == 1


def test_a_reserve_above_the_guarantee_is_refused_in_one_sentence():
    opened = gate()
    with pytest.raises(BudgetError, match="the plan must cost at most"):
        opened.reserve(Gaussian(1.0 + 1e-6))
    opened.reserve(Gaussian(1.0))
    with pytest.raises(BudgetError, match="the plan must cost at most"):
        opened.reserve(Gaussian(0.5))


def test_the_noise_is_the_one_that_the_books_state():
    opened = gate(guarantee=tg.GDP(100.0))
    opened.reserve(Repeated(Gaussian(1.0), 2_000), coordinates=4_000)
    answers = np.array([opened.ask(COUNT, AT_ZERO, once(1.0)) for _ in range(2_000)])
    (release,) = opened.certificate().releases
    exact = (X <= 0).sum(axis=0)
    verdict = gaussian_scale_test(answers - exact, release.noise_std, false_alarm=1e-6)
    assert verdict.accepted
    assert verdict.power >= 0.999
    assert release.times == 2_000


def test_the_books_say_what_a_release_was_for():
    opened = gate()
    opened.reserve(Repeated(Gaussian(0.5), 4))
    for stage in ("place", "place", "rounds"):
        opened.ask(COUNT, AT_ZERO, once(0.5, stage))
    opened.ask(COUNT, AT_ZERO, once(0.5))
    told = [(release.stage, release.times) for release in opened.certificate().releases]
    assert told == [("place", 2), ("rounds", 1), ("", 1)]


def test_a_mean_is_the_clipped_mean_once_the_noise_is_off():
    quiet = gate(source=QuietSource(), guarantee=tg.GDP(10.0))
    quiet.reserve(Gaussian(10.0))
    query = MeanClippedGradient(None, Units.raw(2, intercept=False), row_limit=1.0, slope_limit=1.0)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    expected = (X * np.minimum(1.0, 1.0 / norms)).mean(axis=0)
    np.testing.assert_allclose(quiet.ask(query, np.zeros(2), once(10.0)), expected, atol=1e-9)


def test_the_certificate_lists_what_was_released_and_the_samplers_distance():
    opened = gate()
    opened.reserve(Gaussian(1.0))
    opened.ask(COUNT, AT_ZERO, once(0.5))
    certificate = opened.certificate(assumptions=("none",))
    (release,) = certificate.releases
    assert release.kind == "CountBelow"
    assert release.sensitivity == pytest.approx(2**0.5)
    assert release.sensitivity / release.noise_std == pytest.approx(0.5, rel=1e-5)
    assert certificate.sampler_distance == coordinate_distance(5).times(2)
    assert certificate.mode == "simulation: NOT PRIVATE"
    assert certificate.unused["mu"] > 0


@pytest.mark.parametrize("kind", [MemoryBooks, LastingBooks])
def test_a_private_fit_is_charged_to_the_ledger_it_is_given(kind):
    ledger = kind()
    y = X[:, 0]
    fitted = tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger=ledger).fit(X, y)
    assert ledger.releases == fitted.certificate_.releases
    again = tg.LinearRegression(epsilon=1.0, delta=1e-6, ledger=ledger).fit(X, y)
    fits = (fitted.certificate_.releases, again.certificate_.releases)
    assert sum(r.times for r in ledger.releases) == sum(r.times for fit in fits for r in fit)


def test_books_in_memory_count_rows():
    books, keys = MemoryBooks(), np.arange(500) // 2
    model = tg.LinearRegression(max_rows=2, guarantee=tg.GDP(2.0), ledger=books)
    with pytest.raises(BudgetError, match=r"must count persons by 'person', .* it counts rows"):
        model.fit(X, X[:, 0], person=keys)
    assert not books.releases


def test_more_numbers_than_reserved_are_refused():
    opened = gate()
    opened.reserve(Gaussian(1.0), coordinates=3)
    opened.ask(COUNT, AT_ZERO, once(0.1))  # two numbers
    with pytest.raises(BudgetError, match="more were released than planned"):
        opened.ask(COUNT, AT_ZERO, once(0.1))


def test_the_samplers_distance_counts_towards_a_tiny_delta():
    promise = tg.ApproxDP(1.0, 1e-20)
    opened = gate(guarantee=promise)
    with pytest.raises(BudgetError, match="the plan must cost at most"):
        opened.reserve(Gaussian(promise.gaussian_mu()), coordinates=1_000)


def test_threads_cannot_spend_a_reserve_twice():
    opened = gate()
    opened.reserve(Gaussian(1.0))

    def ask(_):
        try:
            return opened.ask(COUNT, AT_ZERO, once(0.9)) is not None
        except BudgetError:
            return False

    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(ask, range(64))) == 1
    finally:
        sys.setswitchinterval(switching)


def test_a_loss_of_the_users_own_is_refused_since_it_could_mix_records():
    class Mixing(tg.losses.Squared):
        def slope(self, score, target):
            return np.where(np.abs(target).max() > 100, 1.0, -1.0) * np.ones_like(score)

    with pytest.raises(tg.InputError, match="gradient of ONE record"):
        Gate.over(X, X[:, 0], guarantee=tg.GDP(1.0), loss=Mixing())


def test_a_pure_answer_is_booked_as_laplace_noise_and_nothing_else():
    opened = gate(guarantee=tg.PureDP(1.0))
    opened.reserve(Laplace(0.5))
    opened.ask(MEAN, AT_ZERO, pure(0.5))
    certificate = opened.certificate()
    (release,) = certificate.releases
    assert (release.mechanism, release.norm) == ("laplace", "l1")
    assert 0.4999 < release.event().epsilon <= 0.5
    assert certificate.sampler_distance == EXACT


@pytest.mark.parametrize("stage", [None, 0.1, "mean", Gaussian(0.1)])
def test_a_question_names_its_stage(stage):
    with pytest.raises(InputError, match="stage must be"):
        gate(UnreadableRows()).ask(MEAN, AT_ZERO, stage)


@pytest.mark.parametrize("n_rows", [10**12, 10**13])
def test_a_lattice_too_coarse_for_what_was_charged_is_refused_under_epsilon_and_delta(n_rows):
    """Three levels are a thousand times further from ideal noise than plans charge for."""

    class ManyRows(UnreadableRows):
        pass

    ManyRows.n_rows = n_rows
    coarse = n_rows == 10**13
    assert (COUNT.calibrate(n_rows, 2, 0.9).levels < 4) == coarse
    for promise, refused in ((tg.ApproxDP(9.0, 1e-6), coarse), (tg.GDP(1.0), False)):
        opened = gate(ManyRows(), guarantee=promise)
        opened.reserve(Gaussian(1.0), coordinates=2)
        with pytest.raises(BudgetError if refused else ReleaseError) as caught:
            opened.ask(COUNT, AT_ZERO, once(0.9))
        assert ("must be on a finer lattice" in str(caught.value)) == refused
        assert len(opened.books.releases) == (not refused)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_copy_of_a_fork_releases_nothing():
    gate = Gate.over(X, guarantee=tg.GDP(1.0), random_state=0)
    gate.reserve(Gaussian(1.0))
    child = os.fork()
    if child == 0:
        try:
            gate.ask(COUNT, AT_ZERO, once(1.0))
        except BudgetError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert gate.ask(COUNT, AT_ZERO, once(1.0)).shape == (2,)


def test_a_run_with_a_checkpoint_is_reserved_in_one_piece(tmp_path):
    gate = Gate.over(X, guarantee=tg.GDP(1.0), random_state=0, checkpoint=tmp_path / "run")
    gate.reserve(Gaussian(0.5))
    with pytest.raises(BudgetError, match="checkpoint must be None where more is reserved"):
        gate.reserve(Gaussian(0.5))
    gate.ask(UsableRecords(), None, once(0.5))
    with pytest.raises(BudgetError, match="must be covered by the reserved budget"):
        gate.ask(UsableRecords(), None, once(0.5))
    gate.close()


@pytest.mark.parametrize("in_batches", [False, True])
def test_identifiers_decide_who_is_in_a_block_and_the_order_of_rows_does_not(in_batches):
    table = pl.DataFrame({"id": np.arange(500), "a": X[:, 0], "b": X[:, 1]})
    mean = MeanClippedGradient(None, Units.raw(2, intercept=False), row_limit=9.0, slope_limit=1.0)

    def first_block(rows, *, known=True):
        identifiers = rows["id"].to_numpy() if known else None
        if in_batches:
            schema = tg.Schema(features=["a", "b"], row_id="id" if known else None)
            told = {"X": of_polars(rows.lazy()), "schema": schema}
        else:
            held = read_inputs(rows[["a", "b"]].to_numpy())
            told = {"X": replace(held, row_ids=identifiers)}
        gate = Gate.over(guarantee=tg.GDP(1.0), random_state=0, **told)
        gate.reserve(Gaussian(1.0))
        (block, _) = gate.partition("halves", 2)
        assert gate.has_partition("halves")
        assert not gate.has_partition("thirds")
        return gate.ask(mean, AT_ZERO, once(1.0), block=block).tolist()

    assert first_block(table) == first_block(table.reverse())
    if not in_batches:  # without identifiers the order of rows is that of the table
        assert first_block(table, known=False) != first_block(table.reverse(), known=False)


@pytest.mark.parametrize("with_ledger", [False, True])
def test_only_a_simulation_may_cost_more_than_its_guarantee(tmp_path, with_ledger):
    ledger = None
    if with_ledger:
        ledger = tg.Ledger(tmp_path / "budget.sqlite", "claims", guarantee=tg.GDP(9.0))
    gate = Gate.over(np.zeros((9, 1)), guarantee=tg.GDP(0.5), ledger=ledger)
    with pytest.raises(BudgetError, match="random_state must be given, and no ledger"):
        gate.reserve(Gaussian(1.0), unprotected=True)
    assert gate.books.reserved == Composed(())
    gate.reserve(Gaussian(0.5), unprotected=True)  # which keeps the guarantee
    assert gate.certificate().mode == "private"
    seeded = Gate.over(np.zeros((9, 1)), guarantee=tg.GDP(0.5), random_state=1)
    seeded.reserve(Gaussian(1.0), unprotected=True)
    assert seeded.certificate().mode == "reproduction: NOT PRIVATE"
    with pytest.raises(BudgetError, match="random_state must be None when a ledger is given"):
        Gate.over(np.zeros((9, 1)), guarantee=tg.GDP(0.5), ledger=MemoryBooks(), random_state=1)


@pytest.mark.parametrize("size", ["n_records", "n_features", "has_checkpoint"])
def test_the_public_sizes_of_a_gate_cannot_be_changed(size):
    with pytest.raises(AttributeError):
        setattr(gate(), size, 1)
