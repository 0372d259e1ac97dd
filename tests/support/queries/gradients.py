"""Gradients, steps along them, minimisers, and the levels at which gradients are clipped."""

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
from tailguard.audit.worst_pairs import gradient_of_one_record
from tailguard.queries.class_view import ClassView
from tailguard.queries.clip_levels import ContributionLevels, LevelGradients
from tailguard.queries.clipped_gradient import MeanClippedGradient
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.norm_counts import CountNormsBelow
from tailguard.queries.peeling import PeeledStep
from tailguard.queries.record_gradient import MeanRecordGradient
from tailguard.queries.softmax_gradients import SoftmaxGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View


def mean_clipped_gradient():
    """Clipped gradients: limits, units, an intercept, an exposure, labels and counts."""
    huber, poisson, logistic = tg.losses.Huber(1.0), tg.losses.Poisson(), tg.losses.Logistic()
    opposite, far = ((9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)), ((50.0, 0, 0, 1e9), (50.0, 0, 0, -1e9))
    labels, counts = ((1e3, 0, 0, 1.0), (1e3, 0, 0, 0.0)), ((5.0, 0, 0, 1e9), (-5.0, 0, 0, 1e9))
    constant, skewed = np.array([0.1, 0.1, 0.1, 0.5]), skewed_units(True)
    for name, loss, units, limits, state, pair in (
        ("squared-limits", SQUARED, RAW, (2.0, 0.75), ZERO, opposite),
        ("huber", huber, RAW, (3.0, 1.0), WEIGHTS, opposite),
        ("units", SQUARED, skewed, (2.5, 1.0), constant, far),
        ("logistic", logistic, RAW, (4.0, 0.5), ZERO, labels),
        ("poisson", poisson, RAW, (2.0, 4.0), ZERO, counts),
        ("rows", None, RAW, (3.0, 1.0), ZERO, ((1e5, 0, 0, 0.0), (-1e5, 0, 0, 0.0))),
    ):
        query = MeanClippedGradient(loss, units, *limits)
        yield Example(f"mean-clipped-gradient/{name}", query, state, *pair, loss)
    tiny = MeanClippedGradient(SQUARED, RAW, clip_norm=1e-150)
    yield Example("mean-clipped-gradient/tiny", tiny, WEIGHTS, *opposite, SQUARED)
    centred = Units(ZERO, np.ones(3), intercept=True, target_scale=2.0, offset_center=0.5)
    query, pair = (
        MeanClippedGradient(poisson, centred, 2.0, 4.0),
        ((5.0, 0, 0, 1e9, 1.0), (5.0, 0, 0, 0.0, 1e9)),
    )
    yield Example(
        "mean-clipped-gradient/exposure", query, np.zeros(4), *pair, poisson, exposed=True
    )


def mean_record_gradient():
    """A user's own gradient, and several classes."""
    multinomial, pair = tg.losses.Multinomial(3), ((1e5, 0, 0, 0.0), (-1e5, 0, 0, 0.0))
    query = MeanRecordGradient(multinomial, clip_norm=2.0)
    yield Example("mean-record-gradient/multinomial", query, np.zeros(9), *pair, multinomial)


def softmax_gradients():
    """Two classes, a skewed map that keeps a plane, and scores that overflow."""
    two = tg.losses.Multinomial(2)
    steep = np.array([[0.0, 1e3, 0.0], [0.0, -1e3, 0.0]])
    pair = (1e4, 1.0, 0.0, 1.0), (-1e4, 1.0, 0.0, 1.0)
    plane = np.eye(N_FEATURES)[:, :2]
    one_class = replace(RAW, target_center=-(2.0**60), target_scale=2.0**60)  # all round to one
    for name, units, whitening, limit in (
        ("two", RAW, np.eye(N_FEATURES), 3.0),
        ("plane", one_class, plane, 1e-150),
    ):
        query = SoftmaxGradients(View(None, units, whitening), 2, limit)
        yield Example(f"softmax-gradients/{name}", query, steep, *pair, two)
    four = np.zeros((4, N_FEATURES + 1))
    four[0, 1], four[2, 1] = 1e90, -1e90
    far = (1e12, 10.0, 0.0, 2.0), (-1e12, 10.0, 0.0, 2.0)
    shifted = Units(np.array([0.5, -1.0, 0.0]), np.array([1.0, 2.0, 1e-3]), True)
    query = SoftmaxGradients(View.plain(None, shifted), 4, 0.5)
    yield Example("softmax-gradients/overflow", query, four, *far, None)


