"""What goes wrong while records are read is an error of ours that says nothing of a record."""

import traceback
import warnings
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import tailguard as tg
from support.count_below import CountBelow
from support.stages import of_sample, once
from tailguard.checks import RoomError
from tailguard.data.rows.arrays import ArrayRows
from tailguard.gate import Gate
from tailguard.noise.lattice import LatticeMechanism
from tailguard.privacy.events import Composed, Gaussian, Sampled
from tailguard.queries.clip_levels import LevelGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View

SECRET = "0.123456789"
RNG = np.random.default_rng(0)
X = RNG.standard_normal((4_000, 2))
Y = {"linear": X[:, 0] + 1.0, "logistic": (X[:, 0] > 0) * 1, "poisson": np.exp(X[:, 0] // 1)}
FAULTS = [
    ValueError(f"a record holds {SECRET}"),
    ZeroDivisionError(SECRET),
    FloatingPointError(SECRET),
    np.linalg.LinAlgError(SECRET),
    tg.InputError(f"y must be positive; got {SECRET}."),
    RuntimeError(SECRET),
    MemoryError(SECRET),
    SystemExit(SECRET),
    BaseExceptionGroup(SECRET, [GeneratorExit(SECRET)]),
]
PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
FITS = {
    "linear": lambda **more: tg.LinearRegression(**PRIVACY, **more).fit(X, Y["linear"]),
    "huber": lambda **more: tg.HuberRegression(**PRIVACY, **more).fit(X, Y["linear"]),
    "quantile": lambda **more: tg.QuantileRegression(**PRIVACY, **more).fit(X, Y["linear"]),
    "l4": lambda **more: tg.LpRegression(p=4, **PRIVACY, **more).fit(X, Y["linear"]),
    "logistic": lambda **more: tg.LogisticRegression(**PRIVACY, **more).fit(X, Y["logistic"]),
    "poisson": lambda **more: tg.PoissonRegression(**PRIVACY, **more).fit(X, Y["poisson"]),
    "sparse": lambda **more: tg.SparseLinearRegression(n_nonzero=1, **PRIVACY, **more).fit(
        X, Y["linear"]
    ),
    "mean": lambda **more: tg.mean(X, **PRIVACY, **more),
    "minimize": lambda **more: tg.minimize(
        tg.losses.Squared(), X, Y["linear"], constraint=tg.sets.L2Ball(2.0), **PRIVACY, **more
    ),
}


@pytest.fixture
def faulty(monkeypatch):
    """Rows whose reading fails from some read on."""

    def install(fault, *, from_read=0):
        honest, reads = ArrayRows.reduce, []

        def reduce(rows, kernel, n_threads=None):
            reads.append(kernel)
            if len(reads) > from_read:
                raise fault
            return honest(rows, kernel, n_threads)

        monkeypatch.setattr(ArrayRows, "reduce", reduce)
        return reads

    return install


def everything_about(error):
    """What anybody may find on an error: its words, its chain and its printed traceback."""
    assert error.__cause__ is None
    assert error.__context__ is None
    return f"{error!r} {error.args} {''.join(traceback.format_exception(error))}"


@pytest.mark.parametrize(
    ("name", "fault"), [*product(FITS, FAULTS[:1]), *product(["mean"], FAULTS[1:])]
)
def test_a_fault_while_records_are_read_ends_the_fit_and_names_no_value(name, fault, faulty):
    faulty(fault)
    with pytest.raises(tg.ReleaseError, match="it failed while records were read") as caught:
        FITS[name]()
    assert "a file or table must not change during a run" in str(caught.value)  # after any fault
    assert SECRET not in everything_about(caught.value)


def test_whoever_stops_a_fit_by_hand_stops_it(faulty):
    fault = KeyboardInterrupt(SECRET)
    fault.__context__ = ValueError(SECRET)  # an error of a record that was being handled
    faulty(fault)
    with pytest.raises(KeyboardInterrupt) as caught:
        FITS["mean"]()
    assert SECRET not in everything_about(caught.value)


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), ValueError()])
def test_no_variable_in_a_traceback_holds_an_answer_without_noise(fault, monkeypatch):
    answers = []

    def release(mechanism, answer, calibration, source):
        answers.append(answer)
        raise fault

    monkeypatch.setattr(LatticeMechanism, "release", release)
    with pytest.raises((KeyboardInterrupt, tg.ReleaseError)) as caught:
        FITS["mean"]()
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert "_noised" in [frame.f_code.co_name for frame in frames]
    held = [value for frame in frames for value in frame.f_locals.values()]
    assert not any(value is answer for value in held for answer in answers)


