"""Compiled loops over the rows of one chunk of records.

They run record by record, or coordinate by coordinate, over contiguous numbers. The steps for
one record read no other record, and do not depend on what the record holds. Every entry of an
output is written. The compiler keeps every test for NaN, and the order of a sum depends only on the
number of its terms. Read as integers, the bits of magnitudes have the same order as the magnitudes.
So a loop finds the largest entry of a row without a jump.
"""

import math

import numpy as np

from tailguard.array_types import BoolArray, Features, FloatArray, IntArray
from tailguard.data.rows.feature_loops import (
    INFINITE_BITS,
    MAGNITUDE,
    NUMBERS_AHEAD,
    NUMBERS_IN_LINE,
    prefetch,
)
from tailguard.queries.loop import compiled_loop
from tailguard.queries.maps import GAP, STRIP_ROWS

# Larger standardised features are cut to this. The squares of a hundred million of them have a
# finite sum.
LARGEST_FEATURE = 1e150
# A smaller squared norm loses digits, so a row of norm below 1e-145 counts as a row of zeros.
LEAST_SQUARE = 1e-290
# Target and score that replace those of void records. They are ordinary numbers for every loss, so
# that the slope of a void record takes as long to compute as any other.
VOID_TARGET, VOID_SCORE = 0.0, 0.5
# The width of the fraction, and the bias of the exponent.
FRACTION_BITS, BIAS = 52, 1023
# Bits of 2**-64 and 2**64: a row whose largest entry is between these is not scaled.
LEAST_BITS, MOST_BITS = (BIAS - 64) << FRACTION_BITS, (BIAS + 64) << FRACTION_BITS
# Two to this power and its inverse are normal floats.
MOST_DOUBLINGS = 1000
POWERS = np.append(2.0 ** np.arange(-MOST_DOUBLINGS, MOST_DOUBLINGS + 1), 0.0)
VOID_PLACE = len(POWERS) - 1
# A shorter scaled row has no direction in floats, since its square is not a normal float.
SMALLEST_LENGTH = 1e-140
# Rounding may increase a subnormal factor, so smaller factors count as zero.
SMALLEST_FACTOR = 1e-290
# Adding this to a number rounds it to a whole number, which is in the last bits of the sum.
ROUNDING = 1.5 * 2.0**52
# Subtracting this from the bits of the sum, read as an integer, leaves that whole number.
ROUNDING_BITS = int(np.float64(ROUNDING).view(np.int64))
# So few rows that the first-level cache holds six lines of them while their products are summed.
LONG_STRIP = 256


@compiled_loop(
    *("features", "in vector", "in vector", "float64", "in vector", "boolean", "matrix", "vector"),
    "vector",
    reorders=True,
)
def score_rows(
    features: Features,
    center: FloatArray,
    inverse_scale: FloatArray,
    bound: float,
    weights: FloatArray,
    intercept: bool,
    rows: FloatArray,
    scores: FloatArray,
    squares: FloatArray,
) -> None:
    """Write the standardised row of each record, its score and its squared norm.

    Entries of rows are cut to ``bound``. The squared norm is NaN if a feature is not finite.
    """
    rows_ahead = 1 + NUMBERS_AHEAD // max(1, center.size)
    for i in range(len(features)):
        for j in range(0, center.size, NUMBERS_IN_LINE):
            prefetch(features, i + rows_ahead, j)
        score, square, largest = 0.0, 0.0, 0
        for j in range(center.size):
            value = np.float64(features[i, j])
            entry = (value - center[j]) * inverse_scale[j]
            entry = entry if entry < bound else bound
            entry = entry if entry > -bound else -bound
            rows[i, j] = entry
            score += entry * weights[j]
            square += entry * entry
            largest = max(largest, int(value.view(np.int64)) & MAGNITUDE)
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
    """Write the scores and norms of rows that are cut to norm ``row_limit``.

    ``inverses`` gets one over each norm before the cut. Void records get an ordinary score and
    target. Norm and inverse are zero for void records and for rows without a direction.
    """
    for i in range(squares.size):
        # Adding zero times a value turns an infinite one into NaN, and changes no other.
        target = (
            (targets[i] - shifts[0]) / shifts[1] + 0.0 * targets[i] if targets.size > 0 else 0.0
        )
        offset = offsets[i] - shifts[2] + 0.0 * offsets[i] if offsets.size > 0 else 0.0 - shifts[2]
        is_void = math.isnan(target) | math.isnan(offset) | math.isnan(squares[i])
        has_direction = (squares[i] > LEAST_SQUARE) & (not is_void)
        norm = math.sqrt(squares[i] if has_direction else 1.0)
        inverse = 1.0 / norm
        radius = norm if norm < row_limit else row_limit
        score = scores[i] * (radius * inverse) + offset
        scores[i] = VOID_SCORE if is_void else score
        known[0, i] = VOID_TARGET if is_void else target
        radii[i] = radius if has_direction else 0.0
        inverses[i] = inverse if has_direction else 0.0
        void[i] = is_void


