"""One example of every registered query: how to build it, its state, and a worst pair."""

import numpy as np

import tailguard as tg
from support.example import N_FEATURES, Example, skewed_units
from support.whitened_examples import whitened_examples
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.counts import CountBelow
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.means.clamped import ClampedMean
from tailguard.queries.means.iterative import IterativeMean
from tailguard.queries.means.shells import ClippedShells
from tailguard.queries.means.soft import SoftMean
from tailguard.queries.means.truncated import TruncatedMean
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.units import Units


def gradient_of_one_record(w, x, y):
    return (x @ w - y) * x


def query_examples():
    weights = np.array([0.3, -0.2, 0.1])
    squared, huber = tg.losses.Squared(), tg.losses.Huber(1.0)
    poisson, logistic = tg.losses.Poisson(), tg.losses.Logistic()
    raw = Units.raw(N_FEATURES, intercept=False)
    zero = np.zeros(N_FEATURES)
    gradients = [
        ("squared", MeanClippedGradient(squared, raw, clip_norm=1.5), weights, squared),
        ("squared-limits", MeanClippedGradient(squared, raw, 2.0, 0.75), zero, squared),
        ("huber", MeanClippedGradient(huber, raw, row_limit=3.0, slope_limit=1.0), weights, huber),
        ("tiny", MeanClippedGradient(squared, raw, clip_norm=1e-150), weights, squared),
    ]
    for name, query, state, loss in gradients:
        yield Example(
            f"mean-clipped-gradient/{name}", query, state, (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6), loss
        )
    intercept = MeanClippedGradient(squared, skewed_units(True), 2.5, 1.0)
    yield Example(
        "mean-clipped-gradient/units",
        intercept,
        np.array([0.1, 0.1, 0.1, 0.5]),
        (50.0, 0, 0, 1e9),
        (50.0, 0, 0, -1e9),
        squared,
    )
    yield Example(
        "mean-clipped-gradient/logistic",
        MeanClippedGradient(logistic, raw, row_limit=4.0, slope_limit=0.5),
        zero,
        (1e3, 0, 0, 1.0),
        (1e3, 0, 0, 0.0),
        logistic,
    )
    yield Example(
        "mean-clipped-gradient/poisson",
        MeanClippedGradient(poisson, raw, row_limit=2.0, slope_limit=4.0),
        zero,
        (5.0, 0, 0, 1e9),
        (-5.0, 0, 0, 1e9),
        poisson,
    )
    yield Example(
        "mean-clipped-gradient/rows",
        MeanClippedGradient(None, raw, row_limit=3.0, slope_limit=1.0),
        zero,
        (1e5, 0, 0, 0.0),
        (-1e5, 0, 0, 0.0),
    )
    centred = Units(np.zeros(3), np.ones(3), intercept=True, target_scale=2.0, offset_center=0.5)
    yield Example(
        "mean-clipped-gradient/exposure",
        MeanClippedGradient(poisson, centred, row_limit=2.0, slope_limit=4.0),
        np.zeros(4),
        (5.0, 0, 0, 1e9, 1.0),
        (5.0, 0, 0, 0.0, 1e9),
        poisson,
        exposed=True,
    )
    yield Example(
        "count-below/exposure",
        CountBelow((0, 1, 2, 3, 4)),
        np.array([0.0, 1.0, -1.0, 0.5, 0.0]),
        (-9.0, -9.0, -9.0, -9.0, 0.1),
        (9.0, 9.0, 9.0, 9.0, 10.0),
        exposed=True,
    )
    yield Example(
        "count-below/exposure-pairs",
        CountBelow((0, 1, 2, 3, 4), paired=True),
        np.full(5, 1.0),
        (0.0, 0.0, 0.0, 0.0, 1.0),
        (1e6, 1e6, 1e6, 1e6, 1e6),
        exposed=True,
    )
    yield Example(
        "count-norms-below/exposure",
        CountNormsBelow(poisson, weights),
        np.array([2.0]),
        (0.0, 0, 0, 0.0, 1.0),
        (1e6, 0, 0, 1e6, 1.0),
        poisson,
        exposed=True,
    )
    record_loss = tg.losses.RecordGradient(gradient_of_one_record)
    yield Example(
        "mean-record-gradient/python",
        MeanRecordGradient(record_loss, clip_norm=0.5),
        zero,
        (1.0, 0, 0, 1e5),
        (1.0, 0, 0, -1e5),
        record_loss,
    )
    multinomial = tg.losses.Multinomial(3)
    yield Example(
        "mean-record-gradient/multinomial",
        MeanRecordGradient(multinomial, clip_norm=2.0),
        np.zeros(9),
        (1e5, 0, 0, 0.0),
        (-1e5, 0, 0, 0.0),
        multinomial,
    )
    everywhere = np.array([0.0, 1.0, -1.0, 0.5])
    yield Example(
        "count-below/values", CountBelow((0, 1, 2, 3)), everywhere, (-9.0,) * 4, (9.0,) * 4
    )
    yield Example(
        "count-below/pairs",
        CountBelow((0, 1, 2, 3), paired=True),
        np.full(4, 1.0),
        (0.0,) * 4,
        (1e6,) * 4,
    )
    yield Example(
        "count-norms-below/score",
        CountNormsBelow(squared, weights),
        np.array([2.0]),
        (0.0,) * 4,
        (1e6,) * 4,
        squared,
    )
    yield Example(
        "count-norms-below/record",
        CountNormsBelow(record_loss, weights),
        np.array([2.0]),
        (0.0,) * 4,
        (1e6,) * 4,
        record_loss,
    )
    yield from mean_examples()
    yield from magnitude_examples()
    yield from minimiser_examples()
    yield from peeling_examples()
    yield from iterative_examples()
    yield from whitened_examples()


