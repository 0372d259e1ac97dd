"""Compiled loops over the rows of one chunk of records.

They run record by record, or coordinate by coordinate, over contiguous numbers. No step for one
record reads another, every place of an output is written, and the steps do not depend on what a row
holds. The compiler keeps every test for NaN, and the order of a sum depends only on the number of
its terms. The bits of floats, read as integers, are ordered as their magnitudes: so a loop finds
the largest of a row without a jump.
"""

import math

import numpy as np

from tailguard.array_types import BoolArray, Features, FloatArray, IntArray
from tailguard.queries.loop import compiled_loop

# Standardised features beyond this count as this: squares of a hundred million of them add up to a
# finite number.
LARGEST_FEATURE = 1e150
# A smaller square loses digits: a row this short, 1e-145, has no direction, and counts as zero.
LEAST_SQUARE = 1e-290
# Target and score of void records, so that their slopes take the same time as others: numbers that
# are usual for every loss.
VOID_TARGET, VOID_SCORE = 0.0, 0.5
# The bits of infinities and NaN come last. The exponent is in the bits above those of the fraction.
MAGNITUDE, FRACTION_BITS, BIAS = 2**63 - 1, 52, 1023
# A row whose largest entry is between these is not scaled.
LEAST_BITS, MOST_BITS = (BIAS - 64) << FRACTION_BITS, (BIAS + 64) << FRACTION_BITS
INFINITE_BITS = (2 * BIAS + 1) << FRACTION_BITS
# Two to this power and its inverse are normal floats.
MOST_DOUBLINGS = 1000
POWERS = np.append(2.0 ** np.arange(-MOST_DOUBLINGS, MOST_DOUBLINGS + 1), 0.0)
VOID_PLACE = len(POWERS) - 1
# A shorter scaled row has no direction in floats: its square is not a normal float.
SMALLEST_LENGTH = 1e-140
# Rounding may increase a subnormal factor, so that factors below this count as zero.
SMALLEST_FACTOR = 1e-290
# Adding this rounds a number to a whole one, which the last bits of the sum hold.
ROUNDING = 1.5 * 2.0**52
# The bits of a float are those of ``ROUNDING`` plus the whole number that was added to it.
ROUNDING_BITS = int(np.float64(ROUNDING).view(np.int64))
# Few enough rows that the first-level cache holds all their coordinates while products are summed.
STRIP_ROWS = 128


@compiled_loop(
    *("features", "in vector", "in vector", "in vector", "boolean", "matrix", "vector", "vector"),
    reorders=True,
)
def score_rows(
    features: Features,
    center: FloatArray,
    inverse_scale: FloatArray,
    weights: FloatArray,
    intercept: bool,
    rows: FloatArray,
    scores: FloatArray,
    squares: FloatArray,
) -> None:
    """Write each record's standardised row, cut to finite numbers, its score and squared norm.

    The squared norm is NaN if a feature is not finite.
    """
    for i in range(len(features)):
        score, square, largest = 0.0, 0.0, 0
        for j in range(center.size):
            x = np.float64(features[i, j])
            u = (x - center[j]) * inverse_scale[j]
            u = u if u < LARGEST_FEATURE else LARGEST_FEATURE
            u = u if u > -LARGEST_FEATURE else -LARGEST_FEATURE
            rows[i, j] = u
            score += u * weights[j]
            square += u * u
            largest = max(largest, int(x.view(np.int64)) & MAGNITUDE)
        if intercept:
            rows[i, center.size] = 1.0
            score += weights[center.size]
            square += 1.0
        scores[i] = score
        squares[i] = square if largest < INFINITE_BITS else math.nan


