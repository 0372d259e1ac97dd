"""The mean of record gradients: divided by the public number of rows, priced by its limit."""

import numpy as np

import tailguard as tg
from support.sources import QuietSource
from support.stages import once
from tailguard.data.rows.arrays import make_rows
from tailguard.gate import Gate
from tailguard.privacy.events import Gaussian
from tailguard.queries.record_gradient import MeanRecordGradient


def test_an_answer_is_the_mean_of_what_is_clipped_by_hand():
    X, y = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 1.0], [np.nan, 1.0]]), np.ones(4)
    loss = tg.losses.RecordGradient(lambda w, x, target: (w @ x - target) * x)
    gate = Gate(make_rows(X, y), guarantee=tg.GDP(1e6), source=QuietSource())
    gate.reserve(Gaussian(1e3), coordinates=10)
    query = MeanRecordGradient(loss, clip_norm=0.5)
    mean = gate.ask(query, np.zeros(2), once(1e3))
    np.testing.assert_allclose(mean, -np.array([0.3 + 0.3, 0.4 + 0.4 + 0.5]) / 4.0, atol=1e-6)
    (release,) = gate.books.releases
    assert release.parameters["norm_limit"] == 0.5
