"""Octaves: the edges of the first histogram, and which of its bins hold cells.

Reference
---------
Karwa and Vadhan 2018, Section 3 (a histogram that spans all units finds where numbers lie).
"""

import math

import numpy as np
from scipy.ndimage import binary_dilation

from tailguard.array_types import BoolArray, FloatArray
from tailguard.scaling.noisy_distribution import bulk_of

LARGEST_OCTAVE = 160
_SIZES = 2.0 ** np.arange(-LARGEST_OCTAVE, LARGEST_OCTAVE + 1.0)
OCTAVES = np.concatenate([-_SIZES[::-1], _SIZES])
"""Edges of the first histogram: octaves of both signs. Between the innermost edges is zero."""

ONE = int(np.searchsorted(OCTAVES, 1.0))
"""The bin that ends at one."""
LEAST_SIZE = 2.0**-LARGEST_OCTAVE
"""Numbers up to this size count as zero; no edge splits the bin of zeros."""

# Heights, in standard deviations of the noise, at which three things are detected: zeros, a window
# of octaves beside zeros, and octaves of the other sign and about the same size. Noise alone
# exceeds them in one of 4,000, 4,000 and 30 columns.
SEEN_ZERO, SEEN_BESIDE_ZERO, SEEN_ACROSS_ZERO = 3.5, 5.3, 3.0
# Noise is mistaken for cells as often as in this many independent windows of octaves, of each sign
# and of both together (3,800 at 4.4 deviations, by simulation).
WINDOWS = 4e3
NEAR_BINS = 2  # this many octaves beside detected ones stay separate bins: tails lie there
AS_ZERO = 8  # octaves beside zero, of numbers below 1e-45, in which only noise is detected
LARGEST_ZERO = LEAST_SIZE * 2.0 ** (AS_ZERO + NEAR_BINS)


def octaves_of(counts: FloatArray, noise_std: float) -> tuple[BoolArray, float]:
    """Return which octaves hold cells, and the column's height in standard deviations of the noise.

    The bin of zeros may hide all other cells, so another search leaves it out.
    """
    kept, *_, significance = bulk_of(counts, noise_std)
    zero = counts.size // 2
    folded = counts[zero + 1 :] + counts[:zero][::-1]
    kept_folded, *_, folded_height = bulk_of(folded, math.sqrt(2.0) * noise_std)
    if folded_height > significance:  # as in a column centred at zero
        significance = folded_height
        kept |= np.concatenate([kept_folded[::-1], [False], kept_folded])
    kept[zero] |= counts[zero] > SEEN_ZERO * noise_std
    others = counts.copy()
    others[zero] = 0.0
    beside, *_, stands_out = bulk_of(others, noise_std)
    if stands_out > SEEN_BESIDE_ZERO:
        kept |= beside
    # Octaves of the other sign are far from the bulk in this histogram, though near it in value.
    mirrored = binary_dilation(kept, iterations=NEAR_BINS)[::-1] & ~kept
    mirrored[[0, zero, -1]] = False
    kept_mirrored, *_, stands_out = bulk_of(np.where(mirrored, counts, 0.0), noise_std)
    if stands_out > SEEN_ACROSS_ZERO:
        kept |= kept_mirrored & mirrored
    return kept, significance


def zero_if_tiny(edge: float) -> float:
    """Return an edge of a bin; where only noise is detected beside zero, it counts as zero."""
    return 0.0 if abs(edge) <= LARGEST_ZERO else edge
