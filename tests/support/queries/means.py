"""Means: of groups that are one, all of forty records and no divisor; and shells of norms."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, RAW, SQUARED, WEIGHTS, ZERO, Example, skewed_units
from tailguard.means.clamped import ClampedMean
from tailguard.means.clipped import ClippedShells
from tailguard.means.iterative import IterativeMean
from tailguard.means.soft import SoftMean
from tailguard.means.truncated import TruncatedMean


def clamped_mean():
    """Group counts that are one, all of forty records, and no divisor of forty."""
    low, high = (-1e6,) * 3 + (0.0,), (1e6,) * 3 + (0.0,)
    for n_groups in (1, 6, 40):
        clamped = ClampedMean(None, RAW, threshold=1.5, n_groups=n_groups)
        name = f"clamped-mean/{n_groups}-groups"
        yield Example(name, clamped, ZERO, low, high, n_groups=n_groups, far=1e6)
    gradient = (1e5, 1e5, 1e5, 1e5), (1e5, 1e5, 1e5, -1e5)
    plain, tiny = ClampedMean(SQUARED, RAW, 1.0, 2), ClampedMean(SQUARED, RAW, 1e-150, 2)
    yield Example("clamped-mean/squared", plain, ZERO, *gradient, SQUARED)
    yield Example("clamped-mean/tiny", tiny, WEIGHTS, *gradient, SQUARED)
    yield Example(
        "clamped-mean/units",
        ClampedMean(SQUARED, skewed_units(True), 0.5, 2),
        np.array([0.1, 0.1, 0.1, 0.5]),
        (50.0, 50.0, 50.0, 1e9),
        (50.0, 50.0, 50.0, -1e9),
        SQUARED,
    )


def iterative_mean():
    """Group counts that are one, no divisor of forty, and all of forty records."""
    pair = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for n_groups in (1, 40):
        query = IterativeMean(SQUARED, RAW, clip_norm=1.5, n_groups=n_groups, centre="median")
        yield Example(f"iterative-mean/{n_groups}-groups", query, WEIGHTS, *pair, SQUARED)
    rows = IterativeMean(None, RAW, clip_norm=3.0, n_groups=6)
    low, high = (-1e5, 0, 0, 0.0), (1e5, 0, 0, 0.0)
    yield Example("iterative-mean/rows", rows, np.zeros(N_FEATURES), low, high)
    intercept = IterativeMean(SQUARED, skewed_units(True), clip_norm=2.5, n_groups=4)
    state = np.array([0.1, 0.1, 0.1, 0.5])
    pair = (50.0, 0, 0, 1e9), (50.0, 0, 0, -1e9)
    yield Example("iterative-mean/units", intercept, state, *pair, SQUARED)


def soft_mean():
    """Little and much smoothing."""
    low, high = (-1e6,) * 3 + (0.0,), (1e6,) * 3 + (0.0,)
    for smoothing in (0.25, 100.0):
        soft = SoftMean(None, RAW, scale=2.0, smoothing=smoothing)
        yield Example(f"soft-mean/smoothing-{smoothing}", soft, ZERO, low, high)
    gradient = (1e5, 1e5, 1e5, 1e5), (1e5, 1e5, 1e5, -1e5)
    query = SoftMean(SQUARED, RAW, 3.0, 2.0)
    yield Example("soft-mean/squared", query, WEIGHTS, *gradient, SQUARED)


def truncated_mean():
    """Group counts that are one and all of forty records."""
    huber = tg.losses.Huber(1.0)
    at_threshold = (-2.0,) * 3 + (0.0,), (2.0,) * 3 + (0.0,)
    for n_groups in (1, 40):
        truncated = TruncatedMean(None, RAW, threshold=2.0, n_groups=n_groups)
        name = f"truncated-mean/{n_groups}-groups"
        yield Example(name, truncated, ZERO, *at_threshold, n_groups=n_groups, far=2.0)
    exact = (2.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, -1.0)
    yield Example("truncated-mean/huber", TruncatedMean(huber, RAW, 2.0), ZERO, *exact, huber)


def clipped_shells():
    """One shell, four, in units and tiny."""
    far, opposite = (1e200, 0.0, 0.0, 0.0), (-1e200, 0.0, 0.0, 0.0)
    for name, units, radii in (
        ("one", RAW, (3.0,)),
        ("units", skewed_units(False), (0.1, 5.0)),
        ("tiny", RAW, (1e-150, 3e-150)),
    ):
        query = ClippedShells(units, radii)
        yield Example(f"clipped-shells/{name}", query, ZERO, far, opposite)