@compiled_loop("in vector", "in flags", "in vector", "float64", "vector")
def size_gradients(
    slopes: FloatArray, void: BoolArray, radii: FloatArray, slope_limit: float, sizes: FloatArray
) -> None:
    """Write the signed length of each gradient along its row; zero if void or NaN.

    Slopes are cut to ``slope_limit``.
    """
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

    After the division no square of an entry and no product with a map overflows. Standardised
    features are cut to ``bound``. A void record becomes a row of zeros with power zero, and gets an
    ordinary target and offset. ``known`` gets standardised targets and offsets; a missing column
    counts as zeros.
    """
    n_features, width = center.size, rows.shape[1]
    intercept = n_features + target_in_row < width
    rows_ahead = 1 + NUMBERS_AHEAD // max(1, n_features)
    for i in range(len(features)):
        for j in range(0, n_features, NUMBERS_IN_LINE):
            prefetch(features, i + rows_ahead, j)
        # Adding zero times a value turns an infinite one into NaN, and changes no other.
        target = (
            (targets[i] - shifts[0]) / shifts[1] + 0.0 * targets[i] if targets.size > 0 else 0.0
        )
        offset = offsets[i] - shifts[2] + 0.0 * offsets[i] if offsets.size > 0 else 0.0 - shifts[2]
        peak: int = 0
        largest: int = 0
        for j in range(n_features):
            value = np.float64(features[i, j])
            entry = (value - center[j]) * inverse_scale[j]
            entry = entry if entry < bound else bound
            entry = np.float64(entry if entry > -bound else -bound)
            rows[i, j] = entry
            peak = max(peak, int(entry.view(np.int64)) & MAGNITUDE)
            largest = max(largest, int(value.view(np.int64)) & MAGNITUDE)
        if intercept:
            rows[i, n_features] = 1.0
            peak = max(peak, int(np.float64(1.0).view(np.int64)))
        if target_in_row:
            entry = target if target < LARGEST_FEATURE else LARGEST_FEATURE
            entry = np.float64(entry if entry > -LARGEST_FEATURE else -LARGEST_FEATURE)
            rows[i, width - 1] = entry
            peak = max(peak, int(entry.view(np.int64)) & MAGNITUDE)
        void = math.isnan(target) | math.isnan(offset) | (largest >= INFINITE_BITS)
        unusual = int((peak != 0) & ((peak < LEAST_BITS) | (peak > MOST_BITS)))
        exponent = unusual * max((peak >> FRACTION_BITS) - BIAS + 1, -MOST_DOUBLINGS)
        # A table instead of a branch: void records take the same time.
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
    """Write the length of each row, and ``shrunk`` divided by the length of the scaled row.

    Both are zero if the row has no direction. ``mapped`` holds scaled rows, one in each column.
    """
    lengths[:] = 0.0
    for j in range(len(mapped)):
        for i in range(powers.size):
            lengths[i] += mapped[j, i] * mapped[j, i]
    for i in range(powers.size):
        length = math.sqrt(lengths[i])
        has_direction = length > SMALLEST_LENGTH
        inverses[i] = shrunk / length if has_direction else 0.0
        lengths[i] = length * powers[i] if has_direction else 0.0


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
    """Multiply rows by slopes: lengths by the slope's size, inverses by its sign.

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
    """Write the factor of each scaled row for each step between levels of the slope."""
    below = 0.0
    for level in range(levels.size):
        step = levels[level] - below
        for i in range(slopes.size):
            # The fraction of this step below the slope's size, in [0, 1]; zero for NaN.
            fraction = (abs(slopes[i]) - below) / step
            fraction = fraction if fraction < 1.0 else (0.0 if math.isnan(fraction) else 1.0)
            fraction = max(fraction, 0.0) * shares[level]
            factor = math.copysign(fraction * (min(lengths[i], row_limit) * inverses[i]), slopes[i])
            factors[level, i] = factor if abs(factor) > SMALLEST_FACTOR else 0.0
        below = levels[level]


