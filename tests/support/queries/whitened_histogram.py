"""Lengths, residuals, lengths of contributions, and weights by curvature and by slope."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example
from tailguard.queries.class_view import ClassView
from tailguard.queries.histograms import Bins, WhitenedHistogram
from tailguard.queries.units import Units
from tailguard.queries.view import View, Weighting
from tailguard.solvers.class_shares import backward_counts


def examples():
    weights, squared = np.array([0.3, -0.2, 0.1]), tg.losses.Squared()
    raw = Units.raw(N_FEATURES, intercept=False)
    plain = View.plain(squared, raw)
    lengths = Bins("octaves", -10.0, 2.0, 40)
    signed = Bins("signed", -40.0, 4.0, 320)
    curved = Weighting(kind="curvature", slope_limit=3.0, half_step=0.5, bound=1.0)
    sloped = Weighting(kind="squared-slope", slope_limit=1.0)
    for name, view, what, bins, weighting in (
        ("residuals", plain, "residual", signed, Weighting()),
        ("curvature", plain, "length", lengths, curved),
        ("slopes", plain, "length", lengths, sloped),
        ("contributions", plain.contributions(), "length", lengths, Weighting()),
    ):
        query = WhitenedHistogram(view, what, bins, weighting)
        steep = (0.1, 0.0, 0.0, 2.0), (5.0, 0.0, 0.0, 9.0)
        flat = (0.1, 0.0, 0.0, 0.0), (5.0, 0.0, 0.0, 1.5)
        records = flat if name == "curvature" else steep
        yield Example(f"whitened-histogram/{name}", query, weights, *records, squared)
    tweedie = tg.losses.Tweedie()
    expected = Weighting(kind="expected-curvature", bound=0.5)
    query = WhitenedHistogram(View.plain(tweedie, raw), "length", lengths, expected)
    yield Example("whitened-histogram/expected", query, weights, *steep, tweedie)
    query = backward_counts(View.plain(None, raw), 3)
    pair = (0.1, 0.0, 0.0, 0.0), (5.0, 0.0, 0.0, 2.0)
    yield Example("whitened-histogram/class-counts", query, None, *pair, None)
    classes = ClassView(None, raw, np.eye(3 * N_FEATURES), n_classes=3)
    for name, view in (("class-contributions", classes), ("class-curvature", classes.curved())):
        query = WhitenedHistogram(view, "length", lengths)
        pair = (0.1, 0.0, 0.0, 2.0), (5.0, 0.0, 0.0, 1.0)
        yield Example(f"whitened-histogram/{name}", query, np.zeros(9), *pair, None)
