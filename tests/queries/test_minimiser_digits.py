"""The clipped minimiser against minimisers of 50 digits, where floats have the hardest time.

Rows lie along axes, so that each coordinate is a problem of its own, whose gradient rises: exact
bisection in decimals finds where it vanishes. What is charged as noise rests on the tolerance.
"""

from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

import tailguard as tg
from tailguard.data.rows.arrays import make_rows
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.units import Units

SQUARED, LOGISTIC, HUBER = tg.losses.Squared(), tg.losses.Logistic(), tg.losses.Huber(1.0)
DIGITS, HALVINGS = Context(prec=50), 160
SURE = Decimal(300)  # beyond such scores a chance is 0 or 1, to 130 digits


def slope_of(loss, score, target):
    if loss == LOGISTIC:
        return 1 / (1 + max(-SURE, min(SURE, -score)).exp()) - target
    residual = score - target
    return residual if loss == SQUARED else max(Decimal(-1), min(Decimal(1), residual))


def coordinate(query, rows, targets, near, n_rows):
    """The exact minimiser along one axis, without a set."""
    strength, clip, limit = (Decimal(x) for x in (query.strength, query.clip_norm, query.row_limit))
    shrunk = [max(-limit, min(limit, Decimal(x))) for x in rows]

    def gradient(move):
        total = strength * move
        for x, y in zip(shrunk, targets, strict=True):
            if x:
                bound = clip / abs(x)
                slope = slope_of(query.loss, (near + move) * x, Decimal(y))
                total += x * max(-bound, min(bound, slope)) / n_rows
        return total

    low, high = -2 * clip / strength, 2 * clip / strength
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if gradient(middle) > 0 else (middle, high)
    return near + low


def exact_minimiser(query, X, y, near, edge):
    """Axis by axis, cut to the box in which every coordinate is within ``edge`` of zero."""
    found = []
    for axis in range(X.shape[1]):
        mine = X[:, axis] != 0.0
        rows, targets = X[mine, axis].tolist(), y[mine].tolist()
        best = coordinate(query, rows, targets, Decimal(float(near[axis])), len(X))
        found.append(max(-edge, min(edge, best)))
    return found


def distance_in_tolerances(query, X, y, center, edge):
    """How far the answer is from the exact minimiser, without what the lattice rounds."""
    n_rows, size = X.shape
    calibration = query.calibrate(n_rows, size, 0.7)
    near = query._near(center, n_rows)
    with np.errstate(all="ignore"):
        lattice = query.answer(make_rows(X, y, loss=query.loss), center, calibration)
    with localcontext(DIGITS):
        exact = exact_minimiser(query, X, y, near, edge)
        gaps = [
            Decimal(float(c)) + int(k) * Decimal(float(calibration.grid)) - w
            for c, k, w in zip(query.center(center, n_rows), lattice, exact, strict=True)
        ]
        off = float(sum(gap * gap for gap in gaps).sqrt())
    rounding = calibration.grid * size**0.5
    return max(0.0, off - rounding) / query.accuracy(n_rows).tolerance


def case(loss, X, y, center=0.0, *, edge=None, **options):
    X = np.array(X, dtype=float)
    query = ClippedMinimiser(
        loss,
        Units.raw(X.shape[1], intercept=False),
        constraint=tg.sets.WholeSpace() if edge is None else tg.sets.Box(-edge, edge),
        **{"strength": 1e-3, "clip_norm": 1.0, "row_limit": 1.0, **options},
        most_steps=10**15,  # the minimiser itself is sought, however many steps that may take
    )
    assert query.accuracy(len(X)).certified
    center = np.broadcast_to(center, X.shape[1]).astype(float)
    bound = Decimal("Infinity") if edge is None else Decimal(edge)
    return distance_in_tolerances(query, X, np.array(y, dtype=float), center, bound)


HARD = {
    "one record": (SQUARED, [[1.0]], [3.0], {}),
    "hardly any penalty": (SQUARED, [[1.0], [0.1]], [1.0, -2.0], {"strength": 1e-13}),
    "rows at the limit": (HUBER, [[1e6], [-1e6]], [1e6, 5.0], {"row_limit": 1e6, "strength": 1e-9}),
    "rows beyond all limits": (LOGISTIC, [[1e300], [-1e300]], [0, 0], {"row_limit": 1e4}),
    "duplicates": (SQUARED, [[0.7, 0.0]] * 60 + [[0.0, 1e-9]], [1e8] * 60 + [1.0], {}),
    "saturated labels": (LOGISTIC, [[1.0]] * 3, [1, 1, 1], {"center": 700.0, "strength": 1e-9}),
    "saturated and wrong": (LOGISTIC, [[1.0]] * 3, [0, 0, 1], {"center": 40.0, "strength": 1e-6}),
    "a far center": (SQUARED, [[1.0, 0.0], [0.0, 0.5]], [2.0, 3.0], {"center": 1e9}),
    "far targets cancel": (SQUARED, [[1e-3], [1e-3]], [1e12, -1e12], {"clip_norm": 1e6}),
    "at an edge": (HUBER, [[1.0], [0.5]], [9.0, 9.0], {"edge": 0.25, "center": 0.25}),
    "a tiny box": (SQUARED, [[1.0, 0.0], [0.0, 1e-8]], [9.0, -9.0], {"edge": 1e-6}),
    "a tiny clip": (SQUARED, [[1.0], [1.0]], [1.0, -3.0], {"clip_norm": 1e-9, "strength": 1e-12}),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_cases_stay_within_half_of_the_tolerance(name):
    loss, X, y, options = HARD[name]
    assert case(loss, X, y, **options) <= 0.5


def test_random_hard_cases_stay_within_half_of_the_tolerance():
    rng, worst = np.random.default_rng(7), 0.0
    for _ in range(50):
        loss = (SQUARED, LOGISTIC, HUBER)[rng.integers(3)]
        n_rows, size = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        limit = 10.0 ** rng.integers(-4, 7)
        X = np.zeros((n_rows, size))
        lengths = limit * rng.choice([1.0, -3.0, 0.5, -1e-3, 1e-9], n_rows)
        X[np.arange(n_rows), rng.integers(0, size, n_rows)] = lengths
        targets = rng.standard_normal(n_rows) * 10.0 ** rng.integers(-8, 9, n_rows)
        far = case(
            loss,
            X,
            (targets > 0.0) if loss == LOGISTIC else targets,
            rng.standard_normal(size) * 10.0 ** rng.integers(-8, 9),
            edge=rng.choice([None, 1e-3, 10.0]),
            strength=10.0 ** rng.integers(-7, 3),
            clip_norm=10.0 ** rng.integers(-6, 7),
            row_limit=limit,
        )
        worst = max(worst, far)
    assert 0.01 < worst <= 0.5  # searches do end as soon as their half is reached
