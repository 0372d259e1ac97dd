"""The bits that each record adds to a sum: does one record change the contribution of another?

Every record gets a column of its own that is zero in all other records. A sum in that column is
exactly the contribution of this record, since zeros add nothing. If a kernel counts, its counts
minus those of one record alone are the counts of the others.
"""

import numpy as np

import tailguard as tg
from support.loops import gathered, loop
from tailguard.data.rows.arrays import make_rows
from tailguard.data.rows.base import CHUNK_ROWS, RecordBlock
from tailguard.losses.registry import LOSSES, make_loss
from tailguard.means.clamped import ClampedMean
from tailguard.means.clipped import ClippedShells
from tailguard.means.soft import SoftMean
from tailguard.means.trimmed import TrimmedMean
from tailguard.means.truncated import TruncatedMean
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.histograms import Bins, ColumnHistograms, WhitenedHistogram
from tailguard.queries.loop import LatticeSum
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View, Weighting

HOSTILE = (
    *(np.nan, np.inf, -np.inf, 1.7e308, -1e300, 1e155, -1e140, 1e80),
    *(0.0, -0.0, 5e-324, -1e-310, 1e-200, -1e-150, 1e-20, 1.0, -7.0, 2.0**60),
)
# The value in a record's own column, and the steps in which its part of a sum is read.
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
        """Return the records with one replaced; ``alone`` keeps only it and its partner."""
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


def units_of(rng):
    return Units(np.zeros(N_COLUMNS), rng.uniform(0.5, 2.0, N_COLUMNS), intercept=False)


def view_of(rng, loss):
    return View.plain(loss, units_of(rng))


def adding_kernels(rng):
    """Loops whose sums have separate places for each record: name, loop, places."""
    losses = {name: make_loss(name) for name in LOSSES}
    by_level = np.concatenate([OWN_COLUMNS, OWN_COLUMNS + N_COLUMNS])
    weights = rng.standard_normal(N_COLUMNS)
    for name, loss in losses.items():
        query = MeanClippedGradient(loss, units_of(rng), clip_norm=1.0)
        yield f"clipped-gradient/{name}", loop(query, weights, GRID), OWN_COLUMNS
        query = LevelGradients(view_of(rng, loss), 5.0, (0.3, 1.5), (1.0, 0.4))
        yield f"ladder/{name}", loop(query, weights, GRID), by_level
        query = ContributionLevels(view_of(rng, loss), (0.3, 1.5))
        yield f"contributions/{name}", loop(query, weights, GRID), by_level
    logistic = losses["logistic"]
    for query in (
        ClampedMean(logistic, units_of(rng), 1.0, 1),
        TruncatedMean(logistic, units_of(rng), 1.0, 1),
        SoftMean(logistic, units_of(rng), 1.0),
    ):
        state = (weights, N_ROWS)
        kernel = LatticeSum(query, state, GRID / N_ROWS, N_COLUMNS)
        yield f"bounded-entries/{type(query).__name__}", kernel, OWN_COLUMNS
    own = tg.losses.RecordGradient(lambda w, x, y: (x @ w - y) * x)
    for name, loss, places in (
        ("python", own, OWN_COLUMNS),
        ("multinomial", tg.losses.Multinomial(2), OWN_COLUMNS),
    ):
        start = rng.standard_normal(loss.size(N_COLUMNS))
        query = MeanRecordGradient(loss, clip_norm=1.0)
        yield f"record-gradient/{name}", loop(query, start, GRID, n_features=N_COLUMNS), places
    yield "shells", loop(ClippedShells(units_of(rng), (1.0, 3.0)), None, GRID), by_level
    upper = np.triu_indices(N_COLUMNS)
    diagonal = np.flatnonzero((upper[0] == upper[1]) & (upper[0] >= N_SHARED))
    for kind in ("one", "curvature"):
        weighting = Weighting(kind=kind, slope_limit=2.0, half_step=0.5, bound=0.25)
        query = SecondMoments(view_of(rng, losses["logistic"]), 5.0, 5.0, weighting)
        yield f"second-moments/{kind}", loop(query, weights, GRID * OWN), diagonal
    trimmed = TrimmedMean(losses["lp"], units_of(rng), -1.0, 1.0)
    gradients = LatticeSum(trimmed, (weights, N_ROWS), 1.0, N_ROWS * N_COLUMNS)
    for name, columns, kernel in (
        ("gradients", N_COLUMNS, gradients),
        ("records", N_COLUMNS + 1, gathered(N_ROWS, N_COLUMNS + 1)),
    ):
        yield f"gathered/{name}", kernel, np.arange(columns * N_ROWS).reshape(N_ROWS, columns).T