@compiled_loop("in matrix", "in vector", "in places", "matrix")
def add_by_person(
    mapped: FloatArray, factors: FloatArray, persons: IntArray, sums: FloatArray
) -> None:
    """Add each column, times its factor, to the sum of its person, one after the other."""
    for j in range(len(mapped)):
        for i in range(factors.size):
            sums[j, persons[i]] += mapped[j, i] * factors[i]


@compiled_loop("in matrix", "in vector", "places")
def add_rounded(mapped: FloatArray, factors: FloatArray, totals: IntArray) -> None:
    """Add up the products of each line with the factors, each product rounded to a whole number.

    The sum is exact in any order, since the loop adds integers. It reads them from bits of floats.
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

    Each column is multiplied by its entry of ``roots``. The first number of ``packing`` multiplies
    the entries on the diagonal, the second all others.
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
                total, off_diagonal = 0, int(k > j)
                for i in range(count):
                    rounded = np.float64(scaled[off_diagonal, i] * strip[k, i] + ROUNDING)
                    total += int(rounded.view(np.int64)) - ROUNDING_BITS
                totals[place] += total
                place += 1


@compiled_loop("in matrix", "in vector", "matrix", reorders=True)
def add_squares(mapped: FloatArray, roots: FloatArray, sums: FloatArray) -> None:
    """Add outer products of columns, each times its entry of ``roots``, to the upper triangle.

    Blocks of three by three entries are summed at a time, which read a number six times for nine
    products. ``sums`` may be up to two wider than the columns; what lies beyond is of no use.
    """
    width = len(mapped)
    strips = np.zeros((width + 2, LONG_STRIP + GAP))
    for start in range(0, roots.size, LONG_STRIP):
        factors = roots[start : start + LONG_STRIP]
        for j in range(width):
            row, into = mapped[j, start : start + LONG_STRIP], strips[j, :LONG_STRIP]
            if row.size < into.size:
                into[:] = 0.0
            for i in range(row.size):
                into[i] = row[i] * factors[i]
        for j in range(0, width, 3):
            a, b, c = strips[j], strips[j + 1], strips[j + 2]
            for k in range(j, width, 3):
                d, e, f = strips[k], strips[k + 1], strips[k + 2]
                ad = ae = af = bd = be = bf = cd = ce = cf = 0.0
                for i in range(LONG_STRIP):
                    ad += a[i] * d[i]
                    ae += a[i] * e[i]
                    af += a[i] * f[i]
                    bd += b[i] * d[i]
                    be += b[i] * e[i]
                    bf += b[i] * f[i]
                    cd += c[i] * d[i]
                    ce += c[i] * e[i]
                    cf += c[i] * f[i]
                row0, row1, row2 = sums[j], sums[j + 1], sums[j + 2]
                row0[k] += ad
                row0[k + 1] += ae
                row0[k + 2] += af
                row1[k] += bd
                row1[k + 1] += be
                row1[k + 2] += bf
                row2[k] += cd
                row2[k + 1] += ce
                row2[k + 2] += cf
