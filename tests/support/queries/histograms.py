"""Histograms and counts of sizes, second moments, and what losses differ by."""

from dataclasses import replace

import numpy as np

import tailguard as tg
from support.query_example import (
    N_FEATURES,
    RAW,
    SKEWED,
    SQUARED,
    WEIGHTS,
    ZERO,
    Example,
    skewed_units,
)
from tailguard.audit.worst_pairs import VARIANTS
from tailguard.queries.class_view import ClassView
from tailguard.queries.histograms import Bins, ColumnHistograms, WhitenedHistogram
from tailguard.queries.loss_differences import LossDifferences
from tailguard.queries.magnitudes import CountMagnitudes
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.view import View, Weighting
from tailguard.solvers.class_shares import backward_counts


def column_histograms():
    """Values in coarse and fine bins, and differences of pairs."""
    columns = (0, 1, 2, 3)
    low, high = (-9.0,) * 4, (9.0,) * 4
    state = (np.array([0.5, -1.0, 0.0, 0.0]), np.array([1.0, 2.0, 1e-3, 1e300]))
    linear = ColumnHistograms(columns, Bins("linear", -1e-3, 500.0, 2))
    yield Example("column-histograms/linear", linear, state, low, high)
    octaves = Bins("octaves", -20.0, 1.0, 40)
    yield Example(
        "column-histograms/pairs", ColumnHistograms(columns, octaves, paired=True), state,
        (0.0,) * 4, (1e6,) * 4,
    )  # fmt: skip


def whitened_histogram():
    """Lengths, residuals, lengths of contributions, and weights by curvature."""
    plain = View.plain(SQUARED, RAW)
    lengths = Bins("octaves", -10.0, 2.0, 40)
    signed = Bins("signed", -40.0, 4.0, 320)
    curved = Weighting(kind="curvature", slope_limit=3.0, half_step=0.5, bound=1.0)
    for name, view, what, bins, weighting in (
        ("residuals", plain, "residual", signed, Weighting()),
        ("curvature", plain, "length", lengths, curved),
        ("contributions", plain.contributions(), "length", lengths, Weighting()),
    ):
        query = WhitenedHistogram(view, what, bins, weighting)
        steep = (0.1, 0.0, 0.0, 2.0), (5.0, 0.0, 0.0, 9.0)
        flat = (0.1, 0.0, 0.0, 0.0), (5.0, 0.0, 0.0, 1.5)
        records = flat if name == "curvature" else steep
        yield Example(f"whitened-histogram/{name}", query, WEIGHTS, *records, SQUARED)
    tweedie = tg.losses.Tweedie()
    expected = Weighting(kind="expected-curvature", bound=0.5)
    query = WhitenedHistogram(View.plain(tweedie, RAW), "length", lengths, expected)
    yield Example("whitened-histogram/expected", query, WEIGHTS, *steep, tweedie)
    query = backward_counts(View.plain(None, RAW), 3)
    pair = (0.1, 0.0, 0.0, 0.0), (5.0, 0.0, 0.0, 2.0)
    yield Example("whitened-histogram/class-counts", query, None, *pair, None)
    classes = ClassView(None, RAW, np.eye(3 * N_FEATURES), n_classes=3)
    for name, view in (("class-contributions", classes), ("class-curvature", classes.curved())):
        query = WhitenedHistogram(view, "length", lengths)
        pair = (0.1, 0.0, 0.0, 2.0), (5.0, 0.0, 0.0, 1.0)
        yield Example(f"whitened-histogram/{name}", query, np.zeros(9), *pair, None)


def count_magnitudes():
    """Histograms of norms, entries and differences; the worst pair spans all of them."""
    low, high = (0.0,) * 4, (1e6, 1e6, 1e6, 0.0)
    for of in ("entries", "differences"):
        edges = (0.5, 1.0, 8.0) if of != "differences" else tuple(np.geomspace(0.01, 100.0, 11))
        query = CountMagnitudes(RAW, edges, of)
        yield Example(f"count-magnitudes/{of}", query, ZERO, low, high)
    yield Example(
        "count-magnitudes/units", CountMagnitudes(skewed_units(False), (1.0, 9.0)), ZERO, low, high
    )