def counting_kernels(rng):
    columns = (*range(N_SHARED), N_COLUMNS, N_COLUMNS + 1)
    units = np.zeros(len(columns)), np.ones(len(columns))
    octaves = Bins("octaves", -20.0, 8.0, 320)
    for paired in (False, True):
        for bins in (octaves, Bins("signed", -8.0, 16.0, 256), Bins("linear", -4.0, 16.0, 128)):
            query = ColumnHistograms(columns, bins, paired)
            yield f"column-histogram/{bins.transform}/{paired}", loop(query, units)
    edges = tuple(np.geomspace(1e-3, 1e3, 200).tolist())
    for of in ("norm", "entries", "differences"):
        query = CountMagnitudes(units_of(rng), edges, of)
        yield f"magnitudes/{of}", loop(query, n_features=N_COLUMNS)
    logistic, weights = make_loss("logistic"), rng.standard_normal(N_COLUMNS)
    for what in ("length", "residual", "slope"):
        query = WhitenedHistogram(view_of(rng, logistic), what, octaves)
        yield f"whitened-histogram/{what}", loop(query, weights)
    yield "gradient-norms", loop(CountNormsBelow(logistic, weights), np.ones(1))


def parts(kernel, places, block):
    """Return the contribution of each record, one column per record."""
    return kernel.sum_block(block)[places].reshape(-1, N_ROWS)


def unlike_parts(kernel, places, records, slot, value, where):
    """Whether replacing this record changes the contribution of another."""
    others = np.arange(N_ROWS) != slot
    before = parts(kernel, places, records.block())
    after = parts(kernel, places, records.block(slot, value, where=where))
    return (before[:, others] != after[:, others]).any()


def unlike_counts(kernel, records, slot, value, where):
    """Whether replacing this record, and its partner, changes the counts of others."""

    def others(place):
        full = kernel.sum_block(records.block(slot, place, where=where))
        return full - kernel.sum_block(records.block(slot, place, where=where, alone=True))

    return (others(value) != others(np.nan)).any()


def unlike_slopes(loss, rng, slot, value):
    """Whether the slope at one score and target depends on those of another record."""
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
    """Whether the read values of one record in a chunk depend on another record."""
    width, block = n_features + 1, RecordBlock(rng.standard_normal((CHUNK_ROWS, n_features)))
    units, weights = Units.raw(n_features, intercept=True), rng.standard_normal(width)
    view = View(None, units, rng.standard_normal((width, width)))

    def read():
        (chunk,) = view.read(block, weights)
        numbers = [*chunk.mapped, chunk.length, chunk.inverse, chunk.score]
        return np.delete(numbers, slot, axis=1)

    before = read()
    block.features[slot] = value
    return (read() != before).any()


class Spy:
    """A kernel that keeps its inputs."""

    size = 1
    together = "none"
    reads_cells = False

    def sum_block(self, block):
        self.block = block
        return np.zeros(1, dtype=np.int64)


def unlike_offsets(rng, slot, value):
    """Whether the offset of one record depends on the exposure of another."""
    exposure, found = rng.uniform(0.1, 9.0, N_ROWS), []
    for entry in (1.0, value):
        exposure[slot], spy = entry, Spy()
        make_rows(np.zeros((N_ROWS, 1)), exposure=exposure).reduce(spy)
        found.append(np.delete(spy.block.offset, slot))
    return (found[0] != found[1]).any()


def entangled(*, seed=0, n_slots=3):
    """Name everything in which one record changes another's bits; it should be empty."""
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
