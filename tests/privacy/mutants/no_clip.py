"""A clipped mean that forgets to clip: it states one limit and sums with a larger one."""

from tailguard.queries.clipped_gradient import MeanClippedGradient


class ForgottenClip(MeanClippedGradient):
    """Sums gradients as they come, up to a limit that no honest record reaches."""

    def answer(self, rows, state, calibration):
        unclipped = MeanClippedGradient(self.loss, self.units, clip_norm=1e6)
        return unclipped.answer(rows, state, calibration)