def mean_examples():
    """Group counts that are odd, even, one, all of forty records, and no divisor of forty."""
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    weights = np.array([0.3, -0.2, 0.1])
    squared, huber = tg.losses.Squared(), tg.losses.Huber(1.0)
    low, high = (-1e6,) * 3 + (0.0,), (1e6,) * 3 + (0.0,)
    for n_groups in (1, 2, 3, 6, 7, 39, 40):
        clamped = ClampedMean(None, raw, threshold=1.5, n_groups=n_groups)
        name = f"clamped-mean/{n_groups}-groups"
        yield Example(name, clamped, zero, low, high, n_groups=n_groups, far=1e6)
    at_threshold = (-2.0,) * 3 + (0.0,), (2.0,) * 3 + (0.0,)
    for n_groups in (1, 2, 7, 40):
        truncated = TruncatedMean(None, raw, threshold=2.0, n_groups=n_groups)
        name = f"truncated-mean/{n_groups}-groups"
        yield Example(name, truncated, zero, *at_threshold, n_groups=n_groups, far=2.0)
    for smoothing in (0.25, 1.0, 4.6, 100.0):
        soft = SoftMean(None, raw, scale=2.0, smoothing=smoothing)
        yield Example(f"soft-mean/smoothing-{smoothing}", soft, zero, low, high)
    gradient = (1e5, 1e5, 1e5, 1e5), (1e5, 1e5, 1e5, -1e5)
    for name, query, state, loss in (
        ("clamped-mean/squared", ClampedMean(squared, raw, 1.0, 2), zero, squared),
        ("clamped-mean/tiny", ClampedMean(squared, raw, 1e-150, 2), weights, squared),
        ("soft-mean/squared", SoftMean(squared, raw, 3.0, 2.0), weights, squared),
    ):
        yield Example(name, query, state, *gradient, loss)
    exact = (2.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, -1.0)
    yield Example("truncated-mean/huber", TruncatedMean(huber, raw, 2.0), zero, *exact, huber)
    yield Example(
        "clamped-mean/units",
        ClampedMean(squared, skewed_units(True), 0.5, 2),
        np.array([0.1, 0.1, 0.1, 0.5]),
        (50.0, 50.0, 50.0, 1e9),
        (50.0, 50.0, 50.0, -1e9),
        squared,
    )


def magnitude_examples():
    """Histograms of norms and of entries, and shells; the worst pair spans all of them."""
    raw, zero = Units.raw(N_FEATURES, intercept=False), np.zeros(N_FEATURES)
    low, high = (0.0,) * 4, (1e6, 1e6, 1e6, 0.0)
    for of in ("norm", "entries", "differences"):
        edges = (0.5, 1.0, 8.0) if of != "differences" else tuple(np.geomspace(0.01, 100.0, 11))
        query = CountMagnitudes(raw, edges, of)
        yield Example(f"count-magnitudes/{of}", query, zero, low, high)
    yield Example(
        "count-magnitudes/units", CountMagnitudes(skewed_units(False), (1.0, 9.0)), zero, low, high
    )
    far, opposite = (1e200, 0.0, 0.0, 0.0), (-1e200, 0.0, 0.0, 0.0)
    for name, units, radii in (
        ("one", raw, (3.0,)),
        ("four", raw, (1.0, 2.0, 4.0, 8.0)),
        ("units", skewed_units(False), (0.1, 5.0)),
        ("tiny", raw, (1e-150, 3e-150)),
    ):
        query = ClippedShells(units, radii)
        yield Example(f"clipped-shells/{name}", query, zero, far, opposite)


