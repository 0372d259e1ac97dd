"""The trimmed mean: known values, ties, tiny data, refusals, and how its budget is split."""

import math

import numpy as np
import pytest

import tailguard as tg
from support.means import planned, task_of
from support.smooth import answer, breach, trimmed
from support.sources import QuietSource
from support.stages import smooth
from tailguard.checks import InputError
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.losses import Squared
from tailguard.means.trimmed import (
    SMOOTHNESS_SHARES,
    Trimmed,
    TrimmedMean,
    trimmed_mean,
    trimmed_scale,
)
from tailguard.noise.sources import SimulationSource
from tailguard.privacy.events import Approximate, Gaussian, ZeroConcentrated
from tailguard.queries.units import Units

ONE = Units.raw(1, intercept=False)
SQUARES = np.arange(1.0, 12.0) ** 2
MIXED = np.array([-3, -1, -0.5, 0, 0.2, 0.3, 0.7, 1, 2.5, 8])
ZEROS = np.zeros(100)
ONE_FAR = np.sort(np.append(np.zeros(99), 1e6))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("ordered", "n_trimmed", "smoothness", "low", "high", "value", "scale"),
    [
        (SQUARES, 2, 0.3, 0.0, 100.0, 40.0, 54.8811636094),
        (MIXED, 3, 0.5, -5.0, 5.0, 0.3, 2.231301601484),
        (ZEROS, 20, 0.1, -1.0, 1.0, 0.0, 0.2706705665),
        (ONE_FAR, 20, 0.1, -1.0, 1.0, 0.0, 0.2991372384),
    ],
)
def test_known_values(ordered, n_trimmed, smoothness, low, high, value, scale, exact):
    assert trimmed_mean(ordered, n_trimmed, low, high) == pytest.approx(value, rel=1e-15)
    found = trimmed_scale(ordered, n_trimmed, high - low, smoothness, exact=exact)
    assert found == pytest.approx(scale, rel=1e-9)


def brute_force_bound(ordered, n_trimmed, k):
    """``A(k)`` as it is printed, with infinities beyond both ends."""
    x = np.concatenate([[-np.inf] * ordered.size, ordered, [np.inf] * ordered.size])
    place = ordered.size - 1  # x[place + i] is the i-th smallest
    n, m = ordered.size, n_trimmed
    steps = range(k + 2)
    return max(x[place + n - m + 1 + k - step] - x[place + m + 1 - step] for step in steps)


@pytest.mark.parametrize(("n_rows", "n_trimmed"), [(3, 1), (7, 3), (10, 2), (23, 9)])
def test_the_exact_scale_is_the_printed_formula_and_the_fast_one_at_most_twice_it(
    n_rows, n_trimmed
):
    rng = np.random.default_rng(1)
    for _ in range(50):
        ordered = np.sort(rng.standard_cauchy(n_rows).round(1))
        width, smoothness = rng.uniform(0.01, 10.0), rng.uniform(0.0, 1.0)
        bounds = [brute_force_bound(ordered, n_trimmed, k) for k in range(n_trimmed)]
        kept = n_rows - 2 * n_trimmed
        expected = max(
            *(math.exp(-smoothness * k) * min(width, a / kept) for k, a in enumerate(bounds)),
            math.exp(-smoothness * n_trimmed) * width,
        )
        exact = trimmed_scale(ordered, n_trimmed, width, smoothness, exact=True)
        fast = trimmed_scale(ordered, n_trimmed, width, smoothness)
        assert exact == pytest.approx(expected, rel=1e-12)
        assert exact <= fast <= 2.0 * exact * (1 + 1e-12)


def test_the_local_sensitivity_is_attained():
    example = trimmed("exact", rho=8.0, exact=True)
    low_half = np.zeros((example.n_rows, example.width))
    low_half[:8] = 2.0
    moved = low_half.copy()
    moved[20] = 2.0
    log_ratio, move = breach(example, answer(example, low_half), answer(example, moved))
    assert 0.9999 < move <= 1.0
    far = np.zeros_like(low_half)
    far[3] = 1e9
    log_ratio, _ = breach(example, answer(example, np.zeros_like(far)), answer(example, far))
    assert 1 - 1e-10 < log_ratio <= 1.0