@compiled_loop(
    *("in vector", "in vector", "shifts", "float64", "in vector", "vector", "matrix", "vector"),
    *("vector", "flags"),
)
def cut_rows(
    targets: FloatArray,
    offsets: FloatArray,
    shifts: tuple[float, float, float],
    row_limit: float,
    squares: FloatArray,
    scores: FloatArray,
    known: FloatArray,
    radii: FloatArray,
    inverses: FloatArray,
    void: BoolArray,
) -> None:
    """Cut rows to norm ``row_limit``: score the cut rows, and find their norms.

    ``inverses`` are one over the norms before the cut. Void records get a usual score and target.
    Void records and rows without a direction get norm and inverse zero.
    """
    for i in range(squares.size):
        # Adding zero times a value turns an infinite one into NaN, and changes no other.
        target = (
            (targets[i] - shifts[0]) / shifts[1] + 0.0 * targets[i] if targets.size > 0 else 0.0
        )
        offset = offsets[i] - shifts[2] + 0.0 * offsets[i] if offsets.size > 0 else 0.0 - shifts[2]
        odd = math.isnan(target) | math.isnan(offset) | math.isnan(squares[i])
        seen = (squares[i] > LEAST_SQUARE) & (not odd)
        norm = math.sqrt(squares[i] if seen else 1.0)
        inverse = 1.0 / norm
        radius = norm if norm < row_limit else row_limit
        score = scores[i] * (radius * inverse) + offset
        scores[i] = VOID_SCORE if odd else score
        known[0, i] = VOID_TARGET if odd else target
        radii[i] = radius if seen else 0.0
        inverses[i] = inverse if seen else 0.0
        void[i] = odd


@compiled_loop("in vector", "in flags", "in vector", "float64", "vector")
def size_gradients(
    slopes: FloatArray, void: BoolArray, radii: FloatArray, slope_limit: float, sizes: FloatArray
) -> None:
    """Find the length of each gradient along its row, with cut slopes; zero if void or NaN."""
    for i in range(slopes.size):
        slope = 0.0 if void[i] | math.isnan(slopes[i]) else slopes[i]
        slope = slope if slope < slope_limit else slope_limit
        size = (slope if slope > -slope_limit else -slope_limit) * radii[i]
        sizes[i] = 0.0 if math.isnan(size) else size


@compiled_loop(
    *("features", "in vector", "in vector", "in vector", "in vector", "shifts", "float64"),
    *("boolean", "matrix", "vector", "matrix"),
)
def standardise(
    features: Features,
    targets: FloatArray,
    offsets: FloatArray,
    center: FloatArray,
    inverse_scale: FloatArray,
    shifts: tuple[float, float, float],
    bound: float,
    target_in_row: bool,
    known: FloatArray,
    powers: FloatArray,
    rows: FloatArray,
) -> None:
    """Write each record's standardised row divided by a power of two, and that power.

    The division brings a row to a range in which no square and no product with a map overflows.
    Standardised features are cut to ``bound``. A void record becomes a row of zeros with power
    zero, and gets a usual target and offset. ``known`` gets standardised targets and offsets, zeros
    if there are none.
    """
    n_features, width = center.size, rows.shape[1]
    intercept = n_features + target_in_row < width
    for i in range(len(features)):
        # Adding zero times a value turns an infinite one into NaN, and changes no other.
        target = (
            (targets[i] - shifts[0]) / shifts[1] + 0.0 * targets[i] if targets.size > 0 else 0.0
        )
        offset = offsets[i] - shifts[2] + 0.0 * offsets[i] if offsets.size > 0 else 0.0 - shifts[2]
        peak: int = 0
        largest: int = 0
        for j in range(n_features):
            x = np.float64(features[i, j])
            u = (x - center[j]) * inverse_scale[j]
            u = u if u < bound else bound
            u = np.float64(u if u > -bound else -bound)
            rows[i, j] = u
            peak = max(peak, int(u.view(np.int64)) & MAGNITUDE)
            largest = max(largest, int(x.view(np.int64)) & MAGNITUDE)
        if intercept:
            rows[i, n_features] = 1.0
            peak = max(peak, int(np.float64(1.0).view(np.int64)))
        if target_in_row:
            u = target if target < LARGEST_FEATURE else LARGEST_FEATURE
            u = np.float64(u if u > -LARGEST_FEATURE else -LARGEST_FEATURE)
            rows[i, width - 1] = u
            peak = max(peak, int(u.view(np.int64)) & MAGNITUDE)
        void = math.isnan(target) | math.isnan(offset) | (largest >= INFINITE_BITS)
        unusual = int((peak != 0) & ((peak < LEAST_BITS) | (peak > MOST_BITS)))
        exponent = unusual * max((peak >> FRACTION_BITS) - BIAS + 1, -MOST_DOUBLINGS)
        # Looked up for void records too, so that there is no jump.
        inverse = POWERS[VOID_PLACE if void else MOST_DOUBLINGS - exponent]
        for j in range(width):
            rows[i, j] *= inverse
        powers[i] = POWERS[VOID_PLACE if void else MOST_DOUBLINGS + exponent]
        known[0, i] = VOID_TARGET if void else target
        known[1, i] = VOID_SCORE if void else offset


