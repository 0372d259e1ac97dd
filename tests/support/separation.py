"""What each record adds to a sum, seen bit by bit: does one record change what another adds?

Every record gets a column of its own that is zero in all others. What a sum holds in that column
is what this record adds, exactly, since zeros add nothing. Where a kernel counts, its counts less
those of one record alone are those of the others.
"""

from dataclasses import replace

import numpy as np

import tailguard as tg
from support.score_kernels import InNumPyOnly
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.means.clipped import ShellSum
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum
from tailguard.queries.kernels.column_histograms import ColumnHistogramCount
from tailguard.queries.kernels.coordinates import BoundedCoordinateSum, CoordinateBound
from tailguard.queries.kernels.counts import BelowCount
from tailguard.queries.kernels.gather import GatheredGradients, GatheredRecords
from tailguard.queries.kernels.norms import MagnitudeCount
from tailguard.queries.kernels.record_gradient import GradientNormCount, RecordGradientSum
from tailguard.queries.kernels.whitened import WhitenedRows
from tailguard.queries.kernels.whitened_sums import (
    LevelGradientSum,
    SecondMomentSum,
    Weighting,
    WhitenedHistogramCount,
    WhitenedShellSum,
)

HOSTILE = (
    *(np.nan, np.inf, -np.inf, 1.7e308, -1e300, 1e155, -1e140, 1e80),
    *(0.0, -0.0, 5e-324, -1e-310, 1e-200, -1e-150, 1e-20, 1.0, -7.0, 2.0**60),
)
# What a record's own column holds, and the steps in which its part of a sum is read.
OWN, GRID = 2.0**-10, 2.0**-56
N_ROWS, N_SHARED = 70, 5
N_COLUMNS = N_SHARED + N_ROWS
OWN_COLUMNS = np.arange(N_SHARED, N_COLUMNS)


