"""Examples of the queries that read records through a view: histograms, moments, scores."""

from dataclasses import replace

import numpy as np

import tailguard as tg
from support.example import N_FEATURES, Example, skewed_units
from tailguard.kernels.bins import Bins
from tailguard.kernels.whitened_sums import Weighting
from tailguard.queries.clipped_scores import ClippedScores
from tailguard.queries.column_histograms import ColumnHistograms
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View
from tailguard.queries.whitened_histogram import WhitenedHistogram


def whitened_examples():
    """Histograms, second moments and clipped scores, seen through a skewed map."""
    weights, pair = np.array([0.3, -0.2, 0.1]), np.zeros(N_FEATURES)
    squared, poisson = tg.losses.Squared(), tg.losses.Poisson()
    logistic, quantile = tg.losses.Logistic(), tg.losses.Quantile(0.7)
    raw = Units.raw(N_FEATURES, intercept=False)
    skewed = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.3, 0.0, 1e-3]])
    columns = (0, 1, 2, 3)
    low, high = (-9.0,) * 4, (9.0,) * 4
    state = (np.array([0.5, -1.0, 0.0, 0.0]), np.array([1.0, 2.0, 1e-3, 1e300]))
    for bins in (Bins("signed", -4.0, 1.0, 8), Bins("linear", -1e-3, 500.0, 2)):
        query = ColumnHistograms(columns, bins)
        yield Example(f"column-histograms/{bins.transform}", query, state, low, high)
    octaves = Bins("octaves", -20.0, 1.0, 40)
    yield Example(
        "column-histograms/pairs", ColumnHistograms(columns, octaves, paired=True), state,
        (0.0,) * 4, (1e6,) * 4,
    )  # fmt: skip
    plain, whitened = View.plain(squared, raw), View(squared, raw, skewed)
    constant = View.plain(poisson, skewed_units(True))
    joint = View(squared, raw, np.vstack([skewed, [0.0, 1.0, 0.0]]), target_in_row=True)
    lengths = Bins("octaves", -10.0, 2.0, 40)
    signed = Bins("signed", -40.0, 4.0, 320)
    curved = Weighting(kind="curvature", slope_limit=3.0, half_step=0.5, bound=1.0)
    sloped = Weighting(kind="squared-slope", slope_limit=1.0)
    for name, view, what, bins, weighting in (
        ("lengths", whitened, "length", lengths, Weighting()),
        ("residuals", plain, "residual", signed, Weighting()),
        ("curvature", plain, "length", lengths, curved),
        ("slopes", plain, "length", lengths, sloped),
    ):
        query = WhitenedHistogram(view, what, bins, weighting)
        steep = (0.1, 0.0, 0.0, 2.0), (5.0, 0.0, 0.0, 9.0)
        flat = (0.1, 0.0, 0.0, 0.0), (5.0, 0.0, 0.0, 1.5)
        records = flat if name == "curvature" else steep
        yield Example(f"whitened-histogram/{name}", query, weights, *records, squared)
    orthogonal = (1e5, 0.0, 0.0, 1e4), (0.0, 1e5, 0.0, 1e4)
    for name, view, weighting, at in (
        ("plain", plain, Weighting(), pair),
        ("slopes", plain, sloped, pair),
        ("tiny", plain, Weighting(), pair),
    ):
        limit = 1e-60 if name == "tiny" else 1.5
        query = SecondMoments(view, limit, 2.0 * limit, weighting)
        yield Example(f"second-moments/{name}", query, at, *orthogonal, squared)
    bent = SecondMoments(View.plain(logistic, raw), 2.0, 3.0, Weighting(
        kind="curvature", slope_limit=1.0, half_step=0.25, bound=0.25))  # fmt: skip
    yield Example("second-moments/logistic", bent, pair, (1e5, 0, 0, 1.0), (0, 1e5, 0, 0), logistic)
    with_target = SecondMoments(joint, 2.0, 2.0)
    yield Example(
        "second-moments/target", with_target, np.zeros(4), (1e5, -2.5e4, 0, 0.0), (0, 0, 0, 1e9),
        squared,
    )  # fmt: skip
    opposite = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for name, view, limit, levels, shares, loss in (
        ("one", plain, 2.0, (1.5,), (1.0,), squared),
        ("three", plain, 2.0, (1.0, 4.0, 64.0), (1.0, 0.3, 0.1), squared),
        ("whitened", whitened, 3.0, (0.5, 1.0), (1.0, 1.0), squared),
        ("tiny", plain, 1e-150, (1.0,), (1.0,), squared),
        ("quantile", View(quantile, raw, skewed), 3.0, (0.3,), (1.0,), quantile),
    ):
        query = ClippedScores(view, limit, levels, shares)
        yield Example(f"clipped-scores/{name}", query, pair, *opposite, loss)
    slopes = np.outer([0.0, 1.0, 9.0], [1.0, 0.0, 0.0])
    higher, lower = (9.0, 0, 0, 1e3), (9.0, 0, 0, -1e3)
    differences = LossDifferences(squared, 3 * (plain,), 2.0)
    yield Example("loss-differences/slopes", differences, slopes, higher, lower, squared)
    held = LossDifferences(squared, (plain, replace(plain, bound=2.0)), 0.5)
    within, beyond = (9.0, 0, 0, 2.0), (9.0, 0, 0, 9.0)
    yield Example("loss-differences/bounds", held, slopes[[1, 1]], within, beyond, squared)
    yield Example(
        "clipped-scores/exposure",
        ClippedScores(constant, 3.0, (4.0, 9.0), (1.0, 1.0)), np.zeros(4),
        (1e9, 0, 0, 1e9, 1.0), (-1e9, 0, 0, 1e9, 1.0), poisson, exposed=True,
    )  # fmt: skip