@pytest.mark.parametrize("from_read", [1, 9])
@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_so_does_a_fault_at_any_later_release(name, from_read, faulty):
    reads = faulty(ArithmeticError(SECRET), from_read=from_read)
    with pytest.raises(tg.ReleaseError) as caught:
        FITS[name]()
    assert len(reads) == from_read + 1
    assert SECRET not in everything_about(caught.value)


def test_the_failed_release_stays_charged(faulty):
    faulty(ValueError(SECRET))
    gate = Gate.over(X, guarantee=tg.GDP(1.0))
    gate.reserve(Gaussian(1.0))
    with pytest.raises(tg.ReleaseError):
        gate.ask(CountBelow(columns=(0,)), np.zeros(1), once(0.5))
    assert gate.certificate().spent.mu == pytest.approx(0.5, rel=1e-6)


def test_a_simulation_shows_the_cause(faulty):
    fault = ValueError(SECRET)
    faulty(fault)
    with pytest.raises(tg.ReleaseError) as caught:
        FITS["linear"](random_state=0)
    assert caught.value.__cause__ is fault


def test_a_question_that_cannot_be_built_is_told_as_it_is():
    """Its numbers are public or released, and no record was read."""
    gate = Gate.over(X, Y["linear"], guarantee=tg.GDP(1.0))
    gate.reserve(Gaussian(1.0))
    view = View.plain(tg.losses.Squared(), Units.raw(2, intercept=False))
    with pytest.raises(tg.InputError, match="levels must be finite and increasing"):
        gate.ask(LevelGradients(view, 1.0, (2.0, 1.0), (1.0, 1.0)), np.zeros(2), once(0.5))


@pytest.mark.parametrize(
    ("name", "told"), [*product(FITS, ["abc"]), *product(["mean"], ["0", "-1", "1.5", ""])]
)
def test_a_wrong_setting_is_refused_before_anything_is_spent(name, told, monkeypatch):
    monkeypatch.setenv("TAILGUARD_NUM_THREADS", told)
    with pytest.raises(tg.InputError, match="TAILGUARD_NUM_THREADS must be a whole number"):
        FITS[name]()


@pytest.mark.parametrize("fault", [FAULTS[0], FAULTS[-1]], ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("kind", ["block", "each", "sample"])
def test_so_does_a_fault_while_a_block_or_a_sample_is_copied(kind, fault, monkeypatch):
    """The copy is a read like any other, and comes after the release was booked."""

    def restricted(rows, places):
        raise fault

    gate = Gate.over(X, guarantee=tg.ApproxDP(9.0, 1e-6))
    gate.reserve(Composed((Gaussian(0.5), Sampled(0.5, 100 / len(X)))))
    blocks = gate.partition("halves", 2, equal_sizes=True)
    query, at = CountBelow(columns=(0,)), np.zeros(1)
    monkeypatch.setattr(ArrayRows, "restricted", restricted)
    asked = {
        "block": lambda: gate.ask(query, at, once(0.5), block=blocks[0]),
        "each": lambda: gate.ask(query, at, once(0.5), blocks=blocks),
        "sample": lambda: gate.ask(query, at, of_sample(0.5, 100, len(X))),
    }[kind]
    with pytest.raises(tg.ReleaseError) as caught:
        asked()
    assert SECRET not in everything_about(caught.value)
    assert len(gate.books.releases) == 1


@pytest.mark.parametrize("seed", [None, 0])
def test_a_disk_that_is_full_is_named_and_nothing_else(seed, faulty):
    faulty(RoomError(SECRET))
    gate = Gate.over(X, guarantee=tg.GDP(1.0), random_state=seed)
    gate.reserve(Gaussian(1.0))
    with pytest.raises(RoomError, match="is full; it stays charged") as caught:
        gate.ask(CountBelow(columns=(0,)), np.zeros(1), once(0.5))
    assert SECRET not in everything_about(caught.value)
    assert len(gate.books.releases) == 1


def test_a_table_that_warns_of_a_cell_is_silent_when_blocks_are_copied():
    """The blocks of the mean are the first records that it reads."""
    batch = pa.record_batch({"a": X[:, 0]})

    def read():
        warnings.warn(f"a record holds {SECRET}", stacklevel=1)
        yield batch

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tg.mean(
            lambda: pa.RecordBatchReader.from_batches(batch.schema, read()),
            method="iterative", clip_norm=1.0, check_records=False, **PRIVACY,
        )  # fmt: skip
    assert not [each for each in warned if SECRET in str(each.message)]