@pytest.mark.parametrize("value", [0.0, 1.9, -1e-300])
def test_equal_data_beyond_the_reach_of_exp_keep_the_floor(value):
    units = Units.raw(3, intercept=False)
    query = TrimmedMean(
        None, units, -2.0, 2.0, n_trimmed=2_000, resolution=1e-300, calibration="numerical"
    )
    public = query.calibrate_event(4_001, 3, ZeroConcentrated(3.0))
    assert public.smoothness * 2_000 > 690
    steep = TrimmedMean(None, units, -2.0, 2.0, n_trimmed=2_000, calibration="published")
    steeper = steep.calibrate_event(4_001, 3, ZeroConcentrated(30.0))
    assert steeper.smoothness * 2_000 > 745
    gate = Gate(
        make_rows(np.full((4_001, 3), value)),
        guarantee=tg.ZCDP(30.0),
        source=SimulationSource(4),
    )
    gate.reserve(steeper.event)
    found = gate.ask(steep, np.zeros(3), smooth(ZeroConcentrated(30.0)))
    noise = np.abs(found - value)
    assert (noise > 0).all()
    assert noise.max() < 1e6 * steeper.scale_floor / steeper.shift


def test_the_mean_itself_through_the_gate():
    X = np.column_stack([np.arange(1.0, 12.0) ** 2, -np.arange(11.0)])
    query = TrimmedMean(None, Units.raw(2, intercept=False), -50.0, 100.0, n_trimmed=2)
    event = ZeroConcentrated(50.0)
    gate = Gate(make_rows(X), guarantee=tg.ZCDP(50.0), source=QuietSource())
    gate.reserve(event)
    np.testing.assert_allclose(gate.ask(query, np.zeros(2), smooth(event)), [40.0, -5.0], atol=1e-8)


def test_as_a_gradient_it_is_the_trimmed_mean_of_the_records_gradients():
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((101, 2)), np.array([0.5, -0.25])
    y = rng.standard_t(2, 101)
    rows = make_rows(X, y, loss=Squared())
    query = TrimmedMean(Squared(), Units.raw(2, intercept=True), -5.0, 5.0, n_trimmed=10)
    state = np.array([*w, 0.1])
    found = query.answer(rows, state, query.calibrate_event(101, 2, ZeroConcentrated(30.0)))
    gradients = (X @ w + 0.1 - y)[:, None] * np.column_stack([X, np.ones(101)])
    expected = np.sort(gradients, axis=0)[10:-10].mean(axis=0)
    np.testing.assert_allclose(found.value, expected, rtol=1e-12)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("center", [0.0, 1.0, 1e8, -3e9])
def test_rounding_is_hidden_by_the_scale(center, exact):
    # Half of the data on either side of the range, where sums of floats cancel.
    rng = np.random.default_rng(3)
    query = TrimmedMean(
        None, ONE, center - 1.0, center + 1.0, n_trimmed=500, calibration="numerical", exact=exact
    )
    public = query.calibrate_event(2_001, 1, ZeroConcentrated(3.5))
    data = center + rng.choice([-1.0, 1.0], size=(2_001, 1)) * rng.exponential(1e-3, (2_001, 1))
    answers = []
    for last in (center - 1e9, center + 1e-3, center + 1e9):
        data[-1] = last
        answers.append(query.answer(make_rows(data), np.zeros(1), public))
    for one in answers:
        for other in answers:
            least = max(min(one.scale[0], other.scale[0]), public.scale_floor)
            assert abs(one.value[0] - other.value[0]) <= least


def test_how_many_are_trimmed_follows_from_public_numbers():
    query = TrimmedMean(None, ONE, -1.0, 1.0, resolution=0.02)
    public = query.calibrate_event(1_000, 1, ZeroConcentrated(0.5))
    needed = math.log(1_000 * 2.0 / 0.02)
    assert public.facts["n_trimmed"] == math.ceil(needed / public.smoothness)
    assert math.exp(-public.smoothness * public.facts["n_trimmed"]) * 2.0 <= 0.02 / 1_000
    given = TrimmedMean(None, ONE, -1.0, 1.0, resolution=0.02, n_trimmed=400)
    slower = given.calibrate_event(1_000, 1, ZeroConcentrated(0.5))
    assert slower.smoothness == pytest.approx(needed / 400)
    assert slower.shift > public.shift


def test_too_few_rows_are_refused_in_one_sentence_before_any_is_read():
    query = TrimmedMean(None, ONE, -1.0, 1.0)
    with pytest.raises(InputError, match=r"n_rows must be above .* use more rows, a larger share"):
        query.calibrate_event(200, 1, ZeroConcentrated(0.02))
    for n_trimmed, rho, words in (
        (50, 9.0, "n_trimmed must be below half of n_rows = 100"),
        (5, 0.1, "cover the noise in addition"),
    ):
        query = TrimmedMean(None, ONE, -1.0, 1.0, n_trimmed=n_trimmed)
        with pytest.raises(InputError, match=words):
            query.calibrate_event(100, 1, ZeroConcentrated(rho))


