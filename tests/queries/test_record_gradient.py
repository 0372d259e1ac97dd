"""Gradients known one record at a time: whatever the function does concerns its record only."""

import warnings

import numpy as np
import pytest
from numba import njit, objmode

import tailguard as tg
from support.loops import loop
from support.score_kernels import LOSS_NAMES, make_block
from support.sources import QuietSource
from support.stages import once
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import RecordBlock
from tailguard.gate import Gate
from tailguard.losses import Multinomial, RecordGradient, Squared
from tailguard.losses.registry import make_loss
from tailguard.privacy.events import Gaussian
from tailguard.queries import record_gradient as module
from tailguard.queries.clipping import safe_clip
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.record_gradient import MeanRecordGradient, record_gradients

GRID = 2.0**-30


def least_squares(w, x, y):
    return (np.dot(w, x) - y) * x


def plain_squares(w, x, y):
    score = 0.0
    for j in range(x.size):
        score += w[j] * x[j]
    return (score - y) * x


def kernel_of(gradient, weights=(0.5, -1.0), clip_norm=1.0):
    query = MeanRecordGradient(RecordGradient(gradient), clip_norm)
    return loop(query, np.array(weights), GRID, n_features=2)


def total(gradient, block, **options):
    return kernel_of(gradient, **options).sum_block(block) * GRID


def test_an_answer_is_the_mean_of_what_is_clipped_by_hand():
    X, y = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 1.0], [np.nan, 1.0]]), np.ones(4)
    loss = RecordGradient(lambda w, x, target: (w @ x - target) * x)
    gate = Gate(make_rows(X, y), guarantee=tg.GDP(1e6), source=QuietSource())
    gate.reserve(Gaussian(1e3), coordinates=10)
    query = MeanRecordGradient(loss, clip_norm=0.5)
    mean = gate.ask(query, np.zeros(2), once(1e3))
    np.testing.assert_allclose(mean, -np.array([0.3 + 0.3, 0.4 + 0.4 + 0.5]) / 4.0, atol=1e-6)
    (release,) = gate.books.releases
    assert release.parameters["norm_limit"] == 0.5


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sum_is_that_of_clipped_gradients(compiled, dtype):
    rng = np.random.default_rng(1)
    block = make_block(rng, 1100, 2, extreme=True, dtype=dtype)
    expected = np.zeros(2)
    for x, y, void in zip(block.features.astype(float), block.target, block.void(), strict=True):
        if not void:
            with np.errstate(all="ignore"):
                expected += safe_clip(plain_squares(np.array([0.5, -1.0]), x, y), 1.0)
    gradient = njit(plain_squares) if compiled else plain_squares
    np.testing.assert_allclose(total(gradient, block), expected, atol=1e-8)


def test_without_a_target_the_function_gets_zero():
    block = RecordBlock(np.ones((3, 2)))
    np.testing.assert_allclose(total(lambda w, x, y: np.full(2, y), block), [0.0, 0.0])


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True])
def test_the_function_gets_copies(compiled):
    def spoil(w, x, y):
        result = w + x
        w[:] = 9.0
        x[:] = 9.0
        return result

    block = RecordBlock(np.zeros((3, 2)), np.zeros(3))
    weights = np.array([0.5, 0.25])
    kernel = kernel_of(njit(spoil) if compiled else spoil, weights)
    np.testing.assert_allclose(kernel.sum_block(block) * GRID, [1.5, 0.75])
    np.testing.assert_array_equal(weights, [0.5, 0.25])
    assert not block.features.any()


def fail(w, x, y):
    raise RuntimeError(f"the record is {x}")


def warn(w, x, y):
    warnings.warn("careful", stacklevel=1)
    np.log(-x)
    return x


def leave(w, x, y):
    raise SystemExit(3)


class Leaver:
    """A result that leaves when it is looked at."""

    def __array__(self, *arguments, **options):
        raise SystemExit(4)


