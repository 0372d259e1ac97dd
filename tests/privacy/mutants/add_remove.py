"""A clipped mean with the sensitivity of adding or removing a record, not of replacing it."""

import dataclasses

from tailguard.queries.clipped_gradient import MeanClippedGradient


class AddRemoveSensitivity(MeanClippedGradient):
    """States ``clip_norm`` where replacing a record moves the sum by twice that."""

    def sensitivity(self, n_rows, n_features):
        stated = super().sensitivity(n_rows, n_features)
        return dataclasses.replace(stated, ideal=stated.ideal / 2, computed=stated.computed / 2)