def level_gradients():
    """One level and several, through a skewed map, a leaning loss and an exposure."""
    pair = ZERO
    poisson = tg.losses.Poisson()
    quantile = tg.losses.Quantile(0.7)
    plain, whitened = View.plain(SQUARED, RAW), View(SQUARED, RAW, SKEWED)
    constant = View.plain(poisson, skewed_units(True))
    opposite = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for name, view, limit, levels, shares, loss in (
        ("three", plain, 2.0, (1.0, 4.0, 64.0), (1.0, 0.3, 0.1), SQUARED),
        ("whitened", whitened, 3.0, (0.5, 1.0), (1.0, 1.0), SQUARED),
        ("rotated", plain.through(SKEWED), 3.0, (0.5, 1.0), (1.0, 1.0), SQUARED),
        ("tiny", plain, 1e-150, (1.0,), (1.0,), SQUARED),
        ("quantile", View(quantile, RAW, SKEWED), 3.0, (0.3,), (1.0,), quantile),
    ):
        query = LevelGradients(view, limit, levels, shares)
        yield Example(f"level-gradients/{name}", query, pair, *opposite, loss)
    yield Example(
        "level-gradients/exposure",
        LevelGradients(constant, 3.0, (4.0, 9.0), (1.0, 1.0)), np.zeros(4),
        (1e9, 0, 0, 1e9, 1.0), (-1e9, 0, 0, 1e9, 1.0), poisson, exposed=True,
    )  # fmt: skip


def contribution_levels():
    """One level and several, through a skewed map, a bounded slope, an exposure, and of classes."""
    logistic, poisson = tg.losses.Logistic(), tg.losses.Poisson()
    opposite = (9.0, 0, 0, 1e6), (9.0, 0, 0, -1e6)
    for name, view, levels in (
        ("one", View.plain(SQUARED, RAW), (1.5,)),
        ("three", View(SQUARED, RAW, SKEWED), (1.0, 4.0, 64.0)),
        ("tiny", View.plain(SQUARED, RAW), (1e-150,)),
        ("huge", View(SQUARED, RAW, 1e90 * SKEWED), (1e3, 1e90)),
    ):
        query = ContributionLevels(view, levels)
        yield Example(f"contribution-levels/{name}", query, ZERO, *opposite, SQUARED)
    yield Example(
        "contribution-levels/logistic", ContributionLevels(View(logistic, RAW, SKEWED), (0.2, 0.7)),
        ZERO, (9.0, 0, 0, 1.0), (9.0, 0, 0, 0.0), logistic,
    )  # fmt: skip
    yield Example(
        "contribution-levels/exposure",
        ContributionLevels(View.plain(poisson, skewed_units(True)), (4.0, 9.0)), np.zeros(4),
        (1e9, 0, 0, 1e9, 1.0), (-1e9, 0, 0, 1e9, 1.0), poisson, exposed=True,
    )  # fmt: skip
    classes = ClassView(None, RAW, np.vstack([SKEWED, np.eye(3), 1e3 * SKEWED]), n_classes=3)
    yield Example(
        "contribution-levels/classes", ContributionLevels(classes, (0.5, 4.0)), np.zeros(9),
        (9e3, 0, 0, 1.0), (-9e3, 0, 0, 1.0), None,
    )  # fmt: skip


def count_norms_below():
    """Gradient norms of scores and of a user's own gradient, with and without an exposure."""
    own, poisson = tg.losses.RecordGradient(gradient_of_one_record), tg.losses.Poisson()
    radius = np.array([2.0])
    query = CountNormsBelow(own, WEIGHTS)
    yield Example("count-norms-below/record", query, radius, (0.0,) * 4, (1e6,) * 4, own)
    query, pair = CountNormsBelow(poisson, WEIGHTS), ((0.0, 0, 0, 0.0, 1.0), (1e6, 0, 0, 1e6, 1.0))
    yield Example("count-norms-below/exposure", query, radius, *pair, poisson, exposed=True)