MISBEHAVIOURS = {
    "exit": leave,
    "exit-later": lambda w, x, y: Leaver(),
    "exception": fail,
    "division": lambda w, x, y: x * (1 / 0),
    "none": lambda w, x, y: None,
    "text": lambda w, x, y: ["a", "b"],
    "complex": lambda w, x, y: x * 1j,
    "long": lambda w, x, y: np.ones(3),
    "matrix": lambda w, x, y: np.ones((1, 2)),
    "number": lambda w, x, y: 1.0,
    "nan": lambda w, x, y: np.array([1.0, np.nan]),
    "infinity": lambda w, x, y: np.array([np.inf, 0.0]),
}


@pytest.mark.parametrize("what", MISBEHAVIOURS)
def test_misbehaviour_on_a_record_makes_that_record_zero(what):
    def gradient(w, x, y):
        return MISBEHAVIOURS[what](w, x, y) if x[0] > 0 else np.array([0.25, 0.5])

    block = RecordBlock(np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]), np.zeros(4))
    np.testing.assert_allclose(total(gradient, block), [0.5, 1.0])


@pytest.mark.long
def test_a_compiled_function_may_raise_too():
    @njit
    def gradient(w, x, y):
        if x[0] > 1:
            raise ValueError
        if x[0] > 0:
            return np.ones(5)
        return np.array([1 / x[1], 0.5])

    features = np.array([[2.0, 1.0], [0.5, 1.0], [-1.0, 4.0], [-1.0, 0.0]])
    np.testing.assert_allclose(total(gradient, RecordBlock(features, np.zeros(4))), [0.25, 0.5])


def test_warnings_stay_inside():
    block = RecordBlock(np.full((2, 2), 0.25), np.zeros(2))
    np.testing.assert_allclose(total(warn, block), [0.5, 0.5])


@pytest.mark.parametrize("result", [1.0, "text"])
def test_a_compiled_function_of_the_wrong_type_is_refused_whatever_the_records(result):
    gradient = njit(lambda w, x, y: result)
    with pytest.raises(InputError, match="must compile with Numba"):
        total(gradient, RecordBlock(np.full((2, 2), np.nan), np.zeros(2)))


def in_python(first):
    if first > 1:
        warnings.warn("the record is big", stacklevel=1)
        np.log(np.array([-first]))
    if first > 2:
        raise ValueError("the record is huge")
    if first > 3:
        raise SystemExit
    return first


@njit
def leaves_numba(w, x, y):
    first = 0.0
    with objmode(first="float64"):
        first = in_python(x[0])
    return np.array([first, 1.0])


@pytest.mark.parametrize("bad", [[], [0], [3], [3, 4], [6], [0, 6]])
def test_what_numba_cannot_catch_makes_exactly_that_record_zero(bad):
    features = np.full((7, 2), 0.25)
    features[2] = 1.5
    features[bad] = 5.0
    gradient = leaves_numba
    expected = sum(
        np.zeros(2) if i in bad else np.array([features[i, 0], 1.0]) for i in range(len(features))
    )
    block = RecordBlock(features, np.zeros(7))
    np.testing.assert_allclose(total(gradient, block, clip_norm=10.0), expected)


@pytest.mark.parametrize("bad", [0.25, 5.0])
def test_a_failure_does_not_change_the_bits_of_the_other_records(bad):
    features = np.random.default_rng(6).uniform(-1, 1, (1024, 2))
    features[500] = bad
    block = RecordBlock(features, np.zeros(len(features)))
    found, used = record_gradients(leaves_numba, np.zeros(2), 2, block)
    assert used.all()
    others = np.arange(len(features)) != 500
    np.testing.assert_array_equal(found[others, 0], features[others, 0])
    np.testing.assert_array_equal(found[500], [0.25, 1.0] if bad < 1 else [0.0, 0.0])


@pytest.mark.parametrize("call", [1, 2])
def test_an_interrupt_of_machine_code_is_not_swallowed(call, monkeypatch):
    """Neither when all records are read nor, after a failure, when one is read alone."""
    calls = []

    def loop_of(gradient, weights, features, targets, found):
        calls.append(len(features))
        if len(calls) < call:
            raise SystemError
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compile_loop", lambda gradient: loop_of)
    with pytest.raises(KeyboardInterrupt):
        module._run_compiled(None, np.zeros(1), np.zeros((3, 1)), np.zeros(3), np.zeros((3, 1)))
    assert calls == [3, 1][:call]


