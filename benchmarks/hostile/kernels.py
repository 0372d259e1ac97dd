"""Every kernel, as a function of features and a target."""

import numpy as np

import tailguard as tg
from tailguard.data.rows.base import RecordBlock
from tailguard.means.clipped import ShellSum
from tailguard.queries.kernels.bins import Bins
from tailguard.queries.kernels.clipped_gradient import ClippedGradientSum
from tailguard.queries.kernels.column_histograms import ColumnHistogramCount
from tailguard.queries.kernels.coordinates import BoundedCoordinateSum, CoordinateBound
from tailguard.queries.kernels.counts import BelowCount
from tailguard.queries.kernels.gather import GatheredGradients, GatheredRecords
from tailguard.queries.kernels.loss_differences import LossDifferenceSum
from tailguard.queries.kernels.norms import MagnitudeCount
from tailguard.queries.kernels.record_gradient import GradientNormCount, RecordGradientSum
from tailguard.queries.kernels.whitened import WhitenedRows
from tailguard.queries.kernels.whitened_sums import (
    LevelGradientSum,
    SecondMomentSum,
    Weighting,
    WhitenedHistogramCount,
)

N_ROWS, N_FEATURES, GRID = 20_000, 20, 2.0**-40
QUICK_N_ROWS = 2_000
ZEROS, ONES = np.zeros(N_FEATURES), np.ones(N_FEATURES)
LINE = {"center": ZEROS, "inverse_scale": ONES}
SCORE = {**LINE, "weights": np.full(N_FEATURES, 0.1), "intercept": False}
LOSSES = {name: tg.losses.make_loss(name) for name in tg.losses.registry.LOSSES}
SQUARED, MULTINOMIAL = LOSSES["squared"], tg.losses.Multinomial(3)
EDGES = np.geomspace(1e-3, 1e3, 50)
OCTAVES = Bins("octaves", -16.0, 4.0, 128)
COLUMNS = tuple(range(N_FEATURES + 1))


def column_kernels():
    n_columns = len(COLUMNS)
    for paired, name in ((False, ""), (True, " of pairs")):
        counted = {"columns": COLUMNS, "paired": paired, "multiplier": 1}
        yield f"counts below{name}", BelowCount(thresholds=np.full(n_columns, 0.5), **counted)
        units = {"center": np.zeros(n_columns), "inverse_scale": np.ones(n_columns)}
        yield (
            f"column histograms{name}, octaves",
            ColumnHistogramCount(bins=OCTAVES, **units, **counted),
        )
    for bins in (Bins("signed", -8.0, 8.0, 128), Bins("linear", -4.0, 16.0, 128)):
        kernel = ColumnHistogramCount(bins=bins, **units, **counted | {"paired": False})
        yield f"column histograms, {bins.transform}", kernel
    for of in ("norm", "entries", "differences"):
        yield f"magnitudes, {of}", MagnitudeCount(**LINE, edges=EDGES, of=of, multiplier=1)
    radii = np.array([1.0, 2.0, 4.0, 8.0])
    yield "shells", ShellSum(**LINE, radii=radii, limits=np.ones(4), grid=GRID)


def gradient_kernels(n_rows):
    for name, loss in LOSSES.items():
        yield (
            f"clipped gradients, {name}",
            ClippedGradientSum(loss=loss, **SCORE, clip_norm=1.0, grid=GRID),
        )
    yield (
        "gradient norms",
        GradientNormCount(loss=SQUARED, weights=SCORE["weights"], threshold=1.0, multiplier=1),
    )
    for kind, scale in (("clamped", 1.0), ("truncated", 1.0), ("soft", 1.0), ("soft", 1e3)):
        yield f"bounded entries, {kind}, scale {scale:g}", BoundedCoordinateSum(
            loss=SQUARED, **SCORE, bound=CoordinateBound(kind, scale), n_rows=n_rows, n_groups=7,
            grid=GRID,
        )  # fmt: skip
    weights = np.linspace(-0.2, 0.2, 3 * N_FEATURES)
    yield "gradients of records, multinomial", RecordGradientSum(
        gradient=MULTINOMIAL.record_gradient, weights=weights, n_coordinates=weights.size,
        clip_norm=1.0, grid=GRID,
    )  # fmt: skip
    yield (
        "norms of these",
        GradientNormCount(loss=MULTINOMIAL, weights=weights, threshold=1.0, multiplier=1),
    )
    yield "gathered gradients", GatheredGradients(loss=SQUARED, **SCORE, n_rows=n_rows)
    yield "gathered records", GatheredRecords(n_rows=n_rows, n_columns=len(COLUMNS))


def whitened_kernels():
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((N_FEATURES + 1,) * 2))[0]

    def rows(loss):
        weights = np.full(N_FEATURES + 1, 0.1)
        return WhitenedRows(loss=loss, **LINE, intercept=True, whitening=rotation, weights=weights)

    for name in ("squared", "logistic", "poisson", "quantile"):
        yield (
            f"ladder of scores, {name}",
            LevelGradientSum(
                rows=rows(LOSSES[name]),
                row_limit=5.0,
                levels=(0.5, 1.5),
                shares=(1.0, 0.4),
                grid=GRID,
            ),
        )
    for kind in ("one", "curvature", "squared-slope"):
        yield f"second moments, weight {kind}", SecondMomentSum(
            rows=rows(SQUARED), weighting=Weighting(kind=kind, slope_limit=2.0, half_step=0.5),
            row_limit=5.0, row_cap=5.0, grid=GRID,
        )  # fmt: skip
    for name in ("squared", "huber", "logistic", "poisson"):
        candidates = tuple(
            WhitenedRows(
                loss=None, **LINE, intercept=True, whitening=np.zeros((N_FEATURES + 1, 0)),
                weights=np.full(N_FEATURES + 1, slope),
            )
            for slope in (0.1, 0.05)
        )  # fmt: skip
        yield (
            f"loss differences, {name}",
            LossDifferenceSum(loss=LOSSES[name], candidates=candidates, limit=1.0, grid=GRID),
        )
    for what in ("length", "residual", "slope"):
        yield (
            f"histogram of {what}s",
            WhitenedHistogramCount(
                rows=rows(SQUARED), what=what, bins=OCTAVES, weighting=Weighting(), grid=1.0
            ),
        )


def cases(*, quick):
    """Names, functions of features and target, features and targets."""
    n_rows = QUICK_N_ROWS if quick else N_ROWS
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_rows, N_FEATURES)), rng.standard_normal(n_rows)
    labels, counts = (y > 0).astype(float), rng.poisson(1.0, n_rows).astype(float)
    targets = {"poisson": counts, "multinomial": labels}
    targets |= dict.fromkeys(("logistic", "balanced_logistic"), labels)
    kernels = [*column_kernels(), *gradient_kernels(n_rows), *whitened_kernels()]
    for name, kernel in kernels:
        loss = getattr(getattr(kernel, "rows", kernel), "loss", None)
        loss = MULTINOMIAL if isinstance(kernel, RecordGradientSum) else loss
        yield name, of_records(kernel, loss), X, targets.get(name.rpartition(" ")[2], y)


def of_records(kernel, loss):
    """A pass of a kernel; targets that its loss does not understand are void, as in a fit."""

    def run(X, y):
        valid = np.isfinite(y) if loss is None else loss.valid_target(y)
        kernel.sum_block(RecordBlock(X, np.where(valid, y, np.nan)))

    return run