def peeling_examples():
    """Few and all entries kept, an intercept, units, and a state far away."""
    raw, squared = Units.raw(N_FEATURES, intercept=False), tg.losses.Squared()
    logistic = tg.losses.Logistic()
    zero, exact = np.zeros(N_FEATURES), ((2.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, -1.0))
    for n_nonzero in (1, 3):
        step = PeeledStep(squared, raw, threshold=2.0, step_size=0.5, n_nonzero=n_nonzero)
        yield Example(f"peeled-step/keeps-{n_nonzero}", step, zero, *exact, squared)
    far = PeeledStep(squared, raw, threshold=1e200, step_size=1e-200, n_nonzero=2)
    yield Example("peeled-step/huge", far, zero, (1e100,) * 4, (1e100, 0, 0, -1e100), squared)
    step = PeeledStep(squared, skewed_units(True), threshold=3.0, step_size=0.25, n_nonzero=2)
    # In these units the slope is -3 and 3, and so is the last entry.
    intercept = (0.5, -1.0, 0.0, 6.25), (0.5, -1.0, 0.0, -5.75)
    yield Example("peeled-step/intercept", step, np.zeros(4), *intercept, squared)
    step = PeeledStep(logistic, raw, threshold=8.0, step_size=2.0, n_nonzero=1)
    labels = (15.9, 0.0, 0.0, 1.0), (15.9, 0.0, 0.0, 0.0)
    yield Example("peeled-step/logistic", step, zero, *labels, logistic)


def minimiser_examples():
    """Losses whose clip binds and does not, sets that are flat, round and cut, and a capped one."""
    raw, squared = Units.raw(N_FEATURES, intercept=False), tg.losses.Squared()
    state, axis = np.array([0.3, -0.2, 0.1]), ((1e6, 0, 0, 1e9), (1e6, 0, 0, -1e9))
    ridge = ClippedMinimiser(squared, raw, strength=0.5, clip_norm=1.5, row_limit=2.0)
    yield Example("clipped-minimiser/squared", ridge, state, *axis, squared)
    ball = ClippedMinimiser(tg.losses.LpLoss(4), raw, 0.5, 1.5, 2.0, constraint=tg.sets.L1Ball(1.0))
    yield Example("clipped-minimiser/l1", ball, np.zeros(3), *axis, ball.loss)
    part = tg.sets.IntersectionWithBall(tg.sets.Box(-1, 1), (0.2, 0.0, 0.0), 0.5)
    cut = ClippedMinimiser(squared, raw, 5.0, 0.5, 1.0, constraint=part)
    yield Example("clipped-minimiser/cut", cut, np.zeros(3), *axis, squared)
    labels = ClippedMinimiser(tg.losses.Logistic(), raw, 0.1, 0.25, 1.0)
    yield Example(
        "clipped-minimiser/labels", labels, state, (-9, 0, 0, 0), (-9, 0, 0, 1), labels.loss
    )
    capped = ClippedMinimiser(squared, raw, 0.5, 1.5, 2.0, most_steps=3)
    yield Example("clipped-minimiser/capped", capped, state, *axis, squared)
    size = ClippedMinimiser(tg.losses.Huber(1.0), skewed_units(True), 50.0, 1.0, 2.0)
    units = (0.5, -1.0, 0.0, 1e9), (0.5, -1.0, 0.0, -1e9)
    yield Example("clipped-minimiser/units", size, np.zeros(4), *units, size.loss)


def iterative_examples():
    """Group counts that are one, odd, no divisor of forty, and all of forty records."""
    raw, squared = Units.raw(N_FEATURES, intercept=False), tg.losses.Squared()
    weights = np.array([0.3, -0.2, 0.1])
    pair = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for n_groups in (1, 3, 7, 40):
        query = IterativeMean(squared, raw, clip_norm=1.5, n_groups=n_groups, centre="median")
        yield Example(f"iterative-mean/{n_groups}-groups", query, weights, *pair, squared)
    rows = IterativeMean(None, raw, clip_norm=3.0, n_groups=6)
    low, high = (-1e5, 0, 0, 0.0), (1e5, 0, 0, 0.0)
    yield Example("iterative-mean/rows", rows, np.zeros(N_FEATURES), low, high)
    intercept = IterativeMean(squared, skewed_units(True), clip_norm=2.5, n_groups=4)
    state = np.array([0.1, 0.1, 0.1, 0.5])
    pair = (50.0, 0, 0, 1e9), (50.0, 0, 0, -1e9)
    yield Example("iterative-mean/units", intercept, state, *pair, squared)