@compiled_loop("matrix", "in vector", "float64", "vector", "vector")
def measure(
    mapped: FloatArray, powers: FloatArray, shrunk: float, lengths: FloatArray, inverses: FloatArray
) -> None:
    """Find the length of each row, and ``shrunk`` over the length of the scaled one.

    Both are zero if the row has no direction. ``mapped`` has one row per coordinate.
    """
    lengths[:] = 0.0
    for j in range(len(mapped)):
        for i in range(powers.size):
            lengths[i] += mapped[j, i] * mapped[j, i]
    for i in range(powers.size):
        length = math.sqrt(lengths[i])
        seen = length > SMALLEST_LENGTH
        inverses[i] = shrunk / length if seen else 0.0
        lengths[i] = length * powers[i] if seen else 0.0


@compiled_loop("in vector", "in flags", "float64", "vector")
def bound_slopes(slopes: FloatArray, void: BoolArray, limit: float, bounded: FloatArray) -> None:
    """Cut slopes to ``limit``; zero if void or not a number."""
    for i in range(slopes.size):
        slope = slopes[i]
        slope = 0.0 if void[i] | math.isnan(slope) else slope
        slope = slope if slope < limit else limit
        bounded[i] = slope if slope > -limit else -limit


@compiled_loop("in vector", "vector", "vector")
def multiply(slopes: FloatArray, lengths: FloatArray, inverses: FloatArray) -> None:
    """Multiply rows by slopes: lengths by their size, directions by their sign.

    Zero times infinity counts as zero.
    """
    for i in range(slopes.size):
        length = lengths[i] * abs(slopes[i])
        lengths[i] = length if length > 0.0 else 0.0
        inverses[i] = math.copysign(inverses[i], slopes[i])


@compiled_loop(
    *("in vector", "in vector", "in vector", "float64", "in vector", "in vector", "matrix")
)
def climb(
    slopes: FloatArray,
    lengths: FloatArray,
    inverses: FloatArray,
    row_limit: float,
    levels: FloatArray,
    shares: FloatArray,
    factors: FloatArray,
) -> None:
    """Find the factor of each scaled row at each level of several slope limits."""
    below = 0.0
    for k in range(levels.size):
        step = levels[k] - below
        for i in range(slopes.size):
            # The part of the step that the slope reaches, in [0, 1]: NaN reaches nothing.
            part = (abs(slopes[i]) - below) / step
            part = part if part < 1.0 else (0.0 if math.isnan(part) else 1.0)
            part = max(part, 0.0) * shares[k]
            factor = math.copysign(part * (min(lengths[i], row_limit) * inverses[i]), slopes[i])
            factors[k, i] = factor if abs(factor) > SMALLEST_FACTOR else 0.0
        below = levels[k]


