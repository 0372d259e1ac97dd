"""The two scales that Wang, Xiao, Devadas and Xu 2020 print: upper bounds, but not smooth."""

from tailguard.queries.means.trimmed import TrimmedMean
from tailguard.queries.sample_aggregate import SampleAggregate, printed_smooth_scale


class PrintedTrimmedScale(TrimmedMean):
    """Algorithm 2: ``max((x(n) - x(1)) / (n - 2m), exp(-m t) width)``, at a finite price."""

    def _of_one(self, ordered, n_trimmed, calibration):
        value, _ = super()._of_one(ordered, n_trimmed, calibration)
        return value, self._printed_scale(ordered, n_trimmed, calibration.decay)


class PrintedCentralScale(SampleAggregate):
    """Algorithm 1: means of the largest distances to the t-th nearest, at a finite price.

    Its least scale is left out, which hides the jumps where blocks are few.
    """

    def _scale(self, radii, calibration, overlap):
        return printed_smooth_scale(radii, 0.0, calibration.decay, overlap)
