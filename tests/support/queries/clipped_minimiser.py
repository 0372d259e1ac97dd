"""Losses whose clip binds and does not; sets that are flat, round and cut; a capped one; steps."""

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example, skewed_units
from tailguard.queries.clipped_minimiser import ClippedMinimiser
from tailguard.queries.units import Units


def examples():
    raw, squared = Units.raw(N_FEATURES, intercept=False), tg.losses.Squared()
    state, axis = np.array([0.3, -0.2, 0.1]), ((1e6, 0, 0, 1e9), (1e6, 0, 0, -1e9))
    ball = ClippedMinimiser(tg.losses.LpLoss(4), raw, 0.5, 1.5, 2.0, constraint=tg.sets.L1Ball(1.0))
    yield Example("clipped-minimiser/l1", ball, np.zeros(3), *axis, ball.loss)
    part = tg.sets.IntersectionWithBall(tg.sets.Box(-1, 1), (0.2, 0.0, 0.0), 0.5)
    cut = ClippedMinimiser(squared, raw, 5.0, 0.5, 1.0, constraint=part)
    yield Example("clipped-minimiser/cut", cut, np.zeros(3), *axis, squared)
    labels = ClippedMinimiser(tg.losses.Logistic(), raw, 0.1, 0.25, 1.0)
    yield Example(
        "clipped-minimiser/labels", labels, state, (-9, 0, 0, 0), (-9, 0, 0, 1), labels.loss
    )
    capped = ClippedMinimiser(squared, raw, 0.5, 1.5, 2.0, most_steps=3)
    yield Example("clipped-minimiser/capped", capped, state, *axis, squared)
    balls = ((0.3, -0.2, 0.1), 0.02), ((0.3, -0.2, 0.1), 0.01)
    known = {"constraint": tg.sets.L2Ball(1.0), "n_steps": 5, "balls": balls}
    steps = ClippedMinimiser(squared, raw, 0.5, 1.5, 2.0, **known)
    yield Example("clipped-minimiser/steps", steps, state, *axis, squared)
    in_ball = ClippedMinimiser(
        squared, raw, 5.0, 0.5, 1.0, constraint=tg.sets.L2Ball(1.0), balls=(((0.2, 0.0, 0.0), 0.5),)
    )
    yield Example("clipped-minimiser/ball", in_ball, np.zeros(3), *axis, squared)
    size = ClippedMinimiser(tg.losses.Huber(1.0), skewed_units(True), 50.0, 1.0, 2.0)
    units = (0.5, -1.0, 0.0, 1e9), (0.5, -1.0, 0.0, -1e9)
    yield Example("clipped-minimiser/units", size, np.zeros(4), *units, size.loss)
