"""The fixed cut of the records into chunks, and what its float arithmetic costs.

Records are summed in float64 inside a chunk, the chunk's sum is rounded to the lattice, and
integers are added across chunks. Neighbouring datasets differ in one record, hence in one chunk, so
the float error of a single chunk is all that a sensitivity must cover, whatever the number of
records.

Reference
---------
Higham 2002, "Accuracy and Stability of Numerical Algorithms", Section 4.2: a sum of m numbers in
any order errs by at most (m - 1) u / (1 - (m - 1) u) times the sum of their magnitudes.
Casacuberta, Shoemate, Vadhan and Wagaman 2022 show why the error must be charged.
"""

CHUNK_ROWS = 1024
"""Records per chunk; record ``i`` belongs to chunk ``i // CHUNK_ROWS``."""

TILE_ROWS = 8
"""Records that compiled passes score, then add: one vector instruction bounds them all."""

ROUNDOFF = 2.0**-53
"""Unit roundoff of float64."""


def summation_slack(bound: float) -> float:
    """Extra l2 sensitivity of a chunk-wise float sum of vectors of norm at most ``bound``.

    Two neighbouring chunks err by at most ``CHUNK_ROWS**2 * ROUNDOFF * bound`` each.
    """
    return 2 * CHUNK_ROWS**2 * ROUNDOFF * bound


def shrink(size: int) -> float:
    """Return the factor that keeps a clipped vector of ``size`` within its limit as a float.

    The computed norm of a vector errs by at most ``size / 2 + 2`` roundoffs, and each product by
    one; four times ``size + 2`` covers both with room to spare.
    """
    return 1 - 4 * (size + 2) * ROUNDOFF