class Separate:
    """The records of a test: shared columns, own columns, a target, an offset."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.shared = rng.standard_t(3, size=(N_ROWS, N_SHARED))
        self.target = (rng.random(N_ROWS) < 0.5).astype(float)
        self.offset = rng.standard_normal(N_ROWS)

    def block(self, slot=None, value=np.nan, *, where="features", alone=False):
        """Return the records, one of them replaced; ``alone`` leaves it and its partner only."""
        features = np.hstack([self.shared, OWN * np.eye(N_ROWS)])
        target, offset = self.target.copy(), self.offset.copy()
        if alone:
            others = np.arange(N_ROWS) // 2 != slot // 2
            features[others] = np.nan
        if slot is not None:
            if where == "features":
                features[slot, :N_SHARED] = value
            else:
                (target if where == "target" else offset)[slot] = value
        return RecordBlock(features, target, offset)


def of_line(rng):
    inverse_scale = rng.uniform(0.5, 2.0, N_COLUMNS)
    return {"center": np.zeros(N_COLUMNS), "inverse_scale": inverse_scale}


def of_score(rng):
    return {**of_line(rng), "weights": rng.standard_normal(N_COLUMNS), "intercept": False}


def whitened(rng, loss, **options):
    weights = rng.standard_normal(N_COLUMNS)
    return WhitenedRows(
        loss=loss, **of_line(rng), intercept=False, whitening=np.eye(N_COLUMNS),
        weights=weights, **options,
    )  # fmt: skip


def adding_kernels(rng):
    """Kernels whose sums have places that belong to one record each: name, kernel, places."""
    losses = {name: make_loss(name) for name in LOSSES}
    losses |= {f"{name} in NumPy": InNumPyOnly(losses[name]) for name in LOSSES}
    for name, loss in losses.items():
        kernel = ClippedGradientSum(loss=loss, **of_score(rng), clip_norm=1.0, grid=GRID)
        yield f"clipped-gradient/{name}", kernel, OWN_COLUMNS
    for kind in ("clamped", "truncated", "soft"):
        for suffix, loss in (("", losses["logistic"]), (" in NumPy", losses["logistic in NumPy"])):
            kernel = BoundedCoordinateSum(
                loss=loss, **of_score(rng), bound=CoordinateBound(kind, 1.0), n_rows=N_ROWS,
                n_groups=1, grid=GRID / N_ROWS,
            )  # fmt: skip
            yield f"bounded-entries/{kind}{suffix}", kernel, OWN_COLUMNS
    gradient = RecordGradientSum(
        gradient=lambda w, x, y: (x @ w - y) * x, weights=rng.standard_normal(N_COLUMNS),
        n_coordinates=N_COLUMNS, clip_norm=1.0, grid=GRID,
    )  # fmt: skip
    yield "record-gradient/python", gradient, OWN_COLUMNS
    multinomial = replace(
        gradient, gradient=tg.losses.Multinomial(2).record_gradient, n_coordinates=2 * N_COLUMNS,
        weights=rng.standard_normal(2 * N_COLUMNS),
    )  # fmt: skip
    yield "record-gradient/multinomial", multinomial, OWN_COLUMNS
    shells = ShellSum(
        **of_line(rng), radii=np.array([1.0, 3.0]), limits=np.array([1.0, 2.0]), grid=GRID
    )
    yield "shells", shells, np.concatenate([OWN_COLUMNS, OWN_COLUMNS + N_COLUMNS])
    for name, loss in losses.items():
        ladder = LevelGradientSum(
            rows=whitened(rng, loss), row_limit=5.0, levels=(0.3, 1.5), shares=(1.0, 0.4), grid=GRID
        )
        yield f"ladder/{name}", ladder, np.concatenate([OWN_COLUMNS, OWN_COLUMNS + N_COLUMNS])
        cut = WhitenedShellSum(
            rows=whitened(rng, loss, times_slope=True), radii=(0.3, 1.5), shares=(1.0, 0.4),
            grid=GRID,
        )  # fmt: skip
        yield f"contributions/{name}", cut, np.concatenate([OWN_COLUMNS, OWN_COLUMNS + N_COLUMNS])
    upper = np.triu_indices(N_COLUMNS)
    diagonal = np.flatnonzero((upper[0] == upper[1]) & (upper[0] >= N_SHARED))
    for kind in ("one", "curvature", "squared-slope", "beyond"):
        weighting = Weighting(kind=kind, slope_limit=2.0, half_step=0.5, bound=0.25)
        moments = SecondMomentSum(
            rows=whitened(rng, losses["logistic"]), weighting=weighting, row_limit=5.0, row_cap=5.0,
            grid=GRID * OWN,
        )  # fmt: skip
        yield f"second-moments/{kind}", moments, diagonal
    for name, columns, kernel in (
        (
            "gradients",
            N_COLUMNS,
            GatheredGradients(loss=losses["lp"], **of_score(rng), n_rows=N_ROWS),
        ),
        ("records", N_COLUMNS + 1, GatheredRecords(n_rows=N_ROWS, n_columns=N_COLUMNS + 1)),
    ):
        yield f"gathered/{name}", kernel, np.arange(columns * N_ROWS).reshape(N_ROWS, columns).T


def counting_kernels(rng):
    columns = (*range(N_SHARED), N_COLUMNS, N_COLUMNS + 1)
    units = {"center": np.zeros(len(columns)), "inverse_scale": np.ones(len(columns))}
    for paired in (False, True):
        counted = {"columns": columns, "paired": paired, "multiplier": 1}
        yield f"counts/{paired}", BelowCount(thresholds=np.full(len(columns), 0.5), **counted)
        for bins in (
            Bins("octaves", -20.0, 8.0, 320),
            Bins("signed", -8.0, 16.0, 256),
            Bins("linear", -4.0, 16.0, 128),
        ):
            kernel = ColumnHistogramCount(bins=bins, **units, **counted)
            yield f"column-histogram/{bins.transform}/{paired}", kernel
    edges = np.geomspace(1e-3, 1e3, 200)
    for of in ("norm", "entries", "differences"):
        yield f"magnitudes/{of}", MagnitudeCount(**of_line(rng), edges=edges, of=of, multiplier=1)
    logistic = make_loss("logistic")
    for what in ("length", "residual", "slope"):
        bins = Bins("octaves", -20.0, 8.0, 320)
        yield (
            f"whitened-histogram/{what}",
            WhitenedHistogramCount(
                rows=whitened(rng, logistic), what=what, bins=bins, weighting=Weighting(), grid=1.0
            ),
        )
    for name, loss in (("compiled", logistic), ("numpy", InNumPyOnly(logistic))):
        yield (
            f"gradient-norms/{name}",
            GradientNormCount(
                loss=loss, weights=rng.standard_normal(N_COLUMNS), threshold=1.0, multiplier=1
            ),
        )


def parts(kernel, places, block):
    """Return what each record adds, one column a record."""
    return kernel.sum_block(block)[places].reshape(-1, N_ROWS)


def unlike_parts(kernel, places, records, slot, value, where):
    """Whether another record adds something else once this one is replaced."""
    others = np.arange(N_ROWS) != slot
    before = parts(kernel, places, records.block())
    after = parts(kernel, places, records.block(slot, value, where=where))
    return (before[:, others] != after[:, others]).any()


def unlike_counts(kernel, records, slot, value, where):
    """Whether others are counted elsewhere once this record, and its partner, are replaced."""

    def others(place):
        full = kernel.sum_block(records.block(slot, place, where=where))
        return full - kernel.sum_block(records.block(slot, place, where=where, alone=True))

    return (others(value) != others(np.nan)).any()


def unlike_slopes(loss, rng, slot, value):
    """Whether the slope at one score and target changes with another's."""
    scores, targets = rng.standard_normal((2, N_ROWS))
    others = np.arange(N_ROWS) != slot
    before = [loss.slope(scores, targets), loss.mean(scores)]
    for changed in (scores, targets):
        changed[slot] = value
        after = [loss.slope(scores, targets), loss.mean(scores)]
        if any((a[others] != b[others]).any() for a, b in zip(before, after, strict=True)):
            return True
    return False


