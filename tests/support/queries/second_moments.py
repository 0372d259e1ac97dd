"""Rows, rows weighted by slope and by curvature, with the target in them; contributions."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example
from tailguard.queries.class_view import ClassView
from tailguard.queries.second_moments import SecondMoments
from tailguard.queries.units import Units
from tailguard.queries.view import View, Weighting


def examples():
    pair = np.zeros(N_FEATURES)
    squared, logistic = tg.losses.Squared(), tg.losses.Logistic()
    raw = Units.raw(N_FEATURES, intercept=False)
    skewed = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.3, 0.0, 1e-3]])
    plain = View.plain(squared, raw)
    joint = View(squared, raw, np.vstack([skewed, [0.0, 1.0, 0.0]]), target_in_row=True)
    sloped = Weighting(kind="squared-slope", slope_limit=1.0)
    orthogonal = (1e5, 0.0, 0.0, 1e4), (0.0, 1e5, 0.0, 1e4)
    far = Weighting(kind="beyond", bound=1.5)
    for name, view, weighting, at in (
        ("slopes", plain, sloped, pair),
        ("contributions", plain.contributions(), Weighting(), pair),
        ("far-contributions", plain.contributions(), far, pair),
        ("tiny", plain, Weighting(), pair),
    ):
        limit = 1e-60 if name == "tiny" else 1.5
        query = SecondMoments(view, limit, 2.0 * limit, weighting)
        yield Example(f"second-moments/{name}", query, at, *orthogonal, squared)
    bent = SecondMoments(View.plain(logistic, raw), 2.0, 3.0, Weighting(
        kind="curvature", slope_limit=1.0, half_step=0.25, bound=0.25))  # fmt: skip
    yield Example("second-moments/logistic", bent, pair, (1e5, 0, 0, 1.0), (0, 1e5, 0, 0), logistic)
    tweedie = tg.losses.Tweedie()
    expected = SecondMoments(
        View.plain(tweedie, raw), 2.0, 3.0, Weighting(kind="expected-curvature", bound=0.8)
    )
    yield Example(
        "second-moments/expected", expected, pair, (1e5, 0, 0, 1e9), (0, 1e5, 0, 0.0), tweedie
    )
    curved = SecondMoments(View.plain(logistic, raw).curved(), 2.0, 2.0)
    yield Example(
        "second-moments/root-curvature", curved, pair, (1e5, 0, 0, 1.0), (0, 1e5, 0, 0), logistic
    )
    with_target = SecondMoments(joint, 2.0, 2.0)
    yield Example(
        "second-moments/target", with_target, np.zeros(4), (1e5, -2.5e4, 0, 0.0), (0, 0, 0, 1e9),
        squared,
    )  # fmt: skip
    one_class = np.eye(3 * N_FEATURES)[:, :N_FEATURES]  # whose contrast alone makes one direction
    whole = ClassView(None, raw, np.eye(3 * N_FEATURES), n_classes=3)
    zero, steep = np.zeros(9), np.array([0.0, 1e3, *np.zeros(7)])
    for name, view, at in (
        ("class-contributions", whole, steep),
        ("class-curvature", ClassView(None, raw, one_class, n_classes=3).curved(), zero),
        ("class-contributions-overflow", whole.through(1e90 * whole.whitening), steep),
    ):
        query = SecondMoments(view, 1.5, 3.0)
        yield Example(f"second-moments/{name}", query, at, (1e5, 0, 0, 1.0), (0, 0, 1e5, 1.0), None)
