"""The two scales that Wang, Xiao, Devadas and Xu 2020 print: upper bounds, but not smooth."""

import math

import numpy as np

from tailguard.noise.smooth import SmoothAnswer
from tailguard.queries.means.trimmed import TrimmedMean
from tailguard.queries.sample_aggregate import SampleAggregate


class PrintedTrimmedScale(TrimmedMean):
    """Algorithm 2: ``max((x(n) - x(1)) / (n - 2m), exp(-m t) width)``."""

    def _of_one(self, ordered, n_trimmed, calibration):
        value, _ = super()._of_one(ordered, n_trimmed, calibration)
        spread = (ordered[-1] - ordered[0]) / (ordered.size - 2 * n_trimmed)
        return value, max(spread, math.exp(-n_trimmed * calibration.decay) * self.width)


def printed_central_scale(radii, smoothness, overlap):
    """Algorithm 1: ``2 max over k of rho(t0 + (k + 1) s) exp(-beta k)``.

    ``rho(t)`` is the mean of the ``ceil(s / 2)`` largest distances to the t-th nearest.
    """
    n_points = len(radii)
    first = math.ceil((n_points + overlap) / 2) + 1
    largest = np.sort(radii, axis=0)[-math.ceil(overlap / 2) :].mean(axis=0)
    steps = range((n_points - first) // overlap)
    return 2.0 * max(
        largest[first + (k + 1) * overlap - 1] * math.exp(-smoothness * k) for k in steps
    )


class PrintedCentralScale(SampleAggregate):
    """The same, on the blocks of the query."""

    def answer(self, rows, state, calibration):
        smooth = super().answer(rows, state, calibration)
        points = []

        def keep(features, target):
            points.append(np.asarray(self.estimator(features, target)))
            return points[-1]

        limits = {"n_blocks": self.n_blocks, "layout": self.layout}
        recorder = SampleAggregate(keep, self.center, self.diameter, **limits)
        recorder.answer(rows, state, calibration)
        with np.errstate(all="ignore"):
            offsets = np.nan_to_num(np.array(points) - self.center)
            norms = np.maximum(np.linalg.norm(offsets, axis=1, keepdims=True), 1e-300)
        inside = offsets * np.minimum(1.0, self.diameter / 2.0 / norms)
        radii = np.sort(np.linalg.norm(inside[:, None] - inside[None], axis=2), axis=1)
        scale = printed_central_scale(radii, calibration.decay, calibration.facts["overlap"])
        return SmoothAnswer(smooth.value, np.full(smooth.value.size, scale))
