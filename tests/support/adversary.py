"""Adversarial records: extreme float values, in every mixture."""

import numpy as np

TINY = (0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-200, 1e-160, 1e-8)
ORDINARY = (0.5, 1.0, -1.0, 1.0 + 2**-52, 3.0, -1e3, 1e8, -1e15)
HUGE = (1e100, 1e150, -1e155, 1e200, -1e300, 1e308, -1.7976931348623157e308)
EXTREMES = np.array([*TINY, *ORDINARY, *HUGE, np.inf, -np.inf, np.nan])


def records(rng, count, width):
    """``count`` records of ``width`` numbers: extremes, ordinary values, axes, mixtures."""
    ordinary = rng.standard_t(2, size=(count, width))
    extreme = rng.choice(EXTREMES, size=(count, width))
    share = rng.choice([0.0, 0.1, 0.5, 1.0], size=(count, 1))
    mixed = np.where(rng.random((count, width)) < share, extreme, ordinary)
    axis = rng.random(count) < 0.2
    mixed[axis] = 0.0
    mixed[axis, rng.integers(0, width, axis.sum())] = rng.choice(EXTREMES, axis.sum())
    return mixed


def datasets(rng, count, n_rows, width):
    """Datasets that are ordinary, extreme, or copies of one record."""
    for index in range(count):
        kind = index % 4
        if kind == 0:
            yield rng.standard_normal((n_rows, width))
        elif kind == 1:
            yield records(rng, n_rows, width)
        elif kind == 2:
            yield np.tile(records(rng, 1, width), (n_rows, 1))
        else:
            yield rng.standard_cauchy((n_rows, width)) * 10.0 ** rng.integers(-6, 7)


def neighbours(rng, data, count):
    """Pairs ``(slot, replacement)``: adversarial records, and the negated old record."""
    n_rows, width = data.shape
    for index in range(count):
        slot = int(rng.integers(n_rows))
        if index % 5 == 0:
            with np.errstate(all="ignore"):
                turned_round = -data[slot] * rng.choice([1.0, 1e-3, 1e6, 1e300])
            yield slot, turned_round
        else:
            yield slot, records(rng, 1, width)[0]


def replaced(data, slot, record):
    """A copy of the data with one record replaced."""
    neighbour = data.copy()
    with np.errstate(all="ignore"):
        neighbour[slot] = record
    return neighbour
