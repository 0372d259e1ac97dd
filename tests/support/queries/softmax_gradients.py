"""Two classes, a skewed map that keeps a plane, and scores that overflow."""

from dataclasses import replace

import numpy as np

import tailguard as tg
from support.query_example import N_FEATURES, Example
from tailguard.queries.softmax_gradients import SoftmaxGradients
from tailguard.queries.units import Units
from tailguard.queries.view import View


def examples():
    two = tg.losses.Multinomial(2)
    steep = np.array([[0.0, 1e3, 0.0], [0.0, -1e3, 0.0]])
    pair = (1e4, 1.0, 0.0, 1.0), (-1e4, 1.0, 0.0, 1.0)
    plane = np.eye(N_FEATURES)[:, :2]
    raw = Units.raw(N_FEATURES, intercept=False)
    one_class = replace(raw, target_center=-(2.0**60), target_scale=2.0**60)  # all round to one
    for name, units, whitening, limit in (
        ("two", raw, np.eye(N_FEATURES), 3.0),
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
