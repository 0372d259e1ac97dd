"""What the compiled loop of a loss makes of scores and targets."""

import numpy as np


def compiled_slopes(loss, score, target):
    score, target = np.broadcast_arrays(score, target)
    table = np.full((3, score.size), 9.0)
    table[:2] = score, target
    loss.slope_loop(table, loss.shape)
    return table[2]