@compiled_loop("in matrix", "in matrix", "matrix", reorders=True)
def map_rows(released: FloatArray, rows: FloatArray, mapped: FloatArray) -> None:
    """Write the products of rows with each row of ``released`` to the lines of ``mapped``.

    Each record is computed by itself: with BLAS the bits of its product would depend on its place
    in the chunk. Two products of each of four lines are added at once, to read and write less
    often; lines and coordinates past the last are zeros.
    """
    width, height = released.shape
    padded = np.zeros((width + 3, height + 1))
    padded[:width, :height] = released
    columns = np.zeros((height + 1, STRIP_ROWS))
    sums = np.empty((4, STRIP_ROWS))
    for start in range(0, len(rows), STRIP_ROWS):
        count = min(STRIP_ROWS, len(rows) - start)
        for i in range(count):
            for j in range(height):
                columns[j, i] = rows[start + i, j]
        for line in range(0, width, 4):
            sums[:] = 0.0
            for j in range(0, height, 2):
                a, b = padded[line, j], padded[line, j + 1]
                c, d = padded[line + 1, j], padded[line + 1, j + 1]
                e, f = padded[line + 2, j], padded[line + 2, j + 1]
                g, h = padded[line + 3, j], padded[line + 3, j + 1]
                for i in range(STRIP_ROWS):
                    u, v = columns[j, i], columns[j + 1, i]
                    sums[0, i] += a * u + b * v
                    sums[1, i] += c * u + d * v
                    sums[2, i] += e * u + f * v
                    sums[3, i] += g * u + h * v
            for k in range(min(4, width - line)):
                for i in range(count):
                    mapped[line + k, start + i] = sums[k, i]


@compiled_loop("in matrix", "in vector", "in places", "matrix")
def add_by_person(
    mapped: FloatArray, factors: FloatArray, persons: IntArray, sums: FloatArray
) -> None:
    """Add the columns, each times its factor, to the sums of their persons, one by one."""
    for j in range(len(mapped)):
        for i in range(factors.size):
            sums[j, persons[i]] += mapped[j, i] * factors[i]


@compiled_loop("in matrix", "in vector", "places")
def add_rounded(mapped: FloatArray, factors: FloatArray, totals: IntArray) -> None:
    """Add up the products of each line with the factors, every one rounded to a whole number.

    The sum is exact in any order: the loop adds integers, which it reads from the bits of floats.
    """
    for j in range(len(mapped)):
        total = 0
        for i in range(factors.size):
            rounded = np.float64(mapped[j, i] * factors[i] + ROUNDING)
            total += int(rounded.view(np.int64)) - ROUNDING_BITS
        totals[j] += total


@compiled_loop("in matrix", "in vector", "in vector", "places")
def add_rounded_squares(
    mapped: FloatArray, roots: FloatArray, packing: FloatArray, totals: IntArray
) -> None:
    """Add up the packed outer products of columns, every entry rounded to a whole number.

    Each column is multiplied by its root, entries on the diagonal by the first number of
    ``packing``, and entries off the diagonal by the second.
    """
    width = len(mapped)
    strip = np.empty((width, STRIP_ROWS))
    scaled = np.empty((2, STRIP_ROWS))
    for start in range(0, roots.size, STRIP_ROWS):
        count = min(STRIP_ROWS, roots.size - start)
        for j in range(width):
            for i in range(count):
                strip[j, i] = mapped[j, start + i] * roots[start + i]
        place = 0
        for j in range(width):
            for i in range(count):
                scaled[0, i] = strip[j, i] * packing[0]
                scaled[1, i] = strip[j, i] * packing[1]
            for k in range(j, width):
                total, side = 0, int(k > j)
                for i in range(count):
                    rounded = np.float64(scaled[side, i] * strip[k, i] + ROUNDING)
                    total += int(rounded.view(np.int64)) - ROUNDING_BITS
                totals[place] += total
                place += 1