def unlike_readings(rng, n_features, slot, value):
    """Whether what is read of one record of a whole chunk changes with another."""
    width, block = n_features + 1, RecordBlock(rng.standard_normal((CHUNK_ROWS, n_features)))
    rows = WhitenedRows(
        loss=None, center=np.zeros(n_features), inverse_scale=np.ones(n_features), intercept=True,
        whitening=rng.standard_normal((width, width)), weights=rng.standard_normal(width),
    )  # fmt: skip

    def read():
        (chunk,) = rows.read(block)
        numbers = [*chunk.mapped, chunk.length, chunk.inverse, chunk.score]
        return np.delete(numbers, slot, axis=1)

    before = read()
    block.features[slot] = value
    return (read() != before).any()


class Spy:
    """A kernel that keeps what it is given."""

    size = 1
    together = "none"
    reads_cells = False

    def sum_block(self, block):
        self.block = block
        return np.zeros(1, dtype=np.int64)


def unlike_offsets(rng, slot, value):
    """Whether the offset of one record changes with another's exposure."""
    exposure, found = rng.uniform(0.1, 9.0, N_ROWS), []
    for entry in (1.0, value):
        exposure[slot], spy = entry, Spy()
        make_rows(np.zeros((N_ROWS, 1)), exposure=exposure).reduce(spy)
        found.append(np.delete(spy.block.offset, slot))
    return (found[0] != found[1]).any()


def entangled(*, seed=0, n_slots=3):
    """Name everything in which one record changes another's bits: nothing, it is hoped."""
    rng, records, found = np.random.default_rng(seed), Separate(seed), []
    adding, counting = list(adding_kernels(rng)), list(counting_kernels(rng))
    for value in HOSTILE:
        for slot in rng.integers(N_ROWS, size=n_slots).tolist():
            for where in ("features", "target", "offset"):
                found += [
                    f"{name}, {where} {value}"
                    for name, kernel, places in adding
                    if unlike_parts(kernel, places, records, slot, value, where)
                ]
                found += [
                    f"{name}, {where} {value}"
                    for name, kernel in counting
                    if unlike_counts(kernel, records, slot, value, where)
                ]
            found += [
                f"slope of {name}, {value}"
                for name in LOSSES
                if unlike_slopes(make_loss(name), rng, slot, value)
            ]
            found += [f"exposure {value}"] if unlike_offsets(rng, slot, value) else []
        for n_features in (3, 20, 100) if n_slots > 1 else (20,):
            slot = int(rng.integers(CHUNK_ROWS))
            if unlike_readings(rng, n_features, slot, value):
                found.append(f"whitened rows of {n_features} features, {value}")
    return found