def second_moments():
    """Rows, rows weighted by curvature, with the target in them; contributions."""
    pair = ZERO
    logistic = tg.losses.Logistic()
    plain = View.plain(SQUARED, RAW)
    joint = View(SQUARED, RAW, np.vstack([SKEWED, [0.0, 1.0, 0.0]]), target_in_row=True)
    orthogonal = (1e5, 0.0, 0.0, 1e4), (0.0, 1e5, 0.0, 1e4)
    for name, view, weighting, at in (
        ("contributions", plain.contributions(), Weighting(), pair),
        ("tiny", plain, Weighting(), pair),
    ):
        limit = 1e-60 if name == "tiny" else 1.5
        query = SecondMoments(view, limit, 2.0 * limit, weighting)
        yield Example(f"second-moments/{name}", query, at, *orthogonal, SQUARED)
    bent = SecondMoments(View.plain(logistic, RAW), 2.0, 3.0, Weighting(
        kind="curvature", slope_limit=1.0, half_step=0.25, bound=0.25))  # fmt: skip
    yield Example("second-moments/logistic", bent, pair, (1e5, 0, 0, 1.0), (0, 1e5, 0, 0), logistic)
    tweedie = tg.losses.Tweedie()
    expected = SecondMoments(
        View.plain(tweedie, RAW), 2.0, 3.0, Weighting(kind="expected-curvature", bound=0.8)
    )
    yield Example(
        "second-moments/expected", expected, pair, (1e5, 0, 0, 1e9), (0, 1e5, 0, 0.0), tweedie
    )
    curved = SecondMoments(View.plain(logistic, RAW).curved(), 2.0, 2.0)
    yield Example(
        "second-moments/root-curvature", curved, pair, (1e5, 0, 0, 1.0), (0, 1e5, 0, 0), logistic
    )
    with_target = SecondMoments(joint, 2.0, 2.0)
    yield Example(
        "second-moments/target", with_target, np.zeros(4), (1e5, -2.5e4, 0, 0.0), (0, 0, 0, 1e9),
        SQUARED,
    )  # fmt: skip
    one_class = np.eye(3 * N_FEATURES)[:, :N_FEATURES]  # whose contrast alone makes one direction
    whole = ClassView(None, RAW, np.eye(3 * N_FEATURES), n_classes=3)
    zero, steep = np.zeros(9), np.array([0.0, 1e3, *np.zeros(7)])
    for name, view, at in (
        ("class-contributions", whole, steep),
        ("class-curvature", ClassView(None, RAW, one_class, n_classes=3).curved(), zero),
        ("class-contributions-overflow", whole.through(1e90 * whole.whitening), steep),
    ):
        query = SecondMoments(view, 1.5, 3.0)
        yield Example(f"second-moments/{name}", query, at, (1e5, 0, 0, 1.0), (0, 0, 1e5, 1.0), None)


def loss_differences():
    """Slopes, and slopes held within a bound."""
    plain = View.plain(SQUARED, RAW)
    slopes = np.outer([1.0, 1.0], [1.0, 0.0, 0.0])
    held = LossDifferences(SQUARED, (plain, replace(plain, bound=2.0)), 0.5)
    within, beyond = (9.0, 0, 0, 2.0), (9.0, 0, 0, 9.0)
    yield Example("loss-differences/bounds", held, slopes, within, beyond, SQUARED)
    scores = LossDifferences(SQUARED, (plain, plain), 0.5, score_bounds=(0.0, 1.0))
    yield Example("loss-differences/scores", scores, slopes, within, beyond, SQUARED)
    gains = replace(held, limit=2.0, gain=0.25)
    yield Example("loss-differences/gains", gains, slopes, within, beyond, SQUARED)


def deviance_moments():
    """Deviances of several classes, each with a score and a constant of its own."""
    yield VARIANTS["deviance-moments, of classes"]


def deviance_sizes():
    """Deviances of several classes, each with a score and a constant of its own."""
    yield VARIANTS["deviance-sizes, of classes"]
