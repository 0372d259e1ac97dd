"""The loop of every query, as a function of features and a target."""

import numpy as np

import tailguard as tg
from tailguard.data.rows.base import RecordBlock
from tailguard.means.clamped import ClampedMean
from tailguard.means.clipped import ClippedShells
from tailguard.means.soft import SoftMean
from tailguard.means.trimmed import TrimmedMean
from tailguard.means.truncated import TruncatedMean
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.histograms import Bins, ColumnHistograms, WhitenedHistogram
from tailguard.queries.loop import LatticeSum
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.value_histograms import ValueHistograms
from tailguard.queries.view import View, Weighting
from tailguard.summaries.distributions.octaves import OCTAVES as ALL_OCTAVES

N_ROWS, N_FEATURES, GRID = 20_000, 20, 2.0**-40
QUICK_N_ROWS = 2_000
LOSSES = {name: tg.losses.make_loss(name) for name in tg.losses.registry.LOSSES}
SQUARED, MULTINOMIAL = LOSSES["squared"], tg.losses.Multinomial(3)
OCTAVES = Bins("octaves", -16.0, 4.0, 128)
COLUMNS = tuple(range(N_FEATURES + 1))


def column_queries():
    """Name, query and state of what reads columns by themselves."""
    n_columns = len(COLUMNS)
    units = np.zeros(n_columns), np.ones(n_columns)
    for paired, name in ((False, ""), (True, " of pairs")):
        yield f"column histograms{name}, octaves", ColumnHistograms(COLUMNS, OCTAVES, paired), units
    for bins in (Bins("signed", -8.0, 8.0, 128), Bins("linear", -4.0, 16.0, 128)):
        yield f"column histograms, {bins.transform}", ColumnHistograms(COLUMNS, bins), units
    raw, edges = Units.raw(N_FEATURES, intercept=False), tuple(np.geomspace(1e-3, 1e3, 50).tolist())
    for of in ("norm", "entries", "differences"):
        yield f"magnitudes, {of}", CountMagnitudes(raw, edges, of), None
    for edges in (np.linspace(-2.0, 2.0, 15), np.linspace(-3.0, 3.0, 200), ALL_OCTAVES):
        query = ValueHistograms(COLUMNS[:-1], edges.size)
        yield f"value histograms, {edges.size} edges", query, np.tile(edges, (N_FEATURES, 1))
    yield "shells", ClippedShells(raw, (1.0, 2.0, 4.0, 8.0)), None


def gradient_queries():
    """The same, of what reads gradients."""
    raw, weights = Units.raw(N_FEATURES, intercept=False), np.full(N_FEATURES, 0.1)
    for name, loss in LOSSES.items():
        yield f"clipped gradients, {name}", MeanClippedGradient(loss, raw, clip_norm=1.0), weights
    yield "gradient norms", CountNormsBelow(SQUARED, weights), [1.0]
    yield "bounded entries, clamped", ClampedMean(SQUARED, raw, 1.0, 7), weights
    yield "bounded entries, truncated", TruncatedMean(SQUARED, raw, 1.0, 7), weights
    for scale in (1.0, 1e3):
        yield f"bounded entries, soft, scale {scale:g}", SoftMean(SQUARED, raw, scale), weights
    weights = np.linspace(-0.2, 0.2, 3 * N_FEATURES)
    query = MeanRecordGradient(MULTINOMIAL, clip_norm=1.0)
    yield "gradients of records, multinomial", query, weights
    yield "norms of these, multinomial", CountNormsBelow(MULTINOMIAL, weights), [1.0]
    yield "gathered gradients", TrimmedMean(SQUARED, raw, -1.0, 1.0), weights[:N_FEATURES]


def whitened_queries():
    """The same, of what reads records through a map."""
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((N_FEATURES + 1,) * 2))[0]
    units, weights = Units.raw(N_FEATURES, intercept=True), np.full(N_FEATURES + 1, 0.1)
    view = View(SQUARED, units, rotation)
    for name in ("squared", "logistic", "poisson", "quantile"):
        of_loss = View(LOSSES[name], units, rotation)
        yield f"levels, {name}", LevelGradients(of_loss, 5.0, (0.5, 1.5), (1.0, 0.4)), weights
        yield f"contributions, {name}", ContributionLevels(of_loss, (0.5, 1.5)), weights
    for kind in ("one", "curvature"):
        weighting = Weighting(kind=kind, slope_limit=2.0, half_step=0.5)
        yield f"second moments, weight {kind}", SecondMoments(view, 5.0, 5.0, weighting), weights
    for name in ("squared", "huber", "logistic", "poisson"):
        query = LossDifferences(LOSSES[name], (view, view), limit=1.0)
        yield f"loss differences, {name}", query, np.stack([weights, weights / 2.0])
    for what in ("length", "residual", "slope"):
        yield f"histogram of {what}s", WhitenedHistogram(view, what, OCTAVES), weights


def loops(n_rows):
    """Name and loop of every query, for so many records."""
    for name, query, state in (*column_queries(), *gradient_queries(), *whitened_queries()):
        placed = isinstance(query, ClampedMean | TruncatedMean | SoftMean | TrimmedMean)
        known = (state, n_rows) if placed else query.read_state(state)
        yield name, LatticeSum(query, known, GRID / n_rows if placed else GRID, 0)


def cases(*, quick):
    """Names, functions of features and target, features and targets."""
    n_rows = QUICK_N_ROWS if quick else N_ROWS
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_rows, N_FEATURES)), rng.standard_normal(n_rows)
    labels, counts = (y > 0).astype(float), rng.poisson(1.0, n_rows).astype(float)
    targets = {"poisson": counts, "multinomial": labels}
    targets |= dict.fromkeys(("logistic", "balanced_logistic"), labels)
    for name, kernel in loops(n_rows):
        query = kernel.query
        loss = getattr(getattr(query, "view", query), "loss", None)
        yield name, of_records(kernel, loss), X, targets.get(name.rpartition(" ")[2], y)


def of_records(kernel, loss):
    """A pass of a kernel; targets that its loss does not understand are void, as in a fit."""

    def run(X, y):
        valid = np.isfinite(y) if loss is None else loss.valid_target(y)
        kernel.sum_block(RecordBlock(X, np.where(valid, y, np.nan)))

    return run
