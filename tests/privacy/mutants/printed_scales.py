"""The two scales that Wang, Xiao, Devadas and Xu 2020 print: upper bounds, but not smooth."""

import math

import numpy as np

from tailguard.means.trimmed import TrimmedMean
from tailguard.queries.sample_aggregate import SampleAggregate, changes_until_all, first_ball


class PrintedTrimmedScale(TrimmedMean):
    """Algorithm 2: ``max((x(n) - x(1)) / (n - 2m), exp(-m t) width)``, at a finite price."""

    def _scale(self, ordered, m, calibration):
        spread = (ordered[-1] - ordered[0]) / (ordered.size - 2 * m)
        return max(spread, math.exp(-m * calibration.decay) * self.width)


class PrintedCentralScale(SampleAggregate):
    """Algorithm 1: means of the largest distances to the t-th nearest, at a finite price.

    Its least scale is left out, which hides the jumps where blocks are few.
    """

    def _scale(self, radii, calibration, overlap):
        first, scale = first_ball(len(radii), overlap), 0.0
        for k in range(changes_until_all(len(radii), overlap)):
            largest = np.sort(radii[:, first + (k + 1) * overlap - 1])[-math.ceil(overlap / 2) :]
            scale = max(scale, largest.mean() * math.exp(-calibration.decay * k))
        return 2.0 * scale