def test_a_range_that_floats_cannot_tell_apart_is_refused():
    query = TrimmedMean(None, ONE, 1e16, 1e16 + 4.0, n_trimmed=20)
    with pytest.raises(InputError, match="floats must distinguish them"):
        query.calibrate_event(100, 1, ZeroConcentrated(9.0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": 1.0, "high": 1.0},
        {"low": math.nan},
        {"high": math.inf},
        {"high": 1e200},
        {"n_trimmed": 0},
        {"smoothness_share": 1.0},
        {"resolution": 0.0},
        {"calibration": "best"},
        {"calibration": "paper"},
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(InputError):
        TrimmedMean(None, ONE, **{"low": -1.0, "high": 1.0, **wrong})


def test_the_published_constants_end_where_they_are_proved():
    query = TrimmedMean(None, ONE, -1.0, 1.0, calibration="published")
    public = query.calibrate_event(100_000, 1, ZeroConcentrated(0.5))
    assert (public.smoothness, public.shift) == (1 / 16, 1 / 4)
    assert public.event.rho < 0.2 * 0.5
    with pytest.raises(InputError, match="at most 41"):
        query.calibrate_event(100_000, 1, ZeroConcentrated(42.0))


def test_the_numerical_calibration_trims_far_fewer_and_adds_less():
    proved, numerical = (
        TrimmedMean(None, ONE, -1.0, 1.0, calibration=name).calibrate_event(
            100_000, 1, ZeroConcentrated(1e-3)
        )
        for name in ("tight", "numerical")
    )
    assert numerical.facts["n_trimmed"] < 0.4 * proved.facts["n_trimmed"]
    assert numerical.shift > 1.3 * proved.shift


@pytest.mark.parametrize("event", [Gaussian(0.5), Approximate(1.0, 1e-6)])
def test_only_a_concentrated_cost_has_its_noise(event):
    with pytest.raises(InputError, match="event must be a ZeroConcentrated cost"):
        TrimmedMean(None, ONE, low=-1.0, high=1.0).calibrate_event(1000, 1, event)


@pytest.mark.parametrize("reach", [1e-100, 1e100])
def test_a_range_reaches_as_far_as_is_said_and_no_farther(reach):
    assert TrimmedMean(None, ONE, 0.0, reach).high == reach
    with pytest.raises(InputError, match="between 1e-100 and 1e100"):
        TrimmedMean(None, ONE, 0.0, reach * (1.01 if reach > 1.0 else 0.99))


TASKS = [
    (task_of(n_rows, n_features, tg.ApproxDP(epsilon, 1e-6)), Trimmed(calibration=calibration))
    for n_rows, n_features, epsilon in ((5_000, 1, 0.3), (100_000, 10, 1.0))
    for calibration in ("tight", "numerical")
]


def plans_by_share(task, method, monkeypatch):
    for share in SMOOTHNESS_SHARES:
        with monkeypatch.context() as patch:
            patch.setattr(Trimmed, "shares", (share,))
            try:
                yield planned(method, task)
            except tg.InputError:
                continue


@pytest.mark.parametrize(("task", "method"), TASKS)
def test_the_share_has_the_least_predicted_total(task, method, monkeypatch):
    chosen = planned(method, task)
    totals = [plan.expected.total for plan in plans_by_share(task, method, monkeypatch)]
    assert len(totals) > 5
    assert chosen.expected.total == min(totals)


def test_skewed_columns_are_trimmed_little():
    x = np.random.default_rng(0).pareto(3.0, 100_000)
    errors = [
        tg.mean(x, epsilon=1.0, delta=1e-6, method="trimmed", random_state=seed).value - 0.5
        for seed in range(2)
    ]
    assert np.abs(errors).max() < 0.04  # 0.13 where a fiftieth of the budget buys smoothness


def test_more_records_than_memory_holds_are_refused_from_sizes_alone():
    """Of one column 2**30 numbers are held at once, of two columns half as many records."""
    for n_columns in (1, 2):
        query = TrimmedMean(None, Units.raw(n_columns, intercept=False), -1.0, 1.0)
        most, event = 2**30 // n_columns, ZeroConcentrated(0.5)
        assert query.calibrate_event(most, n_columns, event).size == n_columns
        with pytest.raises(InputError, match=f"n_rows must be at most {most} with {n_columns} co"):
            query.calibrate_event(most + 1, n_columns, event)