def peeled_step():
    """Few and all entries kept, an intercept, units, and a state far away."""
    logistic = tg.losses.Logistic()
    exact = ((2.0, 2.0, 2.0, 1.0), (2.0, 2.0, 2.0, -1.0))
    step = PeeledStep(SQUARED, RAW, threshold=2.0, step_size=0.5, n_nonzero=1)
    yield Example("peeled-step/keeps-1", step, ZERO, *exact, SQUARED)
    far = PeeledStep(SQUARED, RAW, threshold=1e200, step_size=1e-200, n_nonzero=2)
    yield Example("peeled-step/huge", far, ZERO, (1e100,) * 4, (1e100, 0, 0, -1e100), SQUARED)
    # Features are cut to a half, so targets of 4 bring entries to the threshold.
    cut = PeeledStep(SQUARED, RAW, threshold=2.0, step_size=0.5, n_nonzero=1, feature_limit=0.5)
    yield Example("peeled-step/cut", cut, ZERO, (9.0, 9, 9, 4.0), (9.0, 9, 9, -4.0), SQUARED)
    step = PeeledStep(SQUARED, skewed_units(True), threshold=3.0, step_size=0.25, n_nonzero=2)
    # In these units the slope is -3 and 3, and so is the last entry.
    intercept = (0.5, -1.0, 0.0, 6.25), (0.5, -1.0, 0.0, -5.75)
    yield Example("peeled-step/intercept", step, np.zeros(4), *intercept, SQUARED)
    step = PeeledStep(logistic, RAW, threshold=8.0, step_size=2.0, n_nonzero=1)
    labels = (15.9, 0.0, 0.0, 1.0), (15.9, 0.0, 0.0, 0.0)
    yield Example("peeled-step/logistic", step, ZERO, *labels, logistic)


def clipped_minimiser():
    """Losses whose clip binds and does not; flat, round and cut sets; a capped one; steps."""
    state, axis = WEIGHTS, ((1e6, 0, 0, 1e9), (1e6, 0, 0, -1e9))
    ball = ClippedMinimiser(tg.losses.LpLoss(4), RAW, 0.5, 1.5, 2.0, constraint=tg.sets.L1Ball(1.0))
    yield Example("clipped-minimiser/l1", ball, np.zeros(3), *axis, ball.loss)
    part = tg.sets.IntersectionWithBall(tg.sets.Box(-1, 1), (0.2, 0.0, 0.0), 0.5)
    cut = ClippedMinimiser(SQUARED, RAW, 5.0, 0.5, 1.0, constraint=part)
    yield Example("clipped-minimiser/cut", cut, np.zeros(3), *axis, SQUARED)
    labels = ClippedMinimiser(tg.losses.Logistic(), RAW, 0.1, 0.25, 1.0)
    yield Example(
        "clipped-minimiser/labels", labels, state, (-9, 0, 0, 0), (-9, 0, 0, 1), labels.loss
    )
    capped = ClippedMinimiser(SQUARED, RAW, 0.5, 1.5, 2.0, most_steps=3)
    yield Example("clipped-minimiser/capped", capped, state, *axis, SQUARED)
    balls = ((0.3, -0.2, 0.1), 0.02), ((0.3, -0.2, 0.1), 0.01)
    known = {"constraint": tg.sets.L2Ball(1.0), "n_steps": 5, "balls": balls}
    steps = ClippedMinimiser(SQUARED, RAW, 0.5, 1.5, 2.0, **known)
    yield Example("clipped-minimiser/steps", steps, state, *axis, SQUARED)
    in_ball = ClippedMinimiser(
        SQUARED, RAW, 5.0, 0.5, 1.0, constraint=tg.sets.L2Ball(1.0), balls=(((0.2, 0.0, 0.0), 0.5),)
    )
    yield Example("clipped-minimiser/ball", in_ball, np.zeros(3), *axis, SQUARED)
    size = ClippedMinimiser(tg.losses.Huber(1.0), skewed_units(True), 50.0, 1.0, 2.0)
    units = (0.5, -1.0, 0.0, 1e9), (0.5, -1.0, 0.0, -1e9)
    yield Example("clipped-minimiser/units", size, np.zeros(4), *units, size.loss)
