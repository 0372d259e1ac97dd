"""Slopes along rows, with the sensitivity of a sum that can only grow."""

import dataclasses

from tailguard.queries.level_gradients import LevelGradients


class OneSidedLadder(LevelGradients):
    """Takes sums for one-sided: but slopes have two signs."""

    def sensitivity(self, n_rows, n_features):
        stated = super().sensitivity(n_rows, n_features)
        return dataclasses.replace(stated, ideal=stated.ideal / 2, computed=stated.computed / 2)