def test_an_interrupt_is_not_swallowed():
    def interrupt(w, x, y):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        total(interrupt, RecordBlock(np.zeros((1, 2))))


def test_multinomial_gradients_are_summed():
    rng = np.random.default_rng(2)
    loss = Multinomial(3)
    block = RecordBlock(rng.standard_normal((40, 2)), rng.integers(0, 4, 40).astype(float))
    weights = rng.standard_normal(6)
    expected = sum(
        safe_clip(loss.record_gradient(weights, x, y), 0.5)
        for x, y in zip(block.features, block.target, strict=True)
    )
    kernel = loop(MeanRecordGradient(loss, clip_norm=0.5), weights, GRID, n_features=2)
    result = kernel.sum_block(block) * GRID
    np.testing.assert_allclose(result, expected, atol=1e-6)


def norms_by_hand(loss, block, weights, intercept):
    rows = block.features.astype(float)
    rows = np.column_stack([rows, np.ones(len(rows))]) if intercept else rows
    offset = 0.0 if block.offset is None else block.offset
    slope = (
        np.ones(len(rows)) if loss is None else loss.slope(rows @ weights + offset, block.target)
    )
    return np.abs(slope) * np.linalg.norm(rows, axis=1)


@pytest.mark.parametrize("name", LOSS_NAMES)
@pytest.mark.parametrize("intercept", [False, True])
def test_norms_of_score_gradients_are_counted(name, intercept):
    rng = np.random.default_rng(3)
    loss = None if name is None else make_loss(name)
    block = make_block(rng, 1500, 3, extreme=False)
    weights = rng.standard_normal(3 + intercept)
    norms = norms_by_hand(loss, block, weights, intercept)
    query = CountNormsBelow(loss, weights, intercept)
    for threshold in np.quantile(norms, [0.0, 0.1, 0.5, 0.9]) * (1 + 1e-6):
        kernel = loop(query, [threshold], 1 / 5)
        assert kernel.sum_block(block) == [5 * np.count_nonzero(norms <= threshold)]


def test_norms_of_extreme_records_are_counted():
    features = np.array([[1e300, 1e300], [1e-140, 0.0], [0.0, 0.0], [np.nan, 0.0], [1.0, 0.0]])
    targets = np.array([1e300, 1e130, 7.0, 0.0, np.inf])
    for loss in (Squared(), RecordGradient(least_squares)):
        for threshold, expected in ((1e-11, 1), (1e-9, 2), (1e300, 2), (np.inf, 3)):
            kernel = loop(CountNormsBelow(loss, np.zeros(2)), [threshold])
            # An infinite gradient of a function counts as zero, one of a score as infinite.
            extra = isinstance(loss, RecordGradient) and threshold < np.inf
            assert kernel.sum_block(RecordBlock(features, targets)) == [expected + extra]


def test_norms_of_record_gradients_are_counted():
    rng = np.random.default_rng(4)
    block = RecordBlock(rng.standard_normal((200, 2)), rng.standard_normal(200))
    weights = rng.standard_normal(2)
    norms = norms_by_hand(Squared(), block, weights, intercept=False)
    threshold = float(np.median(norms))
    kernel = loop(CountNormsBelow(RecordGradient(least_squares), weights), [threshold], 1 / 2)
    assert kernel.sum_block(block) == [2 * np.count_nonzero(norms <= threshold)]


@pytest.mark.parametrize(
    ("weights", "clip_norm"), [([np.nan], 1.0), ([[0.0]], 1.0), ([0.0], np.inf)]
)
def test_wrong_parameters_are_refused(weights, clip_norm):
    with pytest.raises(InputError):
        kernel_of(fail, weights, clip_norm)
    with pytest.raises(InputError, match="threshold"):
        loop(CountNormsBelow(None, np.zeros(1)), [np.nan])
